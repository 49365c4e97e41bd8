"""Which texts the next rater sees, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import ceil, comb
from random import Random

from persona_panel.study.latin_square import williams_square
from persona_panel.study.settings import MOST_TOGETHER, StudySettings

_MOST_STARTS = 2
_MOST_ROWS = 24


class BalancedOrders:
    """Orders in which some of n things are shown, one for each next rater.

    Each is a row of a Williams square of all things, without those that are not shown: of the rows
    that one in which things stand in places, and before others, where they have stood least, the
    first place above all. Where all things are shown, as many raters as the square has rows use
    each row once; where some are, or raters are fewer, no row by itself is balanced.
    """

    def __init__(self, n: int, draw: Random) -> None:
        names = draw.sample(range(n), n)
        rows = [[names[place] for place in row] for row in williams_square(n)]
        draw.shuffle(rows)
        self._places = [_places_of(row) for row in rows]
        self._draw = draw
        self._shown: Counter[tuple[int, int]] = Counter()
        self._before: Counter[tuple[int, int]] = Counter()

    def next_of(self, things: Sequence[int]) -> tuple[int, ...]:
        """The order for the next rater, who is shown these things."""
        rows = self._places
        if len(rows) > _MOST_ROWS:
            rows = self._draw.sample(rows, _MOST_ROWS)
        orders = [tuple(sorted(things, key=places.__getitem__)) for places in rows]
        best = min(orders, key=self._cost)
        self._shown.update(enumerate(best))
        self._before.update(combinations(best, 2))
        return best

    def _cost(self, order: Sequence[int]) -> tuple[int, int]:
        first = self._shown[0, order[0]] if order else 0
        before = sum(self._before[a, b] - self._before[b, a] for a, b in combinations(order, 2))
        return first, before + sum(self._shown[at] for at in enumerate(order))


def _places_of(row: Sequence[int]) -> list[int]:
    places = [0] * len(row)
    for place, name in enumerate(row):
        places[name] = place
    return places


class Rotation:
    """Gives each next rater the sets that are needed most."""

    def __init__(
        self, sizes: Sequence[int], prompts: Sequence[int], settings: StudySettings, draw: Random
    ) -> None:
        self._sizes, self._prompts, self._draw = sizes, prompts, draw
        self._per_rater = settings.per_rater
        self._least = 2 if "rank" in settings.tasks else 1
        self._most = max(min(sizes[p], MOST_TOGETHER) for p in prompts)
        self._texts: Counter[tuple[int, int]] = Counter()
        self._pairs: Counter[tuple[int, int, int]] = Counter()
        self._compares = "rank" in settings.tasks
        self._open = {p: self._compares * comb(sizes[p], 2) + sizes[p] for p in prompts}

    def take(self) -> dict[int, tuple[int, ...]]:
        """The texts of the next rater, by prompt."""
        found: dict[int, tuple[int, ...]] = {}
        left = self._per_rater
        while left >= self._least and len(found) < len(self._prompts):
            n = ceil(left / ceil(left / self._most))
            prompt = min(
                (p for p in self._prompts if p not in found),
                key=lambda p: (-self._open[p], self._seen(p), self._draw.random()),
            )
            n = min(n, self._sizes[prompt])
            if left - n < self._least and left - n > 0 and n > self._least:
                n -= 1
            found[prompt] = self._needed(prompt, n)
            left -= n
        return found

    def _seen(self, prompt: int) -> float:
        size = self._sizes[prompt]
        return sum(self._texts[prompt, text] for text in range(size)) / size

    def _needed(self, prompt: int, n: int) -> tuple[int, ...]:
        """The n texts of a prompt whose comparison adds most; they are then seen."""
        names = self._draw.sample(range(self._sizes[prompt]), self._sizes[prompt])
        fewest = sorted(names, key=lambda text: self._texts[prompt, text])[:_MOST_STARTS]
        chosen = min(
            (self._grown(prompt, first, names, n) for first in fewest),
            key=lambda texts: self._cost(prompt, texts),
        )
        for text in chosen:
            self._open[prompt] -= self._texts[prompt, text] == 0
            self._texts[prompt, text] += 1
        for a, b in combinations(chosen, 2) if self._compares else ():
            self._open[prompt] -= self._pairs[prompt, a, b] == 0
            self._pairs[prompt, a, b] += 1
        return chosen

    def _grown(self, prompt: int, first: int, names: Sequence[int], n: int) -> tuple[int, ...]:
        """A set that begins with one text and takes in the text that adds most, one by one."""
        chosen = [first]
        while len(chosen) < n:
            chosen.append(
                min(
                    (text for text in names if text not in chosen),
                    key=lambda text: self._cost_of(prompt, text, chosen),
                )
            )
        return tuple(sorted(chosen))

    def _cost_of(self, prompt: int, text: int, others: Sequence[int]) -> tuple[int, int, int]:
        pairs = [
            self._pairs[prompt, min(text, one), max(text, one)]
            for one in (others if self._compares else ())
        ]
        seen = self._texts[prompt, text]
        return -sum(n == 0 for n in pairs) - (seen == 0), seen, sum(n * n for n in pairs)

    def _cost(self, prompt: int, texts: tuple[int, ...]) -> tuple[int, int, int]:
        compared = combinations(texts, 2) if self._compares else ()
        pairs = [self._pairs[prompt, a, b] for a, b in compared]
        shown = [self._texts[prompt, text] for text in texts]
        fresh = sum(n == 0 for n in pairs) + sum(n == 0 for n in shown)
        return -fresh, sum(shown), sum(n * n for n in pairs)
