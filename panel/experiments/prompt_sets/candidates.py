"""Candidates of a prompt set: from templates, from items of existing sets and from pairs; and what
is dropped on the way, with the reason.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from persona_panel.experiments.prompt_sets.spec import (
    ItemSource,
    KeepRule,
    PromptTemplate,
    filled,
    list_of,
    places_in,
)
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.file_formats import FileRow, file_rows
from persona_panel.files.outputs import prompt_id_of, sha256_of
from persona_panel.files.records import (
    ColumnMapping,
    Fields,
    Report,
    Source,
    label_of,
    name_of,
    read_records,
)
from persona_panel.files.wording import did_you_mean
from persona_panel.graphs.framing import BASELINE

StepUnit = Literal["item", "prompt"]


@dataclass(frozen=True, slots=True)
class SeedItem:
    """A source of prompts: an item of an existing set, or a filled template. `origin` is the id of
    either, `values` what its places were filled with."""

    id: str
    text: str
    origin: str
    stratum: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CandidatePrompt:
    """A prompt on its way into the set. Its id is the same for the same text of an item; its
    diversity is measured within its `bundle`, an item or template; the draw is spread over strata.
    `writer` is None of a template or an item as it is, `angle` what the writer says of it. `votes`
    are of each model that judged it whether it meets each criterion, None without a usable answer;
    `passed` models passed it; `facts` are what later steps found out."""

    id: str
    text: str
    origin: str
    bundle: str
    stratum: str
    values: Mapping[str, Any] = field(default_factory=dict)
    writer: str | None = None
    angle: str | None = None
    votes: Mapping[str, Mapping[str, bool] | None] = field(default_factory=dict)
    passed: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)

    def with_facts(self, **facts: Any) -> CandidatePrompt:
        """Return the candidate with further facts."""
        return replace(self, facts={**self.facts, **facts})

    @property
    def disagreement(self) -> float | None:
        """Return the share of pairs of judging models and criteria in which the two differ, from 0
        to 1; None below two judges."""
        votes = [vote for vote in self.votes.values() if vote is not None]
        if len(votes) < 2:
            return None
        pairs = [
            vote[criterion] != other[criterion]
            for place, vote in enumerate(votes)
            for other in votes[:place]
            for criterion in vote
        ]
        return sum(pairs) / len(pairs)

    def row(self) -> dict[str, Any]:
        """Return the prompt as a line of the set's file."""
        row: dict[str, Any] = {
            "prompt_id": self.id, "prompt": self.text, "stratum": self.stratum,
            "origin": self.origin, "bundle": self.bundle, "values": dict(self.values),
            "writer": self.writer, "angle": self.angle,
        }  # fmt: skip
        if self.votes:
            n_votes = sum(vote is not None for vote in self.votes.values())
            judged = {"passed": self.passed, "judged": n_votes, "disagreement": self.disagreement}
            row |= judged | {"votes": dict(self.votes)}
        return row | dict(self.facts)


def candidate_id(seed: str, text: str) -> str:
    """Return the id of a prompt: its item's and the first digits of its text's SHA-256."""
    return f"{seed}-{sha256_of(text)[:6]}"


