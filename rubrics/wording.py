"""The question as elicitations put it, in parts that they share: the fence around texts under
judgment, the words, the exchange that asks again for what cannot be read, one overall rating, and
peer feedback.

A text is data, never instructions. The mark of its fence is derived from the text, so that the same
text gets the same prompt (and a cached reply), and is checked not to occur in it, so that nothing
inside can close it.

A model may also heed what only looks like the mark. So the check is made on what is left when a
text is folded (`_folded`), and eight digits of the mark in a row are too many. A mark of 96 bits
keeps out who would search for a text with a near-copy of its own mark: three digits or more must
then differ, and a text of a million characters has to be tried 2**53 times; with 64 bits two digits
or more, and 2**29 times.

What is asked, and how an answer is read, is in the elicitations. A reply that no reader could use
is known here: a refusal, one that was cut off, an empty one.

One overall rating is for elicitations that ask for no dimension by itself: `serves`,
`output_rubric` and `calls` are theirs. Their ratings come under the single dimension `overall`: a
table of them looks like any other, and cannot be mistaken for one of the rubric's criteria.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from unicodedata import decimal, normalize

from persona_panel.rubrics.elicitation import (
    Calls,
    Comparison,
    Dialogue,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Question,
)
from persona_panel.rubrics.instructions import ENGLISH, JudgeInstructions, Language
from persona_panel.rubrics.replies import Unreadable, is_refusal
from persona_panel.rubrics.rubric import (
    AnyScale,
    CategoryScale,
    Dimension,
    RealScale,
    Rubric,
    Scale,
    once_a_rubric,
)
from persona_panel.rubrics.single_number import read_number

MARK_DIGITS = 24
"""The number of hexadecimal digits of a mark."""
_TOO_MANY = 8
"""The number of digits of a mark in a row that no text may have; else another mark is taken."""

# Letters of other alphabets (Cyrillic, Greek, small capitals) that look like a digit of a mark.
_LOOKALIKES = {
    letter: digit
    for digit, letters in {
        "a": "\u0430\u03b1\u0251\u1d00",
        "b": "\u0432\u044c\u03b2\u0180\u0299",
        "c": "\u0441\u03c2\u03f2\u1d04",
        "d": "\u0501\u1d05",
        "e": "\u0435\u03b5\u1d07",
        "f": "\u0493\ua730",
        "0": "\u043e\u03bf",
        "1": "\u0456\u04cf\u03b9\u0131\u01c0",
        "3": "\u0437",
        "6": "\u0431",
    }.items()
    for letter in letters
}
# ASCII's own lookalikes among them, and capitals.
_DIGITS = bytes.maketrans(b"ABCDEFOoLlIi|", b"abcdef0011111")
_NO_DIGITS = bytes(set(range(128)) - set(b"0123456789abcdefABCDEFOoLlIi|"))


def fence_for(*texts: str) -> str:
    """Return a word of `MARK_DIGITS` hexadecimal digits of which no text has `_TOO_MANY` in a row.

    Neither case, accents, spaces, punctuation and invisible characters in between, nor
    lookalikes from other alphabets make a difference.
    """
    digest = sha256("\x00".join(texts).encode("utf-8", "surrogatepass"))
    folded = b" ".join(map(_folded, texts))
    while _nearly_in(mark := digest.hexdigest()[:MARK_DIGITS], folded):
        digest.update(b"again")
    return mark


def fenced(name: str, text: str, fence: str) -> str:
    """Return `text` between two lines that carry its name and the fence."""
    name = _BREAKS.sub(" ", name)
    return f"<{name} {fence}>\n{text}\n</{name} {fence}>"


_BREAKS = re.compile(r"[\s<>]+")


def _nearly_in(mark: str, folded: bytes) -> bool:
    digits = mark.encode()
    return any(
        digits[start : start + _TOO_MANY] in folded for start in range(MARK_DIGITS - _TOO_MANY + 1)
    )


def _folded(text: str) -> bytes:
    """Return the hexadecimal digits of a text and what looks like one, with nothing in between."""
    if not text.isascii():
        # One by one: of most texts few characters count, and `str.translate` looks at all.
        for char in set(text):
            if not char.isascii() and (plain := _plain(char)):
                text = text.replace(char, plain)
    return text.encode("ascii", "ignore").translate(_DIGITS, _NO_DIGITS)


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """Return a character in ASCII: its compatible form without case and accents, or what it looks
    like; nothing where it has none."""
    if char in _LOOKALIKES:
        return _LOOKALIKES[char]
    parts = normalize("NFKD", normalize("NFKD", char).casefold())
    return "".join(
        part if part.isascii() else _LOOKALIKES.get(part) or _digit(part) for part in parts
    )


def _digit(char: str) -> str:
    """Return a decimal digit of any script as ASCII's; nothing for another character."""
    number = decimal(char, None)
    return "" if number is None else str(number)


