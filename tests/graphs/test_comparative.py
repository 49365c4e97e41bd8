"""The graph that compares, compiled and run, with scripted models."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from persona_panel.graphs import Judge, Judgment, Response, Verdict
from persona_panel.graphs.comparative import comparative_graph
from persona_panel.graphs.context import Abort, Answered, GraphContext, Unanswered
from persona_panel.graphs.records import comparison_tasks
from persona_panel.personas import Persona
from persona_panel.rubrics import Dimension, ModelRequest, ModelResponse, Rubric, Scale, Usage

PROMPT = "Is liberty one thing?"
RESPONSES = {
    key: Response(id=f"r{key}", prompt_id="p", prompt=PROMPT, text=f"Worth {key}.", system="canary")
    for key in ("3", "1", "2")
}
RUBRIC = Rubric(
    id="one",
    label="One",
    question="How good is it?",
    dimensions=(
        Dimension(
            id="clarity",
            label="Clarity",
            definition="Defined.",
            guiding_question="Is it clear?",
            scale=Scale(min=1, max=10, low="poor", high="good"),
        ),
    ),
)
PERSONAS = {
    name: Persona(id=name, label=name.title(), axis="disciplinary", description=f"I am {name}.")
    for name in ("ann", "bob")
}


def judges(elicitation: str) -> list[Judge]:
    return [Judge(persona, model, elicitation) for model in ("m1", "m2") for persona in PERSONAS]


def worths(ask: ModelRequest) -> dict[str, int]:
    """What each label is worth, in the order in which they stand."""
    found = re.findall(r"<response (\w) \w+>\nWorth (\d)", "".join(ask.blocks))
    return {label: int(worth) for label, worth in found}


def fair(ask: ModelRequest) -> ModelResponse:
    """The truth about one ask: the better of two, or the places of all."""
    values = worths(ask)
    usage = Usage(input=10, cached=4, output=5, written=3)
    if "better" in (ask.schema or {})["properties"]:
        text = "first" if values["A"] > values["B"] else "second"
    else:
        best = sorted(values.values(), reverse=True)
        places = (f'"{label}": {best.index(worth) + 1}' for label, worth in values.items())
        text = "{" + ", ".join(places) + "}"
    return ModelResponse(text, usage=usage, latency_s=0.5)


async def truly(judge: Judge, ask: ModelRequest) -> ModelResponse:
    await asyncio.sleep(0)
    return fair(ask)


@dataclass
class Panel:
    """A run of the graph: what was asked, forgotten, told and concluded."""

    judges: Sequence[Judge]
    answer: Callable[[Judge, ModelRequest], Awaitable[ModelResponse]] = truly
    seed: int = 0
    asked: list[tuple[Judge, str, ModelRequest]] = field(default_factory=list)
    forgotten: list[tuple[Judge, str, int]] = field(default_factory=list)
    told: list[Judgment] = field(default_factory=list)
    kept: list[Judgment] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    async def _ask(self, judge: Judge, response: Response, ask: ModelRequest) -> ModelResponse:
        self.asked.append((judge, response.id, ask))
        return await self.answer(judge, ask)

    @asynccontextmanager
    async def _turn(self, judge: Judge, response: Response) -> AsyncIterator[None]:
        yield

    def _forget(self, judge: Judge, response: Response, answered: Sequence[Answered]) -> None:
        self.forgotten.append((judge, response.id, len(answered)))

    async def run(
        self, keys: Sequence[str] = ("3", "1", "2"), *, judge_by_judge: bool = False
    ) -> Panel:
        """Compare the responses with these keys."""
        means = GraphContext(
            rubric=RUBRIC,
            personas=PERSONAS,
            judges=self.judges,
            responses=RESPONSES,
            ask=self._ask,
            exclusive=self._turn,
            forget=self._forget,
            on_judgment=self.told.append,
            seed=self.seed,
            judge_by_judge=judge_by_judge,
        )
        given = {"responses": tuple(keys)}
        state = await comparative_graph().ainvoke(given, context=means)  # type: ignore[arg-type]
        self.kept, self.verdicts = state["judgments"], state["verdicts"]
        return self

    def of(self, persona: str, model: str = "m1") -> dict[str, Judgment]:
        """A judge's judgments by the response's id."""
        return {
            one.id: one
            for one in self.told
            if (one.judge.persona, one.judge.model) == (persona, model)
        }


@pytest.mark.parametrize(("elicitation", "calls"), [("ranking", 1), ("pairwise", 6)])
async def test_every_judge_judges_every_response(elicitation: str, calls: int) -> None:
    """One call, or k (k − 1), bring a judgment of each response by each judge, and a verdict."""
    panel = await Panel(judges(elicitation)).run()
    assert len(panel.asked) == 4 * calls
    assert Counter(one.judge for one in panel.told) == dict.fromkeys(panel.judges, 3)
    for own in (panel.of(persona, model) for persona in PERSONAS for model in ("m1", "m2")):
        # Worth 1 is preferred to neither of the others, 2 to one, 3 to both.
        assert {name: one.scores for name, one in own.items()} == {
            "r1": {"preferred": 0},
            "r2": {"preferred": 0.5},
            "r3": {"preferred": 1},
        }
    assert [(v.id, v.composite, v.n_judges) for v in panel.verdicts] == [
        ("r1", 0, 4),
        ("r2", 0.5, 4),
        ("r3", 1, 4),
    ]
    assert all(one.raw == "" and not one.comparisons for one in panel.kept)


@pytest.mark.parametrize("elicitation", ["ranking", "pairwise"])
async def test_usage_is_counted_once(elicitation: str) -> None:
    """What the calls took is shared out so that the judgments add up to it, to the token."""
    panel = await Panel(judges(elicitation)).run()
    total = sum((one.usage for one in panel.told), Usage())
    n = len(panel.asked)
    assert total == Usage(input=10 * n, cached=4 * n, output=5 * n, written=3 * n)
    assert sum(one.latency_s for one in panel.told) == pytest.approx(0.5 * n)
    assert all(one.usage.cached + one.usage.written <= one.usage.input for one in panel.told)
    # One of three responses never bears the whole of a call.
    assert max(one.usage.output for one in panel.of("ann").values()) < 5 * n / 4


@pytest.mark.parametrize("elicitation", ["ranking", "pairwise"])
async def test_a_judge_is_not_told_whose_a_text_is(elicitation: str) -> None:
    """Neither ids nor systems are in any question; labels are letters."""
    panel = await Panel(judges(elicitation)).run()
    for _, _, ask in panel.asked:
        text = "".join(ask.blocks)
        assert "canary" not in text
        assert not re.search(r"\br[123]\b", text)
        assert list(worths(ask)) == ["A", "B", "C"][: len(worths(ask))]


async def test_the_order_is_drawn_for_each_judge() -> None:
    """Labels are shuffled by seed, prompt and judge: the same again, another for another."""

    def drawn(seed: int, judge: Judge, prompt: str = PROMPT) -> tuple[int, ...]:
        shown = [one.model_copy(update={"prompt": prompt}) for one in RESPONSES.values()]
        (task,) = comparison_tasks(RUBRIC, PERSONAS["ann"], judge, shown, "shared-prefix", seed)
        return task.order

    ann = Judge("ann", "m1", "ranking")
    assert drawn(0, ann) == drawn(0, ann)
    assert len({drawn(seed, ann) for seed in range(40)}) == 6
    assert len({drawn(0, ann, f"Prompt {i}?") for i in range(40)}) == 6
    assert len({drawn(0, replace(ann, replicate=i)) for i in range(40)}) == 6


@pytest.mark.parametrize("elicitation", ["ranking", "pairwise"])
async def test_the_order_of_the_input_is_no_difference(elicitation: str) -> None:
    """The same responses in another order are asked about in the same words."""
    one = await Panel(judges(elicitation), seed=5).run(("3", "1", "2"))
    other = await Panel(judges(elicitation), seed=5).run(("1", "2", "3"))
    assert {ask.blocks for _, _, ask in one.asked} == {ask.blocks for _, _, ask in other.asked}


async def test_replies_are_kept_with_what_stood_first() -> None:
    """A pair's reply belongs to the response that stood first, so that a new system's
    responses bring new calls only for pairs that it is in."""
    panel = await Panel(judges("pairwise")).run()
    for _, kept_with, ask in panel.asked:
        assert kept_with == f"r{worths(ask)['A']}"


async def test_comparisons_are_told() -> None:
    """Who won is told once for each pair in each order, by the response that stood first."""
    panel = await Panel(judges("pairwise")).run()
    own = panel.of("ann")
    assert own["r1"].comparisons == {"r2": "second", "r3": "second"}
    assert own["r2"].comparisons == {"r1": "first", "r3": "second"}
    assert own["r3"].comparisons == {"r1": "first", "r2": "first"}
    assert own["r2"].raw == '{"r1": "first", "r3": "second"}'
    ranked = (await Panel(judges("ranking")).run()).of("ann")
    assert sum(len(one.comparisons) for one in ranked.values()) == 3
    assert len({one.raw for one in ranked.values()}) == 1


async def test_what_fails_for_one_pair() -> None:
    """A pair without an answer in one of its orders counts for neither; others stand."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if worths(ask) == {"A": 1, "B": 3}:
            raise Unanswered("failed", "503 after 5 attempts")
        return fair(ask)

    own = (await Panel(judges("pairwise"), answer).run()).of("ann")
    assert {one.status for one in own.values()} == {"scored"}
    # 1 lost to 2; 2 won one of two; 3 beat 2.
    assert [own[name].scores["preferred"] for name in ("r1", "r2", "r3")] == [0, 0.5, 1]
    assert own["r1"].error == (
        "1 of 4 comparisons are missing, the first failed: 503 after 5 attempts"
    )
    assert own["r2"].error is None
    assert own["r1"].comparisons == {"r2": "second"}


