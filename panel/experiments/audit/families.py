"""Which family a model belongs to, as far as its name says so.

A family is the models of one maker. A name that says none, or two (a model distilled into
another one's weights), has none: unknown is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

HUMAN = "human"
"""The family of people: no model belongs to it, and it is known to be none of theirs."""

_WORDS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("claude",),
    "cohere": ("command", "aya"),
    "deepseek": ("deepseek",),
    "google": ("gemini", "gemma", "palm", "bard"),
    "huggingface": ("smollm", "zephyr"),
    "ibm": ("granite",),
    "meta": ("llama", "codellama"),
    "microsoft": ("phi",),
    "mistral": ("mistral", "mixtral", "ministral", "magistral", "codestral", "pixtral"),
    "moonshot": ("kimi",),
    "nvidia": ("nemotron",),
    "olmo": ("olmo", "olmoe", "tulu"),
    "openai": ("gpt", "chatgpt", "davinci", "o1", "o3", "o4"),
    "qwen": ("qwen", "qwq"),
    "xai": ("grok",),
    "zhipu": ("glm", "chatglm"),
    HUMAN: ("human", "humans", "person", "people", "expert", "experts", "student", "students"),
}
_FAMILY = {word: family for family, words in _WORDS.items() for word in words}
# OpenAI's shape is spoken by every server: what stands before the colon says nothing.
_PROVIDER = re.compile(r"^[a-z0-9_]+:")


def family_of(name: str) -> str | None:
    """The family that a model's id or a system's name tells, None where it tells none.

    >>> family_of("openai:qwen2.5-7b-instruct"), family_of("Claude 4.5"), family_of("system-a")
    ('qwen', 'anthropic', None)
    """
    words = re.findall(r"[a-z]+\d*", _PROVIDER.sub("", name.lower()))
    found = {
        family
        for word in words
        if (family := _FAMILY.get(word) or _FAMILY.get(word.rstrip("0123456789")))
    }
    return found.pop() if len(found) == 1 else None
