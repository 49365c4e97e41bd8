"""Panels compared with one that they differ from in one setting each, on the same responses: what
each change does to scores, to agreement, to the ranking and to the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import Any

import numpy as np

from persona_panel.analyses.comparison.compared import RunPair, adjust
from persona_panel.analyses.comparison.matching import match_runs
from persona_panel.analyses.comparison.opened_run import OpenedRun, open_run
from persona_panel.files.errors import InputError
from persona_panel.models.config import total_cost
from persona_panel.results.conclusions.wording import (
    ONE_PERSON,
    counted,
    first_of,
    first_upper,
    in_brackets,
    missing_judgments,
)
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import composite_terms, unit_of
from persona_panel.runs.votes import are_identical_replicates
from persona_panel.statistics.core.arrays import Array, Reason, Statistic, encode_labels, means_by
from persona_panel.statistics.core.display import COMPOSITE, number
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.core.significance import holm_adjusted
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.paired import PairedFigure, paired_figure, undefined_figure
from persona_panel.statistics.reliability import krippendorff_alpha

_TESTED = {
    "people": "agreement with people (τ_b)",
    "score": "the mean score",
    "agreement": "agreement of judges (α)",
    "lead": "the lead of the best system",
}
"""The figures whose change is tested, in the order of the sentences, and what they are called."""
_HOW_TO_READ = (
    "Each panel less the base, on the responses that both have judged, in pairs. Intervals and "
    "tests are over prompts, judges fixed; p is adjusted by Holm's method over the panels, for "
    "each figure by itself: of score, agreement and lead together one is falsely claimed in 7 to "
    "15 %. Score: the composite. α: Krippendorff's, ordinal, of the judges' composites. Lead: of "
    "the base's best system over its second. Tokens and dollars count every call, also those that "
    "the cache answered."
)
_NAMED = 3
_Figure = tuple[float, float, Difference]
"""A figure of the base, of the other panel, and their difference."""
_COLUMNS = (
    Column("people", "estimate", "τ_b with\npeople", signed=True, p="cell", figure="people"),
    Column("score", "estimate", "score", signed=True, p="cell", figure="score"),
    Column("agreement", "estimate", "agreement α", signed=True, p="cell", figure="agreement"),
    Column("tau", "estimate", "τ_b with\nthe base", figure="tau"),
    Column("lead", "estimate", "lead", signed=True, p="cell", figure="lead", full=True),
    Column("tokens", "number", "tokens a\nresponse", digits=0, figure="tokens", full=True),
    Column("usd", "number", "$ a 1,000\nresponses", signed=True, figure="usd"),
    Column("changes", "texts", "changes", full=True),
)
_VALUES = Column("base", "number", "base"), Column("value", "number", "panel")
_PANELS = (
    Column("n_judges", "whole", "judges"),
    Column("missing", "whole", "judgments\nmissing"),
    Column("tokens", "number", "tokens a\nresponse", digits=0),
    Column("usd", "number", "$ a 1,000\nresponses"),
    Column("reason", "text", "not compared"),
)


def ablation_result(
    base: str,
    runs: Mapping[str, Run],
    failures: Mapping[str, str],
    people: Ratings | None = None,
    people_name: str = "",
) -> Result:
    """Return what panels change in comparison with one of them, as a result.

    Differences are paired by response, and a prompt counts once; τ_b and α are as in `compare` and
    `agree`, α over the judges' composites. p-values of each figure are adjusted by Holm over the
    panels, those of nearness to people as in `compare`.

    Args:
        base: the name of the panel with which the others are compared.
        runs: of each panel, written; they have judged the same responses.
        failures: by the names of further panels, why they have no run.
        people: people's ratings of the responses; `people_name`: what they are called in faults.
    """
    whys, opened = dict(failures), dict[str, OpenedRun]()
    for name, run in runs.items():
        lacking = sum(run.coverage.missing.values())
        if 2 * lacking > run.coverage.expected and run.coverage.scored:
            whys[name] = missing_judgments(lacking, run.coverage.expected)
            continue
        try:
            opened[name] = open_run(run)
        except InputError as error:
            whys[name] = "; ".join(fault.actual for fault in error.faults)
    pairs: dict[str, RunPair] = {}
    origin = None
    for name, each in opened.items() if base in opened else ():
        try:
            if name != base:
                first = opened[base]
                pair = RunPair(first, each, match_runs(first, each), "prompts")
                if people is not None:
                    pair.compare_with(_on_composite(people, first), people_name, None)
                    origin = origin or pair.origin
                pairs[name] = pair
        except InputError as error:
            whys[name] = "; ".join(fault.actual for fault in error.faults)
    adjust(list(pairs.values()))
    figures = {name: _figures(pair) for name, pair in pairs.items()}
    for kind in ("agreement", "lead"):
        adjusted = holm_adjusted([own[kind][2] for own in figures.values()])
        for own, difference in zip(figures.values(), adjusted, strict=True):
            own[kind] = (*own[kind][:2], difference)
    rows = [
        {"panel": name, "tau": _tau(pair), "changes": pair.matched.panel}
        | {kind: replace(own[2], a=name, b=base) for kind, own in figures[name].items()}
        | {kind: cost[1] - cost[0] for kind, cost in _costs(pair).items()}
        for name, pair in pairs.items()
    ]
    unit = unit_of(opened[base].run.rubric).after_number if base in opened else ""
    conclusion = _conclusion(rows, unit)
    if whys:
        sentences = [f"{name} ({why})" for name, why in whys.items()]
        conclusion.insert(1, f"Not compared: {first_of(sentences, _NAMED)}.")
    expected = sum(run.coverage.expected for run in runs.values())
    if lacking := sum(sum(run.coverage.missing.values()) for run in runs.values()):
        conclusion.append(f"{missing_judgments(lacking, expected)}.")
    more = (more_than_named(name, pair.matched.panel) for name, pair in pairs.items())
    if several := [*filter(None, more)]:
        conclusion.append(f"{first_of(several, _NAMED)}.")
    if any(item.n_people == 1 for pair in pairs.values() for item in pair.people.values()):
        conclusion.append(ONE_PERSON)
    return Result(
        "ablate",
        conclusion,
        [
            differences_table(rows, "people" if people is not None else "score"),
            _values(figures),
            _panels(runs, whys),
        ],
        [_HOW_TO_READ],
    )


def more_than_named(name: str, changes: Sequence[str]) -> str:
    """Say what a panel `NAME=VALUE` changes, in `changes`, where that is more than it is called
    after, or how judges are asked; "" where it is not."""
    asked = any(each.startswith("elicitation") for each in changes)
    if len(changes) < 2 and (not asked or name.startswith("elicitation")):
        return ""
    return f"{name} changes {' and '.join(changes)}"


def differences_table(rows: Sequence[Mapping[str, Any]], chart: str = "score") -> Table:
    """Return the table of differences to the base, a row a panel; its chart is of one figure."""
    title = "Differences to the base"
    return Table("differences", (Key("panel", "panel"),), _COLUMNS, rows, title, chart=chart)


def planned_ablation(panels: Sequence[str]) -> Result:
    """Return the result that an ablation of these panels will have, all figures undefined."""
    nothing = Difference(nan, reason="not run")
    cells = {c.name: nothing if c.kind == "estimate" else nan for c in _COLUMNS}
    return Result("ablate", [], [differences_table([{"panel": each} | cells for each in panels])])


def _on_composite(people: Ratings, base: OpenedRun) -> Ratings:
    """Return people's ratings on the composite, where they rated what that is of: a panel may rate
    the whole alone."""
    rated = people.numeric().dimensions
    known = {dimension.id for dimension in base.run.rubric.numeric}
    return people.composite() if len(known) > 1 and set(rated) == known else people


def _figures(pair: RunPair) -> dict[str, _Figure]:
    """Return each figure of the base, of the other panel and their difference."""
    score = next(iter(pair.differences.values()))
    figures: dict[str, _Figure] = {
        "score": (score.a_mean, score.b_mean, score),
        "agreement": _agreement(pair),
        "lead": _lead(pair),
    }
    if (nearer := next(iter(pair.people.values()), None)) is not None:
        tau = nearer.figures["tau_b"]
        figures["people"] = tau.a_value, tau.b_value, tau
    return figures


def _tau(pair: RunPair) -> PairedFigure:
    alike = pair.alike()[0]
    return alike.tau if alike.tau_within.reason is Reason.FEW_PROMPTS else alike.tau_within


def _agreement(pair: RunPair) -> _Figure:
    base, other = (
        _alpha(opened, [those[0] for those in rows], columns)
        for opened, rows, columns in zip(
            (pair.a, pair.b), pair.matched.rows, pair.matched.columns, strict=True
        )
    )
    counted_in = None
    if base.counted is not None and other.counted is not None:
        counted_in = base.counted | other.counted
    n_raters = max(base.n_raters, other.n_raters)
    less = other.less(base, n_raters, limits=(-np.inf, np.inf), counted=counted_in)
    figure = paired_figure(less, pair.prompts, tested=True)
    return base.value, other.value, figure


def _alpha(opened: OpenedRun, rows: Sequence[int], columns: Sequence[int]) -> Statistic:
    run = opened.run
    if are_identical_replicates(run, columns):
        return Statistic.undefined(Reason.IDENTICAL_JUDGES)
    ratings = run.ratings[np.ix_(rows, columns)]
    terms = composite_terms(ratings, run.rubric, run.dimensions, run.categories)
    if terms is None:
        return Statistic.undefined(Reason.NO_NUMBERS)
    return krippendorff_alpha(terms.mean(axis=2))


def _lead(pair: RunPair) -> _Figure:
    """Return how far the base's best system is ahead of its second in either panel."""
    board, whole = pair.a.run.leaderboard(), pair.terms.paired.get(COMPOSITE)
    best = list(board.ranked)[:2]
    if len(best) < 2 or whole is None:
        return nan, nan, undefined_figure(Reason.FEW_SYSTEMS)
    systems = np.array([each.system for each in pair.matched.pairs])
    codes = encode_labels(pair.prompts, len(systems))[1]

    def ahead(scores: Array) -> Array:
        first, second = (means_by(np.where(systems == name, scores, nan), codes) for name in best)
        return first - second

    leads = [ahead(np.where(np.isnan(whole.difference), nan, side)) for side in (whole.a, whole.b)]
    base, other = (sampled_mean(side) for side in leads)
    return base.mean, other.mean, sampled_mean(leads[1] - leads[0]).as_a(PairedFigure)


