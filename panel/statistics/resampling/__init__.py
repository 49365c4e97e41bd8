"""Bootstrap intervals and permutation tests."""
