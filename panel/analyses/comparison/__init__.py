"""Runs compared with each other: the same panel on other texts, or another panel on the same."""
