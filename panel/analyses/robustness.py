"""Compare systems with other reasonable choices of analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis
from persona_panel.results.conclusions.wording import counted, first_of, in_brackets
from persona_panel.results.definitions import SHAFFER
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics.core.display import COMPOSITE
from persona_panel.statistics.core.estimate import Estimate

if TYPE_CHECKING:
    from persona_panel.analyses.analysis import RunWithPeople
    from persona_panel.analyses.inputs import RatingsSource, RunSource
    from persona_panel.files.ratings import GivenScale
    from persona_panel.files.records import ColumnMapping
    from persona_panel.graphs import Judge
    from persona_panel.runs.run import Run
    from persona_panel.statistics.core.arrays import Array
    from persona_panel.statistics.core.estimate import Difference
    from persona_panel.statistics.multiverse import (
        ComparedSystems,
        Exclusion,
        Multiverse,
        Specification,
    )

_AGGREGATIONS = {"ranks": "ranks by judge", "z-scores": "z-scores by judge"}
_KINDS = "aggregation", "without", "dimension"
_JUDGE = "judge "
_BY_PEOPLE, _ORDINAL = "corrected by people", "ordinal model"
_NAMED = 3
_HOW_TO_READ = (
    "Of the panel's ratings{}. Lead: the difference from the system with the largest p-value, "
    "in standard deviations of the prompts' differences. All analyses are of the same ratings: "
    "their share is not a probability, and no p-value is given for all together."
)

_LEAD = (
    "mean of the prompts' differences from the system with the largest p-value, by their standard "
    "deviation, in each analysis (U. Simonsohn, J. P. Simmons, L. D. Nelson, 2020, "
    "Specification curve analysis; S. Steegen et al., 2016, Increasing transparency through a "
    "multiverse analysis)"
)


@analysis(
    "Robustness of the ranking",
    parameters.run(),
    parameters.people("People's ratings, by which the means are corrected in one analysis."),
    group="Panel",
    example="runs/first",
    requirements=("analyses_ahead >= 0.9",),
)
def robustness(
    run: RunSource,
    human: RatingsSource | None = None,
    *,
    human_mapping: ColumnMapping | None = None,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
) -> Result:
    """Compare the systems of RUN with other reasonable choices.

    RUN is a run's folder. Ratings are aggregated by mean, median, trimmed mean (without a fifth of
    the judges at either end, rounded down), ranks by judge or z-scores by judge; median and trimmed
    mean are of the judges who read all texts of a prompt, z-scores of those whose ratings have at
    least a quarter of the median judge's standard deviation. They are compared on the composite or
    one dimension; without one model, one axis of personas, one judge, the judge who correlates
    least with the others, or the prompts with a contested response. All combinations are computed
    or, where they are more than 400, those with at most two changes; where these are, those with
    one. One analysis each is the ordinal model of `rasch` and, with --human, means corrected as by
    `people calibrate`. Printed are in how many analyses the first system is ahead, and which
    choices reverse that; --full lists the analyses, --plot draws them (specification curve:
    Simonsohn et al. 2020; multiverse: Steegen et al. 2016).

    Args:
        run: a run's folder, or a run.
        human: people's ratings of its responses.
        human_mapping, human_scale, allow_unmatched: of people's ratings; see
            `load_aligned_ratings`.

    Raises:
        InputError: there is no run in that folder, or anything is wrong with people's ratings.
    """
    from persona_panel.analyses.analysis import RunWithPeople
    from persona_panel.analyses.inputs import HumanInput, opened_run

    opened, people = opened_run(run), None
    if human is not None:
        theirs = HumanInput(human, human_mapping, human_scale, allow_unmatched)
        people = RunWithPeople.of(opened, theirs.read())
    return robustness_result(opened, people, source="" if opened is run else str(run))


def robustness_result(
    run: Run, people: RunWithPeople | None = None, *, source: str = "", ordinal: bool = True
) -> Result:
    """Return the result of a run, `people` beside it; `source`: what it is called; `ordinal`: with
    the ordinal model, which takes longer than all other analyses."""
    computed = analyses_of(run, people, ordinal=ordinal)
    if computed is None:
        return Result("robustness", ["Fewer than two systems are ranked."], ())
    labels = {dimension.id: dimension.label for dimension in run.rubric.dimensions}
    claims, leader = _claims(computed), computed.leader
    first, *others = _conclusion(computed, claims.rows, labels)
    theirs = any(each.choices.aggregation == _BY_PEOPLE for each in computed.analyses)
    remarks = [_HOW_TO_READ.format(", once corrected by people's" if theirs else " alone")]
    if not ordinal:
        remarks.append("The command adds the ordinal model.")
    elif not any(each.choices.aggregation == _ORDINAL for each in computed.analyses):
        remarks.append("The ordinal model cannot be fitted: see `rasch --model ordinal`.")
    whose = "By the panel alone and, in one analysis, corrected by people, " if theirs else ""
    if people is not None and not theirs:
        whose = "By the panel alone, "
    if computed.n_undefined:
        remarks.append(f"{computed.n_undefined:,} more compare {leader} with no system.")
    if alike := _nearly_constant(run):
        remarks.append(
            f"Left out of z-scores, as their ratings vary less than a quarter as much as those of "
            f"the median judge: {first_of(alike, _NAMED)}."
        )
    return Result(
        "robustness",
        [f"{whose}{first}", *others],
        (_analyses(computed, labels), claims, _by_choice(computed, labels), _systems(computed)),
        remarks,
        source=source,
        coverage=run.coverage,
    )


def analyses_of(
    run: Run, people: RunWithPeople | None = None, *, ordinal: bool = True
) -> Multiverse | None:
    """Return every analysis of a run's systems; None where fewer than two are ranked."""
    from persona_panel.statistics.multiverse import multiverse

    judges, terms = _judged(run)
    ratings = run.ratings[:, judges]
    if terms is None:
        return None
    of = {COMPOSITE: terms}
    apart = {COMPOSITE, *run.categories}
    numeric = [d for d, name in enumerate(run.dimensions) if name not in apart]
    if len(numeric) > 1:
        of |= {run.dimensions[d]: ratings[:, :, [d]] for d in numeric}
    return multiverse(
        of,
        [item.system for item in run.items],
        [item.prompt_id for item in run.items],
        [*_exclusions(run, judges, terms)],
        abstentions=run.abstentions(range(len(run.items)), judges),
        models={**(_ordinal(run, terms) if ordinal else {}), **_corrected(people)},
    )


