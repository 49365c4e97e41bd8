"""What the progress of a run says, in words: durations, and a line of state for a model. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len, set_cell_size

from persona_panel.calls.rate_limiter import EndpointState
from persona_panel.results.console import legible
from persona_panel.statistics.core.display import clock

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
    """A line for each model: its name, then its state; both shortened where they would be
    wider than `width` columns. Of many models those with trouble are shown, and how many others
    there are.

    Args:
        trouble_only: leave out models that wait for nothing, answer, and have given up no call.
    """
    names = sorted(states, key=lambda name: not has_trouble(states[name]))
    if trouble_only:
        names = [name for name in names if has_trouble(states[name])]
    lines = [_line(legible(name), states[name], width) for name in names[:_MODELS_SHOWN]]
    if more := len(names) - _MODELS_SHOWN:
        lines += [f"and {more:,} more models"] if more > 0 else []
    return lines


def has_trouble(state: EndpointState) -> bool:
    """Whether a model waits for something, is down or dead, or has given calls up."""
    waits = state.limits.waiting or state.limits.paused_s or state.retry_in_s
    return bool(waits or state.given_up or state.down_s is not None or state.dead is not None)


def _line(name: str, state: EndpointState, width: int | None) -> str:
    if width is None:
        return f"{name}: {_said(state)[0]}"
    said = next(
        (words for words in _said(state) if cell_len(name) + 2 + cell_len(words) <= width),
        _said(state)[-1],
    )
    shortest = cell_len(name) if state.dead is not None else _SHORTEST_NAME
    room = max(shortest, width - cell_len(said) - 2)
    return _cut(f"{_cut(name, room)}: {said}", width)


def _said(state: EndpointState) -> list[str]:
    """The state in words, and in fewer."""
    if state.dead is not None:
        return [f"no longer called: {state.dead}"]
    limits, retries = state.limits, state.retry_in_s
    in_flight = [f"{limits.in_flight:,} in flight"]
    given_up = [f"{state.given_up:,} given up"] if state.given_up else []
    if state.down_s is not None:
        down = f"no answer for {clock(state.down_s)}"
        probe = f"next try in {clock(state.probe_in_s)}" if state.probe_in_s else "trying now"
        return [", ".join([down, probe, *given_up])]
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
    return [", ".join(said + given_up) for said in (long, short)]


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"
