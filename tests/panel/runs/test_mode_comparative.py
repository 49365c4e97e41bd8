"""Panels that compare, end to end: on a local server with a judge whose position bias is
known, and on the embedded model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from persona_panel import (
    Caps,
    ConfigurationError,
    InputError,
    Judgment,
    Panel,
    Response,
    load_ratings,
)
from persona_panel.analyses.bias import biases
from persona_panel.analyses.bias_result import load_audited_run
from persona_panel.analyses.run_summary import run_summary
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.rubrics import Usage
from persona_panel.statistics import Reason, Row
from persona_panel.testing import Answer, Script, always, ok, raw, serving, status
from tests.helpers.anthropic import ANTHROPIC
from tests.helpers.embedded import PLAIN, READERS, needs_the_model, stub

QUALITIES, PROMPTS = 5, 10
PAIRS = list(combinations(range(QUALITIES), 2))
RESPONSES = [
    Response(
        id=f"canary-{quality}",
        prompt=f"Question {prompt}?",
        text=f"Essay {quality} on {prompt}.",
        system=f"system-{quality}",
    )
    for quality in range(QUALITIES)
    for prompt in range(PROMPTS)
]
N_CALLS = len(READERS) * PROMPTS * QUALITIES * (QUALITIES - 1)
"""Of `pairwise`: every ordered pair of five responses, for two judges, on ten prompts."""


def essays(payload: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """The quality and prompt of what stands under each label, in order."""
    said = "".join(message["content"] for message in payload["messages"])
    found = re.findall(r"<response (\w+) \w+>\nEssay (\d+) on (\d+)", said)
    return {label: (int(quality), int(prompt)) for label, quality, prompt in found}


def sways(pair: tuple[int, int], prompt: int) -> bool:
    """Whether the place decides about a pair: for 3 of the 10 pairs of every prompt, and for
    every pair on 3 of the 10 prompts."""
    return (PAIRS.index(pair) + prompt) % 10 < 3


def says_first(number: int, payload: Mapping[str, Any]) -> Answer:
    """A judge that says "first" of 30 % of the pairs, and else what is true."""
    (first, prompt), (second, _) = essays(payload).values()
    swayed = sways((min(first, second), max(first, second)), prompt)
    return ok(json.dumps({"better": "first" if swayed or first > second else "second"}))


def places(number: int, payload: Mapping[str, Any]) -> Answer:
    """A judge that ranks rightly, but sees no difference between the two best."""
    shown = {label: min(quality, 3) for label, (quality, _) in essays(payload).items()}
    best = sorted(shown.values(), reverse=True)
    return ok(json.dumps({label: best.index(one) + 1 for label, one in shown.items()}))


def found(rows: list[Row], statistic: str) -> dict[str, Row]:
    return {row.group: row for row in rows if row.statistic == statistic}


def test_pairwise_against_a_known_position_bias(tmp_path: Path) -> None:
    """The true ranking comes out, and the bias that was put in is measured."""
    heard: list[Judgment] = []
    with serving(says_first) as server:
        panel = Panel(READERS, stub(server), PLAIN, elicitation="pairwise")
        run = panel.score(RESPONSES, out=tmp_path / "run", on_judgment=heard.append)
        assert len(server.calls) == run.calls.made == N_CALLS
    assert run.coverage.complete
    # q beats the q below it and loses to the 4 − q above it, but on 3 prompts of 10 each pair
    # is decided by the place, once for either: (0.85 q + 0.15 (4 − q)) / 4 = 0.15 + 0.175 q.
    board = {entry.system: entry.composite.value for entry in run.leaderboard().systems}
    assert list(board) == [f"system-{q}" for q in (4, 3, 2, 1, 0)]
    assert list(board.values()) == pytest.approx([0.85, 0.675, 0.5, 0.325, 0.15])
    # Two comparisons of a pair: decided by the place, "first" wins both; truly, once each.
    # (first − second) / all = 0.3 · (2 − 0) / 2.
    audited = load_audited_run(tmp_path / "run")
    rows = found(
        biases(audited.ratings, audited.scales, comparisons=audited.comparisons), "position_bias"
    )
    assert set(rows) == {"all", *(judge.id for judge in panel.judges)}
    for row in rows.values():
        assert row.value == pytest.approx(0.3)
        # Every prompt has 3 such pairs of 10.
        # Of all prompts the same, so that there is no interval.
        assert row.ci_reason is Reason.NO_SPREAD
    assert rows["all"].n_items == 2 * len(PAIRS) * PROMPTS
    assert rows["all"].note.startswith("first 260, second 140, ties 0")
    # The files are those of any other run.
    ratings = load_ratings(tmp_path / "run")
    assert ratings.dimensions == ("preferred",)
    assert ratings.scores.shape == (50, 2, 1)
    assert ratings.scores == pytest.approx(
        np.array(
            [
                [[j.scores["preferred"]] for j in heard if f"{j.prompt_id}/{j.id}" == item]
                for item in ratings.items
            ]
        )
    )


def test_ranking_against_a_scripted_judge(tmp_path: Path) -> None:
    """One call a prompt and judge, with labels drawn by lot, brings the shares worked out by
    hand; ties count half."""
    with serving(places) as server:
        panel = Panel(READERS, stub(server), PLAIN, elicitation="ranking")
        run = panel.score(RESPONSES, out=tmp_path / "run")
        assert len(server.calls) == len(READERS) * PROMPTS
        text = "".join(json.dumps(call.payload) for call in server.calls)
        first = {next(iter(essays(call.payload).values()))[0] for call in server.calls}
    # 3 and 4 tie above three others: (3 + 0.5) / 4.
    board = {entry.system: entry.composite.value for entry in run.leaderboard().systems}
    assert board == pytest.approx(
        {f"system-{q}": share for q, share in enumerate([0, 0.25, 0.5, 0.875, 0.875])}
    )
    assert "canary" not in text
    assert "system-" not in text
    # Of 20 draws: none of five texts is always first, and all but one at least came first.
    assert len(first) >= 4
    audited = load_audited_run(tmp_path / "run")
    assert len(audited.comparisons) == len(READERS) * PROMPTS * len(PAIRS)
    rows = biases(audited.ratings, audited.scales, comparisons=audited.comparisons)
    # In one order only: no bias can be told from them.
    assert found(rows, "position_bias")["all"].reason is Reason.NO_BOTH_ORDERS


@pytest.mark.parametrize(("elicitation", "script"), [("ranking", places), ("pairwise", says_first)])
def test_the_same_seed_the_same_calls(elicitation: str, script: Script) -> None:
    """Again, in whatever order, nothing is asked; another seed draws other labels."""
    with serving(script) as server:
        panel = Panel(READERS, stub(server), PLAIN, elicitation=elicitation)
        run = panel.score(RESPONSES)
        made = len(server.calls)
        again = panel.score(RESPONSES[::-1])
        assert len(server.calls) == made
        assert again.calls.cached == made
        assert again.ratings == pytest.approx(run.ratings[::-1])
        Panel(READERS, stub(server), PLAIN, elicitation=elicitation, seed=1).score(RESPONSES)
        # A lot of 120 orders falls twice alike now and then; pairs are not drawn.
        more = len(server.calls) - made
        assert more >= made - 3 if elicitation == "ranking" else more == 0


def test_a_further_system_is_compared_alone() -> None:
    """Pairs that were compared before are not asked for again when a system is added."""
    with serving(says_first) as server:
        panel = Panel(READERS, stub(server), PLAIN, elicitation="pairwise")
        panel.score([one for one in RESPONSES if one.system != "system-4"])
        before = len(server.calls)
        assert before == len(READERS) * PROMPTS * 12
        panel.score(RESPONSES)
        assert len(server.calls) == N_CALLS


@pytest.mark.parametrize(
    ("elicitation", "calls"), [("ranking", len(READERS) * PROMPTS), ("pairwise", N_CALLS)]
)
def test_estimate(elicitation: str, calls: int) -> None:
    """The calls of a run and about its tokens are told before it, and none after it."""
    script = places if elicitation == "ranking" else says_first
    with serving(script) as server:
        panel = Panel(READERS, stub(server), PLAIN, elicitation=elicitation)
        (told,) = panel.estimate(RESPONSES)
        assert server.calls == []
        assert (told.judgments, told.of, told.calls) == (100, 100, calls)
        run = panel.score(RESPONSES)
        spent = run.calls.spent["openai:stub"]
        assert told.input_tokens == pytest.approx(spent.input, rel=0.02)
        (left,) = panel.estimate(RESPONSES)
        assert (left.judgments, left.calls, left.input_tokens) == (0, 0, 0)


def test_usage_adds_up() -> None:
    """The judgments' usage is what the calls took, to the token."""
    heard: list[Judgment] = []
    with serving(places) as server:
        panel = Panel(READERS, stub(server), PLAIN, elicitation="ranking")
        run = panel.score(RESPONSES, on_judgment=heard.append)
    assert run.usage == run.calls.spent
    assert sum((one.usage for one in heard), Usage()) == run.calls.spent["openai:stub"]


