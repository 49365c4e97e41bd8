"""Analyses of runs and ratings: each answers a question by a result."""
