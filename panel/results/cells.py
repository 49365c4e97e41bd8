"""Cells of tables that know their numbers, for formats that write more than what is shown."""

from __future__ import annotations

from math import isnan, nan

from rich.text import Text

from persona_panel.statistics.core.display import NONE, number


class FigureText(Text):
    """Text of a figure in a table, and the figure.

    Attributes:
        value, low, high, p_value: NaN for what there is not. A cell that is an interval alone has
            no value.
        reason: why there is no figure; what is shown is that reason, folded.
    """

    __slots__ = ("high", "low", "p_value", "reason", "value")

    def __init__(
        self,
        text: str,
        style: str = "",
        *,
        value: float = nan,
        low: float = nan,
        high: float = nan,
        p_value: float = nan,
        reason: str = "",
    ) -> None:
        super().__init__(text, style)
        self.value, self.low, self.high, self.p_value = value, low, high, p_value
        self.reason = reason

    def in_document(self) -> str:
        """Return the text for a table in a document: an interval in brackets, a dash in place of a
        reason, which stands below the table."""
        if self.reason:
            return NONE
        if isnan(self.value) and not isnan(self.low):
            return f"[{number(self.low)}, {number(self.high)}]"
        return self.plain
