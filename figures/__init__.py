"""The six figures of the article: one module each, one Panel app each."""
