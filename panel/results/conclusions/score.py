"""Sentences on what a run lacks: judgments, ranks of systems that decline, other judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isnan, nan
from typing import TYPE_CHECKING

from persona_panel.files.wording import some
from persona_panel.results.conclusions.wording import (
    counted,
    in_brackets,
    missing_judgments,
)
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics.core.display import number, percent
from persona_panel.statistics.core.estimate import LEVEL, Difference, Estimate
from persona_panel.statistics.core.means import (
    FAR_OFF,
    FEW_OFF_AN_END,
    NEAR_THE_END,
    STRONG,
    unusual_coverage,
)
from persona_panel.statistics.core.ranking import Leaderboard

if TYPE_CHECKING:
    from persona_panel.statistics.missing import DifferenceBounds, MissingRatings

MUCH_MISSING = 0.05
"""From which share on missing judgments are in the conclusion, and not only below the tables."""
_LEADERS_SHOWN = 3
_STRONG = 0.6
_SHARES = {
    FAR_OFF: "above 95 %, up to 100 %",
    FEW_OFF_AN_END: "78 to 93 %: those that miss often lie below the true value",
    NEAR_THE_END: "far below 95 %: rare prompts with a much different mean would change it",
    STRONG: "97 to 100 %: they are wider than 95 % needs",
}
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Judged:
    """The facts that a conclusion takes of a run besides its ranking.

    Attributes:
        expected, scored, abstained: numbers of judgments; the others are `missing`, by status.
        reasons: by status the commonest reason of a missing judgment, where one is known.
        unit: what follows a difference of composites; nothing where these are shares.
    """

    n_judges: int
    n_personas: int
    n_models: int
    expected: int
    scored: int
    abstained: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    unit: str = " points"


def nothing_judged(judged: Judged) -> str | None:
    """Say why nothing was scored, and that it was not; None where something was."""
    if judged.scored or not judged.expected:
        return None
    # What is skipped is so for what went wrong with another.
    why = {name: why for name, why in judged.reasons.items() if name != "skipped"}
    reasons = "; ".join(dict.fromkeys((why or judged.reasons).values())).rstrip(".")
    counts = [f"{n:,} {status}" for status, n in judged.missing.items()]
    if judged.abstained:
        counts.append(f"{judged.abstained:,} judged as abstentions")
    # Reasons begin with the name of a model or a server, which is no beginning of a sentence.
    return (
        f"{f'Nothing could be scored: {reasons}. ' if reasons else ''}None of {judged.expected:,} "
        f"judgments was scored{in_brackets(*counts)}: nothing can be concluded."
    )


def declining(board: Leaderboard) -> list[str]:
    """Name the systems that are not ranked, as most judges see them decline to answer."""
    unranked = [entry for entry in board.systems if entry.declines]
    if len(unranked) > _LEADERS_SHOWN:
        return [
            f"{len(unranked):,} systems are not ranked: more than half of the judgments of each "
            "are abstentions (the response declines to answer)."
        ]
    sentences = []
    for entry in unranked:
        rest = entry.n_judged - entry.n_abstained
        sentence = (
            f"{entry.system} is not ranked: {entry.n_abstained:,} of its {entry.n_judged:,} "
            "judgments are abstentions (the response declines to answer)"
        )
        mean = (
            ""
            if isnan(entry.composite.value)
            else f"; its mean of {entry.composite.number()} rests on {rest:,}"
        )
        sentences.append(f"{sentence}{mean}.")
    return sentences


def limits(judged: Judged) -> list[str]:
    """Say what judges have in common: no interval includes it."""
    if judged.n_judges == 1:
        return ["There is one judge."]
    if judged.n_models == 1:
        return ["All judges are of one model."]
    if judged.n_personas == 1:
        return ["All judges have the same persona, or none."]
    return []


def few_judged(judged: Judged, figures: str) -> list[str]:
    """Say how many judgments are missing, where it is many, and that figures are without them."""
    missing = sum(judged.missing.values())
    if missing < MUCH_MISSING * judged.expected or not missing:
        return []
    sentence = missing_judgments(missing, judged.expected, by_status=judged.missing)
    return [f"{sentence}: {figures} are means of those that are there."]


_TESTS = 10
"""For how many claims a p-value of what is missing counts: twice the number of the five answers, as
biases."""


def weakest_lead(missing: MissingRatings | None, board: Leaderboard) -> DifferenceBounds | None:
    """Return the difference of the best system whose significance the least departure of the
    missing ratings would undo; None where nothing is missing or no system is the best."""
    winner = board.winner
    if missing is None or winner is None:
        return None
    leads = [each for each in missing.bounds if each.a == winner.system]
    return min(leads, key=lambda each: (each.tips_at, each.holds), default=None)


def _alone(people_lead: bool) -> str:
    """Return whose ratings missing ratings are bounded in, where people's ratings lead."""
    return " by the panel alone" if people_lead else ""


