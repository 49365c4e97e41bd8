"""A published prompt, word for word: the rubric's template with its fields filled in, and the
answer read by the template's own rule.

Nothing is added to the words: no fence around the texts, no system message, no second question
where an answer cannot be read. So nothing tells a response that speaks as the judge's instructions
from those.
"""

from __future__ import annotations

import regex

from persona_panel.rubrics.elicitation import (
    Calls,
    Dialogue,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Question,
)
from persona_panel.rubrics.replies import (
    Unreadable,
    read_label,
    read_score,
    shown,
    value_at,
)
from persona_panel.rubrics.rubric import (
    CategoryScale,
    Dimension,
    JudgePrompt,
    ReadingRule,
    Rubric,
    folded,
    once_a_rubric,
)
from persona_panel.rubrics.wording import dimension_lines, overall, reading_of

_LONGEST_SEARCH_S = 1.0

NEEDS_LOGPROBS = False
GIVES_REASONS = False

_MAX_TOKENS = 2048


def serves(rubric: Rubric) -> str | None:
    """Return None where the rubric has a template whose rule reads its own example as ratings of
    the rubric, else why it does not."""
    template = rubric.template
    if template is None:
        return "it needs a prompt (--prompt FILE)"
    dimensions = output_rubric(rubric).dimensions
    if len(dimensions) > 1 and not template.read.is_by_dimension:
        return (
            "its rule reads one rating, and the rubric has several dimensions: write {dimension} "
            "where the id of each stands, or add a scale on which the response is rated as a whole"
        )
    try:
        _read(template.example, rubric)
        for rating in (template.read.labels or {}).values():
            _rating(rating, dimensions[0])
    except Unreadable as error:
        return f"its rule does not read its example: {error}"
    return None


@once_a_rubric
def output_rubric(rubric: Rubric) -> Rubric:
    """Return one dimension on the template's own scale, of a rubric that is named by the prompt, as
    nothing of the other is asked; or else the rubric's dimensions. Without the question whether a
    response abstains, which no template asks."""
    template = _template(rubric)
    if template.scale is None:
        return rubric.model_copy(update={"abstention": None})
    return Rubric(
        id="judge-prompt",
        label="Judge prompt",
        question="The response as a whole, in the words of the judge prompt.",
        dimensions=(overall(template.scale, rubric.asked_in),),
        language=rubric.language,
        translation=rubric.translation,
    )


def calls(rubric: Rubric, one_call_per_dimension: bool = False) -> Calls:
    """Return one call, answered about as the example is."""
    return Calls.just(1, len(_template(rubric).example) // 2 + 1)


def dialogue(question: Question) -> Dialogue:
    """Ask in the template's words, once."""
    rubric = question.rubric
    template = _template(rubric)
    values = {
        "text": question.text,
        "question": question.prompt,
        "dimensions": dimension_lines(rubric),
        "persona": question.persona_description,
        "context": question.context or "",
    }
    blocks = [template.filled(part, values) for part in template.blocks if part]
    if question.peer_feedback is not None:
        blocks.append(f"\n\n{question.peer_feedback}")
    reply = yield ModelRequest(
        template.filled(template.system or "", values), tuple(blocks), max_tokens=_MAX_TOKENS
    )

    def read(reply: ModelResponse) -> ParsedJudgment:
        return _read(reply.text, rubric)

    return reading_of(reply, read, rubric.asked_in)


def _template(rubric: Rubric) -> JudgePrompt:
    if rubric.template is None:
        raise ValueError(serves(rubric))
    return rubric.template


def _read(text: str, rubric: Rubric) -> ParsedJudgment:
    """Read the ratings of an answer; raises Unreadable."""
    rule = _template(rubric).read
    scores: dict[str, float] = {}
    labels: dict[str, str] = {}
    for dimension in output_rubric(rubric).dimensions:
        rating = _rating(_by_rule(text, rule, dimension.id), dimension)
        if isinstance(rating, str):
            labels[dimension.id] = rating
        else:
            scores[dimension.id] = rating
    return ParsedJudgment("scored", scores=scores, labels=labels, raw=text)


def _rating(value: object, dimension: Dimension) -> float | str:
    if isinstance(dimension.scale, CategoryScale):
        return read_label(value, dimension)
    return read_score(value, dimension)


def _by_rule(text: str, rule: ReadingRule, dimension: str) -> object:
    """Return what an answer says of a dimension."""
    if rule.json_path is not None:
        return value_at(text, rule.json_path.replace("{dimension}", dimension))
    if rule.regex is not None:
        pattern = rule.regex.replace("{dimension}", regex.escape(dimension))
        try:
            # Python's own `re` knows no limit, and some expressions take exponential time.
            ratings = regex.findall(pattern, text, timeout=_LONGEST_SEARCH_S)
        except TimeoutError:
            limit = f"{_LONGEST_SEARCH_S:g} second"
            raise Unreadable(f"{pattern!r} was not searched to the end within {limit}") from None
        matched = {rating.strip() for rating in ratings}
        if len(matched) != 1:
            raise Unreadable(f"{pattern!r} finds {'two ratings' if matched else 'nothing'} in it")
        return matched.pop()
    labels = {folded(label): rating for label, rating in (rule.labels or {}).items()}
    for line in (text, text.strip().splitlines()[-1]):
        if (label := folded(line)) in labels:
            return labels[label]
    raise Unreadable(f"it ends with {shown(line)}, not with one of {', '.join(rule.labels or ())}")
