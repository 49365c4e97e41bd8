"""The systems of a run so far, below its progress: a table as wide as there is room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from persona_panel.results.console import legible, shortened
from persona_panel.runs.collected import interval_so_far
from persona_panel.statistics.core.display import NONE, counted, number
from persona_panel.view.paced import Paced

if TYPE_CHECKING:
    from persona_panel.statistics.core.ranking import Leaderboard, SystemRank

_MOST_SYSTEMS = 8
_WIDEST, _HIGHEST = 1000, 100
_GAP = 2
_NARROWEST_NAME = 12
_STEPS = (0.05, 0.25, 0.5, 0.75)
"""Where lines are printed one below the other, the table comes at these shares of the judgments."""
_SHORTEST_S = 20.0
"""And of runs that take this long at least."""

RankingSoFar = Callable[[], "Leaderboard | None"]


class Board:
    """The systems so far, worked out at most every two seconds; `ranking` works them out."""

    def __init__(self, ranking: RankingSoFar) -> None:
        def over_prompts() -> Leaderboard | None:
            board = ranking()
            several = board and any(entry.n_prompts > 1 for entry in board.systems)
            return board if several else None

        self._ranking = Paced(over_prompts)
        self._steps = list(_STEPS)

    def lines(self, done: int, total: int, what: str, width: int, height: int) -> list[str]:
        """Return the table in a width, with the sentence that nothing is claimed; nothing before
        two prompts are whole, or where `height` lines do not hold it."""
        so_far = f"So far {done:,} of {total:,} {what}; no claim is made before the end."
        # The head of the table, and how many more systems there are.
        rows = min(_MOST_SYSTEMS, height - 2 - ceil(len(so_far) / width))
        board = self._ranking.value() if rows > 0 else None
        return [] if board is None else [*board_lines(board, width, rows), so_far]

    def is_due(self, share: float, elapsed_s: float) -> bool:
        """Return whether the table is to be printed, once at each step, of a run of which a share
        of the judgments came in so many seconds."""
        if not self._steps or share < self._steps[0] or elapsed_s / share < _SHORTEST_S:
            return False
        return self._ranking.value() is not None

    def printed(self, done: int, total: int, what: str) -> list[str]:
        """Return the table to be printed, as wide as it is; it is due again at the next step."""
        self._steps = [step for step in self._steps if step > done / total]
        return self.lines(done, total, what, _WIDEST, _HIGHEST)


def board_lines(board: Leaderboard, width: int, rows: int) -> list[str]:
    """Return the first `rows` systems as lines of at most `width` columns, below a head, and how
    many more there are. Of figures that have no room the last are left out."""
    entries = board.systems[:rows]
    names = [legible(entry.system) for entry in entries]
    columns = [_column(head, map(of, entries)) for head, of in _FIGURES]
    ranks, figures = columns[0], columns[1:]
    longest = max(map(cell_len, ["system", *names]))
    while figures:
        room = width - sum(_GAP + len(column[0]) for column in [ranks, *figures])
        if room >= min(longest, _NARROWEST_NAME):
            break
        figures.pop()
    else:
        room = width - _GAP - len(ranks[0])
    room = max(1, min(longest, room))
    lines = [
        (" " * _GAP).join([rank, _sized(name, room), *cells]).rstrip()
        for rank, name, *cells in zip(ranks, ["system", *names], *figures, strict=True)
    ]
    if (more := len(board.systems) - len(entries)) > 0:
        lines.append(f"and {counted(more, 'more system')}")
    return [shortened(line, width) for line in lines]


def _rank(entry: SystemRank) -> str:
    return NONE if entry.rank is None else str(entry.rank)


_FIGURES: Sequence[tuple[str, Callable[[SystemRank], str]]] = (
    ("rank", _rank),
    ("mean", lambda entry: number(entry.composite)),
    ("95 % interval", interval_so_far),
    ("prompts", lambda entry: f"{entry.n_prompts:,}"),
)


def _column(head: str, cells: Iterable[str]) -> list[str]:
    column = [head, *cells]
    width = max(map(len, column))
    return [cell.rjust(width) for cell in column]


def _sized(name: str, width: int) -> str:
    return set_cell_size(shortened(name, width), width)
