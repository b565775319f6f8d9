"""Three small apps that know nothing of the article."""
