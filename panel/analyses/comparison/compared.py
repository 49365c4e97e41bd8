"""Runs compared: each with the first, also in nearness to people; tests adjusted together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import nan
from pathlib import Path

import numpy as np

from persona_panel.analyses.analysis import RunWithPeople, folder_named
from persona_panel.analyses.answers import do_personas_add
from persona_panel.analyses.comparison.matching import Matched, match_runs
from persona_panel.analyses.comparison.opened_run import OpenedRun, judges_in_both, open_run
from persona_panel.analyses.comparison.result import (
    ChangedResponse,
    ComparedRuns,
    PanelsAlike,
    RunComparison,
    compare_conclusion,
    runs_by_strata,
)
from persona_panel.analyses.comparison.scored_terms import (
    ScoredTerms,
    StratumTerms,
    scored_terms,
    strata_apart,
    stratum_terms,
)
from persona_panel.analyses.inputs import HumanInput, RunSource
from persona_panel.files.aligned_ratings import align_ratings
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.wording import command_line
from persona_panel.results.conclusions.rows import called_by
from persona_panel.results.result import RunAnswer
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import are_preferences, dimension_labels, on_limits, unit_of
from persona_panel.statistics.annotators import compared_advantages
from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Random,
    check_choice,
    row_means,
    rows_of,
)
from persona_panel.statistics.core.display import ALL, COMPOSITE
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.significance import holm_adjusted
from persona_panel.statistics.core.table import Ratings, RatingsOrigin
from persona_panel.statistics.paired import (
    NearerToPeople,
    PairedDifference,
    PairedTerms,
    best_of_prompts,
    nearer_to_people,
    order_alike,
    paired_difference,
    scores_alike,
)

MOST_CHANGED = 5
"""The number of responses that are named as changed most, each way."""
_SAME = 1e-9


def compare_runs(
    runs: Sequence[RunSource],
    people: HumanInput | None = None,
    random: Random = "prompts",
    by: str | None = None,
    epsilon: float | None = None,
) -> RunComparison:
    """Return runs compared with the first of them.

    Of other texts, systems of the same name are paired, or the only ones of two runs; responses by
    prompt, and by their metadata column `pair` where all have one; ratings by judge. Of other
    panels, scores are paired by response. A prompt counts once. p-values are adjusted by Holm over
    all dimensions and runs; composites are a family of their own.

    Args and errors are those of `persona_panel.analyses.compare.compare`.
    """
    check_choice("random", random, Random)
    opened = _opened(runs)
    first, *others = opened
    ratings = None if people is None else people.read()
    pairs = [RunPair(first, each, match_runs(first, each), random, by) for each in others]
    for pair in pairs:
        if people is not None and ratings is not None:
            pair.compare_with(ratings, people.name, epsilon)
    adjust(pairs)
    result = tuple(pair.result() for pair in pairs)
    labels = labels_of(*opened)
    called = called_by(labels)
    conclusion = compare_conclusion([each.labelled(called) for each in result], random)
    if by is not None:
        conclusion += runs_by_strata(by, result, called if by == "dimension" else str)
    answers = [answer for pair in pairs if (answer := pair.on_personas(ratings)) is not None]
    conclusion += [answer.text for answer in answers[:1]]
    return RunComparison(
        tuple(each.name for each in opened), result, random, tuple(conclusion), by, epsilon, labels,
        pairs[0].origin, answers[0] if answers else None,
    )  # fmt: skip


def labels_of(*runs: OpenedRun) -> dict[str, str]:
    """Return by the id of a dimension, or of the share of a category, its label in the first run
    that has it."""
    result: dict[str, str] = {}
    for each in reversed(runs):
        result |= dimension_labels(each.run.rubric)
    return result


def _opened(source: Sequence[RunSource]) -> list[OpenedRun]:
    """Open the runs; show the faults of all before any is refused."""
    opened: list[OpenedRun] = []
    faults: list[Fault] = []
    for item in source:
        try:
            opened.append(open_run(item))
        except InputError as error:
            faults += error.faults
    folders: dict[Path, str] = {}
    for run in opened:
        if run.run.folder is None:
            continue
        folder = run.run.folder.resolve()
        if folder in folders:
            text = f"the same run as {folders[folder]}"
            faults.append(Fault(run.name, text, "another run to compare it with"))
        folders[folder] = run.name
    if faults:
        raise InputError(faults)
    return opened


@dataclass(slots=True, eq=False)
class RunPair:
    """The comparison of a run with the first, as it is worked out; `adjust` adjusts its p-values
    for those of others."""

    a: OpenedRun
    b: OpenedRun
    matched: Matched
    random: Random
    by: str | None = None
    terms: ScoredTerms = field(init=False)
    differences: dict[str, PairedDifference] = field(init=False)
    systems: dict[str, PairedDifference] = field(init=False)
    strata: list[tuple[StratumTerms, PairedDifference]] = field(init=False, default_factory=list)
    apart: list[Difference] = field(init=False, default_factory=list)
    people: dict[str, NearerToPeople] = field(init=False, default_factory=dict)
    origin: RatingsOrigin | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.terms = scored_terms(self.a, self.b, self.matched)
        self.differences = {
            name: self._difference(paired, self.prompts, name)
            for name, paired in self.terms.paired.items()
        }
        self.systems = dict(self._by_system())
        if self.by is not None:
            strata = stratum_terms(self.a, self.b, self.matched, self.terms, self.by)
            self.strata = [
                (
                    stratum,
                    self._difference(stratum.paired, stratum.prompts, stratum.name, stratum.terms),
                )
                for stratum in strata
            ]
            self.apart = strata_apart(strata)

    @property
    def prompts(self) -> list[str]:
        """Return the prompt of each pair."""
        return [pair.prompt_id for pair in self.matched.pairs]

    def _difference(
        self, paired: PairedTerms, prompts: Labels, name: str, terms: ScoredTerms | None = None
    ) -> PairedDifference:
        terms = terms or self.terms
        factors = None if self.random == "prompts" else terms.factors
        low, high = terms.limits[name]
        return paired_difference(paired, prompts, factors, most=high - low)

    def _by_system(self) -> list[tuple[str, PairedDifference]]:
        names = list(dict.fromkeys(pair.system for pair in self.matched.pairs))
        if len(names) < 2 or COMPOSITE not in self.terms.paired:
            return []
        whole, result = self.terms.paired[COMPOSITE], []
        for name in names:
            own = np.array([pair.system == name for pair in self.matched.pairs])
            prompts = [prompt for prompt, kept in zip(self.prompts, own, strict=True) if kept]
            result.append((name, self._difference(whole.of(own), prompts, COMPOSITE)))
        return result

    def compare_with(self, people: Ratings, name: str, epsilon: float | None) -> None:
        """Add which of the panels is closer to people."""
        self.people, self.origin = nearer_of(
            self.a, self.b, self.matched, self.terms, people, name, epsilon
        )

    def on_personas(self, people: Ratings | None) -> RunAnswer | None:
        """Return whether personas add anything, where one run has a panel of personas and the other
        judges without a persona."""
        if self.matched.compared == "texts":
            return None
        rows = [(pair.a_rows[0], pair.b_rows[0]) for pair in self.matched.pairs]
        return _on_personas(self.a.run, self.b.run, rows, people)

    @property
    def same_tests(self) -> list[str]:
        """Return by difference the one whose test it is: a composite of one dimension is that
        one."""
        return [self.terms.same_as.get(name, name) for name in self.differences]

    def result(self) -> ComparedRuns:
        """Return what the comparison has found."""
        risen, fallen = self._changed()
        rubric = self.a.run.rubric
        models = {judge.model for each in (self.a, self.b) for judge in each.judges}
        names = (*self.differences, *self.people)
        return ComparedRuns(
            self.a.name,
            self.b.name,
            self.matched.compared,
            self.differences,
            self.matched.panel,
            (*self.matched.notes, *self._left_out()),
            (len(self.matched.columns[0]), len(self.matched.columns[1])),
            len(judges_in_both(self.a, self.b)),
            self.systems,
            risen,
            fallen,
            self.alike(),
            self.people,
            tuple((own.stratum, own.name, difference) for own, difference in self.strata),
            tuple(self.apart),
            (_missing(self.a), _missing(self.b)),
            len(models) == 1,
            tuple(self.terms.same_as),
            {name: unit_of(rubric, name).after_number for name in names},
            are_preferences(rubric),
            [each.name for each in (self.a, self.b) if each.run.is_edited],
        )

    def _left_out(self) -> list[str]:
        called = called_by(labels_of(self.a, self.b))
        names = list(map(called, self.terms.left_out))
        return [f"Not in both runs, left out: {', '.join(names)}."] if names else []

    def alike(self) -> tuple[PanelsAlike, ...]:
        """Return how alike two panels rate, by dimension, the composite first."""
        if self.matched.compared == "texts":
            return ()
        prompts = self.prompts
        return tuple(
            PanelsAlike(
                name,
                *order_alike(item.a, item.b, prompts),
                scores_alike(item.a, item.b, prompts),
                best_of_prompts(item.a, item.b, prompts),
            )
            for name, item in self.terms.paired.items()
        )

    def _changed(self) -> tuple[tuple[ChangedResponse, ...], tuple[ChangedResponse, ...]]:
        if COMPOSITE not in self.terms.paired:
            return (), ()
        whole = self.terms.paired[COMPOSITE]
        order = np.argsort(-whole.difference, kind="stable")
        sizes = whole.difference
        up = [place for place in order if sizes[place] > _SAME][:MOST_CHANGED]
        down = [place for place in order[::-1] if sizes[place] < -_SAME][:MOST_CHANGED]
        risen, fallen = (tuple(self._response(int(place)) for place in side) for side in (up, down))
        return risen, fallen

    def _response(self, place: int) -> ChangedResponse:
        pair, whole = self.matched.pairs[place], self.terms.paired[COMPOSITE]
        return ChangedResponse(
            pair.prompt_id,
            self.a.run.titles[pair.prompt_id],
            pair.system,
            tuple(self.a.run.items[row].id for row in pair.a_rows),
            tuple(self.b.run.items[row].id for row in pair.b_rows),
            float(whole.a[place]),
            float(whole.b[place]),
            float(whole.difference[place]),
        )


def _on_personas(
    run: Run, plain: Run, rows: Sequence[tuple[int, int]], humans: Ratings | None
) -> RunAnswer | None:
    """Return whether personas add anything, of a run of a panel and one of plain judges."""
    if not any(judge.has_persona for judge in run.judges):
        run, plain, rows = plain, run, [(theirs, own) for own, theirs in rows]
    panel = [judge for judge in run.judges if judge.has_persona]
    if not panel or any(judge.has_persona for judge in plain.judges):
        return None
    if run.dimensions != plain.dimensions:
        return None
    numbers = [Counter(judge.model for judge in judges) for judges in (panel, plain.judges)]
    is_same = numbers[0].keys() == numbers[1].keys() if plain.deterministic else None
    if not (numbers[0] == numbers[1] or is_same):
        # The mean of more judges has less noise, whoever they are, unless answers have none.
        why = "the runs have other models, or other numbers of judges"
        return RunAnswer("personas", f"Not known: {why}.", Estimate(nan, reason=why))
    items = [run.items[own] for own, _ in rows]
    both = Run(
        items, run.titles, [*panel, *plain.judges], run.rubric, prices=run.prices, seed=run.seed
    )
    both.random, both.deterministic = run.random, plain.deterministic
    for source, places in zip((run, plain), zip(*rows, strict=True), strict=True):
        both.take(source, places)
    people = None
    if humans is not None:
        people = RunWithPeople.of(both, humans)
    command = command_line("compare", [folder_named(run), folder_named(plain)])
    return replace(do_personas_add(both, people), command=command)


def adjust(pairs: Sequence[RunPair]) -> None:
    """Adjust all p-values of a family: differences, systems, strata, nearness to people. Composites
    are a family of their own."""
    every = list(chain.from_iterable(pair.differences.items() for pair in pairs))
    places: list[int] = []
    for pair in pairs:
        start, names = len(places), list(pair.differences)
        places += [start + names.index(same) for same in pair.same_tests]
    primary = [name == COMPOSITE for name, _ in every]
    result = iter(holm_adjusted([value for _, value in every], primary, places))
    for pair in pairs:
        pair.differences = {name: next(result) for name in pair.differences}
    result = iter(holm_adjusted([system for pair in pairs for system in pair.systems.values()]))
    for pair in pairs:
        pair.systems = {name: next(result) for name in pair.systems}
    result = iter(holm_adjusted([stratum for pair in pairs for _, stratum in pair.strata]))
    apart = iter(holm_adjusted([item for pair in pairs for item in pair.apart]))
    for pair in pairs:
        pair.strata = [(own, next(result)) for own, _ in pair.strata]
        pair.apart = [next(apart) for _ in pair.apart]
    nearness = [
        (name == COMPOSITE, figure)
        for pair in pairs
        for name, item in pair.people.items()
        for figure in item.figures.values()
    ]
    figures = iter(
        holm_adjusted([item for _, item in nearness], [is_first for is_first, _ in nearness])
    )
    for pair in pairs:
        pair.people = {
            name: replace(item, figures={of: next(figures) for of in item.figures})
            for name, item in pair.people.items()
        }


def _missing(opened: OpenedRun) -> tuple[int, int]:
    coverage = opened.run.coverage
    return sum(coverage.missing.values()), coverage.expected


def nearer_of(
    a: OpenedRun,
    b: OpenedRun,
    matched: Matched,
    terms: ScoredTerms,
    people: Ratings,
    people_name: str,
    epsilon: float | None,
) -> tuple[dict[str, NearerToPeople], RatingsOrigin | None]:
    """Compare by dimension which of two panels is closer to people's ratings; say how these were
    read, and how many of their items the runs have.

    Items and dimensions have the names that `align_ratings` takes; ratings that name no dimension
    are compared with the composite, and so is the mean over dimensions of people who rated them
    all.

    Raises:
        InputError: the runs have other texts, or people rated none of them, or no dimension.
    """
    if matched.compared == "texts":
        raise InputError(
            [
                Fault(
                    people_name,
                    f"ratings for runs with other texts, {a.name} and {b.name}",
                    "two panels on the same texts, to find which is closer to people; "
                    "`people correlate` compares one run with people",
                )
            ]
        )
    ours = _scores(a, matched, terms)
    ours, theirs = align_ratings(ours, people, f"{a.name} and {b.name}", people_name)
    result = {}
    prompts = [pair.prompt_id for pair in matched.pairs]
    for name, rated in _targets(ours, theirs):
        paired = terms.paired[name]
        raters = rows_of(theirs.sign * rated, theirs.items, ours.items)
        sides = paired.a, paired.b
        called = name if name in theirs.dimensions else ALL
        same_scale = on_limits(theirs, called, rated, terms.limits[name])
        same_scale = same_scale and not theirs.lower_is_better
        nearer = nearer_to_people(*sides, row_means(raters), prompts, same_scale=same_scale)
        advantages = compared_advantages(
            *sides, raters, prompts, epsilon=epsilon, same_scale=same_scale
        )
        result[name] = replace(
            nearer, figures={**nearer.figures, **advantages}, n_people=theirs.n_raters_of(ours)
        )
    return result, theirs.origin


def _scores(a: OpenedRun, matched: Matched, terms: ScoredTerms) -> Ratings:
    """Return the first panel's scores as those of one rater, by the names of its run's ratings."""
    items = [a.run.items[pair.a_rows[0]] for pair in matched.pairs]
    numeric = [name for name in terms.paired if name == COMPOSITE or name in a.run.dimensions]
    return Ratings(
        np.stack([terms.paired[name].a for name in numeric], axis=1)[:, None],
        tuple(f"{item.prompt_id}/{item.id}" for item in items),
        ("panel",),
        tuple(ALL if name == COMPOSITE else name for name in numeric),
        ("panel",),
        prompts=tuple(item.prompt_id for item in items),
        sources=tuple(item.system for item in items),
        scales={ALL if name == COMPOSITE else name: terms.limits[name] for name in numeric},
    )


def _targets(ours: Ratings, theirs: Ratings) -> Iterator[tuple[str, Array]]:
    """Return by dimension people's ratings `(items, people)` of all that they rated."""
    numeric = theirs.numeric()
    names = [name for name in ours.dimensions if name in numeric.dimensions]
    single = set(ours.dimensions) - {ALL}
    if ALL in ours.dimensions and ALL not in names and single == set(numeric.dimensions):
        yield COMPOSITE, numeric.composite().scores[:, :, 0]
    for name in names:
        rated = numeric.scores[:, :, numeric.dimensions.index(name)]
        yield (COMPOSITE if name == ALL else name), rated
