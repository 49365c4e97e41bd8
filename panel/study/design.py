"""The design of a study: its settings, and a balanced incomplete design that says which rater sees
which texts in which order.

Source of the Latin squares: E. J. Williams (1949), "Experimental designs balanced for the
estimation of residual effects of treatments".

Pure: sizes and a seed in, numbers out. A set is a prompt with those of its texts that a rater
compares, a block of the design; a text is named by its place among those of its prompt.

Every rater sees a prompt once, but for repeated sets. Where each rater has so many texts, sets are
chosen one after the other so that pairs of texts that nobody has compared yet come first, then
texts that few have seen: the texts of a prompt rotate over its raters. Where each text has so many
readings, every text has exactly these, and raters differ by one set at most. Within a set texts
stand in the order of a row of a Williams square, the next row for each next rater, and never, from
four texts on, in that of the file; so do the prompts of each rater. A repeated set has its texts in
the opposite order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import ceil, comb
from random import Random
from typing import Literal, get_args

from persona_panel.files.errors import ConfigurationError
from persona_panel.results.conclusions.wording import counted

Task = Literal["rank", "rate"]
TASKS: tuple[Task, ...] = ("rank", "rate")

MOST_TOGETHER = 6
"""The largest number of texts that a rater compares at a time: as many as in SCRuB's study."""


@dataclass(frozen=True, slots=True)
class StudySettings:
    """The settings of a study: how many raters (1 or more), and how many texts each sees besides
    calibration and repeated sets; their tasks with each set, in order; how many prompts all see
    first (`calibration`), how many sets each sees again at the end (`repeats`), and how many check
    attention; the seed of all that is drawn; in place of `per_rater`, which is 0 then, how many
    raters read each text (`readings`); the names of the raters, if they have any, and their groups,
    such as disciplines, over which the readings of a text are spread, one a rater; from how many
    attention checks failed on a rater is left out at collection (`exclude_failed`), None: never;
    whether raters may say that a text cannot be assessed or compared, whatever the rubric says; the
    ids of the calibration prompts (`controls`), which are the first of all then, if not drawn."""

    raters: int
    per_rater: int
    tasks: tuple[Task, ...] = TASKS
    calibration: int = 0
    repeats: int = 0
    attention: int = 0
    seed: int = 0
    readings: int = 0
    names: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    exclude_failed: int | None = None
    abstain: bool = False
    controls: tuple[str, ...] = ()


DESIGNS: dict[str, dict[str, int | str | bool]] = {
    "scrub": {"tasks": "rank,rate", "rubric": "scrub", "readings": 10, "attention": 2,
              "abstain": True},
}  # fmt: skip
"""Designs by name: what they set of a study. SCRuB, section 14.2: sets of at most six texts to a
prompt, ranked and scored by dimension, ten readings, no calibration, two sets that are checks; and
abstention, as its judges may abstain."""


