"""The progress of a run or an analysis: a live display on a terminal, plain lines elsewhere, and
how long the rest may take.

Everything is printed on standard error; standard output has the result alone. A judgment is only
counted; what is shown is worked out twice a second, from the counts and from the calls' state.

The systems of a run so far stand below its progress, in a table as wide as there is room.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from persona_panel.calls.rate_limiter import CallsState, EndpointState
from persona_panel.graphs import Judgment
from persona_panel.results.conclusions.wording import spent
from persona_panel.results.console import legible, notices, shortened
from persona_panel.rubrics import Status, Usage
from persona_panel.runs.collected import Paced, Unscored, interval_so_far
from persona_panel.statistics.core.display import NONE, clock, counted

if TYPE_CHECKING:
    from persona_panel.statistics.core.ranking import Leaderboard, SystemRank

_MOST_SYSTEMS = 8
_WIDEST, _HIGHEST = 1000, 100
_GAP = 2
_NARROWEST_NAME = 12
_STEPS = (0.05, 0.25, 0.5, 0.75)
"""Shares of the judgments at which the table comes, where lines go one below the other."""
_SHORTEST_S = 8.0
"""And of runs that take this long at least."""

RankingSoFar = Callable[[], "Leaderboard | None"]


class Board:
    """The systems so far, worked out twice a second at most; `ranking` works them out."""

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
    ("mean", lambda entry: entry.composite.number()),
    ("95 % interval", interval_so_far),
    ("prompts", lambda entry: f"{entry.n_prompts:,}"),
)


def _column(head: str, cells: Iterable[str]) -> list[str]:
    column = [head, *cells]
    width = max(map(len, column))
    return [cell.rjust(width) for cell in column]


def _sized(name: str, width: int) -> str:
    return set_cell_size(shortened(name, width), width)


_WINDOW_S, _LEAST = 30.0, 20
"""The pace is that of the last 30 s; where fewer judgments came in them, of the last 20."""
_SOONEST_S = 3.0
"""From less than this nothing is concluded."""
_LONG_SILENCE_S = 5.0
"""From when on it is said that a model has not answered yet."""
_LONG_PAUSE_S = 10.0
"""A longer pause that a provider has asked for is no part of the pace: it is added to the rest.
Short ones recur, and are."""
_REPLAYED = 20
"""From how many judgments at once, none of which took a call, a run goes through its cache."""


class Pace:
    """Recent rate of a model's judgments.

    Its clock stands still while the model is down or its provider has asked for a long pause, so
    that such a time does not change what is expected afterwards.
    """

    def __init__(self, now: float) -> None:
        self._now = now
        self._clock = 0.0
        self._fresh = 0
        self._seen = deque([(0.0, 0)])

    def take(self, now: float, done: int, fresh: int, *, still: bool) -> None:
        """Take note of how many judgments there are, and how many of them took a call; `still`:
        none could come since the last time."""
        if not still:
            self._clock += now - self._now
        self._now = now
        if done - self._seen[-1][1] >= _REPLAYED and fresh == self._fresh:
            # What comes from the cache tells nothing of the calls that follow.
            self._seen.clear()
        self._fresh = fresh
        if not self._seen or done != self._seen[-1][1]:
            self._seen.append((self._clock, done))
        while len(self._seen) > 1 and self._is_enough(*self._seen[1]):
            self._seen.popleft()

    def _is_enough(self, since: float, before: int) -> bool:
        # Before the first judgments there was nothing but the first calls to wait for.
        window_s = _WINDOW_S if self._seen[0][1] else _SOONEST_S
        # Up to the last judgments: a silence after them makes the window longer, not poorer.
        until, done = self._seen[-1]
        return until - since >= window_s and done - before >= _LEAST

    @property
    def per_s(self) -> float | None:
        """Judgments per second; None where none has come yet, or too little time has
        gone."""
        since, before = self._seen[0]
        done = self._seen[-1][1] - before
        if not done or self._clock - since < _SOONEST_S:
            return None
        return done / (self._clock - since)


def stands_still(state: EndpointState) -> bool:
    """Return whether no judgment can come of this model for a while."""
    return state.down_s is not None or state.limits.paused_s > _LONG_PAUSE_S


@dataclass(frozen=True, slots=True)
class Remaining:
    """Remaining work of a model: number of judgments, their pace, and the model's state."""

    judgments: int
    per_s: float | None
    state: EndpointState = EndpointState()


