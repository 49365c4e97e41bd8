"""`persona_fidelity`: groups of people and the personas that stand for them, compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

from persona_panel.analyses.fidelity.attributes import (
    AttributeTable,
    item_attributes,
    meeting,
    rater_attributes,
    run_attributes,
    values_of,
)
from persona_panel.analyses.fidelity.comparable_ratings import comparable_ratings
from persona_panel.analyses.fidelity.groups import GroupContrast, GroupFile, load_groups
from persona_panel.analyses.fidelity.notes import (
    RATERS_NAMED,
    of_prompts,
    of_the_same_people,
    themselves,
)
from persona_panel.analyses.fidelity.result import FidelityReport
from persona_panel.files.aligned_ratings import load_human_ratings
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.people_scales import GivenScale
from persona_panel.files.ratings import load_ratings
from persona_panel.files.records import ColumnMapping, Source, name_of
from persona_panel.files.wording import did_you_mean, shown, some
from persona_panel.statistics.core.arrays import Array, IntArray, row_means
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.fidelity.contrast import (
    ContrastName,
    FidelityContrast,
    fidelity_contrast,
)
from persona_panel.statistics.fidelity.group_difference import (
    LEAST_RATERS,
    PairedGroupDifference,
    difference_by_model,
    group_difference,
)
from persona_panel.statistics.fidelity.split_half import split_half

T = TypeVar("T")


def persona_fidelity(
    panel: str | Path,
    human: Source,
    raters: Source,
    groups: str | Path | GroupFile,
    *,
    items: Source | None = None,
    dimension: str | None = None,
    mapping: ColumnMapping | None = None,
    human_mapping: ColumnMapping | None = None,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
) -> FidelityReport:
    """How far personas differ, compared with how far the people they stand for do.

    Intervals take prompts as their sample where these are known and fewer than items (those of a
    run, or a column `prompt` of either file, which may hold topics), else items.

    Args:
        panel: the folder of a run, or a file of ratings.
        human: people's ratings of the same items, as `load_ratings` reads them.
        raters: a file with `rater` and people's attributes.
        groups: the file of groups and contrasts, or what was read from it.
        items: a file with `item` and attributes of items; without it they are a run's metadata and
            the further columns of the files of ratings.
        dimension: which one is compared; people's ratings that name none are of it. Without it, all
            that both have.
        mapping, human_mapping: of columns of `panel` and `human` that have other names.
        human_scale, allow_unmatched: of people's ratings; see `load_aligned_ratings`.

    Raises:
        InputError: anything is wrong with a file, a condition names an attribute that there is not,
            or nobody meets it, or a persona is not there; lists every fault.
    """
    file = "groups" if isinstance(groups, GroupFile) else str(groups)
    faults: list[Fault] = []
    ours = _read(lambda: load_ratings(panel, mapping=mapping), faults)
    theirs = _read(
        lambda: load_human_ratings(
            human, human_mapping, human_scale=human_scale, allow_unmatched=allow_unmatched
        ),
        faults,
    )
    table = _read(lambda: rater_attributes(raters), faults)
    grouped = groups
    if not isinstance(grouped, GroupFile):
        grouped = _read(lambda: load_groups(str(groups)), faults)
    if faults:
        raise InputError(faults)
    names = str(panel), name_of(human)
    coverage = ours.coverage
    ours, theirs = comparable_ratings(ours, theirs, names, dimension)
    conditions = [cond for one in _all(grouped) for cond in one.strata]
    wanted = dict.fromkeys(name for one in conditions for name in one.attributes)
    tables = (
        _item_tables(panel, human, items, list(wanted), mapping, human_mapping) if wanted else []
    )
    sides = _Sides.of(ours, theirs, grouped, table, file, names)
    signs = _strata(grouped, tables, ours.items, file)
    dimensions = [name for name in ours.dimensions if name in theirs.dimensions]
    rows = [
        row
        for control, contrasts in ((False, grouped.contrasts), (True, grouped.controls))
        for one in contrasts
        for name in dimensions
        for n_tests in [len(contrasts) * len(dimensions)]
        for row in [sides.contrast(one, name, signs[one.stratum], control, n_tests)]
    ]
    return FidelityReport(tuple(rows), tuple(sides.notes), coverage, theirs.origin)


def _read(reader: Callable[[], T], faults: list[Fault]) -> T:
    """What a reader gives; what it refuses goes to `faults`, and nothing may then be used."""
    try:
        return reader()
    except InputError as error:
        faults += error.faults
        return cast(T, None)


def _all(groups: GroupFile) -> tuple[GroupContrast, ...]:
    return (*groups.contrasts, *groups.controls)


def _item_tables(
    panel: str | Path,
    human: Source,
    items: Source | None,
    wanted: Sequence[str],
    mapping: ColumnMapping | None,
    human_mapping: ColumnMapping | None,
) -> list[AttributeTable]:
    """Where attributes of items are looked up, in this order: the file of items, a run's metadata
    or the panel's file, and people's ratings."""
    tables = [] if items is None else [item_attributes(items, wanted)]
    for source, columns in ((panel, mapping), (human, human_mapping)):
        if set(wanted) <= {column for table in tables for column in table.columns}:
            break
        if isinstance(source, str | Path) and Path(source).is_dir():
            tables.append(run_attributes(Path(source)))
        elif isinstance(source, str | Path) and str(source) != "-":
            tables.append(item_attributes(source, wanted, columns))
    return tables


def _strata(
    groups: GroupFile, tables: Sequence[AttributeTable], items: Sequence[str], file: str
) -> dict[str, IntArray]:
    """By stratum 1 for the items in it, −1 for those of the one that is subtracted.

    Raises:
        InputError: no item is in a stratum, or one is in both of an interaction.
    """
    found: dict[str, IntArray] = {}
    faults: list[Fault] = []
    for one in _all(groups):
        signs = np.zeros(len(items), dtype=np.intp)
        if not one.strata:
            signs += 1
        for sign, condition in zip((1, -1), one.strata, strict=False):
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
        found[one.stratum] = signs
    if faults:
        raise InputError(list(dict.fromkeys(faults)))
    return found


@dataclass(frozen=True, slots=True)
class _Sides:
    """People and personas by group: the columns of each in its ratings."""

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
        """Who is in which group.

        Raises:
            InputError: a group has no people, or a persona is not there; lists every fault.
        """
        faults: list[Fault] = []
        people: dict[str, list[int]] = {}
        personas: dict[str, list[int]] = {}
        unknown = [rater for rater in theirs.raters if table.of(rater) is None]
        if len(unknown) == len(theirs.raters):
            found = f"none of the raters of {names[1]} ({some(theirs.raters, RATERS_NAMED)})"
            expected = f"them; there are {some(table.values, RATERS_NAMED)}"
            raise InputError([Fault(table.file, found, expected, field="rater")])
        for name, group in groups.groups.items():
            where = f"{file}: groups.{name}"
            condition = group.of_people
            try:
                held = meeting(condition, [table], theirs.raters, f"{where}.condition")
            except InputError as error:
                faults += error.faults
                continue
            people[name] = [at for at, each in enumerate(held) if each is True]
            if not people[name]:
                occurring = values_of(condition, table, theirs.raters)
                found = f"{condition.text!r}, which no rater of {names[1]} meets"
                expected = f"one rater or more; among them {occurring}"
                faults.append(Fault(f"{where}.condition", found, expected))
            known = ours.raters if ours.personas is None else ours.personas
            for persona in group.personas:
                if persona not in known:
                    what = "rater" if ours.personas is None else "persona"
                    expected = f"{what}s of {names[0]}: {some(dict.fromkeys(known), RATERS_NAMED)}"
                    expected += did_you_mean(persona, known)
                    found = f"the {what} {shown(persona)}"
                    faults.append(Fault(f"{where}.personas", found, expected))
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
        notes += of_the_same_people([groups.sides(one) for one in _all(groups)], people)
        if ours.personas is None:
            stand = {ours.raters[at] for own in personas.values() for at in own}
            notes += themselves(stand & set(theirs.raters), names)
        notes += of_prompts(ours.prompts)
        return cls(ours, theirs, groups, people, personas, notes)

    def contrast(
        self, one: GroupContrast, dimension: str, signs: IntArray, control: bool, n_tests: int
    ) -> FidelityContrast:
        """One contrast on one dimension."""
        a, b = self.groups.sides(one)
        theirs = self.theirs.scores[:, :, self.theirs.dimensions.index(dimension)]
        people = theirs[:, self.people[a]], theirs[:, self.people[b]]
        prompts = self.ours.prompts
        panel, sample = None, None
        if self.personas[a] and self.personas[b]:
            ours = self.ours.scores[:, :, self.ours.dimensions.index(dimension)]
            panel, sample = self._panel(ours, self.personas[a], self.personas[b], signs)
            signs = self._common(people, panel, signs)
            panel, sample = self._panel(ours, self.personas[a], self.personas[b], signs)
        reliability = split_half(*(side[signs != 0] for side in people))
        name = ContrastName(self.groups.name_of(one), one.stratum, dimension, control)
        return fidelity_contrast(
            name,
            group_difference(*people, signs, prompts=prompts),
            panel,
            panel_sample=sample,
            split_half=reliability,
            n_tests=n_tests,
        )

    def _common(
        self, people: tuple[Array, Array], panel: PairedGroupDifference, signs: IntArray
    ) -> IntArray:
        """The items that both sides have a difference on."""
        lacking = np.isnan(row_means(people[0]) - row_means(people[1]))
        return np.where(lacking | (panel.signs == 0), 0, signs)

    def _panel(
        self, scores: Array, a: list[int], b: list[int], signs: IntArray
    ) -> tuple[PairedGroupDifference, str | None]:
        """The personas' difference, and what it takes as a sample beside items or prompts: models
        that speak for both groups, where there are several; else raters, where they are no personas
        of a run and at least five stand for each group."""
        prompts = self.ours.prompts
        models = [name for name in dict.fromkeys(self._models(a)) if name in self._models(b)]
        if len(models) > 1:
            by_model = [
                row_means(scores[:, list(self._of_model(a, name))])
                - row_means(scores[:, list(self._of_model(b, name))])
                for name in models
            ]
            differences = np.stack(by_model, axis=1)
            return difference_by_model(differences, signs, prompts=prompts), "models"
        sampled = self.ours.personas is None and min(len(a), len(b)) >= LEAST_RATERS
        found = group_difference(
            scores[:, a], scores[:, b], signs, sampled=sampled, prompts=prompts
        )
        return found, "raters" if sampled else None

    def _models(self, columns: Sequence[int]) -> list[str]:
        return [self.ours.groups[at] for at in columns]

    def _of_model(self, columns: Sequence[int], name: str) -> Iterator[int]:
        return (at for at in columns if self.ours.groups[at] == name)
