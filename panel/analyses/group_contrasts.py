"""Groups of people and the personas that stand for them, contrasted on the same items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

from persona_panel.analyses.inputs import (
    HumanInput,
    RatingsSource,
    folder_of,
    input_name,
    opened_ratings,
)
from persona_panel.files.aligned_ratings import align_ratings
from persona_panel.files.attributes import (
    AttributeTable,
    AttributeValues,
    GroupContrast,
    GroupFile,
    item_attributes,
    load_groups,
    meeting,
    rater_attributes,
    value_of,
    values_of,
)
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.records import ColumnMapping, Source
from persona_panel.files.wording import did_you_mean, shown, some
from persona_panel.runs.kept import RESPONSES, kept_lines
from persona_panel.runs.run import Run
from persona_panel.statistics.core.arrays import Array, IntArray, row_means
from persona_panel.statistics.core.display import ALL, counted, general
from persona_panel.statistics.core.table import Coverage, Ratings, RatingsOrigin
from persona_panel.statistics.group_fidelity import (
    LEAST_RATERS,
    FidelityContrast,
    PairedGroupDifference,
    difference_by_model,
    fidelity_contrast,
    group_difference,
    split_half,
)

_RATERS_NAMED = 8
"""The largest number of raters or personas that a note or a fault names."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GroupContrasts:
    """The differences of people and of personas between groups.

    Attributes:
        rows: one for each contrast, stratum and dimension, null controls last.
        names: what people read in place of a contrast such as `left-right`: `left - right`.
        notes: what was left out.
        coverage: how many judgments the panel's run has, and lacks; see `Ratings`.
        people: how people's ratings were read, and how many of their items the panel has.
    """

    rows: tuple[FidelityContrast, ...]
    names: Mapping[str, str]
    notes: tuple[str, ...]
    coverage: Coverage | None
    people: RatingsOrigin | None


def group_contrasts(
    panel: RatingsSource,
    people: HumanInput,
    raters: Source,
    groups: str | Path | GroupFile,
    items: Source | None = None,
    dimension: str | None = None,
    mapping: ColumnMapping | None = None,
) -> GroupContrasts:
    """Return how far personas differ, and how far the people they stand for do.

    Args and errors are those of `persona_panel.analyses.fidelity.fidelity`.
    """
    file = "groups" if isinstance(groups, GroupFile) else str(groups)
    faults: list[Fault] = []
    ours = _read(lambda: opened_ratings(panel, mapping), faults)
    theirs = _read(people.read, faults)
    table = _read(lambda: rater_attributes(raters), faults)
    grouped = groups
    if not isinstance(grouped, GroupFile):
        grouped = _read(lambda: load_groups(str(groups)), faults)
    if faults:
        raise InputError(faults)
    names = input_name(panel, "the panel's ratings"), people.name
    coverage = ours.coverage
    ours, theirs = _comparable(ours, theirs, names, dimension)
    conditions = [condition for each in _all(grouped) for condition in each.strata]
    wanted = dict.fromkeys(name for each in conditions for name in each.attributes)
    tables = _item_tables(panel, people, items, list(wanted), mapping) if wanted else []
    sides = _Sides.of(ours, theirs, grouped, table, file, names)
    signs = _strata(grouped, tables, ours.items, file)
    dimensions = [name for name in ours.dimensions if name in theirs.dimensions]
    rows = [
        sides.contrast(each, name, signs[each.stratum], control, len(contrasts) * len(dimensions))
        for control, contrasts in ((False, grouped.contrasts), (True, grouped.controls))
        for each in contrasts
        for name in dimensions
    ]
    called = {grouped.name_of(each): " - ".join(grouped.sides(each)) for each in _all(grouped)}
    return GroupContrasts(tuple(rows), called, tuple(sides.notes), coverage, theirs.origin)


def _read(reader: Callable[[], T], faults: list[Fault]) -> T:
    """Return what a reader gives; add what it refuses to `faults`."""
    try:
        return reader()
    except InputError as error:
        faults += error.faults
        # Nothing is used where there are faults.
        return cast(T, None)


def _all(groups: GroupFile) -> tuple[GroupContrast, ...]:
    return (*groups.contrasts, *groups.controls)


