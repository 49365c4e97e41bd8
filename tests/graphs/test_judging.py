"""The judging graph, compiled and run, with scripted models."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.context import Abort, Unanswered
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.judging import judging_graph
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage
from tests.helpers.judging import JUDGES, Panel, says


@pytest.fixture(autouse=True, params=[False, True], ids=["a Send per model", "a Send per judge"])
def _sent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of sending judges to `read`."""
    monkeypatch.setattr(Panel, "judge_by_judge", request.param)


async def five(judge: Judge, ask: ModelRequest) -> ModelResponse:
    """Every judge gives a 5, after letting others run."""
    await asyncio.sleep(0)
    return says(5)


async def test_every_judge_is_asked_once() -> None:
    """Every judge of every model is asked once, and its judgment is its own."""
    scores = {judge.id: number for number, judge in enumerate(JUDGES, start=1)}

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        assert f"I am {judge.persona}." in ask.blocks[1]
        return says(scores[judge.id])

    panel = await Panel(answer).run()
    assert Counter(panel.asked) == Counter(JUDGES)
    assert {j.judge.id: j.scores["clarity"] for j in panel.told} == scores
    assert {j.status for j in panel.told} == {"scored"}
    assert all((j.prompt_id, j.id, j.system) == ("p1", "r1", "human") for j in panel.told)
    # (1 + … + 6) / 6; squares 2 · (2.5² + 1.5² + 0.5²) = 17.5; sd = sqrt(17.5 / 5)
    assert panel.verdict is not None
    summary = panel.verdict.dimensions["clarity"]
    assert (summary.mean, summary.sd, summary.n) == pytest.approx((3.5, math.sqrt(3.5), 6))
    assert (panel.verdict.n_judges, panel.verdict.n_asked) == (6, 6)


async def test_replicates_are_judges_of_their_own() -> None:
    """A judge asked twice is two judges with two judgments."""
    judges = [Judge("ann", "m1", "dimensions", number) for number in (1, 2)]
    panel = await Panel(five, judges).run()
    assert panel.asked == judges
    assert panel.verdict is not None
    assert panel.verdict.n_asked == 2


async def test_the_first_judge_of_a_model_goes_ahead() -> None:
    """No other judge of a model is asked before its first is answered; models do not wait."""
    together = asyncio.Barrier(2)

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        # Passes only where both models' first judges are under way at once, and then
        # two at a time of the four that are left.
        await asyncio.wait_for(together.wait(), 10)
        return says(5)

    panel = await Panel(answer).run()
    for model in ("m1", "m2"):
        order = [event for event in panel.events if event[1].model == model]
        first = Judge("ann", model, "dimensions")
        assert order[0] == ("turn", first)
        answered = order.index(("answered", first))
        others = [order.index(("asked", Judge(p, model, "dimensions"))) for p in ("bob", "cid")]
        assert answered < min(others)


async def test_the_others_of_a_model_go_together() -> None:
    """After the first, the judges of a model are under way at once."""
    together = asyncio.Barrier(2)

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if judge.persona != "ann":
            await asyncio.wait_for(together.wait(), 10)
        return says(5)

    panel = await Panel(answer, JUDGES[:3]).run()
    assert set(panel.status().values()) == {"scored"}


async def test_kept_replies_are_read_one_by_one() -> None:
    """As long as replies are kept no other judge of the model is asked; the first that is not kept
    is waited for, and the others go together."""
    ann, bob, *others = judges = [Judge("ann", "m1", "dimensions", n) for n in range(1, 5)]
    together = asyncio.Barrier(2)

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if judge in others:
            await asyncio.wait_for(together.wait(), 10)
        else:
            await asyncio.sleep(0.01)
        return replace(says(5), cached=judge == ann)

    panel = await Panel(answer, judges).run()
    asked = [(name, judge) for name, judge in panel.events if name in ("asked", "answered")]
    assert asked[:4] == [("asked", ann), ("answered", ann), ("asked", bob), ("answered", bob)]
    assert asked[4:6] == [("asked", judge) for judge in others]


