"""Sentences on what was required, what was found, and what would settle it."""

from __future__ import annotations

from math import isnan

from persona_panel.results.conclusions.wording import counted, would_show
from persona_panel.results.requirements.decision import Decision
from persona_panel.results.requirements.figures import Figure
from persona_panel.results.requirements.requirement import Requirement
from persona_panel.statistics.core.display import general, number

_MOST_DIGITS = 9
_WRONG = {">=": "below", ">": "at or below", "<=": "above", "<": "at or above"}
_REACHES = {">=": "below {}", ">": "to {} or below", "<=": "above {}", "<": "to {} or above"}


def sentence(decision: Decision) -> str:
    """A decision in one or two sentences.

    `tau_c >= 0.4 is not met: 0.45 (95 % interval over prompts 0.31 to 0.57, 24 prompts); the
    interval reaches below 0.4. If …`
    """
    how = "is met" if decision.met else "is not met"
    if decision.met and decision.why == "estimate":
        how = "is met by the estimate"
    return f"{decision.requirement} {how}: {found(decision)}{remark(decision)}"


def found(decision: Decision) -> str:
    """The figure as it was found, with its interval and what it rests on."""
    figure, requirement = decision.figure, decision.requirement
    if figure.words:
        return f"{figure.word}{f' ({figure.detail})' if figure.detail else ''}"
    if isnan(figure.value):
        return f"the figure is undefined ({figure.reason})"
    facts = [_interval(figure, requirement)] if figure.has_interval else []
    facts = [_interval(figure, requirement)] if figure.has_interval else []
    if figure.detail:
        facts.append(figure.detail)
    elif figure.n_prompts is not None:
        facts.append(counted(figure.n_prompts, _what(figure)))
    brackets = f" ({', '.join(facts)})" if facts else ""
    return f"{_number(figure.value, requirement, figure)}{brackets}"


def remark(decision: Decision) -> str:
    """Return the end of the sentence: why the requirement is not met, and what would meet it."""
    if decision.figure.words:
        return "."
    figure, bound = decision.figure, general(decision.requirement.bound, 12)
    comparison = decision.requirement.comparison
    wrong = f"{_WRONG[comparison]} {bound}"
    match decision.why:
        case "no interval":
            return (
                f"; it has no interval, which decides ({figure.reason}). The estimate decides "
                "with --require-point (by_point=True in Python)."
            )
        case "beyond":
            return f"; the whole interval is {wrong}."
        case "contrary":
            what = _what(figure)
            if decision.requirement.holds_for(figure.value):
                return f"; it is {bound} itself: how many {what}s would settle it is not known."
            return (
                f"; it is {wrong} itself: if that is so, no number of {what}s meets the "
                "requirement."
            )
        case "open":
            reaches = _REACHES[comparison].format(bound)
            return f"; the interval reaches {reaches}. {_settled(decision)}"
    return "."


def _settled(decision: Decision) -> str:
    """Return how many more prompts would settle it."""
    what = _what(decision.figure)
    if decision.takes_judges:
        return (
            f"If the figure is as found, no number of {what}s meets the requirement with these "
            "judges: more judges are needed."
        )
    if decision.assured is None:
        return f"How many {what}s would settle it is not known."
    return would_show(decision.assured, "meet it", what)


def _interval(figure: Figure, requirement: Requirement) -> str:
    low, high = (_number(end, requirement, figure) for end in (figure.low, figure.high))
    over = f"{figure.over} " if figure.over else ""
    return f"{100 * figure.level:g} % interval {over}{low} to {high}"


def _what(figure: Figure) -> str:
    return "item" if figure.of_items else "prompt"


def _number(value: float, requirement: Requirement, figure: Figure) -> str:
    """A number with two decimals, of what is known without error with four; with more where it
    takes them to show on which side of the bound it lies."""
    if (figure.is_exact or figure.is_whole) and value == int(value):
        return f"{int(value):,}".replace("-", "−")
    side = requirement.holds_for(value)
    for digits in range(4 if figure.is_exact else 2, _MOST_DIGITS + 1):
        shown = round(value, digits)
        equal = abs(value - requirement.bound) < 10**-_MOST_DIGITS
        if equal or (requirement.holds_for(shown) == side and shown != requirement.bound):
            return number(shown, digits)
    return number(value, _MOST_DIGITS)
