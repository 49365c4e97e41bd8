"""What a benchmark hands back, and how it is printed: a row a contender, a figure a promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from benchmarks.harness import Used

FLOOR = "bare aiohttp loop"


@dataclass(frozen=True, slots=True)
class Row:
    """A contender's runs, all of the same `judgments`; or in `absent` why there are none."""

    name: str
    judgments: int
    runs: tuple[Used, ...] = ()
    absent: str = ""

    @property
    def cpu_s(self) -> float:
        return median(run.cpu_s for run in self.runs)

    @property
    def wall_s(self) -> float:
        return median(run.wall_s for run in self.runs)


@dataclass(frozen=True, slots=True)
class Figure:
    """Something that was asked for and what was measured. `unit` follows the numbers."""

    name: str
    values: tuple[float, ...]
    asked: str
    holds: bool
    unit: str = ""


@dataclass(slots=True)
class Outcome:
    """What one part came to. `notes` are lines that explain it, the configurations above all."""

    rows: list[Row] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The same for a program."""
        return asdict(self)


def ratios(rows: Sequence[Row], name: str) -> tuple[float, ...]:
    """A contender's CPU over the floor's, round by round, at the same size."""
    floor, row = row_of(rows, FLOOR), row_of(rows, name)
    return tuple(mine.cpu_s / least.cpu_s for mine, least in zip(row.runs, floor.runs, strict=True))


def row_of(rows: Sequence[Row], name: str) -> Row:
    """The row of this name."""
    return next(row for row in rows if row.name == name)


def show_rows(rows: Sequence[Row]) -> None:
    """One table; ratios are to the bare loop over as many judgments, in the same round."""
    print(
        f"\n{'judgments':>9}  {'contender':<36}{'CPU ms each':>16}{'ratio':>13}"
        f"{'wall s':>8}{'a second':>10}{'peak MB':>9}"
    )
    for row in rows:
        if row.absent:
            last = row.absent.strip().splitlines()[-1]
            print(f"{row.judgments:>9,}  {row.name:<36}not measured: {last}")
            continue
        same = [other for other in rows if other.judgments == row.judgments]
        to_floor = _spread(ratios(same, row.name), 1) if row_of(same, FLOOR).runs else "?"
        each = [1000 * run.cpu_s / row.judgments for run in row.runs]
        print(
            f"{row.judgments:>9,}  {row.name:<36}{_spread(each, 3):>16}"
            f"{to_floor:>13}{row.wall_s:>8.1f}"
            f"{row.judgments / row.wall_s:>10,.0f}{max(run.peak_mb for run in row.runs):>9.0f}"
        )


def show_figures(figures: Sequence[Figure]) -> None:
    """One table of what was asked for."""
    print(f"\n{'':<8}{'figure':<64}{'measured':>18}  asked")
    for figure in figures:
        value = _spread(figure.values, 2 if max(figure.values) < 100 else 0)
        print(
            f"{'ok' if figure.holds else 'MISSED':<8}{figure.name:<64}"
            f"{f'{value} {figure.unit}'.strip():>18}  {figure.asked}"
        )


def _spread(values: Sequence[float], digits: int) -> str:
    """The least and the greatest, or the one that there is."""
    least, most = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return least if least == most else f"{least}–{most}"
