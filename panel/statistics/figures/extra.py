"""Whether figures can be drawn: they need Matplotlib, which the package itself does not."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

PageColumns = Literal[1, 2]
"""How many columns of a page a figure is as wide as."""

PLOTS = "pip install 'persona-panel[plots]'"
"""How to get the figures."""


def plots_at_hand() -> bool:
    """Return whether figures can be drawn."""
    return find_spec("matplotlib") is not None


def check_plots(columns: PageColumns) -> None:
    """Raises ModuleNotFoundError, which says what to install, where they cannot, and ValueError
    for a width that is neither one column nor two."""
    if not plots_at_hand():
        raise ModuleNotFoundError(
            f"figures need matplotlib, which is not installed: {PLOTS}", name="matplotlib"
        )
    if columns not in (1, 2):
        raise ValueError(f"columns is 1 or 2, the columns of a page, found {columns!r}")
