"""In which order a run's calls go out."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel import ModelConfig, Panel, Response
from persona_panel.testing import Call, always, ok, serving

N_RESPONSES, N_SLOTS, LATENCY_S = 12, 2, 0.05


def texts_read(calls: Sequence[Call]) -> int:
    """How often a server reads a response that it does not have in memory: each of its slots keeps
    the last; a call has the free slot with its response, or else the one used longest ago."""
    kept, free_at, n_read = [""] * N_SLOTS, [0.0] * N_SLOTS, 0
    for call in sorted(calls, key=lambda one: one.at):
        words = str(call.payload)
        text = next(f"text {n}." for n in range(N_RESPONSES) if f"text {n}." in words)
        # One that is answered a moment later counts as free.
        free = [n for n in range(N_SLOTS) if free_at[n] <= call.at + LATENCY_S / 2]
        slot = min(free or range(N_SLOTS), key=lambda n: (kept[n] != text, free_at[n]))
        n_read += kept[slot] != text
        kept[slot], free_at[slot] = text, call.at + LATENCY_S
    return n_read


def test_judges_of_a_response_are_asked_after_each_other() -> None:
    """A server with as many slots as calls may be in flight reads most responses once, for all of
    the judges: the last ones alone are shared between slots, so that none is idle."""
    responses = [
        Response(id=str(n), prompt="p", prompt_id="p", text=f"text {n}.", system=f"s{n}")
        for n in range(N_RESPONSES)
    ]
    with serving(always(ok('{"good_opening": 4}')), latency_s=LATENCY_S) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url, concurrency=N_SLOTS)
        Panel("disciplinary", model, "debate-speech").score(responses)
        assert N_RESPONSES <= texts_read(server.calls) <= N_RESPONSES + 3
