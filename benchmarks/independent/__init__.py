"""Simulations whose data and comparison tests share no code with `panel/statistics`."""
