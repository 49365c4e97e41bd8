"""A panel's means of systems, corrected by people's ratings of a part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    listed,
)
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.statistics.core.display import ALL, COMPOSITE, number

if TYPE_CHECKING:
    from persona_panel.analyses.inputs import RatingsSource
    from persona_panel.analyses.on_page import RunWithPeople
    from persona_panel.files.ratings import GivenScale
    from persona_panel.files.records import ColumnMapping
    from persona_panel.statistics.calibration import (
        Calibration,
        CorrectedPair,
        CorrectedSystem,
    )
    from persona_panel.statistics.core.arrays import Reason
    from persona_panel.statistics.core.estimate import Difference
    from persona_panel.statistics.core.ranking import Leaderboard
    from persona_panel.statistics.core.table import Coverage

_Lead = tuple[str, str]

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


def _on_page(of: RunWithPeople) -> Iterator[Result | str]:
    """Yield the corrected means, and which of the leads that the run has people do not show."""
    if of.people.lower_is_better:
        return
    from persona_panel.files.ratings import check_calibration
    from persona_panel.files.selections import inclusion_of
    from persona_panel.results.conclusions.labels import called_by
    from persona_panel.runs.run import composite_name
    from persona_panel.statistics import calibration

    check_calibration(of.panel, of.people, *of.names)
    chances = None
    if of.inclusion is not None:
        chances = inclusion_of(of.inclusion, of.panel, of.people, of.names[1])
    found = replace(
        calibration.calibrate(of.panel, of.people, inclusion=chances),
        leads=established_leads(of.run.leaderboard()),
        leads_on=composite_name(of.run.rubric),
    )
    # The page has its own name for the composite.
    own = {id_: label for id_, label in found.labels.items() if label != COMPOSITE}
    yield calibrate_result(found, labels={**of.dimensions, **own})
    yield from leads_conclusion(found.labelled(called_by(found.labels)))


@analysis(
    "Means corrected by people’s ratings",
    parameters.ratings("panel"),
    parameters.people(
        "People's ratings of a part of the items.", COLUMNS_OF_RATINGS, required=True
    ),
    parameters.selected(),
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
    are read as by `correlate`. The corrected mean estimates what people would give to everything on
    average: a bias of the panel cancels, and the 95 % interval over prompts is the narrower the
    more the panel goes with people (prediction-powered inference, with its weight λ tuned).
    Differences between systems are corrected likewise. From 8 prompts rated by people on there is a
    correction. With several dimensions on one scale their mean, the composite, comes first. Of a
    run's folder it is also said which of the differences between systems that the run establishes
    people's ratings do not show.

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
        input_name,
        opened_sides,
        reading_of,
        rescaling_of,
        run_of,
    )
    from persona_panel.files.ratings import check_calibration
    from persona_panel.files.selections import given_inclusion, inclusion_of
    from persona_panel.runs.run import composite_name
    from persona_panel.statistics import calibrate as calibration

    ours, theirs = opened_sides(
        panel,
        human,
        mapping=mapping,
        human_mapping=human_mapping,
        human_scale=human_scale,
        allow_unmatched=allow_unmatched,
    )
    names = input_name(panel, "the panel's ratings"), input_name(human, "the human ratings")
    check_calibration(ours, theirs, *names)
    known = given_inclusion(theirs, selected, human_mapping)
    chances = None if known is None else inclusion_of(known, ours, theirs, selected or names[1])
    result = calibration(ours, theirs, inclusion=chances)
    if (run := run_of(panel)) is not None:
        leads, leads_on = established_leads(run.leaderboard()), composite_name(run.rubric)
        result = replace(result, leads=leads, leads_on=leads_on)
    return calibrate_result(
        result,
        reading=[*reading_of(theirs), *rescaling_of(ours)],
        source=names[0],
        coverage=ours.coverage,
    )


def calibrate_result(
    calibrated: Calibration,
    *,
    labels: Mapping[str, str] | None = None,
    reading: Sequence[str] = (),
    source: str = "",
    coverage: Coverage | None = None,
) -> Result:
    """Return the result: the corrected means of systems, the best first, and every difference.

    Args:
        labels: what people read in place of dimensions, by their names; those of the panel's
            ratings unless given.
        reading, source, coverage: as of `Result`.
    """
    from persona_panel.results.conclusions.labels import called_by
    from persona_panel.statistics.calibration import WIDEST

    systems = {each.system for each in calibrated.systems}
    dimensions = {each.dimension for each in calibrated.systems}
    called = called_by(calibrated.labels)
    labels = {name: called(name) for name in dimensions} if labels is None else labels
    alone = systems if len(systems) == 1 else ()
    dimension = Key(
        "dimension", "dimension", dimensions if len(dimensions) == 1 else (ALL, COMPOSITE), labels
    )
    sizes = (
        Column("n_human", "whole", "rated/\nscored", of="n_items"),
        Column("n_items", "whole"),
        Column("notes", "texts"),
    )
    of_means: tuple[Column, ...] = (
        Column("panel", "number", "panel"),
        Column("human_only", "estimate", "people", figure="human_only"),
        Column("corrected", "estimate", "corrected", better="higher", figure="corrected"),
        Column("lambda", "number", "λ", full=True),
        *sizes,
    )
    of_pairs: tuple[Column, ...] = (
        Column("panel", "number", "panel"),
        Column("human_only", "estimate", "people"),
        Column(
            "corrected",
            "estimate",
            "corrected",
            figure="corrected_difference",
            p_figure="corrected_p",
            p="column",
        ),
        *(replace(size, head="") for size in sizes),
    )
    tables = [
        Table(
            "rows",
            (Key("system", "system", alone), dimension),
            of_means,
            [
                row_of(
                    each.mean,
                    of_means,
                    system=each.system,
                    dimension=each.dimension,
                    # Of a mean it is of no interest whether it differs from 0.
                    corrected=replace(each.mean.corrected, p=nan),
                    **{"lambda": each.mean.tuning},
                )
                for each in best_first(calibrated.systems)
            ],
            "Means over prompts, corrected by people's ratings",
            short={"dimension": {COMPOSITE}} if COMPOSITE in dimensions else {},
            chart="corrected",
        ),
        Table(
            "differences",
            (Key("a", "systems", alone), Key("b", optional=alone), dimension),
            of_pairs,
            [
                row_of(
                    each.mean, of_pairs, a=each.corrected.a, b=each.corrected.b,
                    dimension=each.dimension,
                )
                for each in calibrated.pairs
            ],
            "Differences",
            when="full",
            sides=("a", "b"),
            chart="corrected",
        ),
        Table(
            "labels_to_halve",
            (Key("system"), Key("dimension")),
            (Column("n_human", "whole"), Column("needed", "whole")),
            [
                {
                    "system": each.system, "dimension": each.dimension,
                    "n_human": each.mean.n_human, "needed": each.mean.to_halve,
                }
                for each in calibrated.systems
            ],
        ),
    ]  # fmt: skip
    adjusted = f"{_ADJUSTED}{_OF_THE_COMPOSITE if COMPOSITE in dimensions else ''}."
    drawn = [_WEIGHTED] if calibrated.weighted else [] if calibrated.complete else [_AT_RANDOM]
    return Result(
        "calibrate",
        calibrate_conclusion(calibrated),
        tables,
        [_HOW_TO_READ, *drawn],
        [_LAMBDA.format(WIDEST), *([adjusted] if calibrated.pairs else [])],
        reading=reading,
        source=source,
        coverage=coverage,
    )


def calibrate_conclusion(calibrated: Calibration) -> list[str]:
    """Return, on the composite and by dimension, who is ahead of whom by the corrected differences
    (p-values adjusted by Holm); between whom first place is open; which of the panel's leads people
    do not show; how wide corrected intervals are, of people's own; what would halve the widest,
    both of the composite where there is one; that one person is not people. Where people rated
    everything there is nothing to correct, and that is said in place of widths."""
    from persona_panel.results.conclusions.labels import called_by

    calibrated = calibrated.labelled(called_by(calibrated.labels))
    corrected = [system for system in calibrated.systems if system.mean.corrected.reason is None]
    said = _uncorrected(calibrated.systems)
    if corrected:
        everything = calibrated.complete
        if everything:
            said.append(
                "People rated everything that the panel scored: these are people's means; the "
                "panel adds nothing to them."
            )
        said += _ahead(calibrated.pairs, "people's" if everything else "the corrected")
        said += _first_place(calibrated.pairs)
    said += leads_conclusion(calibrated)
    if corrected:
        # Of what is shown: where there is a composite, the other means are in --full alone.
        primary = [item for item in corrected if item.dimension == COMPOSITE] or corrected
        if not everything:
            said += _gained(primary)
        said.append(_to_halve(primary))
        said += _noted(corrected, calibrated.pairs)
    return [*said, ONE_PERSON] if calibrated.n_people == 1 else said


def _uncorrected(systems: Iterable[CorrectedSystem]) -> list[str]:
    """Say which means could not be corrected, by reason."""
    from persona_panel.statistics.calibration import LEAST_PROMPTS
    from persona_panel.statistics.core.arrays import Reason

    by_reason: dict[str, list[str]] = {}
    for system in systems:
        if (reason := system.mean.corrected.reason) is not None:
            by_reason.setdefault(reason, []).append(_name(system))
    return [
        f"No correction of {listed(names, 'means')}: {reason}."
        + (
            f" With ratings by people in {LEAST_PROMPTS} prompts there is one."
            if reason in (Reason.FEW_FOR_A_CORRECTION, Reason.NOT_RATED_BY_PEOPLE)
            else ""
        )
        for reason, names in by_reason.items()
    ]


def _noted(systems: Sequence[CorrectedSystem], pairs: Sequence[CorrectedPair]) -> list[str]:
    """Say what is to be known of some corrected means, by note."""
    from persona_panel.statistics.core.arrays import Reason

    by_note: dict[Reason, list[str]] = {}
    for system in systems:
        for note in system.mean.notes:
            by_note.setdefault(note, []).append(_name(system))
    said = []
    for note, names in by_note.items():
        of = "" if len(names) == len(systems) else f" of {listed(names, 'means')}"
        said.append(f"Note{of}: {note}.")
        if note is Reason.FEW_EXCEPTIONS and pairs:
            said[-1] += " So they are for differences from these."
    return said


def _ahead(pairs: Sequence[CorrectedPair], whose: str) -> list[str]:
    """Say which differences are shown by these means, or that none is."""
    tested = [pair for pair in pairs if not isnan(pair.corrected.p_adjusted)]
    if not tested:
        return []
    shown = [item for item in tested if item.corrected.shown]
    if not shown:
        n = counted(len(tested), "difference")
        return [f"By {whose} means no system is shown to be ahead of another ({n})."]
    said = []
    for entry in shown[:NAMES_SHOWN]:
        ahead = entry.corrected if entry.corrected.value > 0 else -entry.corrected
        on = "" if entry.dimension == ALL else f" on {dimension_called(entry.dimension)}"
        said.append(f"By {whose} means {ahead.a} is ahead of {ahead.b}{on}: {ahead}.")
    if len(shown) > NAMES_SHOWN:
        left = len(shown) - NAMES_SHOWN
        more, are = counted(left, "more difference"), "is" if left == 1 else "are"
        said.append(f"{more} of {len(tested):,} {are} established.")
    return said


def _first_place(pairs: Sequence[CorrectedPair]) -> list[str]:
    """Say which of three or more systems may be best on the composite, or the only dimension: those
    that no other is shown to be ahead of."""
    primary = [pair for pair in pairs if pair.dimension == COMPOSITE] or list(pairs)
    tested = [
        item for item in primary if not isnan(item.corrected.p_adjusted) and not item.is_share
    ]
    differences = [item.corrected for item in tested]
    systems = list(dict.fromkeys(name for each in differences for name in (each.a, each.b)))
    if len(systems) < 3 or len({item.dimension for item in tested}) > 1:
        return []
    behind = {each.b if each.value > 0 else each.a for each in differences if each.shown}
    open_ = [name for name in systems if name not in behind]
    if len(open_) < 2:
        return []
    of = f"all {len(open_):,} systems" if len(open_) == len(systems) else listed(open_)
    on = f" on {dimension_called(COMPOSITE)}" if tested[0].dimension == COMPOSITE else ""
    return [f"First place{on} is open between {of}."]


def _gained(corrected: Sequence[CorrectedSystem]) -> list[str]:
    """Say how wide the intervals are, of people's own."""
    ratios = sorted(item.mean.width_ratio for item in corrected)
    text = number(ratios[0])
    if ratios[-1] - ratios[0] >= 0.005:
        text += f" to {number(ratios[-1])}"
    s = "s are" if len(ratios) > 1 else " is"
    what = f"The corrected interval{s} {text} times as wide as with people's ratings alone"
    if ratios[0] > 0.98:
        return [f"{what}: the panel adds nothing here that is shown."]
    return [f"{what}."]


