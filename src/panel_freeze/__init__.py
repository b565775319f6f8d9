"""Turns a folder of Panel apps and an article into a static site with live Python."""