async def test_what_was_not_asked() -> None:
    """A response with a comparison that was skipped is skipped, whatever the others say."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if worths(ask) == {"A": 1, "B": 2}:
            raise Unanswered("failed", "503 after 5 attempts")
        if worths(ask) == {"A": 1, "B": 3}:
            raise Unanswered("skipped", "the cap is reached")
        return fair(ask)

    own = (await Panel(judges("pairwise"), answer).run()).of("ann")
    assert [(own[name].status, own[name].error) for name in ("r1", "r3")] == [
        ("skipped", "the cap is reached")
    ] * 2
    assert own["r3"].scores == {}
    assert own["r2"].scores == {"preferred": 0}


async def test_a_response_without_any_comparison() -> None:
    """It has no score, and the status and reason of what is missing; the others are scored."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        return ModelResponse("Well …") if 2 in worths(ask).values() else fair(ask)

    panel = await Panel(judges("pairwise")[:1], answer).run()
    own = panel.of("ann")
    assert own["r2"].status == "unparsed"
    assert own["r2"].scores == {}
    assert "not one of" in str(own["r2"].error)
    assert (own["r1"].scores, own["r3"].scores) == ({"preferred": 0}, {"preferred": 1})
    # Of four unreadable dialogues the second asks are to be asked again by the next run.
    assert sorted(panel.forgotten, key=str) == sorted(
        ((panel.judges[0], first, 1) for first in ("r1", "r2", "r2", "r3")), key=str
    )
    (verdict,) = [verdict for verdict in panel.verdicts if verdict.id == "r2"]
    assert (verdict.n_judges, verdict.n_asked) == (0, 1)