def _item_tables(
    panel: RatingsSource,
    people: HumanInput,
    items: Source | None,
    wanted: Sequence[str],
    mapping: ColumnMapping | None,
) -> list[AttributeTable]:
    """Return the tables with attributes of items: of their file, the panel, and people."""
    tables = [] if items is None else [item_attributes(items, wanted)]
    for source, columns in ((panel, mapping), (people.human, people.human_mapping)):
        if set(wanted) <= {column for table in tables for column in table.columns}:
            break
        if isinstance(source, Run):
            tables.append(_run_attributes(folder_of(source)))
        elif isinstance(source, str | Path) and Path(source).is_dir():
            tables.append(_run_attributes(Path(source)))
        elif isinstance(source, str | Path) and str(source) != "-":
            tables.append(item_attributes(source, wanted, columns))
    return tables


def _strata(
    groups: GroupFile, tables: Sequence[AttributeTable], items: Sequence[str], file: str
) -> dict[str, IntArray]:
    """Return by stratum 1 for the items in it, −1 for those of the one that is subtracted."""
    result: dict[str, IntArray] = {}
    faults: list[Fault] = []
    for item in _all(groups):
        signs = np.zeros(len(items), dtype=np.intp)
        if not item.strata:
            signs += 1
        for sign, condition in zip((1, -1), item.strata, strict=False):
            try:
                held = meeting(condition, tables, items, f"{file}: {condition.text}")
            except InputError as error:
                faults += error.faults
                continue
            there = np.array([each is True for each in held])
            where = f"{file}: {condition.text}"
            if not there.any():
                faults.append(Fault(where, "no item that meets it", "one item or more"))
            if (signs[there] != 0).any():
                overlap = "items that meet both conditions of an interaction"
                faults.append(Fault(where, overlap, "strata without a common item"))
            signs[there] = sign
        result[item.stratum] = signs
    if faults:
        raise InputError(list(dict.fromkeys(faults)))
    return result