@pytest.mark.parametrize("rounds", [1, 2])
async def test_deliberation(rounds: int) -> None:
    """Each round asks every judge once, after all have been heard in the round before, and the
    first judge of each model alone."""
    first = {Judge("ann", model, "dimensions") for model in ("m1", "m2")}

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        await asyncio.sleep(0.02 if judge in first else 0)
        return says(5)

    panel = await replace(Panel(answer), deliberation=Deliberation(rounds=rounds)).run()
    assert Counter(j.round for j in panel.kept) == dict.fromkeys(range(1, rounds + 2), 6)
    for start in range(0, 6 * (rounds + 1), 6):
        assert set(panel.asked[start : start + 2]) == first
        assert set(panel.asked[start : start + 6]) == set(JUDGES)


async def test_a_judge_speaks_within_its_turn() -> None:
    """All that a judge is asked, a second time included, lies between its turn's two ends."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        return says(5) if ask.exchange else ModelResponse("Five.")

    panel = await Panel(answer).run()
    for judge in JUDGES:
        assert [name for name, who in panel.events if who == judge and name != "told"] == [
            "turn",
            "asked",
            "answered",
            "asked",
            "answered",
            "turned",
        ]


async def test_judgments_stream_one_by_one() -> None:
    """A judgment is out before a slower judge of the same response is answered."""
    two_are_out = asyncio.Event()

    class Watched(list[Judgment]):
        """What was told, telling when it holds two."""

        def append(self, judgment: Judgment) -> None:
            super().append(judgment)
            if len(self) == 2:
                two_are_out.set()

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if judge.persona == "cid":
            await asyncio.wait_for(two_are_out.wait(), 10)
        return says(5)

    panel = await Panel(answer, JUDGES[:3], told=Watched()).run()
    assert [j.judge.persona for j in panel.told] == ["ann", "bob", "cid"]
    assert set(panel.status().values()) == {"scored"}


async def test_a_failing_model_leaves_the_others() -> None:
    """A model that cannot be reached fails its own judges, with the reason, and no others."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if judge.model == "m2":
            raise Unanswered("failed", "m2: 503 after 5 attempts")
        await asyncio.sleep(0.01)
        return says(6)

    panel = await Panel(answer).run()
    by_model = {model: [j for j in panel.told if j.judge.model == model] for model in ("m1", "m2")}
    assert [j.status for j in by_model["m1"]] == ["scored"] * 3
    assert [j.status for j in by_model["m2"]] == ["failed"] * 3
    assert {j.error for j in by_model["m2"]} == {"m2: 503 after 5 attempts"}
    assert all(not j.scores and j.abstained is None for j in by_model["m2"])
    assert panel.verdict is not None
    assert panel.verdict.composite == pytest.approx(6.0)
    assert (panel.verdict.n_judges, panel.verdict.n_asked) == (3, 6)
    # What failed was no reply, so there is none to forget.
    assert panel.forgotten == []


async def test_skipped() -> None:
    """A judge that was not asked is skipped, with the reason, at no usage."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if judge == JUDGES[1]:
            raise Unanswered("skipped", "the cap is reached")
        return says(5)

    panel = await Panel(answer).run()
    (skipped,) = [j for j in panel.told if j.status == "skipped"]
    assert skipped.judge == JUDGES[1]
    assert skipped.error == "the cap is reached"
    assert skipped.usage == Usage()
    assert not skipped.cached
    assert Counter(panel.status().values()) == {"scored": 5, "skipped": 1}


async def test_an_unexpected_exception_is_a_failed_judgment() -> None:
    """A fault in the means fails one judgment and cancels none of its siblings."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if judge == JUDGES[1]:
            raise ZeroDivisionError("by nought")
        # The siblings are still under way when the fault comes.
        await asyncio.sleep(0.01)
        return says(5)

    panel = await Panel(answer).run()
    assert Counter(panel.status().values()) == {"scored": 5, "failed": 1}
    (failed,) = [j for j in panel.told if j.status == "failed"]
    assert failed.judge == JUDGES[1]
    assert failed.error == "ZeroDivisionError: by nought"


async def test_a_failing_first_judge_does_not_stop_the_others() -> None:
    """The judges after a first that failed are asked all the same."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if judge.persona == "ann":
            raise ZeroDivisionError("by nought")
        return says(5)

    panel = await Panel(answer).run()
    assert Counter(panel.status().values()) == {"scored": 4, "failed": 2}


async def test_an_abort_ends_the_run() -> None:
    """What says that the run cannot go on is the one thing that is not made a judgment."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        raise Abort("the disk is full")

    with pytest.raises(Abort, match="the disk is full"):
        await Panel(answer).run()