def _ordinal(run: Run, terms: Array) -> Mapping[str, ComparedSystems]:
    """Return the systems by the ordinal model; empty where it cannot be fitted."""
    import numpy as np

    from persona_panel.statistics import RaschError, Ratings, ordinal_mixed_model
    from persona_panel.statistics.multiverse import ComparedSystems

    ranked = {*run.leaderboard().ranked}
    # Terms of different scales have no common categories.
    if len(ranked) < 2 or run.rubric.rescaled:
        return {}
    rows = np.array([place for place, item in enumerate(run.items) if item.system in ranked], int)
    items = [run.items[row] for row in rows]
    names, judges, dimensions = (tuple(map(str, range(n))) for n in terms[rows].shape)
    prompts, systems = zip(*((item.prompt_id, item.system) for item in items), strict=True)
    try:
        fitted = ordinal_mixed_model(
            Ratings(terms[rows], names, judges, dimensions, judges, prompts, systems)
        )
    except RaschError:
        return {}
    means = {each.name: each.measure.value for each in fitted.systems}
    return {_ORDINAL: ComparedSystems(means, fitted.differences)}


def _corrected(people: RunWithPeople | None) -> Mapping[str, ComparedSystems]:
    """Return the systems by the panel corrected by people; empty where they rated too little."""
    from persona_panel.analyses.ranked_systems import by_people
    from persona_panel.statistics.multiverse import ComparedSystems

    calibrated = None if people is None else people.calibrated
    if people is None or calibrated is None or (corrected := by_people(calibrated)) is None:
        return {}
    # Corrected is what people rated; the composite only where they rated all of it.
    of = calibrated.systems[0].dimension
    rated = of if of in {dimension.id for dimension in people.run.rubric.dimensions} else ""
    n_prompts = max(each.n or 0 for each in corrected.differences)
    return {
        _BY_PEOPLE: ComparedSystems(
            dict(corrected.systems), corrected.differences, rated, n_prompts
        )
    }


