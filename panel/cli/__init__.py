"""The command line: what `persona-panel` takes, shows and returns. Nothing is computed here."""
