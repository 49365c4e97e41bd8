"""Pure functions that make the verdict on a response from its judgments."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter

from persona_panel.graphs.records import Judgment, LabelSummary, Summary, Verdict, controls_among
from persona_panel.rubrics import Composite, Rubric
from persona_panel.rubrics.rubric import Reliable, once_a_rubric


def aggregate(judgments: Sequence[Judgment], rubric: Rubric) -> Verdict:
    """Take the unweighted mean over judges, dimension by dimension (scrub.txt, §14.4).

    Categories have no mean: of them it is the majority and how many judges chose which.
    Only `scored` judgments count: an abstention is an answer but no rating, and what is
    missing stays missing. `judgments` are those of one response, one per judge, in any
    order; the result does not depend on it. Those of judges without a persona do not count
    where others have one (`controls_among`).
    """
    controls = controls_among(judgment.judge for judgment in judgments)
    if controls:
        judgments = [judgment for judgment in judgments if judgment.judge not in controls]
    scored = [judgment for judgment in judgments if judgment.status == "scored"]
    answered = [judgment for judgment in judgments if judgment.abstained is not None]
    numeric, rule = _numeric(rubric), composite_rule(rubric)
    reliable = scored
    if rule is not None and (required := rule.reliable_where) is not None:
        reliable = [judgment for judgment in scored if _is_reliable(judgment, required)]
    first = min(judgments, key=attrgetter("judge.id"))
    return Verdict(
        prompt_id=first.prompt_id,
        id=first.id,
        system=first.system,
        composite=math.nan if rule is None else composite(reliable, rule, _rescaled(rubric)),
        dimensions={name: summarise(_scores(scored, name)) for name in numeric},
        n_judges=len(scored),
        n_asked=len(judgments),
        abstain_share=(
            sum(judgment.abstained is True for judgment in answered) / len(answered)
            if answered
            else math.nan
        ),
        labels={
            name: count(_labels(scored, name), categories)
            for name, categories in _categories(rubric).items()
        },
        n_unreliable=len(scored) - len(reliable),
    )


def composite(
    judgments: Sequence[Judgment],
    rule: Composite,
    rescaled: Mapping[str, tuple[float, float]] | None = None,
) -> float:
    """Return the composite of the judgments that count by a rule; NaN where there is nothing to
    compute it from. A mean of dimensions on different scales is of shares of these; `rescaled` as
    `Rubric` has it.

    A product is each judge's own, as how a judge splits a verdict over the factors is
    arbitrary (conceptual-critiques.txt, Appendix B and F), and then averaged over judges.
    """
    if rule.share_of is not None:
        labels = _labels(judgments, rule.share_of.dimension)
        return labels.count(rule.share_of.value) / len(labels) if labels else math.nan
    if rule.product_of is not None:
        factors = rule.product_of
        return _mean(
            [
                math.prod(judgment.scores[name] for name in factors)
                for judgment in judgments
                if all(name in judgment.scores for name in factors)
            ]
        )
    names = rule.mean_of or ()
    means = [_mean(_scores(judgments, name)) for name in names]
    if rescaled:
        ends = [rescaled[name] for name in names]
        means = [(mean - low) / width for mean, (low, width) in zip(means, ends, strict=True)]
    return math.fsum(means) / len(names)


def summarise(ratings: Sequence[float]) -> Summary:
    """Compute the mean, the standard deviation with n − 1, and the count of the ratings."""
    n, mean = len(ratings), _mean(ratings)
    sd = math.sqrt(math.fsum([(r - mean) ** 2 for r in ratings]) / (n - 1)) if n > 1 else math.nan
    return Summary(mean, sd, n)


def _mean(ratings: Sequence[float]) -> float:
    return math.fsum(ratings) / len(ratings) if ratings else math.nan


def count(labels: Sequence[str], categories: Sequence[str]) -> LabelSummary:
    """Count how often each category was chosen, and name the most frequent.

    >>> count(["useful", "invalid", "useful"], ["useful", "unhelpful", "invalid"]).majority
    'useful'
    """
    counts = Counter(labels)
    most = max(counts.values(), default=0)
    leaders = [name for name in categories if most and counts[name] == most]
    return LabelSummary(
        majority=leaders[0] if len(leaders) == 1 else None,
        counts={name: counts[name] for name in categories},
        n=len(labels),
    )


@once_a_rubric
def _numeric(rubric: Rubric) -> tuple[str, ...]:
    return tuple(dimension.id for dimension in rubric.numeric)


@once_a_rubric
def _rescaled(rubric: Rubric) -> dict[str, tuple[float, float]]:
    return rubric.rescaled


@once_a_rubric
def _categories(rubric: Rubric) -> dict[str, tuple[str, ...]]:
    return rubric.categories


@once_a_rubric
def composite_rule(rubric: Rubric) -> Composite | None:
    """Return the rubric's composite; None where it names none and nothing is rated by numbers."""
    numeric = _numeric(rubric)
    return rubric.composite or (Composite(mean_of=numeric) if numeric else None)


def _is_reliable(judgment: Judgment, required: Reliable) -> bool:
    score = judgment.scores.get(required.dimension)
    return score is None or score >= required.at_least


def _scores(judgments: Sequence[Judgment], dimension: str) -> list[float]:
    return [j.scores[dimension] for j in judgments if dimension in j.scores]


def _labels(judgments: Sequence[Judgment], dimension: str) -> list[str]:
    return [j.labels[dimension] for j in judgments if dimension in j.labels]