def seconds_left(models: Iterable[Remaining]) -> float | None:
    """Return the seconds that the slowest model may take; None where one of them has brought
    nothing yet.

    What a model has left at its pace, after the wait that it now holds: until its next probe
    while it is down, else until the end of a long pause. And no less than until its last retry
    that is already due.
    """
    longest = 0.0
    for model in models:
        if not model.judgments or model.state.dead is not None:
            continue
        if model.per_s is None:
            return None
        state = model.state
        held = 0.0
        if stands_still(state):
            held = max(state.probe_in_s, state.limits.paused_s)
        last_retry = max(state.retry_in_s, default=0.0)
        longest = max(longest, held + model.judgments / model.per_s, last_retry)
    return longest


_SHORTEST_NAME = 12
_MODELS_SHOWN = 10


def duration(seconds: float) -> str:
    """A duration in words: 31 s, 12 min, 3 h 20 min."""
    if seconds < 120:
        return f"{seconds:,.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60:,} h {minutes % 60} min"


def state_lines(
    states: Mapping[str, EndpointState], width: int | None, *, trouble_only: bool = False
) -> list[str]:
    """A line for each model: its name, then its state; both shortened where they would be wider
    than `width` columns. Of many models those with trouble are shown, and how many others there
    are. `trouble_only`: leave out models that wait for nothing, answer, and have given up no
    call."""
    names = sorted(states, key=lambda name: not has_trouble(states[name]))
    if trouble_only:
        names = [name for name in names if has_trouble(states[name])]
    lines = [_line(legible(name), states[name], width) for name in names[:_MODELS_SHOWN]]
    if more := len(names) - _MODELS_SHOWN:
        lines += [f"and {more:,} more models"] if more > 0 else []
    return lines


def has_trouble(state: EndpointState) -> bool:
    """Return whether a model waits for something, is down or dead, or has given calls up."""
    waits = state.limits.waiting or state.limits.paused_s or state.retry_in_s
    waits = waits or state.unanswered_s >= _LONG_SILENCE_S
    return bool(waits or state.failed or state.down_s is not None or state.dead is not None)


def _line(name: str, state: EndpointState, width: int | None) -> str:
    if width is None:
        return f"{name}: {_in_words(state)[0]}"
    state_words = next(
        (words for words in _in_words(state) if cell_len(name) + 2 + cell_len(words) <= width),
        _in_words(state)[-1],
    )
    shortest = cell_len(name) if state.dead is not None else _SHORTEST_NAME
    room = max(shortest, width - cell_len(state_words) - 2)
    return shortened(f"{shortened(name, room)}: {state_words}", width)