def on_missing(
    missing: MissingRatings | None, board: Leaderboard, unit: str, *, people_lead: bool = False
) -> Iterator[str]:
    """Yield on what ratings are missing, and how far they could change which system is best by the
    panel; `people_lead` says that the ranking of the run is another, by people's ratings."""
    lead, alone = weakest_lead(missing, board), _alone(people_lead)
    if missing is None:
        return
    if lead is not None and lead.holds:
        yield (
            f"That {lead.a} is the best{alone} holds however the missing ratings would have been: "
            f"at worst it is {number(lead.worst)}{unit} above {lead.b}{_over(lead)}."
        )
    elif lead is not None:
        ahead = f"significantly ahead of {lead.b}{alone}"
        if lead.tips_at == inf:
            undone = (
                f"{lead.a} would be {ahead} however much lower the differences that are missing "
                "were, but perhaps not if some of them were much higher than others"
            )
        elif not lead.tips_at:
            undone = (
                f"{lead.a} would not be {ahead} even if the differences that are missing were as "
                "near to the rest as the scale allows"
            )
        else:
            undone = (
                f"{lead.a} would not be {ahead} if the differences that are missing were "
                f"{number(lead.tips_at)}{unit} lower than the rest"
            )
        yield f"{undone}; however they were, {_between(lead)}."
    if missing.p_scores * _TESTS < LEVEL and missing.lower:
        yield "Ratings are missing more often where the other judges rate lower."
    yield from on_systems(missing)


def on_coverage(figures: Mapping[str, Estimate], *, within_prompts: bool = False) -> Iterator[str]:
    """Yield of figures, by name, that have intervals, of which these may not cover as often as they
    say; they have a caution, are means on a scale, or correlations `within_prompts`."""
    names: dict[str, list[str]] = {}
    for name, figure in figures.items():
        sampled, kind = figure.sampled, figure.caution
        if within_prompts:
            kind = STRONG if abs(figure.value) > _STRONG else ""
        elif sampled is not None and sampled.values is not None:
            kind = unusual_coverage(sampled.values, sampled.limits) or ""
        if kind and figure.has_interval:
            names.setdefault(kind, []).append(name)
    for kind, own in names.items():
        share = _SHARES.get(kind, "above or below 95 %")
        yield f"{some(own, as_=str)}: {kind}. Coverage of such 95 % intervals may be {share}."


def _over(lead: DifferenceBounds) -> str:
    return f" over all {counted(lead.n_prompts, 'prompt')} and judges"


def _between(lead: DifferenceBounds) -> str:
    ends = f"{number(lead.worst)} and {number(lead.best)}"
    return f"the difference is between {ends}{_over(lead)}"


def beyond_bounds(missing: MissingRatings | None, board: Leaderboard) -> Iterator[str]:
    """Yield that the missing ratings can undo which system is best, where its lead is outside its
    own bounds, as some prompts or judges have no ratings of both."""
    lead = weakest_lead(missing, board)
    if lead is None or lead.holds or lead.worst - _SAME <= lead.value <= lead.best + _SAME:
        return
    yield f"The missing ratings can undo this: however they were, {_between(lead)}."


def on_systems(missing: MissingRatings) -> Iterator[str]:
    """Yield that ratings are missing of some systems more than of others, if that is shown."""
    if missing.p_system * _TESTS < LEVEL:
        most, least = (end(missing.shares, key=missing.shares.__getitem__) for end in (max, min))
        shares = (percent(missing.shares[name]) for name in (most, least))
        yield "Ratings are missing of {} more than of {} ({} and {} of them).".format(
            most, least, *shares
        )


def can_be_reversed(
    missing: MissingRatings | None, board: Leaderboard, *, people_lead: bool = False
) -> Iterator[str]:
    """Yield that which system is best by the panel depends on ratings that are missing of some
    systems more than of others; `people_lead` as of `on_missing`."""
    lead = weakest_lead(missing, board)
    if missing is not None and lead is not None and not lead.holds:
        for sentence in on_systems(missing):
            yield f"{sentence} Which system is best{_alone(people_lead)} may depend on them."


def missing_table(missing: MissingRatings | None) -> Iterator[Table]:
    """Yield the differences of systems in the worst and best case over the missing ratings."""
    if missing is None:
        return
    columns: tuple[Column, ...] = (
        Column("worst", "estimate", "worst"),
        Column("best", "estimate", "best"),
        Column("tips_at", "estimate", "tips at"),
        Column("holds", "flag", "holds"),
    )

    def row(each: DifferenceBounds) -> dict[str, object]:
        a, b = each.a, each.b
        worst, best = (Difference(end, exact=True, a=a, b=b) for end in (each.worst, each.best))
        why = "it is significant however the missing ratings would have been"
        if isnan(each.tips_at):
            why = "it is not significant"
        elif not each.holds:
            why = "no number of points undoes it"
        tips = nan if each.tips_at == inf else each.tips_at
        tips_at = Estimate(tips, exact=True, reason=why if isnan(tips) else None)
        holds = each.holds
        return {
            "a": a, "b": b, "worst": worst, "best": best, "tips_at": tips_at, "holds": holds,
        }  # fmt: skip

    yield Table(
        "missing_bounds", (Key("a", "systems"), Key("b")), columns, list(map(row, missing.bounds)),
        "Differences with the missing ratings", sides=("a", "b"), when="full",
        remarks=[
            "Worst, best: what is missing lies at the ends of the scale (Manski 2003), over all "
            "prompts that both have answered. Tips at: "
            "from so many points below a judge's mean difference on, the missing ones undo the "
            "significance (delta adjustment, White et al. 2011). Nothing is imputed elsewhere."
        ],
    )  # fmt: skip
    facts = {
        "p_system": None if isnan(missing.p_system) else missing.p_system,
        "p_scores": None if isnan(missing.p_scores) else missing.p_scores,
    }
    columns = (Column("p_system", "number"), Column("p_scores", "number"))
    yield Table("missing_ratings", (), columns, [facts])
