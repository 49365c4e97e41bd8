"""A figure with what is known of its error, as text and for programs; the levels of tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any, TypeVar

from persona_panel.statistics.core.display import digits_apart, interval_end, number, signed
from persona_panel.statistics.core.display import ends as ends_text

if TYPE_CHECKING:
    from persona_panel.statistics.core.arrays import Random
    from persona_panel.statistics.core.sampled_mean import SampledMean

LEVEL = 0.05
"""The level of tests: where there is nothing to claim, the tests made together make a claim at most
this often. Adjusted p-values below it are significant."""
POWER = 0.8
"""The power of tests: how often as many values (or prompts) as are said to be needed are enough."""
TENTATIVE, RELIABLE = 0.667, 0.8
"""Krippendorff's α from which tentative conclusions are drawn from ratings, and from which they
are usually called reliable: K. Krippendorff (2004), "Reliability in content analysis"."""
PASSED = 0.5
"""The winning rate from which a panel or a judge passes the alternative annotator test."""
ALT_TEST_ITEMS, ALT_TEST_PROMPTS = 30, 5
"""With fewer items shared with the judge and other people that test leaves a person out, as in the
paper; with fewer prompts likewise: see docs/explanation/statistics.md on intervals of few."""
RATED_PROMPTS = 8
"""With fewer prompts that people rated their ratings correct nothing."""
MOST = 10_000
"""The largest number of values that is given as needed; above it nothing is said."""


OVER: Mapping[Random, str] = {"prompts": "prompts", "prompts-and-judges": "prompts and judges"}
"""The words of an estimate for the sample that its interval takes."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval and p-value, or the reason why there is none.

    Attributes:
        value: NaN where there is none.
        low, high: the ends of its interval, NaN where there is none.
        level: the confidence of the interval, in (0, 1).
        over: what the interval takes as a sample: `prompts`, `prompts and judges`, `items`.
        n: how many of the first of these there are; without an interval, how many the value rests
            on.
        p, p_adjusted: two-sided, by itself and adjusted for all tested together; NaN without a
            test.
        unit: what follows the value, such as `points`.
        df: degrees of freedom of Student's t, if the interval is of it; else NaN.
        limits: the ends of the scale that the value lies on.
        exact: whether it is known without error, as a count is.
        reason: why there is no value or, where there is one, no interval.
        detail: what else is to be said of it, such as `39 of 40 judgments`.
        caution: why its interval may cover far from as often as it says; empty if nothing is known.
        sampled: the mean over prompts that it is, where known: requirements are decided from its
            parts.

    >>> print(Estimate(0.45, 0.31, 0.57, over="prompts", p_adjusted=0.02))
    0.45 (95 % interval 0.31 to 0.57, adjusted p 0.02)
    """

    value: float
    low: float = nan
    high: float = nan
    level: float = 0.95
    over: str = ""
    n: int | None = None
    p: float = nan
    p_adjusted: float = nan
    unit: str = ""
    df: float = nan
    limits: tuple[float, float] = (-inf, inf)
    exact: bool = False
    reason: str | None = None
    detail: str = ""
    caution: str = ""
    sampled: SampledMean | None = None

    @property
    def has_interval(self) -> bool:
        """Return whether there is an interval."""
        return not isnan(self.low)

    @property
    def ends(self) -> tuple[float, float]:
        """Return the ends of the interval, NaN where there is none."""
        return self.low, self.high

    @property
    def width(self) -> float:
        """Return how wide the interval is, NaN where there is none."""
        return self.high - self.low

    @property
    def lacks(self) -> str:
        """Return why there is no value or no interval; else empty."""
        return (self.reason or "") if isnan(self.value) or not self.has_interval else ""

    @property
    def sign(self) -> int:
        """Return 1 or −1 where the whole interval lies above or below 0; else 0."""
        return int(self.low > 0) - int(self.high < 0)

    @property
    def shown(self) -> bool:
        """Return whether the adjusted p-value is below `LEVEL`, so that it may be claimed to differ
        from 0."""
        return self.p_adjusted < LEVEL

    @property
    def least_p(self) -> float:
        """Return the p-value that decides: the adjusted one if there is one; NaN without a test."""
        return self.p if isnan(self.p_adjusted) else self.p_adjusted

    def number(self, digits: int = 2, *, with_sign: bool = False) -> str:
        """Return the value alone as people read it, a dash where there is none."""
        digits = digits_apart(self.value, digits, self.limits)
        return (signed if with_sign else number)(self.value, digits)

    def interval(self, digits: int = 2) -> str:
        """Return the interval after its label, empty where there is none.

        >>> Estimate(1, -0.5, 2).interval()
        '95 % interval −0.50 to 2.00'
        """
        if not self.has_interval:
            return ""
        return f"{100 * self.level:g} % interval {ends_text(*self.ends, digits, self.limits)}"

    def brackets(self, digits: int = 2) -> str:
        """Return the ends of the interval in brackets."""
        return f"[{', '.join(interval_end(end, digits, self.limits) for end in self.ends)}]"

    def p_text(self) -> str:
        """Return the deciding p-value in words; empty where there is none.

        >>> Estimate(1, p=0.0004).p_text(), Estimate(1, p=0.01, p_adjusted=0.03).p_text()
        ('p < 0.001', 'adjusted p 0.03')
        """
        if isnan(p := self.least_p):
            return ""
        adjusted = "" if isnan(self.p_adjusted) else "adjusted "
        return f"{adjusted}p {'< 0.001' if p < 0.001 else f'{p:.2g}'}"

    def text(self, digits: int = 2) -> str:
        """Return the value with its unit, its interval and its p-value; without a value the reason.

        >>> Estimate(nan, reason="two raters at least").text()
        'not known (two raters at least)'
        """
        if isnan(self.value):
            return f"not known ({self.reason})" if self.reason else "not known"
        unit = f" {self.unit}" if self.unit else ""
        facts = ", ".join(fact for fact in (self.interval(digits), self.p_text()) if fact)
        return f"{self.number(digits)}{unit}" + (f" ({facts})" if facts else "")

    def __str__(self) -> str:
        return self.text()

    def document(self) -> dict[str, Any]:
        """Return the estimate for programs: `value`, and whatever else is known of it."""
        document: dict[str, Any] = {"value": None if isnan(self.value) else self.value}
        if self.has_interval:
            document |= {"low": self.low, "high": self.high, "level": self.level}
            document |= {"over": self.over} if self.over else {}
        document |= {} if self.n is None else {"n": self.n}
        numbers = {"p": self.p, "p_adjusted": self.p_adjusted, "df": self.df}
        document |= {name: value for name, value in numbers.items() if not isnan(value)}
        document |= {"unit": self.unit} if self.unit else {}
        # What is exact needs no interval.
        lacks = self.lacks if isnan(self.value) or not self.exact else ""
        return document | ({"reason": str(lacks)} if lacks else {})


EstimateT = TypeVar("EstimateT", bound=Estimate)


@dataclass(frozen=True, slots=True)
class Difference(Estimate):
    """The figure of side `a` less that of side `b`.

    >>> -Difference(0.5, 0.1, 0.9, a="new", b="old")
    Difference(value=-0.5, low=-0.9, high=-0.1, level=0.95, over='', n=None, p=nan, \
p_adjusted=nan, unit='', df=nan, limits=(-inf, inf), exact=False, reason=None, detail='', \
caution='', sampled=None, a='old', b='new')
    """

    a: str = ""
    b: str = ""

    @property
    def from_above(self) -> Difference:
        """Return the same difference from the side whose figure is higher."""
        return self if self.value > 0 else -self

    def __neg__(self) -> Difference:
        """Return the same difference from the other side."""
        low, high = self.limits
        return replace(
            self, value=-self.value, low=-self.high, high=-self.low, limits=(-high, -low),
            sampled=self.sampled and replace(self.sampled, mean=-self.sampled.mean), a=self.b,
            b=self.a,
        )  # fmt: skip
