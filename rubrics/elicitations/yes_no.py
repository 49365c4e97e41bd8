"""The probability of yes as the answer to each dimension's guiding question.

One question a dimension, read at the first token of the answer from the model's
log-probabilities. A score lies between 0, surely no, and 1, surely yes, whatever the
rubric's scale. Only models that return log-probabilities can be asked so.
"""

from __future__ import annotations

import json
import re

from persona_panel.rubrics.elicitation import Calls, Dialogue, ParsedJudgment, Question, counted
from persona_panel.rubrics.probabilities import YES_NO, NoAnswer, letters, most_calls, weights_of
from persona_panel.rubrics.replies import keys_of
from persona_panel.rubrics.rubric import RealScale, Rubric, once_a_rubric
from persona_panel.rubrics.wording import opening, words_of

NEEDS_LOGPROBS = True
GIVES_REASONS = False

PROBABILITY = RealScale(min=0, max=1, low="surely no", high="surely yes")


def serves(rubric: Rubric) -> str | None:
    """Return None where every dimension is rated by numbers and has a question that yes or no
    answers, else why not."""
    if rubric.categories:
        return f"a probability is no category of {', '.join(rubric.categories)}"
    is_open = re.compile(rubric.asked_in.reply_words.question, re.IGNORECASE)
    if wrong := [d.id for d in rubric.dimensions if is_open.search(d.guiding_question)]:
        return f"the guiding question of {', '.join(wrong)} is not answered by yes or no"
    required = rubric.composite.reliable_where if rubric.composite else None
    scales = {dimension.id: dimension.scale for dimension in rubric.numeric}
    if required and (scale := scales[required.dimension]) and not _is_share(scale):
        return (
            f"its composite counts who gave {required.dimension} {required.at_least:g} or more, "
            "which is no probability"
        )
    return None


@once_a_rubric
def output_rubric(rubric: Rubric) -> Rubric:
    """Return every dimension, on a scale from 0 to 1."""
    dimensions = tuple(
        dimension.model_copy(update={"scale": PROBABILITY}) for dimension in rubric.dimensions
    )
    return rubric.model_copy(update={"dimensions": dimensions})


def calls(rubric: Rubric, one_call_per_dimension: bool = False) -> Calls:
    """Return a call for each dimension and one for the abstention, of a token each.

    Where y, ye or n are as probable as whole words, each is followed up by a call more. Apart, it
    is a small model that is asked, and all of these are reckoned with.
    """
    fewest = len(keys_of(rubric))
    most = fewest * most_calls(YES_NO)
    return Calls(fewest, most, most if one_call_per_dimension else fewest, 1)


def dialogue(question: Question) -> Dialogue:
    """Ask about each dimension in turn, then whether the response abstains."""
    rubric = question.rubric
    shared, words = opening(question, _preamble(rubric)), words_of(question)
    scores: dict[str, float] = {}
    off_scale: dict[str, float] = {}
    n_usable = 0
    asked = [
        (dimension.id, letter, dimension.guiding_question)
        for letter, dimension in zip(letters(), rubric.dimensions, strict=False)
    ]
    if rubric.abstention:
        asked.append(("abstained", words.last, rubric.abstention.guiding_question))
    try:
        for key, letter, asks in asked:
            text = words.answer_yes_no.format(letter=letter, question=asks)
            weighing = weights_of((*shared, text), YES_NO, rubric.asked_in)
            (weights, off), n_answers = yield from counted(weighing)
            scores[key], off_scale[key] = weights["yes"], off
            n_usable += n_answers
    except NoAnswer as error:
        return error.reading(off_scale, n_usable)
    raw = json.dumps({key: {"yes": round(p, 6)} for key, p in scores.items()})
    abstains = scores.pop("abstained", None)
    return ParsedJudgment(
        "abstained" if abstains is not None and abstains > 0.5 else "scored",
        scores=scores,
        abstained=None if abstains is None else abstains > 0.5,
        raw=raw,
        off_scale=off_scale,
    )


@once_a_rubric
def _preamble(rubric: Rubric) -> str:
    lines = [rubric.question]
    lines += [f"- {dimension.label}: {dimension.definition}" for dimension in rubric.dimensions]
    if rubric.abstention:
        lines.append(rubric.abstention.definition)
    return "\n".join(lines)


def _is_share(scale: object) -> bool:
    return isinstance(scale, RealScale) and (scale.min, scale.max) == (0, 1)