SYSTEM = ENGLISH.instructions.system
"""The system message in English."""


def words_of(question: Question | Comparison) -> JudgeInstructions:
    """Return the instructions in the language of a question."""
    return question.rubric.asked_in.instructions


def material(question: Question) -> str:
    """Return the prompt, the context where there is one, and the response, each in its fence."""
    rubric = question.rubric
    return _fenced_material(
        question.prompt,
        question.text,
        question.context,
        _names(rubric),
        words_of(question).material,
    )


@once_a_rubric
def _names(rubric: Rubric) -> tuple[str, str, str]:
    """Return the names of the prompt, the context and the response in questions."""
    item, part = rubric.item, rubric.asked_in.instructions.part
    return part(item.prompt), part(item.context), part(item.response)


# The judges of a response ask one after the other, and some responses at a time.
@lru_cache(maxsize=32)
def _fenced_material(
    prompt: str, text: str, context: str | None, names: tuple[str, str, str], instruction: str
) -> str:
    texts = [prompt, text]
    if context is not None:
        texts.append(context)
    fence = fence_for(*texts)
    parts = [fenced(names[0], prompt, fence)]
    if context is not None:
        parts.append(fenced(names[1], context, fence))
    parts.append(fenced(names[2], text, fence))
    return "\n\n".join([instruction.format(fence=fence), *parts])


@once_a_rubric
def criteria(rubric: Rubric) -> str:
    """Return the rubric in full: every dimension with its definition, question and scale.

    Dimensions of a family stand under its name.
    """
    return f"{rubric.question}\n\n{dimension_lines(rubric)}"


def dimension_lines(rubric: Rubric) -> str:
    """Return every dimension of the rubric, a line each."""
    lines = []
    words = rubric.asked_in.instructions
    family = None
    for number, dimension in enumerate(rubric.dimensions, start=1):
        if dimension.family is not None and dimension.family != family:
            lines.append(words.family.format(family=dimension.family))
        family = dimension.family
        lines.append(
            words.dimension.format(
                number=number,
                label=dimension.label,
                id=dimension.id,
                definition=dimension.definition,
                question=dimension.guiding_question,
                scale=scale_words(dimension, rubric.asked_in),
            )
        )
    return "\n".join(lines)


def scale_words(dimension: Dimension, language: Language = ENGLISH) -> str:
    """Return the possible ratings in words, with the meaning of a scale's ends or of each
    category.
    """
    scale, words = dimension.scale, language.instructions
    if isinstance(scale, CategoryScale):
        listed = words.semicolon.join(
            words.category.format(name=name, meaning=meaning)
            for name, meaning in scale.values.items()
        )
        template = words.ordered_categories if scale.ordered else words.categories
        return template.format(listed=listed)
    template = words.real_scale if isinstance(scale, RealScale) else words.whole_scale
    return template.format(
        min=f"{scale.min:g}", low=scale.low, max=f"{scale.max:g}", high=scale.high
    )


def opening(question: Question, task: str) -> tuple[str, ...]:
    """Return a question's first blocks: the task with the material, and who the judge is, in the
    order of its layout; then what the judge is shown of its peers."""
    blocks = laid_out(question, task, material(question))
    return blocks if question.peer_feedback is None else (*blocks, question.peer_feedback)


def laid_out(question: Question | Comparison, task: str, material: str) -> tuple[str, ...]:
    """Return the first blocks of a question about this material; of a judge without a persona,
    one.
    """
    shared = _shared_block(task, material)
    if not question.persona_description:
        return (shared,)
    own = f"{_viewpoint(question)}\n\n"
    return (shared, own) if question.layout == "shared-prefix" else (own, shared)


@lru_cache(maxsize=32)
def _shared_block(task: str, material: str) -> str:
    # The same object for all judges of a response: what looks it up hashes it once.
    return f"{task}\n\n{material}\n\n"


def _viewpoint(question: Question | Comparison) -> str:
    return words_of(question).persona.format(
        description=question.persona_description, label=question.persona_label
    )


