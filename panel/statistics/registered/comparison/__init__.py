"""A panel compared with humans: what `correlate` shows."""