def williams_square(n: int) -> list[list[int]]:
    """Return orders of n things, 1 or more, one a row: a Latin square whose neighbours are
    balanced, too. Over all rows each thing stands equally often in each place, and directly behind
    each other thing equally often. There are n rows for an even n, 2n for an odd one above 1 (the
    square and its mirror image), each a permutation of 0 to n − 1.

    >>> williams_square(4)
    [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    """
    if n == 1:
        return [[0]]
    first = [0]
    for step in range(1, n):
        first.append((step + 1) // 2 if step % 2 else n - step // 2)
    rows = [[(place + shift) % n for place in first] for shift in range(n)]
    return rows if n % 2 == 0 else rows + [row[::-1] for row in rows]


_MOST_STARTS = 2
_MOST_ROWS = 24
_FEWEST_IN_DISORDER = 4
"""Of three things a balanced square has all orders, their own among them."""


class BalancedOrders:
    """Orders in which some of n things are shown, one for each next rater: of the rows of a
    Williams square of all things, without those that are not shown, the one in which things stand
    in places, and before others, where they have stood least, the first place above all. Where all
    are shown, as many raters as the square has rows use each row once. Of rows that are alike in
    this the one is taken in which the `labels` of things, such as systems, stand where they have
    stood least in `places`, which several share. Four things or more are never shown in their own
    order."""

    def __init__(
        self,
        n: int,
        draw: Random,
        labels: Sequence[int] | None = None,
        places: Counter[tuple[int, int]] | None = None,
    ) -> None:
        rows = _renamed_square(n, draw)
        draw.shuffle(rows)
        self._places = [_places_of(row) for row in rows]
        self._draw = draw
        self._labels = range(n) if labels is None else labels
        self._shown: Counter[tuple[int, int]] = Counter()
        self._before: Counter[tuple[int, int]] = Counter()
        self._overall: Counter[tuple[int, int]] = Counter() if places is None else places

    def next_of(self, things: Sequence[int]) -> tuple[int, ...]:
        """Return the order for the next rater, who is shown these things."""
        rows = self._places
        if len(rows) > _MOST_ROWS:
            rows = self._draw.sample(rows, _MOST_ROWS)
        orders = [tuple(sorted(things, key=places.__getitem__)) for places in rows]
        mixed = [order for order in orders if not _in_own_order(order)]
        best = min(mixed or orders, key=self._cost)
        self._shown.update(enumerate(best))
        self._before.update(combinations(best, 2))
        self._overall.update(self._labelled(best))
        return best

    def _labelled(self, order: Sequence[int]) -> Iterator[tuple[int, int]]:
        return ((place, self._labels[thing]) for place, thing in enumerate(order))

    def _cost(self, order: Sequence[int]) -> tuple[int, int, int]:
        first = self._shown[0, order[0]] if order else 0
        before = sum(self._before[a, b] - self._before[b, a] for a, b in combinations(order, 2))
        overall = sum(self._overall[at] for at in self._labelled(order))
        return first, before + sum(self._shown[at] for at in enumerate(order)), overall


def _renamed_square(n: int, draw: Random) -> list[list[int]]:
    """Return a Williams square of n things under names that are drawn so that no row is in their
    own order."""
    while True:
        names = draw.sample(range(n), n)
        rows = [[names[place] for place in row] for row in williams_square(n)]
        if not any(map(_in_own_order, rows)):
            return rows


def _in_own_order(things: Sequence[int]) -> bool:
    return len(things) >= _FEWEST_IN_DISORDER and list(things) == sorted(things)


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
        """Return the texts of the next rater, by prompt."""
        taken: dict[int, tuple[int, ...]] = {}
        left = self._per_rater
        while left >= self._least and len(taken) < len(self._prompts):
            n = ceil(left / ceil(left / self._most))
            prompt = min(
                (p for p in self._prompts if p not in taken),
                key=lambda p: (-self._open[p], self._seen(p), self._draw.random()),
            )
            n = min(n, self._sizes[prompt])
            if left - n < self._least and left - n > 0 and n > self._least:
                n -= 1
            taken[prompt] = self._needed(prompt, n)
            left -= n
        return taken

    def _seen(self, prompt: int) -> float:
        size = self._sizes[prompt]
        return sum(self._texts[prompt, text] for text in range(size)) / size

    def _needed(self, prompt: int, n: int) -> tuple[int, ...]:
        """Return the n texts of a prompt whose comparison adds most; they are then seen."""
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
        """Grow a set from one text by the text that adds most, one by one."""
        chosen = [first]
        while len(chosen) < n:
            left = (text for text in names if text not in chosen)
            chosen.append(min(left, key=lambda text: self._cost_of(prompt, text, chosen)))
        return tuple(sorted(chosen))

    def _cost_of(self, prompt: int, text: int, others: Sequence[int]) -> tuple[int, int, int]:
        pairs = [
            self._pairs[prompt, min(text, other), max(text, other)]
            for other in (others if self._compares else ())
        ]
        seen = self._texts[prompt, text]
        return -sum(n == 0 for n in pairs) - (seen == 0), seen, sum(n * n for n in pairs)

    def _cost(self, prompt: int, texts: tuple[int, ...]) -> tuple[int, int, int]:
        compared = combinations(texts, 2) if self._compares else ()
        pairs = [self._pairs[prompt, a, b] for a, b in compared]
        shown = [self._texts[prompt, text] for text in texts]
        fresh = sum(n == 0 for n in pairs) + sum(n == 0 for n in shown)
        return -fresh, sum(shown), sum(n * n for n in pairs)


def block_design(size: int, readings: int, draw: Random) -> list[tuple[int, ...]]:
    """Return sets of the texts of a prompt, at most six in each, so that each of `size` texts is in
    exactly `readings` of them: all texts each time, or, of more than six, an incomplete block
    design whose blocks differ by one text at most, with pairs of texts as alike often together as
    taking the least seen pairs first makes them."""
    n_blocks = _n_blocks(size, readings)
    left, pairs = [readings] * size, Counter[tuple[int, int]]()
    blocks = []
    for number in range(n_blocks):
        block: list[int] = []
        for _ in range(sum(left) // (n_blocks - number)):
            # The text with most readings left: so those that are left differ by one at most.
            block.append(
                min(
                    (text for text in range(size) if text not in block),
                    key=lambda text: (
                        -left[text],
                        sum(pairs[min(text, o), max(text, o)] ** 2 for o in block),
                        draw.random(),
                    ),
                )
            )
            left[block[-1]] -= 1
        blocks.append(tuple(sorted(block)))
        pairs.update(combinations(blocks[-1], 2))
    return blocks


def _dealt(
    sizes: Sequence[int], prompts: Sequence[int], settings: StudySettings, draw: Random
) -> list[dict[int, tuple[int, ...]]]:
    """Deal the sets of a design by readings to raters; return the texts of each, by prompt. The
    next set goes to a rater with fewest sets who has none of its prompt; of these to one of the
    group that has read its texts least."""
    groups = settings.groups or ("",) * settings.raters
    taken: list[dict[int, tuple[int, ...]]] = [{} for _ in groups]
    texts = [0] * len(groups)
    for prompt in sorted(draw.sample(prompts, len(prompts)), key=lambda p: -sizes[p]):
        read: Counter[tuple[str, int]] = Counter()
        for block in block_design(sizes[prompt], settings.readings, draw):
            rater = min(
                (rater for rater, own in enumerate(taken) if prompt not in own),
                key=lambda rater: (
                    len(taken[rater]),
                    sum(read[groups[rater], text] ** 2 for text in block),
                    texts[rater],
                    draw.random(),
                ),
            )
            taken[rater][prompt] = block
            texts[rater] += len(block)
            read.update((groups[rater], text) for text in block)
    return taken


SetRole = Literal["calibration", "main", "repeat", "attention"]
_FIRST_SHOWN: tuple[SetRole, ...] = ("calibration", "main")
_ROTATED: tuple[SetRole, ...] = ("main",)
_MOST_RATERS = 999
_MOST_TRIES = 8


@dataclass(frozen=True, slots=True)
class TextSet:
    """The texts of a prompt that a rater compares, by their places among those of the prompt, in
    the order in which they are shown, and why (`role`). Of an attention set `prompt` is its number;
    of a repeated set `repeats` is the place in the session of the set that it repeats."""

    role: SetRole
    prompt: int
    texts: tuple[int, ...]
    repeats: int | None = None


@dataclass(frozen=True, slots=True)
class StudyDesign:
    """The sessions that were made for settings, one a rater: sets in the order in which they are
    shown; `sizes` is how many texts each prompt has."""

    settings: StudySettings
    sizes: tuple[int, ...]
    sessions: tuple[tuple[TextSet, ...], ...]

    def _sets(self, roles: Collection[SetRole]) -> Iterator[TextSet]:
        for session in self.sessions:
            yield from (text_set for text_set in session if text_set.role in roles)

    def _per_rater(self, roles: Collection[SetRole]) -> tuple[int, ...]:
        return tuple(
            sum(len(text_set.texts) for text_set in session if text_set.role in roles)
            for session in self.sessions
        )

    def texts_per_set(self) -> tuple[int, ...]:
        """Return how many texts each rotated set has."""
        return tuple(len(text_set.texts) for text_set in self._sets(_ROTATED))

    def rotated_per_rater(self) -> tuple[int, ...]:
        """Return how many texts each rater sees in rotated sets, which `per_rater` asks for."""
        return self._per_rater(_ROTATED)

    def rated_per_rater(self) -> tuple[int, ...]:
        """Return how many texts each rater sees, those for calibration included, repeated ones
        once."""
        return self._per_rater(_FIRST_SHOWN)

    def incomplete_sets(self) -> int:
        """Return how many rotated sets lack texts of their prompt, so that a rank in them is no
        rank among all."""
        return sum(len(each.texts) < self.sizes[each.prompt] for each in self._sets(_ROTATED))

    def texts_per_rater(self) -> tuple[int, ...]:
        """Return how many texts each rater sees in all, repeated ones counted again."""
        return self._per_rater(get_args(SetRole))

    def ratings_per_text(self) -> dict[tuple[int, int], int]:
        """Return how many raters see each text, by prompt and text; repeated sets are not
        counted."""
        seen = {(p, text): 0 for p, size in enumerate(self.sizes) for text in range(size)}
        for text_set in self._sets(_FIRST_SHOWN):
            for text in text_set.texts:
                seen[text_set.prompt, text] += 1
        return seen

    def raters_per_pair(self) -> dict[tuple[int, int, int], int]:
        """Return how many raters compare each two texts of a prompt, by prompt and texts."""
        seen = {
            (p, *pair): 0
            for p, size in enumerate(self.sizes)
            for pair in combinations(range(size), 2)
        }
        for text_set in self._sets(_FIRST_SHOWN):
            for pair in combinations(sorted(text_set.texts), 2):
                seen[text_set.prompt, pair[0], pair[1]] += 1
        return seen


def design_study(
    sizes: Sequence[int], settings: StudySettings, systems: Sequence[Sequence[int]] | None = None
) -> StudyDesign:
    """Design the sessions of a study's raters on prompts with so many texts each; `systems` numbers
    who wrote each text of each prompt, so that systems, too, stand in each place alike often.
    Raises ConfigurationError, with a number that would do, where no design can be what is asked
    for, or some texts, or pairs of texts that are to be ranked, would be seen by nobody."""
    _refuse_impossible(sizes, settings)
    design = _designed(sizes, settings, systems)
    what = _lacks(design)
    if not what:
        return design
    if settings.readings:
        raise ConfigurationError(f"with --readings {settings.readings}, {what}; ask for fewer")
    offers = [f"{option} {n}" for option, n, _ in _would_do(sizes, settings)]
    once = replace(settings, repeats=0)
    if not _lacks(_designed(sizes, once)):
        offers.append(f"--repeats {_fewest_sets(design)}")
    elif not offers:
        # More of one thing alone would not do.
        offers = [
            f"{option} {n} with --repeats {min(settings.repeats, _fewest_sets(larger))}"
            for option, n, larger in _would_do(sizes, once)
        ]
    advice = f"{' or '.join(offers)} would do"
    if not offers:
        advice = (
            "give fewer texts to a prompt, as no number of raters or of texts for each was found "
            "that would do"
        )
    raise ConfigurationError(
        f"with {counted(settings.raters, 'rater')} of {counted(settings.per_rater, 'text')} each, "
        f"{what}; {advice}"
    )


def _would_do(
    sizes: Sequence[int], settings: StudySettings
) -> Iterator[tuple[str, int, StudyDesign]]:
    """Yield larger numbers with which nothing is lacking."""
    for name, most in (("per_rater", _most_per_rater(sizes, settings)), ("raters", _MOST_RATERS)):
        changed = partial(_with, settings, name)
        larger = _enough(sizes, changed, getattr(settings, name) + 1, most)
        if larger is not None:
            yield f"--{name.replace('_', '-')}", getattr(larger.settings, name), larger


def _with(settings: StudySettings, name: str, n: int) -> StudySettings:
    return replace(settings, raters=n) if name == "raters" else replace(settings, per_rater=n)


def _refuse_impossible(sizes: Sequence[int], settings: StudySettings) -> None:
    ranks = "rank" in settings.tasks
    alone = sum(size < 2 for size in sizes)
    if ranks and alone:
        raise ConfigurationError(
            f"{alone} of {len(sizes)} prompts have one text, which cannot be ranked; give two or "
            "more texts to each prompt, or leave the ranking out (--tasks rate)"
        )
    if settings.calibration >= len(sizes):
        most = len(sizes) - 1
        raise ConfigurationError(
            f"--calibration {settings.calibration} of {len(sizes)} prompts leaves none to rotate; "
            + (f"{most} would do" if most else "leave it out")
        )
    if settings.readings:
        _refuse_readings([sizes[p] for p in _drawn(sizes, settings)[1]], settings)
        return
    if ranks and settings.per_rater < 2:
        raise ConfigurationError(
            "--per-rater 1 leaves nothing to rank; 2 would do, or leave the ranking out "
            "(--tasks rate)"
        )
    if settings.per_rater > (most := _most_per_rater(sizes, settings)):
        why = f", of which a rater compares at most {MOST_TOGETHER} of a prompt"
        why = why if max(sizes) > MOST_TOGETHER else ""
        behind = " besides those for calibration" if settings.calibration else ""
        raise ConfigurationError(
            f"--per-rater {settings.per_rater} is more than the texts that there are{behind}{why}; "
            f"at most {most} would do"
        )


def _refuse_readings(sizes: Sequence[int], settings: StudySettings) -> None:
    raters, asked = settings.raters, settings.readings
    blocks = {n: [_n_blocks(size, n) for size in sizes] for n in range(1, max(raters, asked) + 1)}
    most, total = max(blocks[asked]), sum(blocks[asked])
    if most <= raters <= total:
        return
    why = f"there are {counted(total, 'set')}, so that some raters would see none"
    if most > raters:
        why = f"a prompt of {counted(max(sizes), 'text')} makes {most} sets, and no rater sees two"
    fitting = (n for n, of in blocks.items() if max(of) <= raters <= sum(of))
    nearest = min(fitting, key=lambda n: abs(n - asked), default=None)
    instead = "" if nearest is None else f" or --readings {nearest}"
    raise ConfigurationError(
        f"--readings {asked} with {counted(raters, 'rater')}: {why}; "
        f"--raters {most if most > raters else total}{instead} would do"
    )


def _n_blocks(size: int, readings: int) -> int:
    return ceil(size * readings / min(size, MOST_TOGETHER))


def _most_per_rater(sizes: Sequence[int], settings: StudySettings) -> int:
    rotated = [sizes[p] for p in _drawn(sizes, settings)[1]]
    return sum(min(size, MOST_TOGETHER) for size in rotated)


def _drawn(sizes: Sequence[int], settings: StudySettings) -> tuple[list[int], list[int]]:
    """Draw the prompts for calibration, and the others."""
    first, order = [*range(len(settings.controls))], [*range(len(settings.controls), len(sizes))]
    Random(f"{settings.seed} prompts").shuffle(order)
    order, n = first + order, settings.calibration
    return order[:n], order[n:]


def _enough(
    sizes: Sequence[int], changed: Callable[[int], StudySettings], first: int, most: int
) -> StudyDesign | None:
    """Return a design by a number from `first` to `most` that lacks nothing, by a small one."""
    n = next((n for n in range(first, most + 1) if _could_do(sizes, changed(n))), most + 1)
    for tried in range(_MOST_TRIES):
        if n > most:
            return None
        design = _designed(sizes, changed(n))
        if not _lacks(design):
            return design
        n += 1 if tried < _MOST_TRIES // 2 else ceil(n / 10)
    return None


def _could_do(sizes: Sequence[int], settings: StudySettings) -> bool:
    """Return whether there are enough showings for all texts and, to be ranked, all pairs of
    them."""
    rotated = [sizes[p] for p in _drawn(sizes, settings)[1]]
    together = min(max(rotated), MOST_TOGETHER)
    n_shown = settings.raters * settings.per_rater
    if n_shown < sum(rotated) or settings.per_rater < settings.repeats:
        return False
    # A set of n texts has (n - 1) / 2 pairs for each of its texts.
    pairs = sum(comb(size, 2) for size in rotated)
    return "rank" not in settings.tasks or n_shown * (together - 1) / 2 >= pairs


def _lacks(design: StudyDesign) -> str:
    """Say in words what nobody would see; "" where all is seen."""
    texts = [n for n in design.ratings_per_text().values() if n == 0]
    if texts:
        return f"{len(texts)} of {sum(design.sizes)} texts would be seen by nobody"
    pairs = design.raters_per_pair()
    unseen = [n for n in pairs.values() if n == 0]
    if unseen and "rank" in design.settings.tasks and not design.settings.readings:
        return (
            f"{len(unseen)} of {len(pairs)} pairs of texts to the same prompt would be compared "
            "by nobody"
        )
    fewest = _fewest_sets(design)
    if fewest < design.settings.repeats:
        return (
            f"a rater sees {counted(fewest, 'prompt')} besides those for calibration, fewer "
            f"than --repeats {design.settings.repeats} would show again"
        )
    return ""


def _fewest_sets(design: StudyDesign) -> int:
    """Return the least number of rotated sets that a rater sees."""
    return min(sum(text_set.role == "main" for text_set in session) for session in design.sessions)


def _designed(
    sizes: Sequence[int], settings: StudySettings, systems: Sequence[Sequence[int]] | None = None
) -> StudyDesign:
    calibrating, rotating = _drawn(sizes, settings)
    places: Counter[tuple[int, int]] = Counter()
    labels = systems or [range(size) for size in sizes]
    texts = [
        BalancedOrders(size, Random(f"{settings.seed} order {p}"), labels[p], places)
        for p, size in enumerate(sizes)
    ]
    prompts = BalancedOrders(len(sizes), Random(f"{settings.seed} prompt order"))
    draw = Random(f"{settings.seed} rotation")
    shared = {p: sorted(draw.sample(range(sizes[p]), min(sizes[p], MOST_TOGETHER)))
              for p in calibrating}  # fmt: skip
    if settings.readings:
        taken = _dealt(sizes, rotating, settings, draw)
    else:
        rotation = Rotation(sizes, rotating, settings, draw)
        taken = [rotation.take() for _ in range(settings.raters)]
    sessions = []
    for own in taken:
        first, then = prompts.next_of(calibrating), prompts.next_of(list(own))
        session = [TextSet("calibration", p, texts[p].next_of(shared[p])) for p in first]
        session += [TextSet("main", p, texts[p].next_of(own[p])) for p in then]
        mains = [place for place, text_set in enumerate(session) if text_set.role == "main"]
        again = [
            TextSet("repeat", session[place].prompt, session[place].texts[::-1], place)
            for place in mains[: settings.repeats]
        ]
        sessions.append(_with_attention(session + again, settings.attention))
    return StudyDesign(settings, tuple(sizes), tuple(sessions))


def _with_attention(session: list[TextSet], n: int) -> tuple[TextSet, ...]:
    """Return a session with n attention sets between its sets, evenly apart."""
    length = len(session)
    behind = [ceil((number + 1) * length / (n + 1)) for number in range(n)]
    moved = [place + sum(at <= place for at in behind) for place in range(length)]
    mixed: list[TextSet] = []
    for place in range(length + 1):
        mixed += [
            TextSet("attention", number, (0, 1)) for number, at in enumerate(behind) if at == place
        ]
        for own in session[place : place + 1]:
            again = None if own.repeats is None else moved[own.repeats]
            mixed.append(replace(own, repeats=again))
    return tuple(mixed)