def _to_halve(corrected: Sequence[CorrectedSystem]) -> str:
    """Say what would halve the widest interval."""
    widest = max(corrected, key=lambda entry: entry.mean.corrected.width)
    result = widest.mean
    what = f"the widest interval, of {_name(widest)}," if len(corrected) > 1 else "the interval"
    if result.to_halve is None:
        return (
            f"To halve {what} more ratings by people of what the panel scored "
            f"({counted(result.n_items, 'item')}, {result.n_human:,} rated) are not enough: it "
            "takes more prompts."
        )
    return (
        f"About {counted(result.to_halve, 'item')} rated by people (now {result.n_human:,}) would "
        f"halve {what} if the panel goes with people as here."
    )


def _name(corrected_system: CorrectedSystem) -> str:
    if corrected_system.dimension == ALL:
        return "the mean" if corrected_system.system == ALL else corrected_system.system
    on = dimension_called(corrected_system.dimension)
    return on if corrected_system.system == ALL else f"{corrected_system.system} on {on}"


def best_first(systems: Sequence[CorrectedSystem]) -> list[CorrectedSystem]:
    """Order systems dimension by dimension, by their corrected means, the highest first, those
    without one last: by those on the composite where there is one, so that a system has one place
    in all of its dimensions, as `score` has it; else by those on each dimension."""
    names = list(dict.fromkeys(system.dimension for system in systems))
    of_composite = {
        system.system: system.mean.corrected.value
        for system in systems
        if system.dimension == COMPOSITE
    }

    def place(corrected_system: CorrectedSystem) -> tuple[int, bool, float]:
        mean = of_composite.get(corrected_system.system, corrected_system.mean.corrected.value)
        return names.index(corrected_system.dimension), isnan(mean), 0.0 if isnan(mean) else -mean

    return sorted(systems, key=place)


