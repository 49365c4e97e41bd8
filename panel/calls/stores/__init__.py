"""Stores of replies: one a file, found by its name; see `persona_panel.calls.cache`."""
