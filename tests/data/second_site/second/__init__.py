"""Five small apps that know nothing of the article."""