def _judged(run: Run) -> tuple[Sequence[int], Array | None]:
    """Return the columns of the judges, and of each what the composite is the mean of."""
    from persona_panel.runs.scale_limits import composite_terms

    judges, _ = run.ranking_columns()
    ratings = run.ratings[:, judges]
    return judges, composite_terms(ratings, run.rubric, run.dimensions, run.categories)


def _nearly_constant(run: Run) -> list[str]:
    """Return the judges who have no z-scores, as they rate nearly all alike."""
    from persona_panel.statistics.multiverse import nearly_constant

    columns, terms = _judged(run)
    alike = [] if terms is None else nearly_constant(terms).nonzero()[0].tolist()
    names = _named_judges(run, [run.judges[column] for column in columns])
    return [names[place] for place in alike]


def _exclusions(run: Run, columns: Sequence[int], terms: Array) -> Iterator[Exclusion]:
    """Yield what is left out in turn, groups of judges first."""
    import numpy as np

    from persona_panel.analyses.contested import ranked_responses
    from persona_panel.analyses.judge_groups import axes_of
    from persona_panel.statistics.core.arrays import mean_there
    from persona_panel.statistics.multiverse import Exclusion, least_correlated

    judges, axes = [run.judges[column] for column in columns], axes_of(run)
    for what, of_judges in (
        ("model {}", [judge.model for judge in judges]),
        ("{} personas", [axes.get(judge.persona, "") for judge in judges]),
    ):
        for name in dict.fromkeys(filter(None, of_judges)):
            yield Exclusion(what.format(name), np.array([each != name for each in of_judges]))
    if run.rubric.numeric and run.items:
        contested = {
            run.items[each.response].prompt_id for each in ranked_responses(run) if each.shown
        }
        kept = np.array([item.prompt_id not in contested for item in run.items])
        yield Exclusion("contested prompts", responses=kept)
    places, names = np.arange(len(columns)), _named_judges(run, judges)
    if (worst := least_correlated(mean_there(terms, 2))) is not None:
        yield Exclusion(f"the least correlated judge ({names[worst]})", places != worst)
    for place, name in enumerate(names):
        yield Exclusion(f"{_JUDGE}{name}", places != place)


def _named_judges(run: Run, judges: Sequence[Judge]) -> list[str]:
    """Return the judges by what they differ in."""
    from persona_panel.analyses.judge_groups import labels_of_personas
    from persona_panel.results.conclusions.rows import joined_where_differing

    labels = labels_of_personas(run)
    of = [(labels[j.persona], j.model, j.elicitation, str(j.replicate)) for j in judges]
    return joined_where_differing(zip(*of, strict=True), " · ") or [j.model for j in judges]


def _counts(computed: Multiverse) -> tuple[Counter[str], Counter[str]]:
    """Count in how many analyses each system is ahead, none where it is empty, and in how many
    significantly."""
    analyses = computed.analyses
    return Counter(each.first for each in analyses), Counter(each.winner for each in analyses)


def _choice(kind: str, value: str, labels: Mapping[str, str]) -> str:
    if kind == "aggregation":
        return _AGGREGATIONS.get(value, value)
    if kind == "without":
        return f"without {value}" if value else "nothing left out"
    return value if value == COMPOSITE else f"{labels[value]} alone"


def _words(each: Specification, labels: Mapping[str, str]) -> str:
    """Return the choices that an analysis changes; empty of the main one."""
    changed = sorted(each.changed, key=lambda choice: _KINDS.index(choice[0]))
    return ", ".join(_choice(kind, value, labels) for kind, value in changed)