def established_leads(board: Leaderboard) -> tuple[_Lead, ...]:
    """Return the systems of each difference that a leaderboard establishes, the better one
    first."""
    return tuple(
        (difference.a, difference.b) if difference.value > 0 else (difference.b, difference.a)
        for difference in board.differences
        if difference.shown
    )


def leads_conclusion(calibrated: Calibration) -> list[str]:
    """Say which of the panel's leads people's ratings do not show; nothing of those that they do.

    A lead is shown by the corrected difference of the same systems, with an adjusted p below
    `LEVEL` and an interval that leaves 0 out on the lead's side: on the composite, or on any
    dimension where people rated several. People show the contrary where such a difference is on
    the other side. Shares of labels, of which more is not better, show neither, but for that which
    the panel's composite is.
    """
    contrary: dict[_Lead, list[CorrectedPair]] = {}
    open_: dict[_Lead, list[CorrectedPair]] = {}
    undefined: dict[_Lead, list[CorrectedPair]] = {}
    primary = (ALL, COMPOSITE, calibrated.leads_on)
    told_of = [pair for pair in calibrated.pairs if not pair.is_share or pair.dimension in primary]
    for lead in calibrated.leads:
        pairs = [item for item in told_of if {item.corrected.a, item.corrected.b} == {*lead}]
        pairs = [pair for pair in pairs if pair.dimension in primary] or pairs
        signs = [_sign(pair, lead) for pair in pairs]
        if -1 in signs:
            contrary[lead] = [item for item, sign in zip(pairs, signs, strict=True) if sign == -1]
        elif 1 not in signs and 0 in signs:
            open_[lead] = [item for item, sign in zip(pairs, signs, strict=True) if sign == 0]
        elif pairs and 1 not in signs:
            undefined[lead] = pairs
    said = []
    what = "difference" if calibrated.complete else "corrected difference"
    n = len(calibrated.leads)
    if contrary:
        text = _figure(contrary, what)
        said.append(f"People's ratings show the contrary of {_named(contrary, n)}{text}.")
    if open_:
        names = _named(open_, n)
        be = "is" if len(open_) == 1 else "are"
        text = _figure(open_, what)
        said.append(f"{names[0].upper()}{names[1:]} {be} not shown by people's ratings{text}.")
    if undefined:
        reasons = dict.fromkeys(
            pair.corrected.reason
            for pairs in undefined.values()
            for pair in pairs
            if pair.corrected.reason
        )
        why = f": {'; '.join(reasons)}" if reasons else ""
        said.append(f"Whether people's ratings show {_named(undefined, n)} cannot be said{why}.")
    return said


