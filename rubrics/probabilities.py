"""The probability of each possible answer, read from a model's log-probabilities.

A question is asked by itself and read at the first token of its answer (`weights_of`), or
an answer stands somewhere in what a model has written and is read there
(`weights_within`). What is asked, and what becomes of the weights, is in the elicitations.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, count, product
from string import ascii_uppercase

from persona_panel.rubrics.elicitation import ModelRequest, ModelResponse, ParsedJudgment, Position
from persona_panel.rubrics.instructions import ENGLISH, Language
from persona_panel.rubrics.replies import shown

YES_NO = ("yes", "no")

_TOP = 512
# The start of a longer answer is followed up only where it could move a score: a share
# below this, of what is on the scale, is left to the probability off it.
_NEGLIGIBLE = 0.01
# A log-probability is a little above 0 where a server rounds, and two of the same token differ.
_ROUNDING = 0.01
# Log-probabilities with a single decimal, the coarsest that may be written, are 0.05 too high.
_MOST_IN_ALL = math.exp(0.05)
# What stands behind a value in a JSON object, be it the end of everything.
_END = re.compile(r"[\s,}\]\"'”/<]|\.(?!\d)|$")
# Tokenizers' own signs for a space and a line's end, of the same length.
_SIGNS = str.maketrans({"\u2581": " ", "\u0120": " ", "\u010a": "\n"})

Weights = tuple[dict[str, float], float]
"""The share of each answer, summing to 1, and the probability that was on none."""


class NoAnswer(Exception):
    """A question got no probabilities to read; `reply` is there where the model declined."""

    def __init__(self, why: str, reply: ModelResponse | None = None) -> None:
        super().__init__(why)
        self.reply = reply

    def reading(self, off_scale: Mapping[str, float], n_usable: int = 0) -> ParsedJudgment:
        """Return the judgment of a dialogue that ends with this error; `n_usable` as in
        `ParsedJudgment`."""
        declined = self.reply is not None and self.reply.refusal is not None
        return ParsedJudgment(
            "refused" if declined else "unparsed",
            raw=self.reply.text if self.reply is not None else "",
            error=str(self),
            off_scale=off_scale,
            n_usable=n_usable,
        )


def letters() -> Iterator[str]:
    """Yield a to Z, then AA, AB, …

    A letter begins each question (a small model would repeat a number): where no two
    begin alike, a model that keeps what it has read never takes part of one for another.
    """
    for length in count(1):
        yield from map("".join, product(ascii_uppercase, repeat=length))


def weights_of(
    blocks: tuple[str, ...], answers: Sequence[str], language: Language = ENGLISH
) -> Generator[ModelRequest, ModelResponse, Weights]:
    """Ask, with the system message in a language, and weigh the answers by the probability with
    which each is written first.

    Raises:
        NoAnswer: the model declined, or gave none of the answers any probability.
    """
    mass = yield from _masses(language.instructions.system, blocks, answers)
    return _shares(mass)


def most_calls(answers: Sequence[str]) -> int:
    """Return the most calls that `weights_of` makes: one, and one for each beginning of an
    answer.
    """
    return 1 + len({answer[:end] for answer in answers for end in range(1, len(answer))})


def beginnings_of_several(answers: Iterable[str]) -> int:
    """Return how many beginnings several answers share, a whole answer among them: the most calls
    that `weights_within` makes."""
    begun = Counter(answer[:end] for answer in answers for end in range(1, len(answer) + 1))
    return sum(n > 1 for n in begun.values())


def most_probable(weights: Mapping[str, float]) -> str:
    """Return the answer with the largest weight.

    Raises:
        NoAnswer: two have it.
    """
    first, second = sorted(weights, key=weights.__getitem__, reverse=True)[:2]
    if weights[first] == weights[second]:
        raise NoAnswer(f"categories {first} and {second} are equally probable")
    return first


def _shares(mass: Mapping[str, float]) -> Weights:
    total = sum(mass.values())
    if total <= 0.0:
        raise NoAnswer("none of the possible answers has any probability")
    return {answer: p / total for answer, p in mass.items()}, max(0.0, 1.0 - total)


def _alternatives(position: Position) -> list[tuple[str, float]]:
    """Return the tokens that could have stood at a position, each with its probability. Two of them
    may have the same text: some tokenizers read a token with and without a space before it alike.

    Raises:
        NoAnswer: a token is no text, a log-probability no number up to 0, or they contradict each
            other.
    """
    written = position.token
    for token in (written, *(token for token, _ in position.top)):
        # A number may be the token's place in the vocabulary.
        if not isinstance(token, str):
            raise NoAnswer(f"a token in its log-probabilities is {shown(token)}, not text")
    # A pair that comes twice is the same token.
    top = list(
        dict.fromkeys((token, _probability(token, logprob)) for token, logprob in position.top)
    )
    own = _probability(written, position.logprob)
    if top and own is not None:
        listed = [p for token, p in top if token == written and p is not None]
        if listed:
            if min(abs(p - own) for p in listed) > _ROUNDING:
                raise NoAnswer(
                    f"{shown(written)} has two probabilities, {own:.3g} and {listed[0]:.3g}"
                )
        elif own > min((p for _, p in top if p is not None), default=1.0) + _ROUNDING:
            raise NoAnswer(
                f"{shown(written)}, which it wrote, is not among its most probable tokens"
            )
        else:
            top.append((written, own))
    if (total := math.fsum(p for _, p in top if p is not None)) > _MOST_IN_ALL:
        raise NoAnswer(f"the probabilities of the tokens at one place sum to {total:.2f}, not to 1")
    return [(token, p) for token, p in top if p is not None]


def _probability(token: str, logprob: float | None) -> float | None:
    """Return the probability of a token; None where a server wrote null, as for one too small to be
    told.

    Raises:
        NoAnswer: the log-probability is no number up to 0.
    """
    if logprob is None:
        return None
    sound = isinstance(logprob, int | float) and not isinstance(logprob, bool)
    if not sound or math.isnan(logprob) or logprob > _ROUNDING:
        reason = f"the log-probability of {shown(token)} is {shown(logprob)}"
        raise NoAnswer(f"{reason}, not a number up to 0")
    return math.exp(min(logprob, 0.0))


# An answer by itself


def _masses(
    system: str,
    blocks: tuple[str, ...],
    answers: Sequence[str],
    written: str = "",
    shown: tuple[Position, ...] = (),
) -> Generator[ModelRequest, ModelResponse, dict[str, float]]:
    """Weigh each answer by its probability, provided that `written` stands already.

    `answers` are what may follow `written`, "" meaning that it ends there. `shown` are
    the positions of an earlier reply that went this way; without them the model is
    asked to go on from `written`.
    """
    if not shown:
        reply = yield ModelRequest(
            system=system,
            blocks=blocks,
            prefill=written,
            top_logprobs=_TOP,
            # A second token shows, for free, how an answer that begins another one
            # goes on: whether a 1 becomes a 10.
            max_tokens=2 if _share_beginnings(answers) else 1,
        )
        if reply.refusal is not None:
            raise NoAnswer(reply.refusal, reply)
        if not reply.logprobs:
            raise NoAnswer("the reply holds no log-probabilities", reply)
        shown = reply.logprobs
    mass = dict.fromkeys(answers, 0.0)
    unfinished: dict[str, float] = {}
    for token, p in _alternatives(shown[0]):
        piece = _piece(token, written)
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
            system, blocks, tails, written + piece, shown[1:] if went_this_way else ()
        )
        for tail, share in after.items():
            mass[piece + tail] += p * share
    return mass


def _piece(token: str, written: str) -> str:
    """Return the text that a token adds to an answer; white space before its first character does
    not count."""
    return token.lower() if written else token.lstrip(" \n\u2581").lower()


def _share_beginnings(answers: Sequence[str]) -> bool:
    return any(a and a != b and b.startswith(a) for a in answers for b in answers)


# An answer within a longer one


def text_of(positions: Sequence[Position]) -> str:
    """Return the text of a reply's tokens.

    Raises:
        NoAnswer: one is no text.
    """
    try:
        return "".join(position.token for position in positions).translate(_SIGNS)
    except TypeError:
        raise NoAnswer("a token of it is not text") from None


def weights_within(
    request: ModelRequest, positions: Sequence[Position], start: int, answers: Sequence[str]
) -> Generator[ModelRequest, ModelResponse, Weights]:
    """Weigh the answers by the probability with which each would have stood in the place of one in
    a JSON object.

    A beginning of several answers that the model did not write (a 1, where it wrote 7 and
    its tokenizer has no 10) is asked about, by having `ask` answered from there; where
    it is negligible, or the model does not go on from there, it is left off the scale.

    Args:
        request: what `positions` answer.
        start: of the answer, in characters of `text_of(positions)`.
        answers: in small letters.

    Raises:
        NoAnswer: none of the answers has any probability.
    """
    ends = list(accumulate(len(position.token) for position in positions))
    place = bisect_right(ends, start)
    if place == len(positions):
        raise NoAnswer("the reply ends before this answer")
    before = ends[place - 1] if place else 0
    text = text_of(positions)
    going_on = replace(request, prefill=text[:start], max_tokens=1)
    mass = yield from _masses_within(
        going_on, positions[place:], text[before:start].lstrip(), answers
    )
    return _shares(mass)


def _masses_within(
    request: ModelRequest,
    shown: Sequence[Position],
    lead: str,
    answers: Sequence[str],
    written: str = "",
) -> Generator[ModelRequest, ModelResponse, dict[str, float]]:
    """Weigh the answers as `_masses` does, by tokens that begin with `lead`."""
    mass = dict.fromkeys(answers, 0.0)
    begun: dict[str, float] = {}
    for token, p in _alternatives(shown[0]):
        piece, whole = _part_of(_rest(token, lead, written), answers)
        if whole:
            mass[piece] += p
        elif piece:
            begun[piece] = begun.get(piece, 0.0) + p
    wrote, _ = _part_of(_rest(shown[0].token, lead, written), answers)
    seen = sum(mass.values()) + sum(begun.values())
    in_one_token = {answer for answer, p in mass.items() if p > 0}
    for piece, p in begun.items():
        tails = tuple(answer[len(piece) :] for answer in answers if answer.startswith(piece))
        after: Mapping[str, float]
        if piece == wrote and len(shown) > 1:
            after = yield from _masses_within(request, shown[1:], "", tails, written + piece)
        elif len(tails) == 1:
            after = {tails[0]: 1.0}
        elif "" in tails and any(piece + tail in in_one_token for tail in tails):
            # The tokenizer has a token for 10: one that means 10 does not begin with 1.
            after = {"": 1.0}
        elif p < _NEGLIGIBLE * seen:
            continue
        else:
            reply = yield replace(request, prefill=request.prefill + written + piece)
            if not reply.logprobs or reply.refusal is not None:
                continue
            after = yield from _masses_within(request, reply.logprobs, "", tails, written + piece)
        for tail, share in after.items():
            mass[piece + tail] += p * share
    return mass


def _rest(token: str, lead: str, written: str) -> str | None:
    """Return what a token adds to an answer and what follows it; None where the token leads to
    another answer."""
    token = token.translate(_SIGNS).lower()
    if written:
        return token
    # White space before an answer is none of it, but a token of white space is no answer.
    token = token.lstrip()
    if not token.startswith(lead.lower()):
        return None
    return token[len(lead) :].lstrip() or None


def _part_of(rest: str | None, answers: Sequence[str]) -> tuple[str, bool]:
    """Return the part of an answer that `rest` begins with ("" if none), and whether it is a whole
    one."""
    if rest is None:
        return "", False
    for answer in sorted(answers, key=len, reverse=True):
        if rest.startswith(answer) and _END.match(rest, len(answer)):
            goes_on = rest == answer and any(
                other != answer and other.startswith(answer) for other in answers if answer
            )
            return answer, not goes_on
    if rest and any(answer.startswith(rest) for answer in answers):
        return rest, False
    return "", False
