"""Which ratings make up a rubric's composite, and how; the shape alone.

The arithmetic is in `persona_panel.graphs.aggregate`.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Share(BaseModel):
    """One category of a dimension."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dimension: str
    value: str


class Reliable(BaseModel):
    """The ratings of a judge count where its rating of `dimension` is `at_least` this."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dimension: str
    at_least: float = Field(allow_inf_nan=False)


class Composite(BaseModel):
    """One number for a response, by exactly one of three rules.

    Attributes:
        mean_of: the mean of these dimensions' means over judges.
        product_of: the mean over judges of the product of their ratings of these; a judge
            that left one of them out has no product.
        share_of: of the judges that chose a category, the share that chose this one.
        reliable_where: whose ratings enter the composite. A judge below it is counted and
            left out; one that did not rate the dimension stays in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mean_of: tuple[str, ...] | None = Field(default=None, min_length=1)
    product_of: tuple[str, ...] | None = Field(default=None, min_length=2)
    share_of: Share | None = None
    reliable_where: Reliable | None = None

    @model_validator(mode="after")
    def _has_one_rule(self) -> Composite:
        rules = ("mean_of", "product_of", "share_of")
        given = [rule for rule in rules if getattr(self, rule) is not None]
        if len(given) != 1:
            raise ValueError(
                f"{' and '.join(given) or 'no rule'}; exactly one of {', '.join(rules)}"
            )
        return self

    @property
    def numeric(self) -> tuple[str, ...]:
        """The dimensions that it reads as numbers."""
        own = self.mean_of or self.product_of or ()
        return (*own, self.reliable_where.dimension) if self.reliable_where else own