def _in_words(state: EndpointState) -> list[str]:
    """The state in words, and in fewer."""
    if state.dead is not None:
        return [f"no longer called: {state.dead}"]
    limits, retries = state.limits, state.retry_in_s
    in_flight = [f"{limits.in_flight:,} in flight"]
    failed = [f"{state.failed:,} given up"] if state.failed else []
    if state.down_s is not None:
        down = f"no answer for {clock(state.down_s)}"
        probe = f"next try in {clock(state.probe_in_s)}" if state.probe_in_s else "trying now"
        return [", ".join([down, probe, *failed])]
    if state.unanswered_s >= _LONG_SILENCE_S and limits.in_flight:
        silence = f"no answer yet in {clock(state.unanswered_s)}"
        again = f" (tried again after {clock(state.timeout_s)})" if state.timeout_s else ""
        in_flight.append(f"{silence}{again}")
    long, short = [*in_flight], [*in_flight]
    if limits.waiting:
        wait = f" {clock(limits.opens_in_s)}" if limits.opens_in_s >= 1 else ""
        long.append(
            f"{limits.waiting:,} waiting for a limit" + (f" (next in{wait})" if wait else "")
        )
        short.append(f"{limits.waiting:,} waiting{wait}")
    elif limits.paused_s >= 1:
        long.append(f"asked to wait {clock(limits.paused_s)}")
        short.append(long[-1])
    if state.retries or retries:
        n = f"{state.retries:,} {'retry' if state.retries == 1 else 'retries'}"
        waiting = f" ({len(retries):,} to come, next in {clock(retries[0])})" if retries else ""
        long.append(n + waiting)
        short.append(n + (f" (next {clock(retries[0])})" if retries else ""))
    forms = [", ".join(parts + failed) for parts in (long, short)]
    if state.last_fault and (state.retries or retries):
        return [*(f"{form}, last fault: {state.last_fault}" for form in forms), *forms]
    return forms


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
        stored: how many an earlier start has stored; these come again from the cache.
        ranking: gives the systems so far, which stand below the progress, where there are any.
    """

    def __init__(
        self,
        heading: str,
        total: int,
        n_judges: Mapping[str, int],
        what: str = "judgments",
        ranking: RankingSoFar = lambda: None,
        stored: int = 0,
    ) -> None:
        self.total = total
        self._stored = min(stored, total)
        self._what = what
        self.begun = False
        self._heading = heading
        everyone = sum(n_judges.values())
        self._totals = {model: round(total * n / everyone) for model, n in n_judges.items()}
        self._board = Board(ranking)
        self._console = notices()
        self._done = self._missing = self._skipped = self._revised = 0
        self._unscored = Unscored()
        self._by_model: Counter[str] = Counter()
        self._fresh: Counter[str] = Counter()
        self._note = ""
        self._read: Callable[[], CallsState] = lambda: CallsState({}, {}, {})
        self._live: Live | None = None
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False)

    def begin(self, read: Callable[[], CallsState]) -> None:
        """Show the heading and that nothing is done yet, then in the running loop what comes.
        `read`: tells how the calls stand."""
        self.begun = True
        self._read = read
        now = time.monotonic()
        self._started = self._shown = self._came = now
        self._paces = {model: Pace(now) for model in self._totals}
        self._console.print(self._heading, soft_wrap=True)
        if self._live is not None:
            self._live.start()
            self._live.update(self._display(read(), now), refresh=True)
        elif self.total:
            self._console.print(f"{self.done:,}/{self.total:,} {self._what}")
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
        if before := self._unscored.take(judgment):
            self._done -= 1
            self._missing -= 1
            self._skipped -= before == "skipped"
            self._by_model[judgment.judge.model] -= 1
        self.count(judgment.judge.model, judgment.status, cached=judgment.cached)

    def count(self, model: str, status: Status, *, cached: bool) -> None:
        """Count one more result of a model, or that there is none."""
        # Those whose answers were taken back come again.
        self._done = min(self._done + 1, self.total)
        self._came = time.monotonic()
        self._missing += status not in ("scored", "abstained")
        self._skipped += status == "skipped"
        self._by_model[model] += 1
        self._fresh[model] += not cached

    def expect(self, n_more: Mapping[str, int]) -> None:
        """Take in that there are to be so many more results of each model."""
        self.total += sum(n_more.values())
        for model, n in n_more.items():
            self._totals[model] = self._totals.get(model, 0) + n
            self._paces.setdefault(model, Pace(time.monotonic()))

    def note(self, text: str) -> None:
        """Show what has come of what goes before the judgments."""
        self._note = text
        # Another panel may have the same judges, of which none comes again.
        self._unscored = Unscored()

    @property
    def done(self) -> int:
        """Return the number of judgments that there are: stored before, or asked of a model or the
        cache now."""
        return max(self._stored, self._taken)

    @property
    def _taken(self) -> int:
        return self._done - self._skipped

    def _refresh(self) -> None:
        state, now = self._read(), time.monotonic()
        for model, pace in self._paces.items():
            still = stands_still(state.endpoints.get(model, EndpointState()))
            pace.take(now, self._by_model[model], self._fresh[model], still=still)
        if self._live is not None:
            self._live.update(self._display(state, now), refresh=True)
        elif now - self._shown >= self._line_every_s(now) or self._is_board_due(now):
            self._print_line(state, now)
        self._next = self._loop.call_later(_REFRESH_S, self._refresh)

    def _is_board_due(self, now: float) -> bool:
        share = self.done / max(1, self.total)
        return self._board.is_due(share, now - self._started)

    def _line_every_s(self, now: float) -> float:
        # While nothing comes, ever more rarely.
        longer = max((now - self._started) / _LINES_PER_RUN, self._shown - self._came)
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
            so = "at least " * self._is_down(state)
            time_ = "time left unknown" if left is None else f"{so}{clock(left)} left"
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
        tail = ", ".join(self._counts(state, ended=ended))
        board: list[str] = []
        if not ended:
            height = self._console.height - 2 - cell_len(tail) // width - len(lines)
            board = self._board.lines(self.done, self.total, self._what, width, height)
        return Group(first, *map(Text, [tail, *lines, *board]))

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
        lines = state_lines(state.endpoints, None, trouble_only=True)
        if not ended and self._is_board_due(now):
            lines += self._board.printed(self.done, self.total, self._what)
        for line in lines:
            self._console.print(f"  {line}", soft_wrap=True)

    def _rate(self, now: float, *, ended: bool) -> float:
        """Judgments per second: of late, and in the end of all the time. Of a model of which all
        came from the cache, which tells nothing of its pace, of all the time, too."""
        if ended:
            return self._taken / max(now - self._started, 1e-6)
        elapsed = max(now - self._started, 1e-6)
        return sum(
            (pace.per_s or 0.0) if self._fresh[model] else self._by_model[model] / elapsed
            for model, pace in self._paces.items()
        )

    def _seconds_left(self, state: CallsState) -> float | None:
        if self._done and self._missing == self._done:
            # Failures tell nothing of the pace of judgments.
            return None
        return seconds_left(
            Remaining(
                max(0, self._totals[model] - self._by_model[model]),
                pace.per_s,
                state.endpoints.get(model, EndpointState()),
            )
            for model, pace in self._paces.items()
        )

    def _is_down(self, state: CallsState) -> bool:
        """Return whether a model that has judgments left is down, for an unknown time."""
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
        if cached := self._by_model.total() - self._fresh.total():
            parts.append(f"{cached:,} from the cache")
        if self._revised:
            parts.append(f"{self._revised:,} re-ratings (deliberation)")
        return parts

    def _cost_in_all(self, state: CallsState) -> float | None:
        """Return the expected cost of the run."""
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


_ANALYSIS_LINE_EVERY_S = 5.0


class AnalysisProgress:
    """Shows how much of several parts of an analysis is done, and how long the rest may take.

    Nothing is printed off a terminal by an analysis that is done within five seconds.
    """

    def __init__(self, n_parts: int) -> None:
        self._n_parts = n_parts
        self._part = 0
        self._console = notices()
        self._started = self._shown = time.monotonic()
        self._bar: Progress | None = None
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("statistics"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task("", total=1.0)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def take(self, share: float) -> None:
        """Take note of the share of the present part that is done; 1 ends it."""
        done = (self._part + share) / self._n_parts
        self._part += share >= 1
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
            return
        now = time.monotonic()
        if now - self._shown >= _ANALYSIS_LINE_EVERY_S and done < 1:
            self._shown = now
            left = (now - self._started) * (1 - done) / done
            self._console.print(f"{100 * done:.0f} % of the statistics, about {left:,.0f} s left")
