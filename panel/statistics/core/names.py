"""Names that figures have for what is of no single dimension or group."""

from __future__ import annotations

ALL = "all"
"""The group of all raters, and the dimension of a statistic over all dimensions."""
COMPOSITE = "composite"
"""The dimension of a mean over dimensions, where it stands beside them."""