async def test_a_ranking_that_fails() -> None:
    """A judge whose one answer is missing has a judgment without scores of every response."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if judge.model == "m2":
            raise Unanswered("skipped", "the cap is reached")
        return fair(ask)

    panel = await Panel(judges("ranking"), answer).run()
    own = panel.of("bob", "m2")
    assert {(one.status, one.error) for one in own.values()} == {("skipped", "the cap is reached")}
    assert {one.status for one in panel.of("bob", "m1").values()} == {"scored"}
    assert [verdict.n_judges for verdict in panel.verdicts] == [2, 2, 2]


@pytest.mark.parametrize("judge_by_judge", [False, True])
async def test_the_first_judge_of_a_model_goes_ahead(judge_by_judge: bool) -> None:
    """No other judge of a model is asked before its first has all its answers."""
    panel = await Panel(judges("pairwise")).run(judge_by_judge=judge_by_judge)
    own = [judge.persona for judge, _, _ in panel.asked if judge.model == "m1"]
    assert own == ["ann"] * 6 + ["bob"] * 6


async def test_abort_ends_it() -> None:
    """Unlike all else that befalls a judge, an abort comes out of the graph."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        raise Abort("disk full")

    with pytest.raises(Abort, match="disk full"):
        await Panel(judges("ranking"), answer).run()


@pytest.mark.parametrize("elicitation", ["pairwise", "ranking"])
async def test_a_reply_on_which_a_reader_raises_is_forgotten(elicitation: str) -> None:
    """A reading that raises fails that comparison, which is not kept, and ends nothing else."""
    (first, second) = judges(elicitation)[:2]

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        return ModelResponse(7) if judge == first else fair(ask)  # type: ignore[arg-type]

    panel = await Panel([first, second], answer).run()
    assert {j.status for j in panel.told if j.judge == first} == {"failed"}
    assert {j.status for j in panel.told if j.judge == second} == {"scored"}
    asked = sum(judge == first for judge, _, _ in panel.asked)
    assert len(panel.forgotten) == asked
    assert {judge for judge, _, _ in panel.forgotten} == {first}