def _sign(pair: CorrectedPair, lead: _Lead) -> int | None:
    """Return 1 where people show the lead, −1 where the contrary, 0 neither; None where
    undefined."""
    result = pair.corrected
    if result.reason is not None or isnan(result.p_adjusted):
        return None
    if not result.shown or not result.sign:
        return 0
    return 1 if (result.value > 0) == (result.a == lead[0]) else -1


def _named(leads: Collection[_Lead], n: int) -> str:
    if len(leads) > NAMES_SHOWN:
        return f"{len(leads):,} of the panel's {n:,} leads"
    s = "s" if len(leads) > 1 else ""
    return f"the panel's lead{s} of {listed([f'{a} over {b}' for a, b in leads])}"


def _figure(leads: dict[_Lead, list[CorrectedPair]], what: str) -> str:
    """Return the differences of the leads with their intervals, better − other; of more than a few,
    from the lowest to the highest; and on which dimensions."""
    those = [(lead, pair) for lead, pairs in leads.items() for pair in pairs]
    names = list(dict.fromkeys(_dimension(item) for _, item in those if item.dimension != ALL))
    is_range = len(those) > NAMES_SHOWN
    # Of several leads on several dimensions each difference has its own; a range has none.
    has_own = len(leads) > 1 and len(names) > 1 and not is_range
    on = f" on {listed(names)}" if names and not has_own else ""
    if len(those) == 1:
        return f"{on}: {what} {_turned(*those[0])}"
    if is_range:
        low, *_, high = sorted(_turned(lead, item).value for lead, item in those)
        return f"{on}: {what}s from {number(low)} to {number(high)}"
    text = []
    for (better, other), entry in those:
        of = [f"{better} − {other}"] if len(leads) > 1 else []
        of += [f"on {_dimension(entry)}"] if len(names) > 1 else []
        text.append(f"{' '.join(of)}: {_turned((better, other), entry)}")
    return f"{on}: {what}s, {'; '.join(text)}"


def _dimension(pair: CorrectedPair) -> str:
    return "the composite" if pair.dimension == COMPOSITE else pair.dimension


def _turned(lead: _Lead, pair: CorrectedPair) -> Difference:
    """Return the difference, the better system of the lead less the other."""
    return pair.corrected if pair.corrected.a == lead[0] else -pair.corrected
