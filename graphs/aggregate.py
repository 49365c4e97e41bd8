"""How the judgments of one response become its verdict: a pure function."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphs.records import Judgment, Summary, Verdict


def aggregate(judgments: Sequence[Judgment], dimensions: Sequence[str]) -> Verdict:
    """The unweighted mean over judges, dimension by dimension (scrub.txt, §14.4).

    Only `scored` judgments count: an abstention is an answer but no rating, and what
    is missing stays missing. `judgments` are those of one response, one per judge, in
    any order; the result does not depend on it.
    """
    ordered = sorted(judgments, key=lambda judgment: judgment.judge.id)
    scored = [judgment for judgment in ordered if judgment.status == "scored"]
    answered = [judgment for judgment in ordered if judgment.abstained is not None]
    summaries = {
        dimension: summarise(
            [judgment.scores[dimension] for judgment in scored if dimension in judgment.scores]
        )
        for dimension in dimensions
    }
    first = ordered[0]
    return Verdict(
        prompt_id=first.prompt_id,
        id=first.id,
        system=first.system,
        composite=math.fsum(summary.mean for summary in summaries.values()) / len(summaries),
        dimensions=summaries,
        n_judges=len(scored),
        n_asked=len(ordered),
        abstain_share=(
            sum(judgment.abstained is True for judgment in answered) / len(answered)
            if answered
            else math.nan
        ),
    )


def summarise(ratings: Sequence[float]) -> Summary:
    """Mean, standard deviation with n − 1, and count of one dimension's ratings."""
    n = len(ratings)
    mean = math.fsum(ratings) / n if n else math.nan
    sd = math.sqrt(math.fsum((r - mean) ** 2 for r in ratings) / (n - 1)) if n > 1 else math.nan
    return Summary(mean, sd, n)
