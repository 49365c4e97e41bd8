"""The way from rationales to key points, batch by batch, without I/O.

A generator: it yields dialogues, is sent what they come to, and returns the key points with the
points that belong to each. `persona_panel.experiments.keypoints.extracting` holds the dialogues
with a model, or follows them through the cache for an estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from persona_panel.experiments.keypoints.asking import (
    KEY_POINT_TOKENS,
    PLACE_TOKENS,
    POINTS_TOKENS,
    STANCES,
    Point,
    Stance,
    assigning,
    stating_points,
    summing_up,
)
from persona_panel.experiments.questions.calling import QuestionReply
from persona_panel.rubrics import ModelRequest, ModelResponse

SUMMED_UP_AT_ONCE = 60
"""How many points a model sums up in one call; of more, what the calls give is summed up again."""
ASSIGNED_AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class DialogueBatch:
    """Dialogues that can be held at once.

    Attributes:
        tokens: about how many the answer to each has.
        expected: what each is taken to come to as long as that is not known.
    """

    dialogues: Sequence[Generator[ModelRequest, ModelResponse, Any]]
    tokens: int
    expected: Sequence[Any]


@dataclass(frozen=True, slots=True)
class MadePoint:
    """A point with the place of the rationale that makes it."""

    rationale: int
    point: Point


@dataclass(frozen=True, slots=True)
class SummedUp:
    """Key points, and which points belong to them.

    Attributes:
        key_points: the text and stance of each, those for the texts first.
        points: every point whose quotation was found.
        of: for each of them the place of its key point, None where it belongs to none.
        errors: of each rationale why its points are not known; None where they are.
        unquoted: how many points were dropped because the rationale does not have their quotation.
        unmerged: how many calls to sum up points or to assign them had no usable answer.
    """

    key_points: tuple[tuple[str, Stance], ...]
    points: tuple[MadePoint, ...]
    of: tuple[int | None, ...]
    errors: tuple[str | None, ...]
    unquoted: int
    unmerged: int


Steps = Generator[DialogueBatch, list[QuestionReply[Any]], SummedUp]


def is_quoted(quote: str, rationale: str) -> bool:
    """Whether the words stand in the rationale as they are, white space apart.

    >>> is_quoted("is  clear", "It is\\nclear."), is_quoted("is Clear", "It is clear.")
    (True, False)
    """
    words = " ".join(quote.split())
    return bool(words) and words in " ".join(rationale.split())


def steps(rationales: Sequence[str], most: int) -> Steps:
    """State the points of each rationale, sum them up in at most `most` key points for and as many
    against, and assign each point to one of them."""
    # Judges who were shown the same may give the same reasons: those are read once.
    distinct = list(dict.fromkeys(rationales))
    replies = yield DialogueBatch(
        [stating_points(text) for text in distinct],
        POINTS_TOKENS,
        [_expected(text, place) for place, text in enumerate(distinct)],
    )
    found = dict(zip(distinct, replies, strict=True))
    made: list[MadePoint] = []
    unquoted = 0
    for place, text in enumerate(rationales):
        own: tuple[Point, ...] = found[text].value or ()
        quoted = [point for point in own if is_quoted(point.quote, text)]
        made += [MadePoint(place, point) for point in quoted]
        unquoted += len(own) - len(quoted)
    key_points: list[tuple[str, Stance]] = []
    of: dict[tuple[Stance, str], int | None] = {}
    unmerged = 0
    for stance in STANCES:
        counts = _by_frequency(one.point.text for one in made if one.point.stance == stance)
        sentences, without_answer = yield from _key_points(counts, stance, most)
        unmerged += without_answer
        places, without_answer = yield from _assigned([text for text, _ in counts], sentences)
        unmerged += without_answer
        start = len(key_points)
        key_points += [(sentence, stance) for sentence in sentences]
        for text, at in places.items():
            of[stance, text] = None if at is None else start + at
    return SummedUp(
        tuple(key_points),
        tuple(made),
        tuple(of[one.point.stance, _key(one.point.text)] for one in made),
        tuple(found[text].error for text in rationales),
        unquoted,
        unmerged,
    )


def _expected(rationale: str, place: int) -> tuple[Point, ...]:
    """What a rationale that was not read yet is taken to say: three points in words of its own."""
    quote = rationale.split()[0]
    return tuple(
        Point(f"It says so in words of its own ({place}, {n}).", stance, quote)
        for n, stance in enumerate((*STANCES, "con"))
    )


def _key(text: str) -> str:
    """What is the same in two wordings that differ in case and the full stop alone."""
    return text.casefold().rstrip(" .")


def _by_frequency(texts: Any) -> list[tuple[str, int]]:
    """Different wordings with how often each occurs, the commonest first; those as often made in
    alphabetical order, whatever order they came in."""
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for text in texts:
        key = _key(text)
        first[key] = min(first.get(key, text), text)
        counts[key] += 1
    return [(first[key], n) for key, n in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]


def _key_points(
    counts: Sequence[tuple[str, int]], stance: Stance, most: int
) -> Generator[DialogueBatch, list[QuestionReply[Any]], tuple[list[str], int]]:
    """The key points of these points, and how many calls had no answer: of those the commonest
    wordings are taken."""
    if len(counts) <= 1:
        return [text for text, _ in counts], 0
    unmerged = 0
    while True:
        parts = [
            counts[start : start + SUMMED_UP_AT_ONCE]
            for start in range(0, len(counts), SUMMED_UP_AT_ONCE)
        ]
        replies = yield DialogueBatch(
            [summing_up(part, stance, most) for part in parts],
            KEY_POINT_TOKENS * most,
            [tuple(text for text, _ in part[:most]) for part in parts],
        )
        unmerged += sum(reply.error is not None for reply in replies)
        kept = [
            reply.value or tuple(text for text, _ in part[:most])
            for reply, part in zip(replies, parts, strict=True)
        ]
        if len(parts) == 1:
            return list(kept[0]), unmerged
        counts = _by_frequency(text for texts in kept for text in texts)


def _assigned(
    texts: Sequence[str], key_points: Sequence[str]
) -> Generator[DialogueBatch, list[QuestionReply[Any]], tuple[dict[str, int | None], int]]:
    """For each point the place of its key point, and how many calls had no answer: the points of
    those belong to none."""
    same = {_key(sentence): place for place, sentence in enumerate(key_points)}
    places: dict[str, int | None] = {_key(text): same.get(_key(text)) for text in texts}
    asked = [text for text in texts if _key(text) not in same]
    parts = [
        asked[start : start + ASSIGNED_AT_ONCE] for start in range(0, len(asked), ASSIGNED_AT_ONCE)
    ]
    if not parts:
        return places, 0
    replies = yield DialogueBatch(
        [assigning(part, key_points) for part in parts],
        PLACE_TOKENS * ASSIGNED_AT_ONCE,
        [(None,) * len(part) for part in parts],
    )
    for part, reply in zip(parts, replies, strict=True):
        of_part: Sequence[int | None] = reply.value or (None,) * len(part)
        places |= {_key(text): at for text, at in zip(part, of_part, strict=True)}
    return places, sum(reply.error is not None for reply in replies)