@dataclass(frozen=True, slots=True)
class DroppedPrompt:
    """An item or a prompt that went no further: at which step, and why. `kind` is the reason
    without what is particular to it, by which a funnel counts."""

    step: str
    unit: StepUnit
    kind: str
    reason: str
    what: SeedItem | CandidatePrompt

    def row(self) -> dict[str, Any]:
        """Return the candidate as a line of the file of those dropped."""
        head = {"step": self.step, "reason": self.reason, "unit": self.unit}
        if isinstance(self.what, CandidatePrompt):
            return head | self.what.row()
        of = self.what
        item = {"item_id": of.id, "text": of.text, "stratum": of.stratum, "origin": of.origin}
        return head | item


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A step of the funnel: how many entered it, and how many were dropped for which reason."""

    step: str
    unit: StepUnit
    entered: int
    reasons: Mapping[str, int]

    @property
    def kept(self) -> int:
        """Return how many candidates were kept."""
        return self.entered - sum(self.reasons.values())


def funnel_step(
    step: str, unit: StepUnit, entered: int, dropped: Sequence[DroppedPrompt]
) -> FunnelStep:
    """Return the step with the counts of those dropped in it."""
    reasons = Counter(candidate.kind for candidate in dropped).most_common()
    return FunnelStep(step, unit, entered, dict(reasons))


_TRIES = 200
MOST_FILLINGS = 100_000


def fillings(
    template: PromptTemplate, slots: Mapping[str, Sequence[str]], seed: int
) -> list[SeedItem]:
    """Return the filled texts of a template: all, or as many as it draws by the seed. Slots of one
    list have different values in a filling."""
    places = places_in(template.text)
    generator = random.Random(f"{seed} {template.id}")
    n = number_of_fillings(places, slots)
    if min(n, template.draw or n) > MOST_FILLINGS:
        raise ConfigurationError(
            f"template {template.id!r} has {n:,} fillings, more than {MOST_FILLINGS:,}; say with "
            "`draw` how many of them to take"
        )
    if template.draw is None or template.draw >= n:
        chosen = list(_all(places, slots))
    else:
        chosen = _drawn(places, slots, template.draw, generator)
    items = []
    for filling in chosen:
        text = filled(template.text, filling)
        stratum = filled(template.stratum, filling) if template.stratum else template.id
        own = candidate_id(template.id, text)
        items.append(SeedItem(own, text, template.id, stratum, dict(filling)))
    return items


def number_of_fillings(places: Sequence[str], slots: Mapping[str, Sequence[str]]) -> int:
    """Count the different fillings: of several slots of a list, without repetition."""
    return math.prod(
        math.perm(len(slots[name]), n) for name, n in Counter(map(list_of, places)).items()
    )


def _all(places: Sequence[str], slots: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    for values in product(*(slots[list_of(place)] for place in places)):
        filling = dict(zip(places, values, strict=True))
        if _differ(filling):
            yield filling


def _drawn(
    places: Sequence[str],
    slots: Mapping[str, Sequence[str]],
    n: int,
    generator: random.Random,
) -> list[dict[str, str]]:
    used: dict[str, Counter[str]] = {place: Counter() for place in places}
    seen: set[tuple[str, ...]] = set()
    chosen: list[dict[str, str]] = []
    while len(chosen) < n:
        for attempt in range(_TRIES):
            filling = {}
            for place in places:
                values = [*slots[list_of(place)]]
                # The least used values first; where these have been together already, any.
                counts = used[place] if attempt < _TRIES // 2 else Counter[str]()
                filling[place] = min(generator.sample(values, len(values)), key=counts.__getitem__)
            if _differ(filling) and tuple(filling.values()) not in seen:
                break
        else:
            every = _all(places, slots)
            filling = generator.choice([each for each in every if tuple(each.values()) not in seen])
        seen.add(tuple(filling.values()))
        for place, value in filling.items():
            used[place][value] += 1
        chosen.append(filling)
    return chosen


def _differ(values: Mapping[str, str]) -> bool:
    pairs = [(list_of(place), value) for place, value in values.items()]
    return len(set(pairs)) == len(pairs)


_NAMES_SHOWN = 12


def read_items(source: ItemSource, folder: Path) -> list[SeedItem]:
    """Read the items of a source's file, in its order. Raises InputError with every fault: a file
    that cannot be read, a field that the source names and the file lacks, an empty item, an id
    twice."""
    path = folder / source.file
    report = Report(str(path))
    rows = [row for row in file_rows(path, frozenset(), report.add) if isinstance(row, FileRow)]
    known = dict.fromkeys(name for row in rows for name in row.cells)
    for key, name in _named(source):
        if rows and name not in known:
            shown = ", ".join([*known][:_NAMES_SHOWN])
            report.add(
                f"no field {name!r}, which {key} of the source {source.id!r} names",
                f"one of {shown}{did_you_mean(name, known)}",
            )
    if not rows and not report.faults:
        report.add("no items", "at least one")
    if report.faults:
        raise report.error()
    items, seen = [], dict[str, int]()
    for number, row in enumerate(rows, start=1):
        cells = {name: _text(value) for name, value in row.cells.items()}
        text, stratum = (
            filled(pattern, {place: cells.get(place, "") for place in places_in(pattern)})
            for pattern in (source.text, source.stratum or "")
        )
        own = cells.get(source.item_id, "") if source.item_id else str(number)
        if not text.strip():
            report.add("an empty item", "text", line=row.line)
        if not own:
            report.add("nothing", "an id", line=row.line, field=source.item_id)
        elif (first := seen.setdefault(own, row.line)) != row.line:
            actual, expected = f"{own!r} again, first on line {first}", "an id of its own for each"
            report.add(actual, f"{expected} item", line=row.line, field=source.item_id)
        stratum = stratum if source.stratum else source.id
        items.append(SeedItem(f"{source.id}-{own}", text, source.id, stratum, dict(row.cells)))
    if report.faults:
        raise report.error()
    return items


def kept_items(
    source: ItemSource, items: Sequence[SeedItem]
) -> tuple[list[SeedItem], list[FunnelStep], list[DroppedPrompt]]:
    """Return the items that all rules of a source keep, and what each rule drops."""
    steps, dropped = [], []
    for rule in source.keep:
        what, kind = _in_words(rule)
        step, kind = f"{source.id}: {what}", rule.reason or kind
        kept, out = [], []
        seen: dict[tuple[str, ...], str] = {}
        for item in items:
            why = _why_not(rule, item, seen)
            if why is None:
                kept.append(item)
            else:
                reason = f"{rule.reason}: {why}" if rule.reason else why
                out.append(DroppedPrompt(step, "item", kind, reason, item))
        steps.append(funnel_step(step, "item", len(items), out))
        dropped += out
        items = kept
    return list(items), steps, dropped


def _named(source: ItemSource) -> Iterator[tuple[str, str]]:
    """Return the fields that a source names, each with its key in the source."""
    if source.item_id:
        yield "item_id", source.item_id
    for key in ("text", "stratum"):
        for name in places_in(getattr(source, key) or ""):
            yield key, name
    for rule in source.keep:
        yield from (("keep", name) for name in (rule.field, *rule.unique) if name is not None)


def _in_words(rule: KeepRule) -> tuple[str, str]:
    """Return a rule in words, and why items are dropped by it that gives no reason."""
    if rule.unique:
        return f"first of each {', '.join(rule.unique)}", "the same as an earlier item"
    if rule.values:
        return f"{rule.field} is {' or '.join(rule.values)}", "another value"
    if rule.contains:
        return f"{rule.field} contains a word", "none of the words"
    return f"{rule.field} has no excluded pattern", "an excluded pattern"


def _why_not(rule: KeepRule, item: SeedItem, seen: dict[tuple[str, ...], str]) -> str | None:
    """Return why a rule drops an item, None where it keeps it; `seen` has the items by unique
    fields."""
    if rule.unique:
        key = tuple(_text(item.values.get(field)) for field in rule.unique)
        first = seen.setdefault(key, item.id)
        return None if first == item.id else f"the same {', '.join(rule.unique)} as {first}"
    value = _text(item.values.get(str(rule.field)))
    plain = value.casefold()
    if rule.values:
        wanted = {wording.casefold() for wording in rule.values}
        return None if plain in wanted else f"{rule.field} is {value!r:.60}"
    if rule.contains:
        there = any(wording.casefold() in plain for wording in rule.contains)
        return None if there else f"{rule.field} contains none of the words"
    for pattern in rule.lacks:
        if match := re.search(pattern, value, re.IGNORECASE):
            return f"{rule.field} has {match.group()!r:.60}"
    return None


def _text(value: Any) -> str:
    return "" if value is None else str(value)


SECOND = "version_b"
"""The condition of a pair's second version; the first is the baseline."""
_FIELDS = Fields(
    (
        ("id", ("pair_id", "prompt_id", "id")),
        ("a", ("prompt_a",)),
        ("b", ("prompt_b",)),
        ("side_a", ("prompt_a_group", "side_a")),
        ("side_b", ("prompt_b_group", "side_b")),
    ),
    frozenset({"id", "side_a", "side_b"}),
)


