"""Do personas differ as the people they stand for differ? Differences between groups and their
ratio."""
