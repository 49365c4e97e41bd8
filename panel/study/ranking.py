"""What the first and the last rank mean, as a rubric has it.

A rubric says in its composite which of its dimensions make the one number that texts are ranked by,
and in its scales what their ends mean. So the first rank is that of the highest composite, and
people's ranks compare with a panel's scores: where the highest is very offensive, the first text is
the most offensive one, and no text is called the best.
"""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.files.errors import ConfigurationError
from persona_panel.rubrics import Dimension, Rubric
from persona_panel.study.packet import RankingWords


def ranking_words(rubric: Rubric) -> RankingWords:
    """What raters are told to rank texts by.

    Raises:
        ConfigurationError: the rubric has categories alone, and no composite.
    """
    composite = rubric.composite
    if composite is not None and composite.share_of is not None:
        label = _of(rubric, [composite.share_of.dimension])[0].label
        most = f"most clearly “{composite.share_of.value}”"
        return RankingWords(
            first=most, last=f"least clearly “{composite.share_of.value}”", by=(label,)
        )
    named = () if composite is None else composite.mean_of or composite.product_of or ()
    weighed = _of(rubric, named) if named else rubric.numeric
    if not weighed:
        raise ConfigurationError(
            f"the rubric {rubric.id!r} has categories alone and no composite, which says by what "
            "texts are ranked; add a composite, or leave the ranking out (--tasks rate)"
        )
    labels = tuple(one.label for one in weighed)
    scales = rubric.numeric_scales
    ends = {(scales[one.id].low, scales[one.id].high) for one in weighed}
    if len(ends) > 1:
        return RankingWords(first="highest", last="lowest", by=labels)
    [(low, high)] = ends
    return RankingWords(first=f"nearest to “{high}”", last=f"nearest to “{low}”", by=labels)


def _of(rubric: Rubric, names: Sequence[str]) -> list[Dimension]:
    return [one for one in rubric.dimensions if one.id in names]