def test_a_cap() -> None:
    """A response whose comparisons were not all asked for is skipped, whatever the others say of
    it, and the next run asks only for what is missing."""
    with serving(says_first) as server:
        panel = Panel(READERS[:1], stub(server), PLAIN, elicitation="pairwise")
        batch = [one for one in RESPONSES if one.prompt == "Question 0?"]
        # 20 calls compare five responses; the one that is left out concerns two of them.
        run = panel.score(batch, caps=Caps(calls=19))
        assert len(server.calls) == 19
        assert (run.coverage.scored, run.coverage.missing) == (3, {"skipped": 2})
        assert all("cap" in one["error"] for one in run_summary(run)["reasons"])
        assert panel.score(batch).coverage.complete
        assert len(server.calls) == 20


def test_a_judge_that_is_partly_unreadable(tmp_path: Path) -> None:
    """What could not be compared with one other is scored against the rest, and counted as
    partial; the next run asks for that pair alone."""
    mumbles = [True]

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        (first, _), (second, _) = essays(payload).values()
        if mumbles[0] and (first, second) == (0, 4):
            return ok("Well …")
        return ok(json.dumps({"better": "first" if first > second else "second"}))

    with serving(script) as server:
        panel = Panel(READERS[:1], stub(server), PLAIN, elicitation="pairwise")
        batch = [one for one in RESPONSES if one.prompt == "Question 0?"]
        run = panel.score(batch, out=tmp_path / "run")
        # Four of the others for 1 to 3; three for 0, who loses to all, and for 4, who wins.
        assert run.ratings[:, 0, 0] == pytest.approx([0, 0.25, 0.5, 0.75, 1])
        assert (run.coverage.scored, run.coverage.partial) == (5, 2)
        assert not run.coverage.complete
        summary = json.loads((tmp_path / "run" / "summary.json").read_text())
        assert summary["coverage"]["partial"] == 2
        ((reason, n),) = ((one["error"], one["n"]) for one in summary["reasons"])
        assert n == 2
        assert reason.startswith("1 of 8 comparisons are missing, the first unparsed")
        # The other order of that pair cannot tell of the place by itself.
        audited = load_audited_run(tmp_path / "run")
        rows = biases(audited.ratings, audited.scales, comparisons=audited.comparisons)
        assert found(rows, "position_bias")["all"].n_items == len(PAIRS) - 1
        made, mumbles[0] = len(server.calls), False
        assert made == 21
        assert panel.score(batch).coverage.complete
        assert len(server.calls) == made + 1