def _conclusion(
    computed: Multiverse, claims: Sequence[Mapping[str, Any]], labels: Mapping[str, str]
) -> Iterator[str]:
    leader, analyses, main = computed.leader, computed.analyses, computed.main
    firsts, winners = _counts(computed)
    by_count = [(name, n) for name, n in firsts.most_common() if name != leader]
    others = [
        f"; {name or 'no system'} in {n:,}"
        + (f", significantly in {winners[name]:,}" if name and winners[name] else "")
        for name, n in by_count[:_NAMED]
    ]
    if rest := by_count[_NAMED:]:
        others.append(f"; {len(rest):,} more in {sum(n for _, n in rest):,}")
    so_far = "is" if main.winner else "is first, not significantly: it is"
    if main.is_behind(leader):
        so_far = "has the highest mean, but another system is significantly ahead of it on the "
        so_far += "prompts of both: it is"
    yield (
        f"{leader} {so_far} ahead in {firsts[leader]:,} of {len(analyses):,} analyses, "
        f"significantly in {winners[leader]:,}{''.join(others)}."
    )

    def choices(does: str, of: str, holds: Callable[[Specification], bool]) -> Iterator[str]:
        """Yield which choices, the fewest for which it holds, do that; `of`: what they lead to."""
        least = computed.least_changes(holds)
        fewest = [each for each in least if len(each.changed) == len(least[0].changed)]
        if fewest:
            k = len(fewest[0].changed)
            how = ("One choice is", "Two choices together are", "Three choices together are")[k - 1]
            which = [
                f"{_words(each, labels)}{in_brackets(getattr(each, of) if of else '')}"
                for each in fewest
            ]
            yield f"{how} enough to {does}: {first_of(which, _NAMED)}."

    others_first = [
        *choices("put another system first", "first", lambda of: of.first not in (leader, ""))
    ]
    yield from others_first or ["No choice puts another system first."]
    if main.winner:
        yield from choices(
            "make the lead not significant", "",
            lambda of: of.first in (leader, "") and of.winner != leader,
        )  # fmt: skip
    else:
        yield from choices("make a lead significant", "winner", lambda of: bool(of.winner))
    kept = sum(row["n_ahead"] == row["n"] for row in claims)
    n = f"{counted(len(claims), 'significant difference')} between systems"
    if len(claims) > 1 and kept == len(claims):
        yield f"In all of them the sign of {n} is the same."
    elif len(claims) > 1:
        least = min(claims, key=lambda row: row["n_ahead"] / row["n"])
        yield (
            f"Of {n} {kept:,} keep their sign in all of them; {least['a']} − "
            f"{least['b']} does in {least['n_ahead']:,} of {least['n']:,}."
        )


def _by_choice(computed: Multiverse, labels: Mapping[str, str]) -> Table:
    """Count the analyses with each choice, those that agree least first."""
    # Slow to import.
    from statistics import median

    of_choice: dict[tuple[str, str], list[Specification]] = {}
    for each in computed.analyses:
        for kind in _KINDS:
            of_choice.setdefault((kind, getattr(each.choices, kind)), []).append(each)
    rows: list[dict[str, Any]] = []
    for (kind, value), those in of_choice.items():
        leads = [each.lead.value for each in those if not isnan(each.lead.value)]
        rows.append(
            {
                "called": _choice(kind, value, labels), "kind": kind, "choice": value,
                "n": len(those),
                "n_ahead": sum(each.first == computed.leader for each in those),
                "n_significant": sum(each.winner == computed.leader for each in those),
                "lead": median(leads or [nan]), "least_lead": min(leads, default=nan),
            }
        )  # fmt: skip
    rows.sort(key=lambda row: (row["n_ahead"] / row["n"], row["n_significant"] / row["n"]))
    return Table(
        "choices",
        (Key("called", "choice"), Key("kind"), Key("choice")),
        (
            Column(
                "n_ahead",
                "whole",
                "ahead",
                of="n",
                definition="analyses in which the system is above every other",
            ),
            Column(
                "n_significant",
                "whole",
                "significantly",
                of="n",
                definition="analyses in which every difference from the others is significant "
                "(K. Hung, W. Fithian, 2019, Rank verification for exponential families)",
            ),
            Column("n", "whole"),
            Column("lead", "number", "median\nlead", signed=True, definition=_LEAD),
            Column("least_lead", "number", "least\nlead", signed=True, definition=_LEAD),
        ),
        rows,
        f"Analyses in which {computed.leader} is ahead",
    )


