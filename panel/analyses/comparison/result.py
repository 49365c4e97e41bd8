"""The records of a comparison of runs, and sentences on them: which run is ahead, how alike two
panels rate, which is closer to people; and what would settle what is open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan

from persona_panel.analyses.comparison.matching import WhatDiffers
from persona_panel.results.conclusions.rows import Called
from persona_panel.results.conclusions.score import MUCH_MISSING
from persona_panel.results.conclusions.wording import (
    EDITED,
    NAMES_SHOWN,
    ONE_PERSON,
    counted,
    dimension_called,
    first_of,
    in_brackets,
    listed,
    missing_judgments,
    points,
    would_show,
)
from persona_panel.results.result import RunAnswer
from persona_panel.statistics.core.arrays import Random
from persona_panel.statistics.core.display import COMPOSITE, number, signed
from persona_panel.statistics.core.estimate import LEVEL, Difference
from persona_panel.statistics.core.sampled_mean import prompts_assured, takes_more_judges
from persona_panel.statistics.core.table import RatingsOrigin
from persona_panel.statistics.paired import (
    BestOfPrompts,
    NearerToPeople,
    PairedDifference,
    PairedFigure,
)

_SAME = 1e-9
_STRATA_SHOWN = 2


@dataclass(frozen=True, slots=True)
class ChangedResponse:
    """A pair whose composites differ: to which prompt, by which system, the responses' ids in each
    run, either score and b − a."""

    prompt_id: str
    prompt: str
    system: str
    a_ids: tuple[str, ...]
    b_ids: tuple[str, ...]
    a: float
    b: float
    difference: float


@dataclass(frozen=True, slots=True)
class PanelsAlike:
    """The likeness of two panels that rate the same texts on a dimension: Kendall's τ_b within
    prompts and over all responses, Krippendorff's α (interval), and whose response is best."""

    dimension: str
    tau_within: PairedFigure
    tau: PairedFigure
    alpha: PairedFigure
    best: BestOfPrompts


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """A run `b` that is compared with the first, `a`.

    Attributes:
        compared: what differs: `texts`, rated by the same panel, or `panels`, on the same texts.
        differences: b − a by dimension, the composite first; the share of a category is called
            `dimension:category`. p is adjusted by Holm over all dimensions and runs, composites as
            a family of their own.
        panel: in what the panels differ.
        notes: what does not match, and was left out.
        n_judges, n_shared: how many judges of each run are compared, and how many are in both.
        systems: of each of several systems (of two names, both) the composite's difference; p
            adjusted over all systems and runs.
        risen, fallen: the pairs whose composite is most above and below in b, the largest first.
        alike: of two panels, by dimension, the composite first.
        people: by dimension, which panel is closer to people; empty without their ratings.
        strata: of each stratum its dimension, or `composite`, and the difference on it; p adjusted
            over all strata and runs.
        apart: of each stratum, side `a`, the excess of b − a over its mean in the others; of two
            strata, the first's. Over prompts, judges fixed; p adjusted likewise.
        missing: of each run, how many judgments are missing, and of how many.
        one_model: whether all judges of both are of one model.
        repeated: the dimensions that the composite is, whose test is the composite's.
        units: by dimension, what follows a number in the unit of its scores: nothing where these
            are shares, points where it is not said.
        is_ranking: whether ratings are shares of preferences among the responses to a prompt.
        edited: the runs whose judgments were changed after they ended.
    """

    a: str
    b: str
    compared: WhatDiffers
    differences: Mapping[str, PairedDifference]
    panel: Sequence[str] = ()
    notes: Sequence[str] = ()
    n_judges: tuple[int, int] = (0, 0)
    n_shared: int = 0
    systems: Mapping[str, PairedDifference] = field(default_factory=dict)
    risen: Sequence[ChangedResponse] = ()
    fallen: Sequence[ChangedResponse] = ()
    alike: Sequence[PanelsAlike] = ()
    people: Mapping[str, NearerToPeople] = field(default_factory=dict)
    strata: Sequence[tuple[str, str, PairedDifference]] = ()
    apart: Sequence[Difference] = ()
    missing: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    one_model: bool = False
    repeated: Collection[str] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    is_ranking: bool = False
    edited: Sequence[str] = ()

    def unit(self, name: str) -> str:
        """Return the words that follow a number in the unit of a dimension's scores."""
        return self.units.get(name, " points")

    def labelled(self, called: Callable[[str], str]) -> ComparedRuns:
        """Return the same with dimensions by their labels, as the conclusion has them."""
        return replace(
            self,
            differences={called(name): each for name, each in self.differences.items()},
            people={called(name): each for name, each in self.people.items()},
            repeated=frozenset(map(called, self.repeated)),
            units={called(name): unit for name, unit in self.units.items()},
        )


