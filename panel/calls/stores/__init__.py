"""Stores of replies: one a file, found by its name; see `panel.calls.cache`."""
