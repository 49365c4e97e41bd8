"""What a rubric's composite is, in a sentence for those who read its figures."""

from __future__ import annotations

from persona_panel.graphs.aggregate import composite_rule
from persona_panel.results.conclusions.wording import all_dimensions, listed
from persona_panel.rubrics import CategoryScale, Rubric
from persona_panel.runs.scale_limits import composite_limits
from persona_panel.statistics.core.display import general


def composite_told(rubric: Rubric) -> str:
    """From which dimensions the composite is formed, how, and between which values it lies.

    Args:
        rubric: of the ratings; of judges that compare, the one with the dimension `preferred`.

    Returns:
        A sentence; an empty text where the rubric has no composite.
    """
    rule = composite_rule(rubric)
    if rule is None:
        return ""
    labels = {one.id: one.label for one in rubric.dimensions}
    if rule.share_of is not None:
        on = labels[rule.share_of.dimension]
        what = f"the share of judgments with {rule.share_of.value} on {on}"
    elif rule.product_of is not None:
        names = [labels[name] for name in rule.product_of]
        what = f"the mean over judges of the product of {listed(names, 'dimensions')}"
    else:
        names = [labels[name] for name in rule.mean_of or ()]
        of = listed(names, "dimensions")
        if len(names) == len(rubric.numeric) > 1:
            of = all_dimensions(len(names))
        what = f"the mean of {of}" if len(names) > 1 else of
        if rubric.rescaled:
            what += ", which are on different scales: each as a share of the width of its own"
    told = f"Composite: {what}, {_scale(rubric)}"
    if rule.reliable_where is not None:
        least = general(rule.reliable_where.at_least)
        told += f", without judgments below {least} on {labels[rule.reliable_where.dimension]}"
    return f"{told}."


def _scale(rubric: Rubric) -> str:
    """From where to where the composite goes, with what the ends mean where that is one thing."""
    low, high = (general(end) for end in composite_limits(rubric))
    rule = composite_rule(rubric)
    ends = {
        (one.scale.low, one.scale.high)
        for one in rubric.dimensions
        if rule is not None
        and one.id in (rule.mean_of or ())
        and not isinstance(one.scale, CategoryScale)
    }
    if len(ends) == 1 and not rubric.rescaled:
        [(least, most)] = ends
        return f"from {low} ({least}) to {high} ({most})"
    return f"from {low} to {high}"