Read = Callable[[ModelResponse], ParsedJudgment]
"""A function that reads a reply which `unusable` lets pass; it raises Unreadable with what is
wrong."""


def ask_twice(
    request: ModelRequest, read: Read, wanted: str, language: Language = ENGLISH
) -> Dialogue:
    """Ask; where the answer cannot be read, say why, in a language, and ask for `wanted` once more.

    A reading that is still `unparsed` after that keeps its text. An answer that was cut off is
    not asked for again: at the same limit it would be cut off again.
    """
    reply = yield request
    first, fault = _reading(reply, read, language)
    if fault is None:
        return first
    reason = fault.in_words(language.instructions)
    request_again = correction(reason, wanted, language)
    reply = yield replace(request, exchange=((reply.text, request_again),))
    return reading_of(reply, read, language)


def correction(fault: str, wanted: str, language: Language = ENGLISH) -> str:
    """Return the message to a model whose answer cannot be used.

    The fault is fenced: it quotes the answer, and an answer may quote a text under judgment.
    """
    fence, words = fence_for(fault), language.instructions
    shown = fenced(words.fault, fault, fence)
    return f"{words.unusable.format(fence=fence)}\n\n{shown}\n\n{wanted}"


def unusable(reply: ModelResponse) -> ParsedJudgment | None:
    """Return the reading of a reply in which there is nothing to read; None where there may be."""
    raw = reply.text
    if reply.refusal is not None:
        # As texts, whatever a model of a user's own says.
        return ParsedJudgment("refused", raw=raw or str(reply.refusal), error=str(reply.refusal))
    if reply.finish_reason == "length":
        return ParsedJudgment("truncated", raw=raw, error="it was cut off at the token limit")
    if not raw.strip():
        return ParsedJudgment("unparsed", raw=raw, error=_EMPTY)
    return None


def reading_of(reply: ModelResponse, read: Read, language: Language = ENGLISH) -> ParsedJudgment:
    """Return what `read` makes of a reply to a question in a language, or what is known of one in
    which there is nothing to read, or nothing that it could."""
    return _reading(reply, read, language)[0]


def _reading(
    reply: ModelResponse, read: Read, language: Language
) -> tuple[ParsedJudgment, Unreadable | None]:
    """Return the reading of a reply, and what is wrong with one that is to be asked for again."""
    if (nothing := unusable(reply)) is not None:
        return nothing, Unreadable(_EMPTY) if nothing.status == "unparsed" else None
    raw = reply.text
    if thinking := _THINKING.match(raw):
        reply = replace(reply, text=raw[thinking.end() :])
    try:
        reading = read(reply)
        return replace(reading, raw=raw) if thinking else reading, None
    except Unreadable as error:
        # Only where nothing could be read, so that a rationale may say "I cannot".
        if "{" not in reply.text and is_refusal(reply.text, language):
            declined = "the judge declined to rate"
            return ParsedJudgment("refused", raw=raw, error=declined), None
        return ParsedJudgment("unparsed", raw=raw, error=str(error)), error


