"""From which p-value on a figure may be claimed, and what is tested so."""

from __future__ import annotations

LEVEL = 0.05
"""How often, at most, what is tested together may have a claim where there is nothing to claim:
adjusted p-values below it are significant."""


class Tested:
    """A figure that was tested beside others; a frozen record of it says what is `shown`.

    Attributes:
        p_adjusted: its p-value, adjusted for all that are tested together; NaN without a test.
    """

    __slots__ = ()
    p_adjusted: float

    @property
    def shown(self) -> bool:
        """Whether it may be claimed: its adjusted p-value is below `LEVEL`."""
        return self.p_adjusted < LEVEL
