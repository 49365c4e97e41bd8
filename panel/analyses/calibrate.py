"""Correct a panel's means by people's ratings of a part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import TYPE_CHECKING

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis
from persona_panel.analyses.parameters import COLUMNS_OF_RATINGS
from persona_panel.results.conclusions.wording import (
    NAMES_SHOWN,
    ONE_PERSON,
    counted,
    dimension_called,
    grouped,
    listed,
    on_scales,
)
from persona_panel.results.definitions import PPI
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, for_programs, row_of
from persona_panel.statistics.core.display import ALL, COMPOSITE, number

if TYPE_CHECKING:
    from persona_panel.analyses.analysis import RunWithPeople
    from persona_panel.analyses.inputs import RatingsSource
    from persona_panel.files.ratings import GivenScale
    from persona_panel.files.records import ColumnMapping
    from persona_panel.runs.run import Run
    from persona_panel.statistics.calibration import Calibration, CorrectedMean
    from persona_panel.statistics.core.table import Coverage


_HOW_TO_READ = (
    "panel: its mean of everything that it scored. people: theirs of what they rated. corrected: "
    "what people would give on average to everything, from both, with these people and judges."
)
_LAMBDA = (
    "λ: how much the panel counts; 0, people alone. A corrected interval is at most {:g} times as "
    "wide as that of people, before either is cut at an end of the scale."
)
_ADJUSTED = "p: adjusted by Holm's method over all differences"
_OF_THE_COMPOSITE = (
    " of the composite, and over those of all dimensions together. composite: each rater's mean "
    "over the dimensions"
)
_AT_RANDOM = (
    "All of it takes that what people rated was drawn at random: where `select` drew it, give its "
    "file as --selected."
)
_WEIGHTED = (
    "What people rated counts by the inverse of the probability with which they were asked for it "
    "(inclusion_probability)."
)
_SIZES = (Column("n_items", "whole"), Column("notes", "texts"))


def _on_page(of: RunWithPeople) -> Iterator[Result]:
    if of.calibrated is not None:
        # The page has its own name for the composite.
        labels = {name: label for name, label in of.calibrated.labels.items() if name != COMPOSITE}
        yield calibrate_result(of.calibrated, labels={**of.dimensions, **labels}, run=of.run)


@analysis(
    "Means corrected by people’s ratings",
    parameters.ratings("panel"),
    parameters.people(
        "People's ratings of a part of the items.", COLUMNS_OF_RATINGS, required=True
    ),
    parameters.selected(),
    group="People",
    example="runs/first --human ratings.csv",
    requirements=("corrected[my-model] >= 6", "corrected_difference[new, old] > -0.2"),
    on_page=_on_page,
)
def calibrate(
    panel: RatingsSource,
    human: RatingsSource,
    *,
    mapping: ColumnMapping | None = None,
    human_mapping: ColumnMapping | None = None,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
    selected: str | None = None,
) -> Result:
    """Correct a panel's means of systems by people's ratings of a part of the items.

    PANEL is a run's folder, or ratings with the system of each item in the column source; RATINGS
    are read as by `people correlate`. The corrected mean estimates what people would give to
    everything on average: a bias of the panel cancels, and the 95 % interval over prompts is the
    narrower the more the panel correlates with people (prediction-powered inference, its weight λ
    tuned). Differences between systems are corrected likewise. From 8 prompts rated by people on
    there is a correction. With several dimensions on one scale their mean, the composite, comes
    first. Of a run's folder it is also said which of the differences between systems that the run
    establishes people's ratings do not show.

    What people rated has to be a random part, or one that `select` chose: then give its file as
    --selected, or RATINGS with its column inclusion_probability.

    Printed are the conclusion and the means of systems, of the composite alone where there is one;
    with --full those on each dimension, and all differences. --json always has all: `rows`, one
    for each system and dimension (`composite` first), and `differences`, one for each pair of
    systems; `labels_to_halve` has how many items people would have to rate for intervals half as
    wide. A requirement without a dimension is on the composite.

    Args:
        panel: a run's folder or ratings, as files or as objects.
        human: people's ratings of a part of the same items.
        mapping: columns of the panel's file that have other names than its fields.
        human_mapping, human_scale, allow_unmatched: of people's ratings; see
            `load_aligned_ratings`.
        selected: the file of items that people were asked for, as `select` wrote it.

    Raises:
        InputError: anything is wrong with either, they share too few items, or means say nothing
            of systems.
    """
    from persona_panel.analyses.inputs import (
        HumanInput,
        input_name,
        opened_sides,
        reading_of,
        run_of,
    )
    from persona_panel.files.ratings import check_calibration
    from persona_panel.files.selections import inclusion_of, known_inclusion
    from persona_panel.results.conclusions.wording import rescaling_of
    from persona_panel.statistics import calibrate as calibration

    people = HumanInput(human, human_mapping, human_scale, allow_unmatched)
    ours, theirs = opened_sides(panel, people, mapping)
    names = input_name(panel, "the panel's ratings"), people.name
    check_calibration(ours, theirs, *names)
    known = known_inclusion(theirs, selected, human_mapping)
    chances = None if known is None else inclusion_of(known, ours, theirs, selected or names[1])
    result = calibration(ours, theirs, inclusion=chances)
    return calibrate_result(
        result,
        run=run_of(panel),
        reading=[*reading_of(theirs), *rescaling_of(ours)],
        source=names[0],
        coverage=ours.coverage,
    )


def calibrate_result(
    calibrated: Calibration,
    *,
    labels: Mapping[str, str] | None = None,
    run: Run | None = None,
    reading: Sequence[str] = (),
    source: str = "",
    coverage: Coverage | None = None,
) -> Result:
    """Return the result: the corrected means of systems, the best first, and every difference.

    Args:
        labels: what people read in place of dimensions, by their names; the panel's unless given.
        run: the run that the panel's ratings are of, if they are of one.
        reading, source, coverage: as of `Result`.
    """
    from persona_panel.results.conclusions.rows import called_by
    from persona_panel.statistics.calibration import WIDEST

    systems = {each.system for each in calibrated.systems}
    dimensions = {each.dimension for each in calibrated.systems}
    called = called_by(calibrated.labels)
    labels = {name: called(name) for name in dimensions} if labels is None else labels
    alone = systems if len(systems) == 1 else ()
    system = Key("system", "system", alone)
    dimension = Key(
        "dimension", "dimension", dimensions if len(dimensions) == 1 else (ALL, COMPOSITE), labels
    )
    ours, theirs = on_scales(calibrated)
    panel = Column("panel", "number", f"panel{ours}")
    people = Column("human_only", "estimate", f"people{theirs}")
    # Without a correction these have no heading: they are for programs alone.
    heading = f"corrected{theirs}" if calibrated.corrects else ""
    corrected = Column("corrected", "estimate", heading)
    chart = "corrected" if calibrated.corrects else "human_only"
    of_means = (
        panel,
        replace(people, figure="human_only"),
        replace(corrected, better="higher", figure="corrected"),
        Column(
            "lambda",
            "number",
            "λ" if calibrated.corrects else "",
            full=True,
            definition="weight of the panel with which the corrected mean has the least variance "
            f"({PPI})",
        ),
        Column("n_human", "whole", "rated/\nscored", of="n_items"),
        *_SIZES,
    )
    of_pairs = (
        panel,
        people,
        replace(corrected, figure="corrected_difference", p_figure="corrected_p", p="column"),
        Column("n_human", "whole", of="n_items"),
        *_SIZES,
    )
    how = "corrected by people's ratings" if calibrated.corrects else "by the panel and by people"
    tables = [
        Table(
            "rows",
            (system, dimension),
            of_means,
            [
                # Of a mean it is of no interest whether it differs from 0.
                row_of(
                    each, (system, dimension, *of_means),
                    corrected=replace(each.corrected, p=nan), **{"lambda": each.tuning},
                )
                for each in best_first(calibrated.systems)
            ],
            f"Means over prompts, {how}",
            short={"dimension": {COMPOSITE}} if COMPOSITE in dimensions else {},
            chart=chart,
        ),
        Table(
            "differences",
            (Key("a", "systems", alone), Key("b", optional=alone), dimension),
            of_pairs,
            [
                # Without a p-value of people's own: of the two, the corrected is tested.
                row_of(
                    each, (dimension, *of_pairs), a=each.difference.a, b=each.difference.b,
                    human_only=replace(each.human_only, p=nan),
                )
                for each in calibrated.pairs
            ],
            f"Differences, {how}",
            when="full",
            sides=("a", "b"),
            chart=chart,
        ),
        Table(
            "labels_to_halve",
            keys := (Key("system"), Key("dimension")),
            needed := for_programs("whole", "n_human", "needed"),
            [row_of(each, (*keys, *needed), needed=each.to_halve) for each in calibrated.systems],
        ),
    ]  # fmt: skip
    adjusted = f"{_ADJUSTED}{_OF_THE_COMPOSITE if COMPOSITE in dimensions else ''}."
    drawn = [_WEIGHTED] if calibrated.weighted else [] if calibrated.complete else [_AT_RANDOM]
    return Result(
        "calibrate",
        calibrate_conclusion(calibrated, run),
        tables,
        [*drawn, _HOW_TO_READ],
        [_LAMBDA.format(WIDEST), *([adjusted] if calibrated.pairs else [])],
        reading=reading,
        source=source,
        coverage=coverage,
    )


def calibrate_conclusion(calibrated: Calibration, run: Run | None = None) -> list[str]:
    """Return which system is best by the corrected means (of the composite, or dimension by
    dimension where there is none); how wide corrected intervals are, of people's own; what would
    halve the widest; that one person is not people. Where people rated everything there is nothing
    to correct, and that is said in place of widths."""
    from persona_panel.analyses.ranked_systems import best_sentence, by_people
    from persona_panel.results.conclusions.rows import called_by
    from persona_panel.results.result import QUESTIONS

    calibrated = calibrated.labelled(called_by(calibrated.labels))
    corrected = [system for system in calibrated.systems if system.corrected.reason is None]
    sentences = []
    if corrected:
        # Of what is shown: where there is a composite, the other means are in --full alone.
        primary = [item for item in corrected if item.dimension == COMPOSITE] or corrected
        ranked = by_people(calibrated)
        several = ranked is not None and len(ranked.systems) > 1
        if ranked is not None and several and len({item.dimension for item in primary}) == 1:
            sentences.append(f"{QUESTIONS['best']} {best_sentence(ranked, run)}")
        else:
            sentences += _ahead(calibrated.pairs)
        sentences += [
            "People rated everything that the panel scored: these are people's means; the panel "
            "adds nothing to them."
            if calibrated.complete
            else _gained(primary),
            _to_halve(primary),
            *_noted(corrected, calibrated.pairs),
        ]
    sentences += _uncorrected(calibrated.systems)
    return [*sentences, ONE_PERSON] if calibrated.n_people == 1 else sentences


def _uncorrected(systems: Iterable[CorrectedMean]) -> list[str]:
    """Say which means could not be corrected, by reason."""
    from persona_panel.statistics.core.arrays import Reason
    from persona_panel.statistics.core.estimate import RATED_PROMPTS

    few = Reason.FEW_FOR_A_CORRECTION, Reason.NOT_RATED_BY_PEOPLE
    more = f" With ratings by people in {RATED_PROMPTS} prompts there is one."
    return [
        f"No correction of {listed([*map(_name, those)], 'means of a system on a dimension')}: "
        f"{reason}.{more if reason in few else ''}"
        for reason, those in grouped(systems, lambda each: each.corrected.reason).items()
    ]


def _noted(systems: Sequence[CorrectedMean], pairs: Sequence[CorrectedMean]) -> list[str]:
    """Say what is to be known of some corrected means, by note."""
    from persona_panel.statistics.core.arrays import Reason

    sentences = []
    for note in dict.fromkeys(note for system in systems for note in system.notes):
        names = [_name(system) for system in systems if note in system.notes]
        of = "" if len(names) == len(systems) else f" of {listed(names, 'means')}"
        sentences.append(f"Note{of}: {note}.")
        if note is Reason.FEW_EXCEPTIONS and pairs:
            sentences[-1] += " So they are for differences from these."
    return sentences


def _ahead(pairs: Sequence[CorrectedMean]) -> list[str]:
    """Say which of the differences on several dimensions are significant, or that none is."""
    tested = [pair for pair in pairs if not isnan(pair.corrected.p_adjusted)]
    shown = [item for item in tested if item.corrected.shown]
    if not shown:
        n = counted(len(tested), "difference")
        return [f"No difference between systems is significant ({n} tested)."] if tested else []
    sentences = []
    for entry in shown[:NAMES_SHOWN]:
        ahead = entry.difference.from_above
        on = "" if entry.dimension == ALL else f" on {dimension_called(entry.dimension)}"
        sentences.append(f"{ahead.a} is significantly ahead of {ahead.b}{on}: {ahead}.")
    if left := len(shown[NAMES_SHOWN:]):
        more, are = counted(left, "more difference"), "is" if left == 1 else "are"
        sentences.append(f"{more} of {len(tested):,} {are} significant.")
    return sentences


def _gained(corrected: Sequence[CorrectedMean]) -> str:
    """Say how wide the intervals are, of people's own."""
    ratios = sorted(item.width_ratio for item in corrected)
    text = number(ratios[0])
    if ratios[-1] - ratios[0] >= 0.005:
        text += f" to {number(ratios[-1])}"
    s = "s are" if len(ratios) > 1 else " is"
    nothing = ": the panel adds nothing here that is shown" if ratios[0] > 0.98 else ""
    return (
        f"The corrected interval{s} {text} times as wide as with people's ratings alone{nothing}."
    )


