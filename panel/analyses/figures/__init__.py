"""A run's figures for a paper: `RunPlots`."""