@dataclass(frozen=True, slots=True)
class RunComparison:
    """A comparison of `runs` with the first of them.

    Attributes:
        compared: each of the others with the first.
        random: what intervals take as a sample.
        by: what strata are; None where none were asked for.
        conclusion: what is significant, what is not, and what would settle it.
        epsilon: by how much a person may be ahead of a panel that wins; None without winning rates.
        labels: of dimensions, and of the shares of categories, by their ids.
        people: how people's ratings were read, and how many of their items the first two runs have.
        personas: whether personas add anything, where judges without a persona are compared.
    """

    runs: tuple[str, ...]
    compared: tuple[ComparedRuns, ...]
    random: Random
    conclusion: tuple[str, ...]
    by: str | None = None
    epsilon: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    people: RatingsOrigin | None = None
    personas: RunAnswer | None = None


def compare_conclusion(compared: Sequence[ComparedRuns], random: Random) -> list[str]:
    """Say of each run that is compared with the first what is significant and what is not.

    A difference is significant, and a panel closer to people, by a p-value below `LEVEL` that is
    adjusted by Holm over all dimensions and runs, composites as a family of their own. Where two
    runs with other texts are compared, the number of prompts that would settle it is said
    (`prompts_assured`), and the limits of the answer.
    """
    n_tests = _n_tests(compared)
    edited = dict.fromkeys(name for entry in compared for name in entry.edited)
    sentences = [f"{name}: {EDITED}." for name in edited]
    for entry in compared:
        sentences += _difference(entry, random, n_tests, alone=len(compared) == 1)
        if entry.compared == "panels":
            sentences += _alike(entry)
        sentences += _people(entry)
        if entry.compared == "panels":
            sentences += _other_judges(entry)
    people = [result.n_people for item in compared for result in item.people.values()]
    if people and max(people) == 1:
        sentences.append(ONE_PERSON)
    return sentences if len(compared) > 1 else sentences + _limits(compared[0])


def _n_tests(compared: Sequence[ComparedRuns]) -> int:
    """Return Holm's first divisor: the number of composites or, without one, of dimensions."""
    tested = [
        name == COMPOSITE
        for item in compared
        for name, difference in item.differences.items()
        if not isnan(difference.p) and name not in item.repeated
    ]
    return sum(tested) or len(tested)


def _difference(runs: ComparedRuns, random: Random, n_tests: int, *, alone: bool) -> list[str]:
    main, whole = next(iter(runs.differences.items()))
    sentences = [_whole(runs, main, whole, random)]
    rest = {n: d for n, d in runs.differences.items() if n != main and not isnan(d.p)}
    if len(rest) > 1 and any(d.shown for d in rest.values()):
        sentences.append(_by_dimension(runs, rest))
    sentences += _by_system(runs)
    if alone and runs.compared == "texts" and not whole.shown and whole.reason is None:
        sentences += _to_settle(whole, n_tests)
    if runs.compared == "texts" and runs.panel:
        sentences.append(
            f"The runs differ in more than their texts ({'; '.join(runs.panel)}): the difference "
            "may come from any of these."
        )
    return sentences


