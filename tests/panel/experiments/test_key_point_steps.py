"""From rationales to key points: what is asked in which order, and what becomes of the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from persona_panel import ModelConfig
from persona_panel.experiments.dialogues import DialogueReply, ModelDialogue
from persona_panel.experiments.key_point_steps import (
    KeyPoints,
    MadePoint,
    Point,
    SummedUp,
    is_quoted,
)
from persona_panel.experiments.key_points import Rationale, key_points_document

CLEAR, PLAIN, VAGUE = "It is clear.", "It is plain.", "It is vague."


READER = ModelConfig(model="openai:reader", base_url="http://127.0.0.1:1/v1")
Batch = Sequence[ModelDialogue[Any]]


def walked(
    rationales: list[str], *answers: Callable[[Batch], list[Any]], most: int = 10
) -> SummedUp:
    """The steps with an answer to each batch; an Exception among the values is an error."""
    left = list(answers)

    async def hold(step: str, dialogues: Batch) -> list[DialogueReply[Any]]:
        values = left.pop(0)(dialogues)
        assert len(values) == len(dialogues)
        return [
            DialogueReply(None, str(value)) if isinstance(value, Exception)
            else DialogueReply(value)
            for value in values
        ]  # fmt: skip

    found = asyncio.run(KeyPoints(rationales, READER, most).made(hold))
    assert not left
    return found


def pro(text: str, quote: str) -> Point:
    return Point(text, "pro", quote)


def test_points_are_summed_up_assigned_and_counted() -> None:
    """Of two rationales that say the same in other words one is assigned by its wording, the other
    by the model; a quotation that is not there drops its point; equal rationales are read once."""
    rationales = ["Clear it is.", "Plain it is.", "Clear it is."]
    found = walked(
        rationales,
        lambda batch: [
            (pro(CLEAR, "Clear it"), Point(VAGUE, "con", "never said")),
            (pro(PLAIN, "Plain  it"),),
        ],
        lambda batch: [("It is clear",)],  # summed up
        lambda batch: [(0,)],  # PLAIN assigned; CLEAR is the key point but for its full stop
    )
    assert found.key_points == (("It is clear", "pro"),)
    assert [one.rationale for one in found.points] == [0, 1, 2]
    assert found.of == (0, 0, 0)
    # The same rationale twice has its unfounded point twice.
    assert (found.unquoted, found.unmerged, found.errors) == (2, 0, (None, None, None))


def test_answers_that_cannot_be_used_are_counted() -> None:
    """A rationale without an answer keeps its reason; without key points by the model the commonest
    wordings are taken; points without an assignment belong to none."""
    found = walked(
        ["a a", "b b", "c c"],
        lambda batch: [(pro(CLEAR, "a a"),), ValueError("unparsed: x"), (pro(PLAIN, "c"),)],
        lambda batch: [ValueError("unparsed: y")],
        lambda batch: [ValueError("unparsed: z")],
        most=1,
    )
    assert found.errors == (None, "unparsed: x", None)
    # As often made, so in alphabetical order.
    assert found.key_points == ((CLEAR, "pro"),)
    assert found.of == (0, None)
    assert found.unmerged == 2


def test_many_points_are_summed_up_in_parts() -> None:
    """More than 60 wordings are summed up by 60, and what that gives once more, until one call
    does."""
    n = 130
    sizes: list[int] = []

    def summed(batch: Batch) -> list[Any]:
        sizes.append(len(batch))
        return [(f"key {len(sizes)} {place}",) for place in range(len(batch))]

    found = walked(
        [f"word{i:03}" for i in range(n)],
        lambda batch: [(pro(f"point {i:03}", f"word{i:03}"),) for i in range(n)],
        summed,
        summed,
        lambda batch: [(0,) * 10] * len(batch),
    )
    assert sizes == [3, 1]
    assert found.key_points == (("key 2 0", "pro"),)
    assert found.of == (0,) * n


def test_a_quotation_is_in_the_rationale_but_for_white_space() -> None:
    """Case and every word count; an empty quotation is none."""
    assert is_quoted("it  is\nso", "That it is so.")
    assert not is_quoted("It is so", "That it is so.")
    assert not is_quoted("it so", "That it is so.")
    assert not is_quoted("  ", "That it is so.")


def a_rationale(prompt: str, system: str, persona: str, *, control: bool = False) -> Rationale:
    return Rationale(prompt, system, system, f"{persona}|m", persona, "m", "why", control)


def counted(made: dict[int, list[str]], rationales: list[Rationale]) -> dict[str, Any]:
    """The document where each rationale makes these points, of which `x` belongs to none."""
    names = sorted({one for own in made.values() for one in own} - {"x"})
    points = [(place, name) for place, own in made.items() for name in own]
    found = SummedUp(
        tuple((name, "pro") for name in names),
        tuple(MadePoint(place, pro(name, f"says {name}")) for place, name in points),
        tuple(None if name == "x" else names.index(name) for _, name in points),
        (None,) * len(rationales),
        0,
        0,
    )
    return key_points_document(rationales, found, "model")


def test_a_rationale_counts_once_for_a_key_point() -> None:
    """Of four rationales two make `a`, one of them twice: a share of 0.5; by system 1 and 0; a
    judge without a persona is in the shares by persona alone; points of none are counted last."""
    rationales = [
        a_rationale("p", "s", "j"), a_rationale("p", "t", "j"),
        a_rationale("q", "s", "j"), a_rationale("q", "t", "j"),
        a_rationale("q", "s", "none", control=True),
    ]  # fmt: skip
    report = counted({0: ["a", "a"], 2: ["a", "b"], 1: ["x"], 4: ["b", "b"]}, rationales)
    key_points, shares = report["key_points"], report["shares"]
    assert [one["text"] for one in key_points] == ["a", "b", "other (pro)"]
    assert [(one["n"], one["of"]) for one in key_points] == [(2, 4), (1, 4), (1, 4)]
    by_system = {(one["group"], one["key_point"]): one["share"] for one in shares["system"]}
    assert (by_system["s", "a"], by_system["t", "a"], by_system["s", "b"]) == (1.0, 0.0, 0.5)
    by_persona = {(one["group"], one["key_point"]): one["share"] for one in shares["persona"]}
    assert by_persona["none", "b"] == 1.0
    # Other rationales come before a second quotation of the same one.
    assert [one["prompt_id"] for one in key_points[0]["quotations"]] == ["p", "q", "p"]
    assert [one["of"] for one in report["pro_share_of_points"]["system"]] == [4, 1]
