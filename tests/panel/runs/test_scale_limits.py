"""Between which values a run's means lie."""

from __future__ import annotations

import pytest

from persona_panel.rubrics import CategoryScale, Composite, Dimension, RealScale, Rubric
from persona_panel.rubrics.comparison import preferred
from persona_panel.runs.scale_limits import composite_limits, in_points, mean_limits
from tests.helpers.judgments import a_dimension

CLARITY = a_dimension("clarity")  # 1 to 10
KIND = CLARITY.model_copy(
    update={"id": "kind", "scale": CategoryScale(values={"good": "good", "bad": "bad"})}
)
TILT = CLARITY.model_copy(
    update={"id": "tilt", "scale": RealScale(min=-2, max=1, low="left", high="right")}
)


def rubric(*dimensions: Dimension, composite: Composite | None = None) -> Rubric:
    return Rubric(id="r", label="R", question="How?", dimensions=dimensions, composite=composite)


@pytest.mark.parametrize(
    ("composite", "limits"),
    [
        (None, (0, 1)),
        (Composite(mean_of=("clarity",)), (1, 10)),
        (Composite(product_of=("clarity", "tilt")), (-20, 10)),
        (Composite(share_of={"dimension": "kind", "value": "bad"}), (0, 1)),
    ],
)
def test_a_composite_lies_between_what_its_rule_makes_of_the_scales(
    composite: Composite | None, limits: tuple[float, float]
) -> None:
    """A mean over different scales is of shares of their widths, from 0 to 1, as is a share of
    judgments; a product lies between the products of ends, whichever they are."""
    assert composite_limits(rubric(CLARITY, TILT, KIND, composite=composite)) == limits


def test_categories_alone_have_no_composite_and_no_limits() -> None:
    """Where there is no composite there are no limits to it; a category's share is in [0, 1]."""
    low, high = composite_limits(rubric(KIND))
    assert (low, high) == (-float("inf"), float("inf"))
    assert mean_limits(rubric(TILT, KIND), ["tilt", "kind:good"]) == [(-2, 1), (0, 1)]


def test_shares_are_no_points() -> None:
    """Composites of one scale are points; of different scales, of responses that are compared, and
    of labels, they are shares."""
    share = Composite(share_of={"dimension": "kind", "value": "bad"})
    assert in_points(rubric(CLARITY))
    assert not in_points(rubric(CLARITY, TILT))
    assert not in_points(rubric(CLARITY, KIND, composite=share))
    assert not in_points(preferred(rubric(CLARITY)))
