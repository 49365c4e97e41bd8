"""The progress of a run: a live display on a terminal, plain lines elsewhere.

Everything is printed on standard error; standard output has the result alone. A judgment is only
counted; what is shown is worked out twice a second, from the counts and from the calls' state.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from persona_panel.calls.rate_limiter import CallsState, EndpointState
from persona_panel.cli.eta import Pace, Remaining, seconds_left, stands_still
from persona_panel.cli.progress_lines import duration, state_lines
from persona_panel.graphs import Judgment
from persona_panel.results.conclusions.money import spent
from persona_panel.results.console import notices
from persona_panel.rubrics import Status, Usage
from persona_panel.statistics.core.display import clock

_REFRESH_S = 0.5
_LINE_EVERY_S, _LINE_EVERY_S_AT_MOST = 5.0, 60.0
_LINES_PER_RUN = 20
"""Lines come every 5 s at first, then whenever a run is longer by a twentieth, once a minute at
least: some hundred in an hour."""
_WIDEST_BAR, _NARROWEST_BAR = 40, 8


class ScoreProgress:
    """Counts judgments as they come, and shows them from `begin` on, below a heading.

    Args:
        total: how many judgments there are to be.
        n_judges: how many judges each model has.
        what: what is counted, where it is not judgments.
    """

    def __init__(
        self, heading: str, total: int, n_judges: Mapping[str, int], what: str = "judgments"
    ) -> None:
        self.total = total
        self._what = what
        self.begun = False
        self._heading = heading
        everyone = sum(n_judges.values())
        self._totals = {model: round(total * n / everyone) for model, n in n_judges.items()}
        self._console = notices()
        self._done = self._missing = self._skipped = self._revised = 0
        self._by_model: Counter[str] = Counter()
        self._fresh: Counter[str] = Counter()
        self._note = ""
        self._read: Callable[[], CallsState] = lambda: CallsState({}, {}, {})
        self._live: Live | None = None
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False)

    def begin(self, read: Callable[[], CallsState]) -> None:
        """Show the heading and that nothing is done yet, then in the running loop what comes.

        Args:
            read: tells how the calls stand.
        """
        self.begun = True
        self._read = read
        now = time.monotonic()
        self._started = self._shown = now
        self._paces = {model: Pace(now) for model in self._totals}
        self._console.print(self._heading, soft_wrap=True)
        if self._live is not None:
            self._live.start()
            self._live.update(self._display(read(), now), refresh=True)
        else:
            self._console.print(f"0/{self.total:,} {self._what}")
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.call_later(_REFRESH_S, self._refresh)

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
        self._next.cancel()
        state, now = self._read(), time.monotonic()
        if self._live is not None:
            self._live.update(self._display(state, now, ended=True))
            self._live.stop()
        else:
            self._print_line(state, now, ended=True)

    def take(self, judgment: Judgment) -> None:
        """Count one more judgment."""
        if judgment.round > 1:
            self._revised += 1
            return
        self.count(judgment.judge.model, judgment.status, cached=judgment.cached)

    def count(self, model: str, status: Status, *, cached: bool) -> None:
        """Count one more result of a model, or that there is none."""
        self._done += 1
        self._missing += status not in ("scored", "abstained")
        self._skipped += status == "skipped"
        self._by_model[model] += 1
        self._fresh[model] += not cached

    def note(self, text: str) -> None:
        """Show what has come of what goes before the judgments."""
        self._note = text

    @property
    def done(self) -> int:
        """How many judgments there are of which a model was asked, or the cache."""
        return self._done - self._skipped

    def _refresh(self) -> None:
        state, now = self._read(), time.monotonic()
        for model, pace in self._paces.items():
            still = stands_still(state.endpoints.get(model, EndpointState()))
            pace.take(now, self._by_model[model], self._fresh[model], still=still)
        if self._live is not None:
            self._live.update(self._display(state, now), refresh=True)
        elif now - self._shown >= self._line_every_s(now):
            self._print_line(state, now)
        self._next = self._loop.call_later(_REFRESH_S, self._refresh)

    def _line_every_s(self, now: float) -> float:
        longer = (now - self._started) / _LINES_PER_RUN
        return min(_LINE_EVERY_S_AT_MOST, max(_LINE_EVERY_S, longer))

    def _display(self, state: CallsState, now: float, *, ended: bool = False) -> RenderableType:
        """The bar between count, rate and time left, which stay whole; then the counts, then a
        line for each model."""
        width = self._console.width
        count = f"{self.done:,}/{self.total:,}"
        if ended:
            time_ = f"in {clock(now - self._started)}"
        else:
            left = self._seconds_left(state)
            figure = "-:--" if left is None else clock(left)
            time_ = f"{'at least ' * self._is_down(state)}{figure} left"
        end = f"{self._rate(now, ended=ended):,.1f}/s  {time_}"
        room = width - cell_len(f"{self._what}  {count}  {end}") - 1
        first = Table.grid(padding=(0, 1))
        cells: list[RenderableType] = [Text(self._what, no_wrap=True)]
        if room >= _NARROWEST_BAR:
            bar = min(room, _WIDEST_BAR)
            cells.append(ProgressBar(max(1, self.total), self.done, width=bar))
        cells += [Text(count, no_wrap=True), Text(end, no_wrap=True)]
        first.add_row(*cells)
        lines = state_lines(state.endpoints, None if ended else width, trouble_only=ended)
        tail = Text(", ".join(self._counts(state, ended=ended)))
        return Group(first, tail, *map(Text, lines))

    def _print_line(self, state: CallsState, now: float, *, ended: bool = False) -> None:
        self._shown = now
        parts = [f"{self.done:,}/{self.total:,} {self._what}"]
        counts = self._counts(state, ended=ended)
        place = 1 if self._note else 0
        counts.insert(place, f"{self._rate(now, ended=ended):,.1f}/s")
        left = self._seconds_left(state)
        if left and not ended:
            so = "at least" if self._is_down(state) else "about"
            counts.append(f"{so} {duration(left)} left")
        self._console.print(", ".join([*parts, *counts]), soft_wrap=True)
        for line in state_lines(state.endpoints, None, trouble_only=True):
            self._console.print(f"  {line}", soft_wrap=True)

    def _rate(self, now: float, *, ended: bool) -> float:
        """Judgments per second: of late, and in the end of all the time. Of a model of which all
        came from the cache, which tells nothing of its pace, of all the time, too."""
        if ended:
            return self.done / max(now - self._started, 1e-6)
        elapsed = max(now - self._started, 1e-6)
        return sum(
            (pace.per_s or 0.0) if self._fresh[model] else self._by_model[model] / elapsed
            for model, pace in self._paces.items()
        )

    def _seconds_left(self, state: CallsState) -> float | None:
        return seconds_left(
            Remaining(
                max(0, self._totals[model] - self._by_model[model]),
                pace.per_s,
                state.endpoints.get(model, EndpointState()),
            )
            for model, pace in self._paces.items()
        )

    def _is_down(self, state: CallsState) -> bool:
        """Whether a model that has judgments left is down: nobody knows for how long."""
        return any(
            endpoint.down_s is not None and self._totals.get(model, 0) > self._by_model[model]
            for model, endpoint in state.endpoints.items()
        )

    def _counts(self, state: CallsState, *, ended: bool) -> list[str]:
        total = sum(state.spent.values(), Usage())
        parts = [self._note] if self._note else []
        parts.append(f"{total.input + total.output:,} tokens")
        cost = spent(state.usd.values(), None if ended else self._cost_in_all(state))
        if cost is not None:
            parts.append(cost)
        parts.append(f"{self._missing:,} missing")
        if self._revised:
            parts.append(f"{self._revised:,} re-ratings (deliberation)")
        return parts

    def _cost_in_all(self, state: CallsState) -> float | None:
        """What the run may come to: what each model has left, at what its judgments cost so far
        that took a call; None before there are any."""
        in_all = 0.0
        for model, usd in state.usd.items():
            if usd is None:
                continue
            in_all += usd
            if model in self._totals:
                if not self._fresh[model]:
                    return None
                endpoint = state.endpoints.get(model)
                alive = endpoint is None or endpoint.dead is None
                left = max(0, self._totals[model] - self._by_model[model]) if alive else 0
                in_all += usd / self._fresh[model] * left
        return in_all
