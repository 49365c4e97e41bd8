"""A run's judges as a sample: their influence is on the composite that verdicts have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from persona_panel.graphs import Judge
from persona_panel.graphs.aggregate import aggregate
from persona_panel.rubrics import CategoryScale, Composite, Dimension, Rubric
from persona_panel.runs.collected import judge_sample
from persona_panel.statistics.core.sampled_mean import influence_of
from tests.helpers.judgments import a_dimension, a_judgment

KIND = Dimension(
    id="kind",
    label="Kind",
    definition="Defined.",
    guiding_question="Which?",
    scale=CategoryScale(values={"good": "good", "bad": "bad"}),
)
RULES = {
    "mean": Composite(mean_of=("clarity", "depth")),
    "product": Composite(product_of=("clarity", "depth")),
    "share": Composite(share_of={"dimension": "kind", "value": "bad"}),
    "reliable": Composite(
        mean_of=("clarity",), reliable_where={"dimension": "depth", "at_least": 4}
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_influence_is_on_the_composite(name: str) -> None:
    """Without a judge the composite that `aggregate` gives changes by what the judge's influence
    says of it: by n / (n − 1) of it, with n judges who count; who does not count has none."""
    rng = np.random.default_rng(3)
    names = [*"abcdef"]
    scores = rng.integers(1, 11, (6, 2)).astype(float)
    kinds = ["good", "bad", "good", "bad", "bad", "good"]
    rubric = Rubric(
        id="r",
        label="R",
        question="How?",
        dimensions=(a_dimension("clarity"), a_dimension("depth"), KIND),
        composite=RULES[name],
    )
    judgments = []
    for persona, (clarity, depth), kind in zip(names, scores, kinds, strict=True):
        judgment = a_judgment(persona, clarity=clarity, depth=depth)
        judgments.append(replace(judgment, labels={"kind": kind}))
    codes = np.array([["good", "bad"].index(kind) for kind in kinds], dtype=float)
    ratings = np.column_stack([scores, codes])[None]
    judges = [Judge(persona, "m", "dimensions") for persona in names]
    sample = judge_sample(
        ratings, judges, rubric, ("clarity", "depth", "kind"), {"kind": ("good", "bad")}
    )
    assert sample is not None
    assert list(sample.factors) == ["persona"]
    counted = scores[:, 1] >= 4 if name == "reliable" else np.ones(6, dtype=bool)
    whole = aggregate(judgments, rubric).composite
    for place in range(6):
        rest = aggregate(judgments[:place] + judgments[place + 1 :], rubric).composite
        n = counted.sum()
        expected = (whole - rest) * (n - 1) / n if counted[place] else 0.0
        assert influence_of(sample.terms)[0, place] == pytest.approx(expected)


def test_personas_and_models_are_crossed() -> None:
    """Both are factors where there are several of both, and one model is none."""
    rubric = Rubric(id="r", label="R", question="How?", dimensions=(a_dimension("clarity"),))
    crossed = [Judge(persona, model, "dimensions") for model in "mn" for persona in "abc"]
    sample = judge_sample(np.ones((2, 6, 1)), crossed, rubric, ("clarity",), {})
    assert sample is not None
    assert sample.factors == {"persona": [*"abcabc"], "model": [*"mmmnnn"]}
    alone = judge_sample(np.ones((2, 3, 1)), crossed[:3], rubric, ("clarity",), {})
    assert alone is not None
    assert list(alone.factors) == ["persona"]
