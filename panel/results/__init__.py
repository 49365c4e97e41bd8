"""Results: what was found, described once, and every way in which it is shown."""