def test_a_dead_model_leaves_the_other() -> None:
    """A model that fails leaves its judgments missing, with the reason, and no other's."""
    with serving(says_first) as good, serving(lambda number, payload: status(401)) as bad:
        one, two = stub(good, model="openai:one"), stub(bad, model="openai:two")
        panel = Panel(READERS[:1], [one, two], PLAIN, elicitation="pairwise")
        run = panel.score(RESPONSES)
    assert run.coverage.scored == 50
    assert run.coverage.partial == 0
    assert sum(run.coverage.missing.values()) == 50
    assert run.leaderboard().systems[0].system == "system-4"


# What is refused


def test_a_prompt_that_cannot_be_compared() -> None:
    """Every prompt with a single response is named before any call, by a run and by an
    estimate."""
    batch = [
        Response(id="a", prompt_id="alone", prompt="Why?", text="So.", system="s"),
        Response(id="a", prompt_id="fine", prompt="What?", text="This.", system="s"),
        Response(id="b", prompt_id="fine", prompt="What?", text="That.", system="t"),
        Response(id="a", prompt_id="too", prompt="Who?", text="She.", system="s"),
    ]
    with serving() as server:
        panel = Panel(READERS, stub(server), PLAIN, elicitation="ranking")
        for work in (panel.score, panel.estimate):
            with pytest.raises(InputError) as refused:
                work(batch)
            assert [fault.file for fault in refused.value.faults] == ["alone", "too"]
            assert "1 response to the prompt" in str(refused.value)
    assert server.calls == []


