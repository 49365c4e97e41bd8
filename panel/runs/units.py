"""What the figures of a run are in: points of a scale, or shares."""

from __future__ import annotations

from typing import NamedTuple

from persona_panel.rubrics import Rubric
from persona_panel.runs.scale_limits import are_preferences, in_points
from persona_panel.statistics.core.display import COMPOSITE


class FigureUnit(NamedTuple):
    """What a unit is called: of one figure, as on an axis; of several; and after a number in a
    sentence, where shares of judges or responses have none."""

    one: str
    several: str
    after_number: str = ""


POINTS = FigureUnit("points", "points", " points")
SHARES_OF_JUDGES = FigureUnit("share of the judges", "shares of the judges")
SHARES_OF_RESPONSES = FigureUnit("share of the other responses", "shares of the other responses")
SHARES_OF_WIDTH = FigureUnit(
    "share of the scale's width", "shares of the scale's width", " of the scale's width"
)


def unit_of(rubric: Rubric, name: str = COMPOSITE) -> FigureUnit:
    """The unit of composites, or of the means of this name.

    Args:
        rubric: as the ratings come.
        name: the composite, a dimension, or the share of a category.
    """
    if are_preferences(rubric):
        return SHARES_OF_RESPONSES
    if name == COMPOSITE and rubric.rescaled:
        return SHARES_OF_WIDTH
    return POINTS if in_points(rubric, name) else SHARES_OF_JUDGES


def unit_of_ratings(rubric: Rubric) -> FigureUnit:
    """The unit of ratings on a dimension with numbers."""
    return SHARES_OF_RESPONSES if are_preferences(rubric) else POINTS
