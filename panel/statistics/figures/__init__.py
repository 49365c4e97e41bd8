"""Statistics as figures for a paper: numbers and names in, a Matplotlib figure out."""
