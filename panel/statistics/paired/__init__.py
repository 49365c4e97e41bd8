"""Two runs compared: of the same panel on other texts, or of another panel on the same texts."""