def _costs(pair: RunPair) -> dict[str, tuple[float, float]]:
    base, other = (_cost(each.run) for each in (pair.a, pair.b))
    return {kind: (base[kind], other[kind]) for kind in base}


def _cost(run: Run) -> dict[str, float]:
    """Return the tokens that a response takes of all judges, and the dollars that 1,000 take, as if
    nothing came from the cache."""
    n, usd = len(run.items), total_cost(run.prices, run.usage)
    tokens = sum(used.input + used.output for used in run.usage.values())
    return {"tokens": tokens / n, "usd": nan if usd is None else 1000 * usd / n}


def _values(figures: Mapping[str, Mapping[str, _Figure]]) -> Table:
    """Return each figure of the base and of another panel, on what both have judged."""
    rows = [
        {"panel": name, "figure": kind, "base": base, "value": value}
        for name, own in figures.items()
        for kind, (base, value, _) in own.items()
    ]
    keys = Key("panel", "panel"), Key("figure", "figure", labels=_TESTED)
    return Table("values", keys, _VALUES, rows, "Figures of the base and of each panel", "full")


def _panels(runs: Mapping[str, Run], whys: Mapping[str, str]) -> Table:
    rows: list[dict[str, Any]] = [
        {"panel": name, "reason": whys.get(name)}
        | {"n_judges": len(run.ranking_columns()[0])}
        | {"missing": sum(run.coverage.missing.values())}
        | _cost(run)
        for name, run in runs.items()
    ]
    rows += [{"panel": name, "reason": why} for name, why in whys.items() if name not in runs]
    return Table("panels", (Key("panel", "panel"),), _PANELS, rows, "Panels", "full")


