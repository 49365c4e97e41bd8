"""The mean of a scale's values, weighted by the probability of each as the answer.

Of categories, which have no mean, it is the most probable one.
One question a dimension, read at the first token of the answer from the model's
log-probabilities: a model too small to vary the number it writes still varies these
(G-Eval, Liu et al. 2023, section 2.1). Only models that return log-probabilities can
be asked so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import count, product
from string import ascii_uppercase

from rubrics.elicitation import Ask, Dialogue, Position, Question, Reading, Reply
from rubrics.rubric import Rubric, once_a_rubric
from rubrics.scale import CategoryScale, RealScale
from rubrics.wording import SYSTEM, opening, scale_words

NEEDS_LOGPROBS = True

_TOP = 512
# The start of a longer answer is followed up only where it could move a score: a share
# below this, of what is on the scale, is left to the probability off it.
_NEGLIGIBLE = 0.01
_YES_NO = ("yes", "no")


class _NoAnswer(Exception):
    """A question got no probabilities to read; `reply` is there where the model declined."""

    def __init__(self, why: str, reply: Reply | None = None) -> None:
        super().__init__(why)
        self.reply = reply


def serves(rubric: Rubric) -> str | None:
    """Scales whose values can be told off one by one."""
    real = [d.id for d in rubric.dimensions if isinstance(d.scale, RealScale)]
    if not real:
        return None
    return f"it weighs each value of a scale, and {', '.join(real)} may be any number in a range"


def calls(rubric: Rubric) -> tuple[int, int]:
    """One call a dimension and one for the abstention, of a token or two each."""
    return len(rubric.dimensions) + (rubric.abstention is not None), 2


def dialogue(question: Question) -> Dialogue:
    """Ask about each dimension in turn, then whether the response abstains."""
    rubric = question.rubric
    shared = opening(question, _preamble(rubric))
    scores: dict[str, float] = {}
    labels: dict[str, str] = {}
    off_scale: dict[str, float] = {}
    seen: dict[str, dict[str, float]] = {}
    abstained: bool | None = None
    try:
        # A letter goes first (a small model would repeat a number): where no two questions
        # begin alike, a model that keeps what it has read never takes part of one for another.
        for letter, dimension in zip(_letters(), rubric.dimensions, strict=False):
            scale = dimension.scale
            if isinstance(scale, RealScale):
                raise TypeError(serves(rubric))
            if isinstance(scale, CategoryScale):
                # By number: a name takes several tokens, and most that begin alike are none.
                named = {str(number): name for number, name in enumerate(scale.names, start=1)}
                listed = ", ".join(f"{number} {name}" for number, name in named.items())
                text = f"{letter}. {dimension.label}: {listed}. The number of one of these:"
                weights, off = yield from _weights((*shared, text), tuple(named))
                labels[dimension.id] = named[_most_probable(weights)]
                weights = {named[number]: p for number, p in weights.items()}
            else:
                text = f"{letter}. {dimension.label}, score from {scale.min} to {scale.max}:"
                values = tuple(str(value) for value in scale.values)
                weights, off = yield from _weights((*shared, text), values)
                scores[dimension.id] = sum(int(value) * p for value, p in weights.items())
            seen[dimension.id] = weights
            off_scale[dimension.id] = off
        if rubric.abstention:
            text = f"Last. {rubric.abstention.guiding_question} Answer yes or no."
            weights, off = yield from _weights((*shared, text), _YES_NO)
            seen["abstained"] = weights
            off_scale["abstained"] = off
            abstained = weights["yes"] > weights["no"]
    except _NoAnswer as error:
        declined = error.reply is not None and error.reply.refusal is not None
        return Reading(
            "refused" if declined else "unparsed",
            raw=error.reply.text if error.reply is not None else "",
            error=str(error),
            off_scale=off_scale,
        )
    raw = json.dumps(
        {key: {v: round(p, 6) for v, p in weights.items()} for key, weights in seen.items()}
    )
    return Reading(
        "abstained" if abstained else "scored",
        scores=scores,
        abstained=abstained,
        raw=raw,
        off_scale=off_scale,
        labels=labels,
    )


def _letters() -> Iterator[str]:
    """A to Z, then AA, AB, …"""
    for length in count(1):
        yield from map("".join, product(ascii_uppercase, repeat=length))


@once_a_rubric
def _preamble(rubric: Rubric) -> str:
    """The rubric in few words: every token of it is read before the first question."""
    lines = [rubric.question]
    scale = None
    for dimension in rubric.dimensions:
        line = f"- {dimension.label}: {dimension.guiding_question}"
        # A scale is told where it changes: most rubrics have but one.
        if dimension.scale != scale:
            scale = dimension.scale
            line += f" {scale_words(dimension)}"
        lines.append(line)
    if rubric.abstention:
        lines.append(rubric.abstention.definition)
    return "\n".join(lines)


def _weights(
    blocks: tuple[str, ...], answers: Sequence[str]
) -> Generator[Ask, Reply, tuple[dict[str, float], float]]:
    """The share of each answer, summing to 1, and the probability that was on none."""
    mass = yield from _masses(blocks, answers)
    total = sum(mass.values())
    if total <= 0.0:
        raise _NoAnswer("none of the possible answers has any probability")
    return {answer: p / total for answer, p in mass.items()}, max(0.0, 1.0 - total)


def _most_probable(weights: Mapping[str, float]) -> str:
    first, second = sorted(weights, key=weights.__getitem__, reverse=True)[:2]
    if weights[first] == weights[second]:
        raise _NoAnswer(f"categories {first} and {second} are equally probable")
    return first


def _masses(
    blocks: tuple[str, ...],
    answers: Sequence[str],
    written: str = "",
    shown: tuple[Position, ...] = (),
) -> Generator[Ask, Reply, dict[str, float]]:
    """The probability of each answer, given that `written` stands already.

    `answers` are what may follow `written`, "" meaning that it ends there. `shown` are
    the positions of an earlier reply that went this way; without them the model is
    asked to go on from `written`.
    """
    if not shown:
        reply = yield Ask(
            system=SYSTEM,
            blocks=blocks,
            prefill=written,
            top_logprobs=_TOP,
            # A second token shows, for free, how an answer that begins another one
            # goes on: whether a 1 becomes a 10.
            max_tokens=2 if _one_begins_another(answers) else 1,
        )
        if reply.refusal is not None:
            raise _NoAnswer(reply.refusal, reply)
        if not reply.logprobs:
            raise _NoAnswer("the reply holds no log-probabilities", reply)
        shown = reply.logprobs
    mass = dict.fromkeys(answers, 0.0)
    unfinished: dict[str, float] = {}
    for token, logprob in shown[0].top:
        piece, p = _piece(token, written), math.exp(logprob)
        if any(answer != piece and answer.startswith(piece) for answer in answers if piece):
            unfinished[piece] = unfinished.get(piece, 0.0) + p
        elif piece in mass and piece:
            mass[piece] += p
        elif "" in mass and not piece[:1].isalnum():
            mass[""] += p
    seen = sum(mass.values()) + sum(unfinished.values())
    for piece, p in unfinished.items():
        if p < _NEGLIGIBLE * seen:
            continue
        tails = tuple(answer[len(piece) :] for answer in answers if answer.startswith(piece))
        went_this_way = _piece(shown[0].token, written) == piece
        after = yield from _masses(
            blocks, tails, written + piece, shown[1:] if went_this_way else ()
        )
        for tail, share in after.items():
            mass[piece + tail] += p * share
    return mass


def _piece(token: str, written: str) -> str:
    """What a token adds to an answer: white space before its first character is none of it."""
    return token.lower() if written else token.lstrip(" \n\u2581").lower()


def _one_begins_another(answers: Sequence[str]) -> bool:
    return any(a and a != b and b.startswith(a) for a in answers for b in answers)