def test_a_window_too_small_for_all() -> None:
    """Texts that fit one by one, and do not fit together, are refused before any call."""
    long = [
        Response(id=f"r{i}", prompt="Why?", text="word " * 1000, system=f"s{i}") for i in range(4)
    ]
    # 1,250 tokens a text: four take 5,000, two 2,500; half an answer's allowance is 512.
    with serving() as server:
        small = stub(server, context_window=4_000)
        with pytest.raises(InputError, match="r0, r1, r2, r3 together") as refused:
            Panel(READERS, small, PLAIN, elicitation="ranking").score(long)
        assert "4,000, the context of openai:stub" in str(refused.value)
        assert server.calls == []
        assert Panel(READERS, small, PLAIN, elicitation="pairwise").score(long).coverage.complete
        smaller = stub(server, context_window=2_000)
        with pytest.raises(InputError, match=r"r\d, r\d together"):
            Panel(READERS, smaller, PLAIN, elicitation="pairwise").score(long)


def test_a_mixed_panel_is_refused() -> None:
    """Shares of the others and ratings on the rubric's scales do not sit together."""
    with serving() as server:
        models = [
            stub(server, model="openai:one", elicitation="ranking"),
            stub(server, model="openai:two", elicitation="dimensions"),
        ]
        with pytest.raises(ConfigurationError, match="preferred from 0 to 1"):
            Panel(READERS, models, PLAIN)
        both = [models[0], stub(server, model="openai:two", elicitation="pairwise")]
        assert Panel(READERS, both, PLAIN).plan.is_comparative


async def test_a_stream_cannot_be_compared() -> None:
    """Where nobody knows how many responses a prompt has, the panel says so."""
    with serving() as server:
        panel = Panel(READERS, stub(server), PLAIN, elicitation="pairwise")
        with pytest.raises(ConfigurationError, match=r"use score\(\) instead of astream"):
            async for _ in panel.astream(RESPONSES):
                pass


def test_what_does_not_go_with_comparing() -> None:
    """Deliberation and sweeps, which are about each response by itself, are refused."""
    with serving() as server:
        with pytest.raises(ConfigurationError, match=r"deliberation .* 'pairwise'"):
            Panel(
                READERS,
                stub(server),
                PLAIN,
                elicitation="pairwise",
                deliberation=Deliberation(rounds=1),
            )
        panel = Panel(READERS, stub(server), PLAIN, elicitation="ranking")
        with pytest.raises(ConfigurationError, match=r"a sweep .* 'ranking'"):
            panel.estimate_sweep(["Why?"], "openai:m")
    assert server.calls == []


@pytest.mark.parametrize(("elicitation", "kept"), [("ranking", False), ("pairwise", True)])
async def test_what_a_provider_is_told_to_keep(elicitation: str, kept: bool) -> None:
    """Where every judge has an order of its own, a provider is not paid to keep what no other
    judge will read."""
    anthropic = pytest.importorskip("langchain_anthropic", reason="langchain-anthropic is missing")
    reply = ANTHROPIC | {"content": [{"type": "text", "text": "tie"}]}
    with serving(always(raw(reply))) as server:
        address = server.base_url.removesuffix("/v1")
        chat = anthropic.ChatAnthropic(
            model="stub", base_url=address, api_key=SecretStr("sk-none"), max_retries=0
        )
        panel = Panel(READERS, chat, PLAIN, elicitation=elicitation)
        await panel.ascore(RESPONSES[::PROMPTS][:2])
        await chat._async_client.close()
        assert server.calls
        assert {"cache_control" in json.dumps(call.payload) for call in server.calls} == {kept}


# On the embedded model


@needs_the_model
@pytest.mark.parametrize("elicitation", ["ranking", "pairwise"])
def test_on_the_embedded_model(elicitation: str, tmp_path: Path) -> None:
    """Both run in this process; what the small model writes is a share, or has its reason."""
    two = [
        Response(id=name, prompt="What is a library?", text=text, system=name)
        for name, text in (("a", "It lends books."), ("b", "I do not know."))
    ]
    panel = Panel(READERS[:1], "local:smollm2-135m", PLAIN, elicitation=elicitation)
    run = panel.score(two, out=tmp_path / "run")
    assert 1 <= run.calls.made <= 4
    for (state,), share in zip(run.statuses, run.ratings[:, 0, 0], strict=True):
        assert state in {"scored", "unparsed", "refused"}
        assert (state == "scored") == bool(0 <= share <= 1)


def test_in_a_panel_file(tmp_path: Path) -> None:
    """A panel file names the elicitation as any other."""
    file = tmp_path / "panel.yaml"
    file.write_text(
        "elicitation: pairwise\nmodels: [{model: 'openai:m', base_url: 'http://127.0.0.1:9/v1'}]\n"
    )
    panel = Panel.from_file(file)
    assert panel.plan.is_comparative
    assert [dimension.id for dimension in panel.output_rubric.dimensions] == ["preferred"]