@dataclass(frozen=True, slots=True)
class _Sides:
    """The people and personas of each group: their columns in the ratings of each."""

    ours: Ratings
    theirs: Ratings
    groups: GroupFile
    people: dict[str, list[int]]
    personas: dict[str, list[int]]
    notes: list[str]

    @classmethod
    def of(
        cls,
        ours: Ratings,
        theirs: Ratings,
        groups: GroupFile,
        table: AttributeTable,
        file: str,
        names: tuple[str, str],
    ) -> _Sides:
        """Return who is in which group; refuse groups without people, and unknown personas."""
        faults: list[Fault] = []
        people: dict[str, list[int]] = {}
        personas: dict[str, list[int]] = {}
        unknown = [rater for rater in theirs.raters if table.of(rater) is None]
        if len(unknown) == len(theirs.raters):
            actual = f"none of the raters of {names[1]} ({some(theirs.raters, _RATERS_NAMED)})"
            expected = f"them; there are {some(table.values, _RATERS_NAMED)}"
            raise InputError([Fault(table.file, actual, expected, field="rater")])
        what, known = (
            ("rater", ours.raters) if ours.personas is None else ("persona", ours.personas)
        )
        there = f"{what}s of {names[0]}: {some(dict.fromkeys(known), _RATERS_NAMED)}"
        for name, group in groups.groups.items():
            where, condition = f"{file}: groups.{name}", group.of_people
            try:
                held = meeting(condition, [table], theirs.raters, f"{where}.condition")
            except InputError as error:
                faults += error.faults
                continue
            people[name] = [at for at, each in enumerate(held) if each is True]
            if not people[name]:
                occurring = values_of(condition, table, theirs.raters)
                actual = f"{condition.text!r}, which no rater of {names[1]} meets"
                expected = f"one rater or more; among them {occurring}"
                faults.append(Fault(f"{where}.condition", actual, expected))
            faults += [
                Fault(
                    f"{where}.personas", f"the {what} {shown(persona)}",
                    f"{there}{did_you_mean(persona, known)}",
                )
                for persona in group.personas
                if persona not in known
            ]  # fmt: skip
            personas[name] = [at for at, each in enumerate(known) if each in group.personas]
        if faults:
            raise InputError(list(dict.fromkeys(faults)))
        notes = []
        if unknown:
            verb = "has no line" if len(unknown) == 1 else "have no line"
            notes.append(
                f"{len(unknown):,} of {len(theirs.raters):,} raters {verb} in {table.file}, and "
                "belong to no group."
            )
        notes += _of_the_same_people([groups.sides(item) for item in _all(groups)], people)
        if ours.personas is None:
            stand = {ours.raters[at] for own in personas.values() for at in own}
            notes += _themselves(stand & set(theirs.raters), names)
        notes += _of_prompts(ours.prompts)
        return cls(ours, theirs, groups, people, personas, notes)

    def contrast(
        self,
        group_contrast: GroupContrast,
        dimension: str,
        signs: IntArray,
        control: bool,
        n_tests: int,
    ) -> FidelityContrast:
        """Estimate one contrast on one dimension."""
        a, b = self.groups.sides(group_contrast)
        theirs = self.theirs.scores[:, :, self.theirs.dimensions.index(dimension)]
        people = theirs[:, self.people[a]], theirs[:, self.people[b]]
        prompts = self.ours.prompts
        panel, sample = None, None
        if self.personas[a] and self.personas[b]:
            ours = self.ours.scores[:, :, self.ours.dimensions.index(dimension)]
            panel, sample = self._panel(ours, self.personas[a], self.personas[b], signs)
            # The items that both sides have a difference on.
            lacking = np.isnan(row_means(people[0]) - row_means(people[1]))
            signs = np.where(lacking | (panel.signs == 0), 0, signs)
            panel, sample = self._panel(ours, self.personas[a], self.personas[b], signs)
        return fidelity_contrast(
            self.groups.name_of(group_contrast),
            group_difference(*people, signs, prompts=prompts),
            panel,
            stratum=group_contrast.stratum,
            dimension=dimension,
            control=control,
            panel_sample=sample,
            split_half=split_half(*(side[signs != 0] for side in people)),
            n_tests=n_tests,
        )

    def _panel(
        self, scores: Array, a: list[int], b: list[int], signs: IntArray
    ) -> tuple[PairedGroupDifference, str | None]:
        """Return the personas' difference, and its sample: models of both, or raters."""
        prompts, groups = self.ours.prompts, self.ours.groups
        of_b = {groups[at] for at in b}
        models = [name for name in dict.fromkeys(groups[at] for at in a) if name in of_b]
        if len(models) > 1:
            by_model = [
                row_means(scores[:, [at for at in a if groups[at] == name]])
                - row_means(scores[:, [at for at in b if groups[at] == name]])
                for name in models
            ]
            differences = np.stack(by_model, axis=1)
            return difference_by_model(differences, signs, prompts=prompts), "models"
        sampled = self.ours.personas is None and min(len(a), len(b)) >= LEAST_RATERS
        result = group_difference(
            scores[:, a], scores[:, b], signs, sampled=sampled, prompts=prompts
        )
        return result, "raters" if sampled else None


def _run_attributes(folder: Path) -> AttributeTable:
    """Return the metadata of a run's responses by `prompt_id/id`, and by id where it comes once."""
    lines = [line for _, _, line in kept_lines(folder / RESPONSES)]
    known = [{name: value_of(value) for name, value in line.items()} for line in lines]
    columns = dict.fromkeys(name for each in known for name in each)
    ids = Counter(str(line["id"]) for line in lines)
    values: dict[str, AttributeValues] = {
        f"{line['prompt_id']}/{line['id']}": each for line, each in zip(lines, known, strict=True)
    }
    for line, each in zip(lines, known, strict=True):
        if ids[str(line["id"])] == 1:
            values.setdefault(str(line["id"]), each)
    return AttributeTable(str(folder / RESPONSES), tuple(columns), values, of_items=True)