def load_pairs(source: Source, *, mapping: ColumnMapping | None = None) -> list[dict[str, Any]]:
    """Read pairs, and give two lines of a file of prompts for each: with the same `prompt_id` and
    the conditions `baseline` and `version_b`. Fields are `prompt_a` and `prompt_b`, optionally
    `pair_id`, `side_a` and `side_b` (or `prompt_a_group`, `prompt_b_group`), which become the field
    `side`; all others are kept. A pair without an id is called after its first version. Raises
    InputError with every fault."""
    report = Report(name_of(source))
    rows: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for record in read_records(source, _FIELDS.mapped(mapping, source), report):
        cells = {field: record.cells[name] for field, name in record.names.items()}
        texts = [cells.get(side) for side in ("a", "b")]
        sound = True
        for side, text in zip(("a", "b"), texts, strict=True):
            if side in record.names and not (isinstance(text, str) and text.strip()):
                name = record.names[side]
                report.add("an empty value", "text", line=record.line, field=name)
                sound = False
        if not sound or None in texts:
            continue
        if texts[0] == texts[1]:
            actual, expected = "the same text in both versions", "two versions that differ"
            report.add(actual, expected, line=record.line, field=record.names["b"])
        own = label_of(cells.get("id")) or prompt_id_of(str(texts[0]))
        if (first := seen.setdefault(str(own), record.line)) != record.line:
            actual, where = f"{own!r} again, first on line {first}", record.names
            expected = "each pair once, or with an id of its own"
            report.add(actual, expected, line=record.line, field=where.get("id", where["a"]))
        named = set(record.names.values())
        more = {name: value for name, value in record.cells.items() if name not in named}
        for side, condition in (("a", BASELINE), ("b", SECOND)):
            line = {"prompt_id": str(own), "prompt": cells[side], "condition": condition}
            if (of_side := cells.get(f"side_{side}")) is not None:
                line["side"] = of_side
            rows.append(line | {name: each for name, each in more.items() if name not in line})
    if not rows and not report.faults:
        report.add("no pairs", "at least one")
    if report.faults:
        raise report.error()
    return rows
