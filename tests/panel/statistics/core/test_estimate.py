"""A figure with what is known of its error: one way to text, one to programs."""

from __future__ import annotations

from math import isnan, nan

import pytest

from persona_panel.statistics import Difference, Estimate
from persona_panel.statistics.core.sampled_mean import SampledMean


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(1.234), "1.23"),
        (Estimate(-0.5, -1, 0.25), "−0.50 (95 % interval −1.00 to 0.25)"),
        (Estimate(0.5, p=0.0004), "0.50 (p < 0.001)"),
        (Estimate(0.5, 0, 1, level=0.99, p=0.01, p_adjusted=0.034),
         "0.50 (99 % interval 0.00 to 1.00, adjusted p 0.034)"),
        (Estimate(2, unit="points"), "2.00 points"),
        (Estimate(nan, reason="too few raters"), "not known (too few raters)"),
        (Estimate(nan), "not known"),
    ],
)  # fmt: skip
def test_an_estimate_as_text(estimate: Estimate, text: str) -> None:
    """The value, and in brackets what there is of interval and p-value; or why there is none."""
    assert str(estimate) == text


def test_programs_are_given_what_applies() -> None:
    """Only the value is always there; level and sample stand with an interval, a reason where a
    value or an interval lacks."""
    assert Estimate(2.0, exact=True, reason="unread").document() == {"value": 2.0}
    assert Estimate(nan, over="prompts", reason="few").document() == {
        "value": None, "reason": "few"
    }  # fmt: skip
    assert Estimate(1.0, reason="one prompt", n=1).document() == {
        "value": 1.0, "n": 1, "reason": "one prompt"
    }  # fmt: skip
    whole = Estimate(
        1.0, 0.5, 1.5, over="items", n=9, p=0.01, p_adjusted=0.02, unit="points", df=8.0,
        reason="unread",
    )  # fmt: skip
    assert whole.document() == {
        "value": 1.0, "low": 0.5, "high": 1.5, "level": 0.95, "over": "items", "n": 9, "p": 0.01,
        "p_adjusted": 0.02, "df": 8.0, "unit": "points",
    }  # fmt: skip


def test_what_an_estimate_shows() -> None:
    """Its sign is that of an interval without 0; it is shown by an adjusted p below 0.05."""
    assert [Estimate(1, *ends).sign for ends in ((0.1, 2), (-2, -0.1), (-1, 1), (nan, nan))] == [
        1, -1, 0, 0,
    ]  # fmt: skip
    assert [Estimate(1, p=0.01, p_adjusted=p).shown for p in (0.049, 0.05, nan)] == [
        True, False, False,
    ]  # fmt: skip
    assert Estimate(1, p=0.01).least_p == 0.01
    assert Estimate(1, p=0.01, p_adjusted=0.03).least_p == 0.03


def test_a_difference_is_turned() -> None:
    """Sides, value, interval and limits change places and signs; what is tested stays."""
    sampled = SampledMean(0.5, ((0.1, 9.0),), 10)
    found = -Difference(
        0.5, -0.25, 1.25, p=0.2, n=10, limits=(-1.0, 4.0), sampled=sampled, a="new", b="old"
    )
    assert (found.a, found.b, found.value) == ("old", "new", -0.5)
    assert (found.low, found.high, found.limits) == (-1.25, 0.25, (-4.0, 1.0))
    assert found.sampled is not None and found.sampled.mean == -0.5
    assert (found.p, found.n) == (0.2, 10)
    higher = Difference(0.5, a="new", b="old")
    assert (found.from_above.a, found.from_above.value) == ("new", 0.5)
    assert higher.from_above is higher
    without = -Difference(0.5)
    assert isnan(without.low) and without.sampled is None


def test_what_is_not_an_end_of_the_scale_is_not_shown_as_one() -> None:
    """4.998 and 1.0003 of a scale from 1 to 5 have as many digits as set them apart from its ends;
    5 and 3.0001 two, as all have where no scale is known."""
    scale = (1.0, 5.0)
    assert Estimate(4.998, 4.9, 4.9996, limits=scale).text() == (
        "4.998 (95 % interval 4.90 to 4.9996)"
    )
    assert Estimate(5.0, 1.0003, 5.0, limits=scale).text() == "5.00 (95 % interval 1.0003 to 5.00)"
    assert Estimate(3.0001, 1.0, 4.996, limits=scale).brackets() == "[1.00, 4.996]"
    assert Estimate(4.998, 4.9, 4.9996).text() == "5.00 (95 % interval 4.90 to 5.00)"
    assert Estimate(0.9996, limits=(0.0, 1.0)).number(1) == "0.9996"