def _whole(runs: ComparedRuns, main: str, difference: PairedDifference, random: Random) -> str:
    on = "" if main == COMPOSITE else f" on {main}"
    over = {"prompts": "", "prompts-and-judges": "over prompts and judges"}[random]
    higher, lower = (runs.b, runs.a) if difference.value > 0 else (runs.a, runs.b)
    by = points(difference.value, runs.unit(main))
    if difference.shown:
        facts = _facts(difference, _prompts(difference), over)
        what = f"rates the same texts significantly higher than {lower}"
        if runs.compared == "texts":
            # Ahead would be for its texts.
            what = (
                f"scores significantly higher than {lower}"
                if runs.panel
                else f"is significantly ahead of {lower}"
            )
        return f"{higher} {what}{on}, by {by}{facts}."
    if isnan(difference.value):
        return f"{runs.a} and {runs.b} cannot be compared{on}: no response has a score in both."
    level = abs(difference.value) <= _SAME
    if level and runs.is_ranking:
        return (
            f"Neither {runs.a} nor {runs.b} rates higher{on}: a ranking has no level, as "
            "the mean over the responses to a prompt is the same in each."
        )
    what = (
        "their mean scores are equal"
        if level
        else f"{runs.b} − {runs.a} is {signed(difference.value)}{runs.unit(main)}"
    )
    if difference.reason is not None:
        return f"The difference{on} cannot be tested ({difference.reason}): {what}."
    facts = in_brackets(difference.interval(), difference.p_text(), _prompts(difference), over)
    return f"No significant difference between {runs.a} and {runs.b}{on}: {what}{facts}."


def _by_dimension(runs: ComparedRuns, rest: Mapping[str, PairedDifference]) -> str:
    parts = []
    for sign, how in ((1, "higher"), (-1, "lower")):
        names = [n for n, d in rest.items() if d.shown and d.value * sign > 0]
        if names:
            parts.append(f"{how} on {listed(names, 'dimensions')}")
    return f"By dimension (adjusted p < {LEVEL}), {runs.b} is {' and '.join(parts)}."


def _by_system(runs: ComparedRuns) -> list[str]:
    parts = []
    for sign, how in ((1, "higher"), (-1, "lower")):
        shown = {n: d for n, d in runs.systems.items() if d.shown and d.value * sign > 0}
        if len(shown) > NAMES_SHOWN:
            parts.append(f"{how} for {len(shown):,} systems")
        elif shown:
            text = [
                f"{n}, by {number(abs(d.value))}{_facts(d, _prompts(d))}" for n, d in shown.items()
            ]
            parts.append(f"{how} for {'; '.join(text)}")
    return [f"By system, {runs.b} is {', and '.join(parts)}."] if parts else []


def _to_settle(difference: PairedDifference, n_tests: int) -> list[str]:
    if abs(difference.value) <= _SAME:
        return []
    level = LEVEL / max(n_tests, 1)
    if takes_more_judges(difference.sampled, level):
        return ["No number of prompts would show it with these judges: more judges are needed."]
    return [would_show(prompts_assured(difference.sampled, level), "show the difference")]


def _alike(runs: ComparedRuns) -> list[str]:
    """Say how far two panels order responses alike, and rate the same ones highest."""
    if not runs.alike:
        return []
    first = runs.alike[0]
    within, over_all = first.tau_within, first.tau
    figure, where = within, "responses in prompts"
    if isnan(within.value):
        figure, where = over_all, "all responses"
    sentences = []
    if not isnan(figure.value):
        kind = "τ_b" if figure is over_all else "mean τ_b"
        ends = in_brackets(figure.interval())
        text = f"The two order {where} with a {kind} of {number(figure.value)}{ends}"
        if n := first.best.n_prompts:
            of = counted(n, "prompt")
            text += f"; the highest-rated response differs in {first.best.flipped:,} of {of}"
        sentences.append(f"{text}.")
    return sentences


def _other_judges(runs: ComparedRuns) -> list[str]:
    """Say what the numbers of judges bring about that is no merit of either panel."""
    a, b = runs.n_judges
    facts = []
    if a != b and not runs.people:
        facts.append("the mean of more judges has less noise")
    larger, smaller = (1, -1) if b > a else (-1, 1)
    nearer = _sides_shown_nearer(runs.people)
    if a != b and runs.people and (larger in nearer or smaller not in nearer):
        what = "tends to be closer to people for their number alone"
        facts.append(f"the mean of more judges {what}")
    if runs.n_shared and not a == b == runs.n_shared:
        facts.append("judges in both make the two more alike")
    if not facts:
        return []
    same = f", {runs.n_shared:,} of them in both" if runs.n_shared else ""
    return [f"{runs.a} has {counted(a, 'judge')} and {runs.b} {b:,}{same}: {'; '.join(facts)}."]


def _sides_shown_nearer(people: Mapping[str, NearerToPeople]) -> set[int]:
    """Return which panels any figure shows to be closer to people: 1 for b, −1 for a."""
    sides = set()
    for item in people.values():
        for name, each in item.figures.items():
            if each.shown:
                # Nearer is a smaller distance, and more of the others.
                sides.add((-1 if name == "distance" else 1) * (1 if each.value > 0 else -1))
    return sides