def _to_halve(corrected: Sequence[CorrectedMean]) -> str:
    """Say what would halve the widest interval."""
    widest = max(corrected, key=lambda entry: entry.corrected.width)
    what = f"the widest interval, of {_name(widest)}," if len(corrected) > 1 else "the interval"
    if widest.to_halve is None:
        return (
            f"To halve {what} more ratings by people of what the panel scored "
            f"({counted(widest.n_items, 'item')}, {widest.n_human:,} rated) are not enough: it "
            "takes more prompts."
        )
    return (
        f"About {counted(widest.to_halve, 'item')} rated by people (now {widest.n_human:,}) would "
        f"halve {what} if the panel correlates with people as here."
    )


def _name(mean: CorrectedMean) -> str:
    if mean.dimension == ALL:
        return "the mean" if mean.system == ALL else mean.system
    on = dimension_called(mean.dimension)
    return on if mean.system == ALL else f"{mean.system} on {on}"


def best_first(systems: Sequence[CorrectedMean]) -> list[CorrectedMean]:
    """Order systems dimension by dimension, by their corrected means, the highest first, those
    without one last: by those on the composite where there is one, so that a system has one place
    in all of its dimensions, as `score` has it; else by those on each dimension."""
    names = list(dict.fromkeys(system.dimension for system in systems))
    whole = {each.system: each.corrected.value for each in systems if each.dimension == COMPOSITE}

    def place(each: CorrectedMean) -> tuple[int, bool, float]:
        mean = whole.get(each.system, each.corrected.value)
        return names.index(each.dimension), isnan(mean), 0.0 if isnan(mean) else -mean

    return sorted(systems, key=place)
