"""The progress of a run: a live display on a terminal, plain lines elsewhere.

Everything is printed on standard error; standard output has the result alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from graphs import Judgment
from panel.models.catalogue import Price, cost
from panel.reports.terminal.tables import notices
from rubrics import Usage

_LINE_EVERY_S = 5.0


class ScoreProgress:
    """Counts judgments as they come, and shows them from `begin` on, below a heading."""

    def __init__(self, heading: str, total: int, prices: Mapping[str, Price | None]) -> None:
        self.total = total
        self.begun = False
        self._heading = heading
        self._prices = prices
        self._console = notices()
        self._started = self._shown = time.monotonic()
        self._done = self._missing = self._revised = 0
        self._note = ""
        self._usage: dict[str, Usage] = {}
        self._bar: Progress | None = None
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("judgments"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[tail]}", markup=False),
                TimeRemainingColumn(),
                console=self._console,
            )
            self._task = self._bar.add_task("", total=total, tail="")

    def begin(self) -> None:
        """Show the heading, and that nothing is done yet."""
        self.begun = True
        self._started = self._shown = time.monotonic()
        self._console.print(self._heading, soft_wrap=True)
        if self._bar is not None:
            self._bar.start()
        else:
            self._console.print(f"0/{self.total:,} judgments")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.begun:
            return
        if self._bar is not None:
            self._bar.stop()
        else:
            self._print_line()

    def take(self, judgment: Judgment) -> None:
        """Count one more judgment."""
        if judgment.round > 1:
            self._revised += 1
        else:
            self._done += 1
            self._missing += judgment.status not in ("scored", "abstained")
        if not judgment.cached:
            model = judgment.judge.model
            self._usage[model] = self._usage.get(model, Usage()) + judgment.usage
        self._show()

    def note(self, text: str) -> None:
        """Show what has come of what goes before the judgments."""
        self._note = text
        self._show()

    @property
    def done(self) -> int:
        """How many judgments there are."""
        return self._done

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, tail=self._tail())
        elif time.monotonic() - self._shown >= _LINE_EVERY_S:
            self._print_line()

    def _print_line(self) -> None:
        self._shown = time.monotonic()
        rate = self._rate()
        left = self.total - self._done
        eta = f", about {left / rate:,.0f} s left" if rate and left else ""
        self._console.print(
            f"{self._done:,}/{self.total:,} judgments, {self._tail()}{eta}",
            soft_wrap=True,
        )

    def _rate(self) -> float:
        return self._done / max(time.monotonic() - self._started, 1e-6)

    def _tail(self) -> str:
        total = sum(self._usage.values(), Usage())
        parts = [self._note] if self._note else []
        parts += [f"{self._rate():,.1f}/s", f"{total.input + total.output:,} tokens"]
        costs = [cost(self._prices[model], usage) for model, usage in self._usage.items()]
        known = [cost for cost in costs if cost is not None]
        if known and any(known):
            more = " + unknown" if len(known) < len(costs) else ""
            parts.append(f"${sum(known):.4f}{more}")
        elif len(known) < len(costs):
            parts.append("price unknown")
        parts.append(f"{self._missing} missing")
        if self._revised:
            parts.append(f"{self._revised:,} re-ratings (deliberation)")
        return ", ".join(parts)