_EMPTY = "it is empty"
# Some servers send what a model thinks in the answer itself: it is no part of it. Where the thought
# has no end there is no answer.
_THINKING = re.compile(r"\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_TOKENS = 4  # about what such an answer takes
_ID = "overall"


def serves(rubric: Rubric) -> str | None:
    """Return None where the rubric has a scale for a single number, else why it has none."""
    if _own(rubric) or len(_ranges(rubric)) == 1:
        return None
    if not rubric.numeric:
        return "it asks for one number, and every dimension of the rubric has categories"
    return "it asks for one number, and the rubric's dimensions have different scales"


@once_a_rubric
def output_rubric(rubric: Rubric) -> Rubric:
    """Return the rubric with one dimension, and without the question whether a response abstains.

    The dimension is the rubric's own `overall` where it has one; else its scale is the one
    that all dimensions rated by numbers share.

    Raises:
        ValueError: there is no such scale; see `serves`.
    """
    if why := serves(rubric):
        raise ValueError(why)
    return Rubric(
        id=rubric.id,
        label=rubric.label,
        question=rubric.question,
        dimensions=(_own(rubric) or _made(rubric),),
        language=rubric.language,
        translation=rubric.translation,
    )


def calls(rubric: Rubric, one_call_per_dimension: bool = False) -> Calls:
    """Return one call, answered by a number."""
    return Calls.just(1, _TOKENS)


def one_number(question: Question, task: str, dimension: Dimension) -> Dialogue:
    """Put a task that is answered by a number; once more if the answer holds none."""

    words, language = words_of(question), question.rubric.asked_in

    def read(reply: ModelResponse) -> ParsedJudgment:
        score = read_number(reply.text, dimension, language)
        return ParsedJudgment("scored", scores={dimension.id: score}, raw=reply.text)

    request = ModelRequest(
        system=words.system, blocks=(*opening(question, task), words.give_number)
    )
    return (yield from ask_twice(request, read, words.again_number, language))


def _own(rubric: Rubric) -> Dimension | None:
    return next((dimension for dimension in rubric.numeric if dimension.id == _ID), None)


def _made(rubric: Rubric) -> Dimension:
    words = rubric.asked_in.instructions
    ends = {(_scale(d).low, _scale(d).high) for d in rubric.numeric}
    low, high = ends.pop() if len(ends) == 1 else (words.worst, words.best)
    scale = _scale(rubric.numeric[0]).model_copy(update={"low": low, "high": high})
    return overall(scale, rubric.asked_in)


def overall(scale: AnyScale, language: Language = ENGLISH) -> Dimension:
    """Return the dimension of the response as a whole, on a scale."""
    words = language.instructions
    return Dimension(
        id=_ID,
        label=words.overall_label,
        definition=words.overall_definition,
        guiding_question=words.overall_question,
        scale=scale,
    )


def _ranges(rubric: Rubric) -> set[tuple[str, float, float]]:
    return {(_scale(d).kind, _scale(d).min, _scale(d).max) for d in rubric.numeric}


def _scale(dimension: Dimension) -> Scale | RealScale:
    if isinstance(dimension.scale, CategoryScale):
        raise TypeError(f"{dimension.id} has categories")
    return dimension.scale


REASON_TOKENS = 160


@dataclass(frozen=True, slots=True)
class Peer:
    """Another judge's judgment as a judge sees it: its name, ratings and reasons."""

    name: str
    ratings: str | None
    rationale: str | None


def peer_feedback(own: str, peers: Sequence[Peer], question: Question) -> str:
    """Return the text that a judge reads before it rates again: its own ratings, and its peers'
    judgments.

    Their mark occurs nowhere in the material of the question either: a response could else hold a
    reading of its own making.
    """
    words = words_of(question)
    texts = [
        "\n".join(part for part in (peer.ratings, peer.rationale) if part) or words.nothing
        for peer in peers
    ]
    fence = fence_for(*texts, question.prompt, question.text, question.context or "")
    shown = "\n\n".join(
        fenced(peer.name, text, fence) for peer, text in zip(peers, texts, strict=True)
    )
    introduction = words.peers.format(own=own, fence=fence)
    return f"{introduction}\n\n{shown}\n\n{words.rate_again}\n\n"


def ratings_in_words(
    scores: Mapping[str, float],
    labels: Mapping[str, str],
    abstained: bool | None,
    rubric: Rubric,
) -> str:
    """Return ratings in words for judges, each by its dimension's label."""
    parts, words = [], rubric.asked_in.instructions
    for dimension in rubric.dimensions:
        if dimension.id in scores:
            parts.append(f"{dimension.label} {scores[dimension.id]:.3g}")
        elif dimension.id in labels:
            parts.append(f"{dimension.label} {labels[dimension.id]}")
    if abstained:
        parts.append(words.declines)
    return words.comma.join(parts) or words.nothing_rated


def ask_why(question: Question, revised: str) -> Dialogue:
    """Ask a judge that has changed a rating for what changed its mind.

    Its words are the reading's rationale, None where it names nothing.
    """
    words = words_of(question)
    reply = yield ModelRequest(
        system=words.system,
        blocks=(
            *opening(question, question.rubric.question),
            words.ask_why.format(revised=revised),
        ),
        max_tokens=REASON_TOKENS,
    )
    # A reason that was cut short is a reason still.
    if (nothing := unusable(replace(reply, finish_reason="stop"))) is not None:
        return nothing
    text = " ".join(reply.text.split())
    no_reason = question.rubric.asked_in.reply_words.no_reason
    names_nothing = re.fullmatch(no_reason, text.strip(" .!\"'„“”«»。！").lower()) is not None
    return ParsedJudgment("scored", rationale=None if names_nothing else text, raw=reply.text)