async def test_refused_and_unparsed_are_forgotten() -> None:
    """The replies that led to no result are reported, and no others: not the one that the model was
    asked to correct, by which another process may have got a correction."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if judge == JUDGES[0]:
            return ModelResponse("", refusal="content_filter")
        if judge == JUDGES[1]:
            return ModelResponse("Five.")
        if judge == JUDGES[2]:
            return says(None, abstained=True)
        if judge == JUDGES[3] and not ask.exchange:
            return ModelResponse("Five.")
        return says(5)

    panel = await Panel(answer).run()
    assert panel.status() == {
        "ann m1": "refused",
        "bob m1": "unparsed",
        "cid m1": "abstained",
        "ann m2": "scored",
        "bob m2": "scored",
        "cid m2": "scored",
    }
    # The refusal came at the first ask; the unparsed one was asked twice.
    assert sorted(panel.forgotten, key=lambda entry: entry[1]) == [(JUDGES[0], 1), (JUDGES[1], 1)]
    assert panel.verdict is not None
    # cid of m1 says it declines, the three of m2 that it does not.
    assert panel.verdict.abstain_share == pytest.approx(0.25)


async def test_an_answer_paid_for_is_kept_where_the_second_fails() -> None:
    """Where the second ask fails, the first reply is not forgotten and its usage is counted."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if ask.exchange:
            raise Unanswered("failed", "gone")
        return ModelResponse("Five.", usage=Usage(input=3, output=1))

    panel = await Panel(answer, JUDGES[:1]).run()
    (judgment,) = panel.told
    assert judgment.status == "failed"
    assert judgment.usage == Usage(input=3, output=1)
    assert panel.forgotten == []


async def test_usage_and_latency_are_of_the_whole_dialogue() -> None:
    """A judgment that took two asks sums both, and is cached only if both were."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if ask.exchange:
            return says(5)
        return ModelResponse("Five.", usage=Usage(10, 4, 1), latency_s=0.25, cached=True)

    panel = await Panel(answer, JUDGES[:1]).run()
    (judgment,) = panel.told
    # 10 + 1 in, 4 of them cached, 1 + 2 out; a quarter and half a second
    assert judgment.usage == Usage(11, 4, 3)
    assert judgment.latency_s == pytest.approx(0.75)
    assert not judgment.cached


async def test_a_judgment_from_the_cache_says_so() -> None:
    """A judgment is cached where every reply to it was."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        return ModelResponse('{"clarity": 5, "abstained": false}', cached=True)

    panel = await Panel(answer, JUDGES[:1]).run()
    assert panel.told[0].cached


async def test_the_state_holds_no_texts() -> None:
    """Raw texts leave by the stream and stay out of the state, as does the response's text."""
    panel = await Panel(five).run()
    assert all(j.raw == says(5).text for j in panel.told)
    assert len(panel.kept) == 6
    assert all(j.raw == "" and j.rationale is None for j in panel.kept)
    assert "canary" not in repr(panel.kept) + repr(panel.verdict)


async def test_one_graph_serves_every_panel() -> None:
    """The graph is compiled once, and runs with other means do not mix."""
    assert judging_graph() is judging_graph()

    def giving(score: int) -> Callable[[Judge, ModelRequest], Awaitable[ModelResponse]]:
        async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
            await asyncio.sleep(0)
            return says(score)

        return answer

    panels = await asyncio.gather(*(Panel(giving(score)).run() for score in (2, 9)))
    assert [p.verdict.composite for p in panels if p.verdict] == [2.0, 9.0]


async def test_cancellation_passes_through() -> None:
    """A run that is cancelled stops; a judge under way is not made a failed judgment."""
    started = asyncio.Event()

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError("never reached")

    panel = Panel(answer)
    task = asyncio.create_task(panel.run())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert panel.told == []


async def test_a_reply_on_which_a_reader_raises_is_forgotten() -> None:
    """Whatever a model's package hands out, a reading that raises is a failure that is not kept."""

    async def answer(judge: Judge, ask: ModelRequest) -> ModelResponse:
        if judge == JUDGES[0]:
            return ModelResponse(7)  # type: ignore[arg-type]
        return says(5)

    panel = await Panel(answer, JUDGES[:2]).run()
    assert panel.status() == {"ann m1": "failed", "bob m1": "scored"}
    assert panel.forgotten == [(JUDGES[0], 1)]
