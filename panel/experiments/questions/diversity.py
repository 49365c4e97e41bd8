"""How diverse a set of texts is, whatever it is worth: pure functions of texts."""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def distinct_n(texts: Sequence[str], n: int) -> float:
    """Different n-grams by all n-grams of the texts, from above 0 to 1; NaN without any.

    Li et al. (2016), section 5.1. Words are compared without case, and no n-gram crosses
    from one text into the next.

    >>> distinct_n(["why this", "why that"], 1)
    0.75
    """
    grams = [gram for text in texts for gram in _grams(text, n)]
    return len(set(grams)) / len(grams) if grams else math.nan


def ngram_diversity(texts: Sequence[str], longest: int = 4) -> float:
    """The sum of `distinct_n` for n from 1 to `longest`; NaN where a length has no n-gram.

    Shaib et al. (2025); critical-questions.txt, section 7 and Table 4, whose values lie
    between 0 and 4.
    """
    return math.fsum(distinct_n(texts, n) for n in range(1, longest + 1))


def compression_diversity(texts: Sequence[str]) -> float:
    """Compressed size by original size (gzip); NaN without a text.

    The reciprocal of the compression ratio (Shaib et al. 2025; critical-questions.txt,
    section 7): near 0 for texts that repeat each other. What gzip adds weighs on short
    texts: compare sets of like size only, as few words may even come to above 1.
    """
    joined = "\n".join(texts).encode()
    return len(gzip.compress(joined, 9, mtime=0)) / len(joined) if joined else math.nan


def _grams(text: str, n: int) -> list[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