def _comparable(
    ours: Ratings, theirs: Ratings, names: tuple[str, str], dimension: str | None
) -> tuple[Ratings, Ratings]:
    """Return both sides on what both have, in one order; the panel with the items' prompts."""
    faults = [
        Fault(name, "ranks", "scores: the size of a difference between ranks says nothing")
        for name, entry in zip(names, (ours, theirs), strict=True)
        if entry.lower_is_better
    ]
    if faults:
        raise InputError(faults)
    if dimension is not None:
        ours = _of_dimension(ours, dimension, names[0], may_be_unnamed=False)
        theirs = _of_dimension(theirs, dimension, names[1], may_be_unnamed=True)
    ours, theirs = align_ratings(ours, theirs, *names)
    ours, theirs = ours.numeric(), theirs.numeric()
    _refuse_other_scales(ours, theirs, names)
    if not set(ours.dimensions) & set(theirs.dimensions):
        actual = "labels of categories only"
        raise InputError([Fault(names[1], actual, "scores: categories have no difference")])
    place = {item: at for at, item in enumerate(theirs.items)}
    ours = ours.of_items([at for at, item in enumerate(ours.items) if item in place])
    theirs = theirs.of_items([place[item] for item in ours.items])
    named = [side.prompts for side in (ours, theirs) if side.prompts is not None]
    # A run has a prompt of each text, or one of all, where people's file may have topics.
    prompts = max(named, key=lambda entry: 1 < len(set(entry)) < len(entry), default=None)
    return (
        replace(ours, prompts=prompts, sources=None),
        replace(theirs, items=ours.items, prompts=None, sources=None),
    )


def _refuse_other_scales(ours: Ratings, theirs: Ratings, names: tuple[str, str]) -> None:
    """Refuse people's ratings on another scale: the ratio of two differences then says nothing."""
    faults = []
    for name, (low, high) in ours.scales.items():
        if name in theirs.dimensions and theirs.scales.get(name, (low, high)) != (low, high):
            actual = f"the scale {' to '.join(map(general, theirs.scales[name]))} on {shown(name)}"
            expected = f"the scale of {names[0]}, {general(low)} to {general(high)}"
            faults.append(Fault(names[1], actual, expected, field="score"))
    if faults:
        raise InputError(faults)


def _of_dimension(ratings: Ratings, name: str, file: str, *, may_be_unnamed: bool) -> Ratings:
    if name in ratings.dimensions:
        at = ratings.dimensions.index(name)
        categories = {key: category for key, category in ratings.categories.items() if key == name}
        scores = ratings.scores[:, :, at : at + 1]
        return replace(ratings, scores=scores, dimensions=(name,), categories=categories)
    if ratings.dimensions == (ALL,) and (may_be_unnamed or not ratings.personas):
        categories = {name: result} if (result := ratings.categories.get(ALL)) else {}
        return replace(ratings, dimensions=(name,), categories=categories)
    expected = f"one of {', '.join(ratings.dimensions)}{did_you_mean(name, ratings.dimensions)}"
    raise InputError([Fault(file, f"no dimension {shown(name)}", expected)])


def _of_the_same_people(
    sides: Sequence[tuple[str, str]], people: Mapping[str, list[int]]
) -> list[str]:
    """Warn that raters are in both groups of a contrast."""
    notes = []
    for a, b in dict.fromkeys(sides):
        if both := len(set(people[a]) & set(people[b])):
            notes.append(
                f"{counted(both, 'rater')} {'is' if both == 1 else 'are'} in both {a} and {b} "
                f"({len(people[a]):,} and {len(people[b]):,} raters): they make people's "
                "difference smaller, and its interval takes the groups for different people."
            )
    return notes


def _themselves(raters: Collection[str], names: tuple[str, str]) -> list[str]:
    """Warn that raters of the panel are called as people are."""
    if not raters:
        return []
    n = len(raters)
    return [
        f"{counted(n, 'rater')} of {names[0]} {'has' if n == 1 else 'have'} the name of a rater "
        f"of {names[1]}: {some(sorted(raters), _RATERS_NAMED)}. If they are the same people, "
        "people are compared with themselves, and the ratio says nothing of personas."
    ]


def _of_prompts(prompts: Sequence[str] | None) -> list[str]:
    """Say what intervals take items as, where they are not over prompts."""
    if prompts is None:
        return [
            "No prompts are named, so the intervals take items as independent. Where several items "
            "are of one prompt or topic these are too narrow: name its column, as in "
            "--map-human prompt=topic."
        ]
    if len(set(prompts)) == 1 and len(prompts) > 1:
        return [
            "All items are of one prompt: the intervals are over its items, and say nothing of "
            "other prompts."
        ]
    return []
