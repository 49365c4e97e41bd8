"""Statistics: pure functions over arrays, with NaN for what is missing."""