def _people(runs: ComparedRuns) -> list[str]:
    """Say which panel is closer to people."""
    result, a, b = runs.people, runs.a, runs.b
    if not result:
        return []
    tau, distance, advantage = (
        {name: item.figures[of] for name, item in result.items() if of in item.figures}
        for of in ("tau_b", "distance", "alt_test_advantage")
    )
    sentences = (
        _nearer("has a higher rank correlation with people", "higher in τ_b", 1, runs, tau)
        + _nearer("gives scores closer to people's", "closer", -1, runs, distance, of_scores=True)
        + _nearer("represents people better", "higher in the advantage ρ", 1, runs, advantage)
    )
    if sentences:
        return sentences
    name, entry = next(iter(tau.items()))
    text = f"Neither {a} nor {b} is significantly closer to people"
    if isnan(entry.value):
        return [f"{text}: τ_b with people is undefined ({entry.reason})."]
    facts = in_brackets(
        f"{b} − {a}: {signed(entry.value)}",
        entry.interval(),
        entry.p_text(),
        str(entry.reason or ""),
    )
    return [
        f"{text}: on {dimension_called(name)}, the τ_b of {a} with people is "
        f"{number(entry.a_value)}, that of {b} {number(entry.b_value)}{facts}."
    ]


def _nearer(
    what: str,
    how: str,
    sign: int,
    runs: ComparedRuns,
    figures: Mapping[str, PairedFigure],
    *,
    of_scores: bool = False,
) -> list[str]:
    """Say where either panel is shown nearer; `sign`: that of b − a where b is."""
    sentences = []
    for better, worse, side in ((runs.b, runs.a, sign), (runs.a, runs.b, -sign)):
        names = [
            name for name, figure in figures.items() if figure.shown and figure.value * side > 0
        ]
        if names:
            first = figures[names[0]]
            facts = f"{first.from_above.interval()}, {first.p_text()}"
            called = list(map(dimension_called, names))
            of = f"{called[0]}: " if len(called) > 1 else ""
            by = points(first.value, runs.unit(names[0]) if of_scores else "")
            sentences.append(
                f"{better} {what} than {worse} on {listed(called, 'dimensions')} ({of}{by} {how}, "
                f"{facts})."
            )
    return sentences


def _limits(runs: ComparedRuns) -> list[str]:
    sentences = []
    for name, (missing, of) in zip((runs.a, runs.b), runs.missing, strict=True):
        if missing and missing >= MUCH_MISSING * of:
            text = missing_judgments(missing, of, of=name)
            sentences.append(f"{text}: its scores are means of those that are there.")
    if runs.one_model and runs.compared == "texts":
        sentences.append(
            "All judges are of one model: no interval includes the error that they share."
        )
    return sentences


def _facts(difference: Difference, *more: str) -> str:
    """Return the interval, seen from the higher one, and the p-value, in words."""
    return in_brackets(difference.from_above.interval(), difference.p_text(), *more)


def _prompts(difference: PairedDifference) -> str:
    return counted(difference.n or 0, "prompt")


def runs_by_strata(by: str, compared: Sequence[ComparedRuns], called: Called) -> list[str]:
    """Return in which strata, as they are called, runs differ differently from the others."""
    every = [(f"{each.b} − {each.a}", item) for each in compared for item in each.apart]
    if not every:
        return [f"By {by} the runs have no stratum in common."]
    tested = [(runs, item) for runs, item in every if item.reason is None]
    if not tested:
        reasons = "; ".join(dict.fromkeys(str(item.reason) for _, item in every))
        return [f"Whether the difference of the runs depends on {by} cannot be tested: {reasons}."]
    shown = sorted((each for each in tested if each[1].shown), key=lambda each: each[1].p_adjusted)
    if not shown:
        return [
            f"The difference of the runs is not shown to depend on {by} "
            f"({counted(len(tested), 'test')})."
        ]
    text = [
        f"{runs} is {number(abs(item.value))} {'higher' if item.value > 0 else 'lower'} in "
        f"{called(item.a)} than in the mean of the others{_facts(item)}"
        for runs, item in shown
    ]
    return [f"The difference of the runs depends on {by}: {first_of(text, _STRATA_SHOWN)}."]