def _conclusion(rows: Sequence[Mapping[str, Any]], unit: str) -> list[str]:
    if not rows:
        return ["No panel could be compared with the base."]
    units = {"score": unit, "lead": unit}
    sentences: list[tuple[bool, str]] = []
    for kind, what in _TESTED.items():
        if any(kind in row for row in rows):
            those = [(row["panel"], row[kind]) for row in rows]
            untested = all(isnan(each.p) for _, each in those)
            sentences.append((untested, _sentence(what, those, units.get(kind, ""))))
    # The lead, which the ranking decides, comes last.
    order = [(row["panel"], row["tau"]) for row in rows if not isnan(row["tau"].value)]
    if order:
        name, tau = min(order, key=lambda each: each[1].value)
        lowest = "The lowest τ_b" if len(order) > 1 else "τ_b"
        if number(tau.value) == number(1.0):
            ranking = "No panel changes the ranking of responses: τ_b with the base's is 1.00."
        else:
            ranking = (
                f"{lowest} with the base's ranking of responses is {tau.number()}"
                f"{in_brackets(tau.interval())}, with {name}; the same panel asked again may be "
                "below 1, too."
            )
        sentences.insert(-1, (False, ranking))
    # What cannot be tested says the least.
    return [sentence for _, sentence in sorted(sentences, key=lambda each: each[0])]


def _sentence(what: str, changes: Sequence[tuple[str, Difference]], unit: str) -> str:
    """Say with which panels a figure is shown to differ from the base's."""
    named = first_upper(what)
    tested = [(name, each) for name, each in changes if not isnan(each.p)]
    if not tested:
        reasons = "; ".join(dict.fromkeys(str(each.reason) for _, each in changes))
        return f"Whether {what} changes cannot be tested: {reasons}."
    shown = [(name, each) for name, each in tested if each.shown]
    if not shown:
        return f"No change is shown to alter {what} ({counted(len(tested), 'test')})."
    shown.sort(key=lambda each: each[1].p_adjusted)
    text = [
        f"{number(abs(each.value))}{unit} {'higher' if each.value > 0 else 'lower'} with {name}"
        f"{in_brackets(each.interval(), each.p_text())}"
        for name, each in shown
    ]
    others = len(tested) - len(shown)
    rest = f"; not shown to change with {others:,} other{'s' * (others > 1)}" if others else ""
    return f"{named} is {first_of(text, _NAMED)}{rest}."