def _claims(computed: Multiverse) -> Table:
    """Count the analyses that keep each significant difference of the main one."""
    of_pair: dict[tuple[str, str], list[Difference]] = {}
    for each in computed.analyses:
        for of in each.differences:
            of_pair.setdefault((of.a, of.b), []).append(of)
    rows: list[dict[str, Any]] = []
    for claim in (each.from_above for each in computed.main.differences if each.shown):
        turned = [-of for of in of_pair.get((claim.b, claim.a), ())]
        those = [of for of in of_pair.get((claim.a, claim.b), []) + turned if not isnan(of.value)]
        n_ahead, n = sum(of.value > 0 for of in those), len(those)
        rows.append(
            {
                "a": claim.a, "b": claim.b, "n": n, "n_ahead": n_ahead,
                "n_significant": sum(of.shown and of.value > 0 for of in those),
                "n_reversed": sum(of.shown and of.value < 0 for of in those),
            }
        )  # fmt: skip
    return Table(
        "claims",
        (Key("a", "systems"), Key("b")),
        (
            Column(
                "n_ahead",
                "whole",
                "same sign",
                of="n",
                definition="analyses in which the difference has the sign of the main analysis",
            ),
            Column(
                "n_significant",
                "whole",
                "significant",
                of="n",
                definition=f"those in which it is significant, adjusted for all pairs ({SHAFFER})",
            ),
            Column(
                "n_reversed",
                "whole",
                "reversed",
                of="n",
                definition=f"analyses in which the opposite is significant, adjusted ({SHAFFER})",
            ),
            Column("n", "whole"),
        ),
        rows,
        "Significant differences of the main analysis, in all analyses",
        when="full",
        sides=("a", "b"),
    )


def _systems(computed: Multiverse) -> Table:
    """Count the analyses in which each system is ahead, for programs and requirements."""
    (firsts, winners), n = _counts(computed), len(computed.analyses)
    columns = (
        Column("ahead", "estimate", figure="analyses_ahead"),
        Column("significantly_ahead", "estimate", figure="analyses_significant"),
        *(Column(name, "whole") for name in ("n_ahead", "n_significant", "n_analyses")),
    )
    rows = [
        {
            "system": name, "n_ahead": firsts[name], "n_significant": winners[name],
            "n_analyses": n, "ahead": Estimate(firsts[name] / n, exact=True, limits=(0.0, 1.0)),
            "significantly_ahead": Estimate(winners[name] / n, exact=True, limits=(0.0, 1.0)),
        }
        for name in dict.fromkeys([computed.leader, *firsts])
    ]  # fmt: skip
    return Table("systems", (Key("system", "system", {computed.leader}),), columns, rows)


def _marked(kind: str, value: str, labels: Mapping[str, str]) -> str:
    is_judge = kind == "without" and value.startswith(_JUDGE)
    return "without one judge" if is_judge else _choice(kind, value, labels)


def _analyses(computed: Multiverse, labels: Mapping[str, str]) -> Table:
    """Return the analyses, the largest lead first."""
    # What differs by the rounding of sums alone stays in the order of the choices.
    ordered = sorted(
        computed.analyses, key=lambda each: (isnan(each.lead.value), -round(each.lead.value, 9))
    )
    rows = [
        {
            "changes": _words(each, labels) or "main analysis",
            **{kind: getattr(each.choices, kind) for kind in _KINDS},
            "lead": each.lead, "against": each.lead.b, "first": each.first, "winner": each.winner,
            "main": not each.changed, "n_prompts": each.n_prompts, "n_judges": each.n_judges,
            "marked": [
                (kind, _marked(kind, getattr(each.choices, kind), labels)) for kind in _KINDS
            ],
        }
        for each in ordered
    ]  # fmt: skip
    return Table(
        "analyses",
        (Key("changes", "changed"), *map(Key, _KINDS)),
        (
            Column("lead", "estimate", "lead", signed=True, definition=_LEAD),
            Column(
                "against",
                "text",
                "over",
                definition="the system whose comparison has the largest p-value",
            ),
            *(Column(name, "text") for name in ("first", "winner")),
            Column("main", "flag"),
            Column("n_judges", "whole", "judges"),
            Column("n_prompts", "whole", "prompts"),
        ),
        rows,
        f"Lead of {computed.leader}, in standard deviations of the prompts' differences",
        when="full",
        curve="marked",
    )
