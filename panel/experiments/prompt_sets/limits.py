"""What a rule sees in a prompt, without a model: its length, a copy, words that point elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from persona_panel.experiments.prompt_sets.candidates import CandidatePrompt, DroppedPrompt
from persona_panel.experiments.prompt_sets.spec import TextLimits

RULES = "rules"
_POINTS_ELSEWHERE = re.compile(
    r"\b(?:(?:the|this|that)\s+(?:above|given|following|previous|preceding|original)\s+(?:\w+\s+)?"
    r"(?:scenario|question|item|text|passage|statement|context|example|situation|options?)|"
    r"(?:described|mentioned|given|stated)\s+(?:above|below|earlier)|"
    r"(?:answer|response)\s+(?:options?|choices?)|in\s+(?:the|this)\s+(?:scenario|item))\b",
    re.IGNORECASE,
)


def within_limits(
    candidates: Sequence[CandidatePrompt], limits: TextLimits
) -> tuple[list[CandidatePrompt], list[DroppedPrompt]]:
    """The candidates that no rule speaks against, and the others with the reason."""
    kept, dropped = [], []
    seen: dict[str, str] = {}
    for one in candidates:
        found = next(_faults(one, limits, seen), None)
        if found is None:
            kept.append(one)
        else:
            dropped.append(DroppedPrompt(RULES, "prompt", *found, one))
    return kept, dropped


def _faults(
    one: CandidatePrompt, limits: TextLimits, seen: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """What is wrong: its kind, and in full."""
    words = one.text.split()
    if not any(map(str.isalpha, one.text)):
        yield "no text", "it has no letter"
    if len(words) < limits.min_words:
        yield "too short", f"{len(words)} words; at least {limits.min_words}"
    if len(words) > limits.max_words:
        yield "too long", f"{len(words)} words; at most {limits.max_words}"
    plain = " ".join(re.findall(r"\w+", one.text.casefold()))
    if (first := seen.setdefault(plain, one.id)) != one.id:
        yield "same text", f"the same words as {first}"
    # What is written of an item must not need it; a text of the user's own may.
    if one.writer is not None and (found := _POINTS_ELSEWHERE.search(one.text)):
        yield "points to its item", f"it points to another text ({found.group()!r})"
