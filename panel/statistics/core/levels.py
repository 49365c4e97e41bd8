"""The level at which claims are made, and the figures that are tested at it."""

from __future__ import annotations

LEVEL = 0.05
"""The level of tests: where there is nothing to claim, the tests made together make a claim at most
this often. Adjusted p-values below it are significant."""
POWER = 0.8
"""The power of tests: how often as many values (or prompts) as are said to be needed are enough."""
TENTATIVE, RELIABLE = 0.667, 0.8
"""Krippendorff's α from which tentative conclusions are drawn from ratings, and from which they
are usually called reliable: K. Krippendorff (2004), "Reliability in content analysis"."""
PASSED = 0.5
"""The winning rate from which a panel or a judge passes the alternative annotator test."""
MOST = 10_000
"""The largest number of values that is given as needed; above it nothing is said."""
