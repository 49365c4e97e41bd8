"""The figures of a run that a requirement may name.

The same names are there before a run has any judgment: a requirement is checked against those of
`Run.of(plan, batch)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from math import fsum, isnan, nan
from typing import get_args

from persona_panel.graphs.records import controls_among
from persona_panel.models.config import cost
from persona_panel.results.conclusions.wording import turned
from persona_panel.results.requirements.figures import Figure, FigureKey, exact
from persona_panel.rubrics import Status, Usage, is_comparative
from persona_panel.runs.run import Run, share_name
from persona_panel.runs.scale_limits import composite_limits, mean_limits
from persona_panel.statistics.core.arrays import Random, Reason
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.ranking import Leaderboard, Limits, SystemDifference, SystemRank
from persona_panel.statistics.core.strengths import StrengthDifference, Strengths, SystemStrength
from persona_panel.statistics.revisions import Change

OVER: Mapping[Random | None, str] = {
    None: "",
    "prompts": "over prompts",
    "prompts-and-judges": "over prompts and judges",
}
ADJUSTED = "adjusted by Holm's method"
NO_COMPOSITE = "no response of this system has a composite"
NO_MEAN = "no judge rated it"
NO_STRENGTH = "no strengths fit the comparisons"
NO_INTERVAL = "no interval of it is computed"
NO_OFF_SCALE = "no answer of this model gave probabilities"
NOT_COMPARED = "one of the two has no composite"
NOT_TESTED = "its difference from no other system could be tested"
SINGLE = "a single response has no interval"
_MISSING = [one for one in get_args(Status) if one not in ("scored", "abstained")]


def run_figures(run: Run) -> list[Figure]:
    """Every figure of a run: of the leaderboard, differences, strengths, responses, coverage, calls
    and a deliberation; `control_…` are those of the judges without a persona, where there are some.
    """
    systems = list(dict.fromkeys(item.system for item in run.items))
    found = [*_of_board(run, run.leaderboard(), systems)]
    if any(is_comparative(judge.elicitation) for judge in run.judges):
        found += _of_strengths(run.strengths(), systems)
    found += _of_responses(run)
    found += coverage_figures(run)
    found += _of_deliberation(run)
    if controls_among(run.judges) and (controls := run.control_leaderboard()) is not None:
        found += [
            replace(one, name=f"control_{one.name}", label=one.label and f"control {one.label}")
            for one in _of_board(run, controls, systems)
        ]
    return found


def _of_board(run: Run, board: Leaderboard, systems: Sequence[str]) -> Iterator[Figure]:
    entries = {entry.system: entry for entry in board.systems}
    for system in systems:
        key, entry = (FigureKey(system),), entries.get(system)
        yield _composite(key, entry, board.random, composite_limits(run.rubric))
        yield _rank(key, entry, board.random)
        yield from _of_dimensions(run, key, entry)
    pairs = {(one.a, one.b): one for one in board.differences}
    for pair in permutations(systems, 2):
        one, other = pairs.get(pair), pairs.get((pair[1], pair[0]))
        yield from _of_pair(pair, one or other, 1 if one else -1, board.random)


def _composite(
    key: tuple[FigureKey, ...], entry: SystemRank | None, random: Random, limits: Limits
) -> Figure:
    if entry is None or entry.rank is None:
        return Figure("composite", key, reason=_unranked(entry))
    low, high = entry.ci_low, entry.ci_high
    if random != "prompts":
        low, high = entry.judges_ci_low, entry.judges_ci_high
    return Figure(
        "composite",
        key,
        value=entry.composite,
        low=low,
        high=high,
        over=OVER[random],
        limits=limits,
        reason=entry.sampled.reason,
        n_prompts=entry.n_prompts,
        sampled=entry.sampled,
    )


def _unranked(entry: SystemRank | None) -> str:
    return Reason.DECLINES if entry is not None and entry.declines else NO_COMPOSITE


def _rank(key: tuple[FigureKey, ...], entry: SystemRank | None, random: Random) -> Figure:
    if entry is None or entry.rank is None:
        return Figure("rank", key, reason=_unranked(entry))
    if entry.rank_low is None or entry.rank_high is None:
        return Figure("rank", key, value=entry.rank, is_whole=True, reason=NOT_TESTED)
    ends = entry.rank_low, entry.rank_high
    return Figure(
        "rank", key, "", entry.rank, *ends, OVER[random], is_whole=True, n_prompts=entry.n_prompts
    )


def _of_dimensions(
    run: Run, key: tuple[FigureKey, ...], entry: SystemRank | None
) -> Iterator[Figure]:
    """Means by dimension, and of a dimension of categories the share of each."""
    for dimension in run.rubric.dimensions:
        for category in run.categories.get(dimension.id, [None]):
            keys = key if category is None else (FigureKey(category), *key)
            name = dimension.id if category is None else share_name(dimension.id, category)
            about = Figure(dimension.id, keys, dimension.label, reason=NO_MEAN)
            if entry is not None and entry.declines:
                yield replace(about, reason=Reason.DECLINES)
                continue
            if entry is None or isnan(entry.dimensions.get(name, nan)):
                yield about
                continue
            low, high = entry.dimension_intervals[name]
            sampled = entry.dimensions_sampled[name]
            yield replace(
                about,
                value=entry.dimensions[name],
                low=low,
                high=high,
                over=OVER["prompts"],
                limits=mean_limits(run.rubric, [name])[0],
                reason=sampled.reason,
                n_prompts=sampled.n_prompts,
                sampled=sampled,
            )


def _of_pair(
    pair: tuple[str, str], one: SystemDifference | None, sign: int, random: Random
) -> Iterator[Figure]:
    """The difference of the first from the second, its effect size and its p-value."""
    keys = tuple(map(FigureKey, pair))
    if one is None:
        yield Figure("difference", keys, reason=NOT_COMPARED)
        yield Figure("effect_size", keys, reason=NOT_COMPARED)
        yield exact("p", None, keys=keys, reason=NOT_COMPARED)
        return
    yield Figure(
        "difference",
        keys,
        "",
        sign * one.difference,
        *turned(one.ci_low, one.ci_high, sign),
        OVER[random],
        reason=one.reason,
        n_prompts=one.n_prompts,
        sampled=replace(one.sampled, mean=sign * one.sampled.mean),
    )
    why = one.reason or NO_INTERVAL
    size = sign * one.effect_size
    yield Figure("effect_size", keys, value=size, reason=why, n_prompts=one.n_prompts)
    yield exact("p", one.p_adjusted, ADJUSTED, keys, reason=str(one.reason))


def _of_strengths(found: Strengths | None, systems: Sequence[str]) -> Iterator[Figure]:
    entries = {} if found is None else {one.system: one for one in found.systems}
    over = OVER[None if found is None else found.random]
    for system in systems:
        keys, entry = (FigureKey(system),), entries.get(system)
        yield from _strength(keys, entry, over)
    pairs = {} if found is None else {(one.a, one.b): one for one in found.differences}
    for pair in permutations(systems, 2):
        one, other = pairs.get(pair), pairs.get((pair[1], pair[0]))
        yield from _strength_difference(pair, one or other, 1 if one else -1, over)


def _strength(
    keys: tuple[FigureKey, ...], entry: SystemStrength | None, over: str
) -> Iterator[Figure]:
    if entry is None:
        yield Figure("strength", keys, reason=NO_STRENGTH)
        yield Figure("win_probability", keys, reason=NO_STRENGTH)
        return
    # On the logit, on which its interval is formed, a win probability is no other figure.
    why, n = entry.reason or entry.ci_reason, entry.n_prompts
    ends = entry.ci_low, entry.ci_high
    yield Figure(
        "strength", keys, "", entry.strength, *ends, over, reason=why, n_prompts=n, df=n - 1.0
    )
    ends = entry.win_low, entry.win_high
    yield Figure(
        "win_probability", keys, "", entry.win_probability, *ends, over, reason=why, n_prompts=n
    )


def _strength_difference(
    pair: tuple[str, str], one: StrengthDifference | None, sign: int, over: str
) -> Iterator[Figure]:
    keys = tuple(map(FigureKey, pair))
    if one is None:
        yield Figure("strength_difference", keys, reason=NO_STRENGTH)
        yield exact("strength_p", None, keys=keys, reason=NO_STRENGTH)
        return
    ends, n = turned(one.ci_low, one.ci_high, sign), one.n_prompts
    value = sign * one.difference
    yield Figure(
        "strength_difference", keys, "", value, *ends, over,
        reason=one.reason, n_prompts=n, df=n - 1.0,
    )  # fmt: skip
    yield exact("strength_p", one.p_adjusted, ADJUSTED, keys, reason=str(one.reason))


def _of_responses(run: Run) -> Iterator[Figure]:
    """The composite of each response."""
    known = {(verdict.prompt_id, verdict.id): verdict for verdict in run.verdicts}
    for item in run.items:
        verdict = known.get((item.prompt_id, item.id))
        value = nan if verdict is None else verdict.composite
        keys = FigureKey(item.prompt_id), FigureKey(item.id)
        yield Figure("response", keys, value=value, reason=NO_MEAN if isnan(value) else SINGLE)


def coverage_figures(run: Run, expected: int | None = None) -> Iterator[Figure]:
    """How many judgments there are, and what they took.

    Args:
        expected: how many there should be; those of the run's responses by default.
    """
    coverage = run.coverage
    expected = coverage.expected if expected is None else expected
    there = coverage.scored + coverage.abstained
    share = there / expected if expected else None
    detail = f"{there:,} of {expected:,} judgments"
    yield exact("coverage", share, detail, reason="there is nothing to judge")
    yield exact("scored", coverage.scored)
    yield exact("abstained", coverage.abstained)
    yield exact("missing", expected - there)
    for status in _MISSING:
        yield exact("missing", coverage.missing.get(status, 0), keys=(FigureKey(status),))
    yield exact("partial", coverage.partial)
    yield exact("revisions_failed", sum(coverage.revisions_failed.values()))
    yield exact("reasons_missing", coverage.reasons_missing)
    yield exact("unreliable", sum(verdict.n_unreliable for verdict in run.verdicts))
    for model in dict.fromkeys(judge.model for judge in run.judges):
        share = run.off_scale.get(model)
        yield exact("off_scale", share, keys=(FigureKey(model),), reason=NO_OFF_SCALE)
    yield exact("calls", run.calls.made)
    yield exact("cached", run.calls.cached)
    used = sum(run.calls.spent.values(), Usage())
    for kind in ("input", "cached", "output", "reasoning"):
        yield exact(f"{kind}_tokens", getattr(used, kind))
    costs = [cost(run.prices.get(model), usage) for model, usage in run.calls.spent.items()]
    known = [usd for usd in costs if usd is not None]
    usd = fsum(known) if len(known) == len(costs) else None
    yield exact("usd", usd, reason="the price of a model is not known")


def _of_deliberation(run: Run) -> Iterator[Figure]:
    """What a deliberation changed, by dimension."""
    report = run.deliberation()
    if report is None:
        return
    yield exact("deliberated", report.n_deliberated, f"of {report.n_responses:,} responses")
    labels = {dimension.id: dimension.label for dimension in run.rubric.dimensions}
    for name, change in report.spread.items():
        key = FigureKey(name, labels.get(name, ""), name == ALL)
        yield _change("spread_change", key, change)
        moved = report.dimensions[name]
        why = moved.reason or NO_INTERVAL
        yield Figure("mean_change", (key,), value=moved.change, reason=why)
    for name, humans in (report.humans or {}).items():
        key = FigureKey(name, labels.get(name, ""), name == ALL)
        for what, change in (("tau_c", humans.tau_c), ("distance", humans.distance)):
            yield _change(f"human_{what}_change", key, change)


def _change(name: str, key: FigureKey, change: Change) -> Figure:
    found = change.interval
    about = Figure(name, (key,), value=change.change, reason=change.reason or NO_INTERVAL)
    if found is None or found.reason is not None:
        why = about.reason if found is None else found.reason
        return replace(about, reason=why)
    return replace(
        about,
        low=found.low,
        high=found.high,
        over=OVER["prompts"],
        reason=None,
        n_prompts=found.n_clusters,
        df=min(found.degrees_of_freedom, found.n_clusters - 1.0),
    )
