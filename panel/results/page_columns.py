"""The width of a figure on a page, and the packages that figures need."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

from persona_panel.files.wording import extra, not_installed

PageColumns = Literal[1, 2]
"""The width of a figure, in columns of a page."""

NEEDS_PLOTS = not_installed("figures need", "Matplotlib", extra("plots"))


def plots_at_hand() -> bool:
    """Return whether the packages for plots are installed."""
    return find_spec("matplotlib") is not None


def check_plots(columns: PageColumns) -> None:
    """Raise ModuleNotFoundError with the package to install where plots cannot be drawn, and
    ValueError for a width that is neither one column nor two."""
    if not plots_at_hand():
        raise ModuleNotFoundError(NEEDS_PLOTS, name="matplotlib")
    if columns not in (1, 2):
        raise ValueError(f"columns is 1 or 2, the columns of a page, found {columns!r}")
