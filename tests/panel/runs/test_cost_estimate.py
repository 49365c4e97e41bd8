"""What a run would take, told before: `Panel.estimate`."""

from __future__ import annotations

from pathlib import Path

import pytest

from persona_panel import ModelConfig, Panel, Response
from persona_panel.calls.endpoint import tokens_in
from persona_panel.models.config import Price
from persona_panel.testing import ok, serving
from tests.helpers.embedded import PLAIN, READERS, needs_the_model

ANSWER = (
    '{"conceptual_clarity": 5, "evidential_grounding": 5, "contextual_relevance": 5, '
    '"pluralistic_engagement": 5, "argumentative_soundness": 5, "abstained": false}'
)
RESPONSES = [Response(id=str(i), prompt="p", text=f"text {i}", system="s") for i in range(3)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "cache"))


def panel(url: str, price: Price | None = None) -> Panel:
    return Panel("disciplinary", ModelConfig(model="openai:stub", base_url=url, price=price))


def test_it_counts_what_the_cache_lacks_and_calls_nothing() -> None:
    """After two of three responses are read, the third's five judgments are left to pay for."""
    with serving(lambda n, payload: ok(ANSWER)) as server:
        two = panel(server.base_url)
        [before] = two.estimate(RESPONSES)
        assert (before.judgments, before.of, before.calls) == (15, 15, 15)
        assert not server.calls
        two.score(RESPONSES[:2])
        [after] = two.estimate(RESPONSES)
        assert (after.judgments, after.of, after.calls) == (5, 15, 5)
        assert len(server.calls) == 10


def test_an_unknown_price_is_unknown_and_a_given_one_is_multiplied() -> None:
    """Without a price the cost is None; with one it is tokens times price."""
    [unknown] = panel("http://127.0.0.1:1/v1").estimate(RESPONSES)
    assert unknown.usd is None
    [known] = panel("http://127.0.0.1:1/v1", Price(input=2, output=4)).estimate(RESPONSES)
    # Dollars for a million tokens: 2 for those that go in, 4 for those that come out.
    assert known.usd == pytest.approx((known.input_tokens * 2 + known.output_tokens * 4) / 1e6)
    assert known.tokenizer == "characters / 4"


def test_a_model_that_reasons_may_think_with_every_call() -> None:
    """What it may use for thinking is counted and distinguished; by the user's limit where that is
    smaller; none where the model does not reason, or where probabilities are read."""
    url = "http://127.0.0.1:1/v1"
    told = {}
    for name, settings in {
        "plain": {},
        "room": {"reasoning_tokens": 3000},
        "fixed": {"reasoning_tokens": 3000, "options": {"max_tokens": 2000}},
        "window": {"reasoning_tokens": 3000, "context_window": 2500},
    }.items():
        model = ModelConfig(model="openai:stub", base_url=url, **settings)
        [told[name]] = Panel("disciplinary", model).estimate(RESPONSES)
    answers = told["plain"].output_tokens
    assert told["plain"].reasoning_tokens == 0
    assert told["room"].reasoning_tokens == 15 * 3000
    assert told["room"].output_tokens == answers + 15 * 3000
    assert told["fixed"].output_tokens == 15 * 2000
    assert 0 < told["window"].reasoning_tokens < 15 * 1500
    scored = ModelConfig(model="openai:stub", base_url=url, reasoning_tokens=3000)
    [probable] = Panel("disciplinary", scored, elicitation="expected").estimate(RESPONSES)
    assert probable.reasoning_tokens == 0


@needs_the_model
@pytest.mark.parametrize("elicitation", ["dimensions", "expected", "yes-no", "ranking", "pairwise"])
def test_a_run_of_the_embedded_model_takes_about_what_was_estimated(elicitation: str) -> None:
    """A run whose answers can be read takes no more calls and tokens than was estimated, and more
    than half; what goes in is counted by characters, so about as many."""
    judges = Panel(READERS[:1], "local:smollm2-135m", PLAIN, elicitation=elicitation)
    essays = [
        Response(id=str(i), prompt="Should rents be capped?", text=text * 12, system="s")
        for i, text in enumerate(["A cap helps tenants today. ", "A cap hurts who comes later. "])
    ]
    [told] = judges.estimate(essays)
    run = judges.score(essays)
    assert run.coverage.missing == {}
    spent = run.calls.spent["local:smollm2-135m"]
    assert told.calls / 2 < run.calls.made <= told.calls
    assert told.output_tokens / 3 < spent.output <= told.output_tokens
    assert spent.input == pytest.approx(told.input_tokens, rel=0.3)


def test_four_ascii_characters_make_a_token_and_others_one_each() -> None:
    """The fallback counts 8 ASCII characters as 2 tokens and 3 Chinese ones as 3."""
    assert tokens_in("abcdefgh") == 2
    assert tokens_in("abcd三个字") == 4
