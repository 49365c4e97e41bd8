"""What a provider reports that a call took, made into counts that can be added up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from persona_panel.rubrics import Usage

MOST_TOKENS = 100_000_000
"""No call takes more: a larger count is a mistake or worse, and would break every sum."""
_MAPPING = (dict, Mapping)  # what a body holds is found by its type, without asking the ABC


def usage_from(
    input_: Any, cached: Any, output: Any, written: Any = 0, reasoning: Any = 0
) -> Usage:
    """Token counts as a provider reported them, of any type, with 0 ≤ cached + written ≤ input and
    0 ≤ reasoning ≤ output.

    None is a count that was not reported, and 0. A count that cannot be (negative, not finite,
    above `MOST_TOKENS`, no number) is 0 as well, and more tokens read from a cache or written to it
    than there were in the input, or used for thinking than there were in the output, are cut down
    to it; `odd` then says what was reported.
    """
    # What a provider reports is nearly always so: these are looked at once.
    if _are_sound(input_, cached, output, written, reasoning):
        return Usage(input_, cached, output, written, reasoning=reasoning)
    odd: list[str] = []

    def count(name: str, reported: Any) -> int:
        number = _number(reported)
        if number is None:
            odd.append(f"{name} tokens are {_shown(reported)}")
        return number or 0

    def part(name: str, reported: Any, whole: str, total: int, left: int) -> int:
        number = count(name, reported)
        if number > left:
            odd.append(f"{name} tokens are {number}, and {whole} tokens {total}")
        return min(number, left)

    read, answered = count("input", input_), count("output", output)
    kept = part("cached", cached, "input", read, read)
    put = part("written", written, "input", read, read - kept)
    thought = part("reasoning", reasoning, "output", answered, answered)
    return Usage(read, kept, answered, put, "; ".join(odd) or None, thought)


def odd_usage(reported: Any) -> Usage:
    """No counts at all: what was reported has no places for them."""
    return Usage(odd=f"usage is {_shown(reported)}")


def sound(usage: Usage) -> Usage:
    """A usage as it can be; `odd` says what was otherwise."""
    if _are_sound(usage.input, usage.cached, usage.output, usage.written, usage.reasoning):
        return usage
    found = usage_from(usage.input, usage.cached, usage.output, usage.written, usage.reasoning)
    return replace(found, odd=usage.odd or found.odd)


def usage_in(content: Any) -> Usage | None:
    """What a body says that a call took, be it an answer or not; None where it says nothing."""
    said = content.get("usage") if isinstance(content, Mapping) else None
    return completion_usage(said) or None


def completion_usage(reported: Any) -> Usage:
    """The `usage` of a chat completion's body."""
    if reported is None:
        return Usage()
    if not isinstance(reported, _MAPPING):
        return odd_usage(reported)
    # Most servers send no details, and to ask an ABC of None takes long.
    details = reported.get("prompt_tokens_details")
    cached = details
    if details and isinstance(details, _MAPPING):
        cached = details.get("cached_tokens")
    details = reported.get("completion_tokens_details")
    reasoning = None
    if details and isinstance(details, _MAPPING):
        reasoning = details.get("reasoning_tokens")
    output = reported.get("completion_tokens")
    unlisted = _left_out(reported.get("total_tokens"), reported.get("prompt_tokens"), output)
    if unlisted and (not reasoning or reasoning == unlisted):
        # xAI's and Gemini's servers leave thinking out of the completion's tokens and bill for it.
        output, reasoning = (output or 0) + unlisted, unlisted
    return usage_from(
        reported.get("prompt_tokens"),
        cached or reported.get("prompt_cache_hit_tokens") or 0,
        output,
        reasoning=reasoning or 0,
    )


def _left_out(total: Any, read: Any, answered: Any) -> int:
    """Tokens of the total that are neither the prompt's nor the completion's: of thinking."""
    if not type(total) is type(read) is type(answered) is int:
        return 0
    if read < 0 or answered < 0 or not read + answered < total <= MOST_TOKENS:
        return 0
    return int(total - read - answered)


def _are_sound(input_: Any, cached: Any, output: Any, written: Any, reasoning: Any) -> bool:
    """Whether these are plain numbers that can be a call's."""
    return (
        type(input_) is type(cached) is type(output) is type(written) is type(reasoning) is int
        and 0 <= cached <= cached + written <= input_ <= MOST_TOKENS
        and 0 <= reasoning <= output <= MOST_TOKENS
        and written >= 0
    )


def _number(reported: Any) -> int | None:
    """A count, also one as text or as a float; None where it cannot be one."""
    if reported is None:
        return 0
    if isinstance(reported, bool) or not isinstance(reported, int | float | str):
        return None
    try:
        number = float(reported)
    except (ValueError, OverflowError):
        return None
    return int(number) if math.isfinite(number) and 0 <= number <= MOST_TOKENS else None


def _shown(reported: Any) -> str:
    """A short, plain word on it: the value itself may be megabytes of foreign text."""
    if isinstance(reported, float):
        return f"{reported:g}"
    if isinstance(reported, int):
        readable = abs(reported) <= 10 * MOST_TOKENS
        return str(reported) if readable else "a number of 10 digits or more"
    if isinstance(reported, str):
        return "a text"
    return "a list" if isinstance(reported, list) else "an object"
