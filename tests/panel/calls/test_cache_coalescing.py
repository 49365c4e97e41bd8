"""Questions that a thread asks together: `persona_panel.calls.cache`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from persona_panel.calls.cache import Coalesced


async def test_questions_of_one_moment_are_asked_together() -> None:
    """What comes while the first is asked is asked at once after it, equal ones once."""
    asked: list[list[int]] = []
    begun, go_on = threading.Event(), threading.Event()

    def ask(questions: Sequence[int]) -> list[int]:
        asked.append(list(questions))
        begun.set()
        assert go_on.wait(10)
        return [10 * question for question in questions]

    questions = Coalesced(ask, "test")
    first = asyncio.create_task(questions.answer(1))
    assert await asyncio.to_thread(begun.wait, 10)
    others = [asyncio.create_task(questions.answer(n)) for n in (2, 3, 2)]
    await asyncio.sleep(0)
    go_on.set()
    assert await asyncio.gather(first, *others) == [10, 20, 30, 20]
    assert asked == [[1], [2, 3]]
    questions.thread.shutdown()


async def test_who_is_gone_takes_no_answer_from_another() -> None:
    """One of two who asked the same is cancelled; the other has its answer."""
    go_on = threading.Event()

    def ask(questions: Sequence[int]) -> Sequence[int]:
        assert go_on.wait(10)
        return questions

    questions = Coalesced(ask, "test")
    gone, stays = (asyncio.create_task(questions.answer(1)) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    go_on.set()
    assert await stays == 1
    assert gone.cancelled()
    questions.thread.shutdown()


async def test_a_fault_is_each_ones_and_no_later_ones() -> None:
    """All questions that were asked together meet it; the next is asked again."""
    faults = [ValueError("away")]

    def ask(questions: Sequence[int]) -> Sequence[int]:
        if faults:
            raise faults.pop()
        return questions

    questions = Coalesced(ask, "test")
    both = await asyncio.gather(*map(questions.answer, (1, 2)), return_exceptions=True)
    assert [str(one) for one in both] == ["away", "away"]
    assert await questions.answer(1) == 1
    questions.thread.shutdown()
