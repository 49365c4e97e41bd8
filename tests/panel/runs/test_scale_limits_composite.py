"""What a composite is, in a sentence."""

from __future__ import annotations

import pytest

from persona_panel.rubrics import CategoryScale, Composite, RealScale, Rubric
from persona_panel.rubrics.comparison import preferred
from persona_panel.runs.scale_limits import composite_in_words
from tests.helpers.judgments import a_dimension

CLARITY = a_dimension("clarity").model_copy(update={"label": "Clarity"})  # 1 to 10
DEPTH = CLARITY.model_copy(update={"id": "depth", "label": "Depth"})
TILT = CLARITY.model_copy(
    update={
        "id": "tilt",
        "label": "Tilt",
        "scale": RealScale(min=-2, max=1, low="left", high="right"),
    }
)
KIND = CLARITY.model_copy(
    update={"id": "kind", "label": "Kind", "scale": CategoryScale(values={"a": "a", "b": "b"})}
)
ENDS = (CLARITY.scale.low, CLARITY.scale.high)


@pytest.mark.parametrize(
    ("dimensions", "composite", "told"),
    [
        ((CLARITY, DEPTH), None, "the mean of both dimensions, from 1 ({}) to 10 ({})"),
        (
            (CLARITY, DEPTH, TILT),
            None,
            "the mean of all 3 dimensions, which are on different scales: each as a share of the "
            "width of its own, from 0 to 1",
        ),
        ((CLARITY, TILT), {"mean_of": ["tilt"]}, "Tilt, from −2 (left) to 1 (right)"),
        (
            (CLARITY, TILT),
            {
                "product_of": ["clarity", "tilt"],
                "reliable_where": {"dimension": "clarity", "at_least": 3},
            },
            "the mean over judges of the product of Clarity and Tilt, from −20 to 10, without "
            "judgments below 3 on Clarity",
        ),
        (
            (KIND,),
            {"share_of": {"dimension": "kind", "value": "b"}},
            "the share of judgments with b on Kind, from 0 to 1",
        ),
    ],
    ids=["same scale", "other scales", "one of two", "product", "share"],
)
def test_each_rule_has_its_sentence(dimensions, composite, told):  # type: ignore[no-untyped-def]
    """The dimensions by their labels, the rule, and the ends of the scale with what they mean where
    that is the same for all."""
    rule = None if composite is None else Composite(**composite)
    rubric = Rubric(id="r", label="R", question="How?", dimensions=dimensions, composite=rule)
    assert composite_in_words(rubric) == f"Composite: {told.format(*ENDS)}."
    assert composite_in_words(preferred(rubric)) == (
        "Composite: Preferred, from 0 (to none of the others) to 1 (to all of the others)."
    )


def test_categories_alone_have_no_composite() -> None:
    """A rubric of categories without a rule has no composite, and no sentence on it."""
    assert composite_in_words(Rubric(id="r", label="R", question="How?", dimensions=(KIND,))) == ""
