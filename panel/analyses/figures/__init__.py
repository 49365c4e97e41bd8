"""A run's figures for a paper: `run.plot`."""
