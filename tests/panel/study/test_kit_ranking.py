"""What ranks mean: the words follow the rubric."""

from __future__ import annotations

import pytest

from persona_panel import Response
from persona_panel.files.errors import ConfigurationError
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.rubrics import Rubric
from persona_panel.study.design import StudySettings
from persona_panel.study.exports import label_studio_config, packet_page, potato_projects
from persona_panel.study.kit import Study, make_study


def made(rubric: Rubric) -> Study:
    responses = [
        Response(id=str(n), prompt_id="p", prompt="P?", text=f"T{n}", system=str(n))
        for n in range(2)
    ]
    return make_study(responses, rubric, StudySettings(1, 2))


@pytest.mark.parametrize(
    ("name", "first", "last", "by"),
    [
        # One dimension, whose high end is bad.
        ("offensiveness", "nearest to “very offensive”", "nearest to “not offensive at all”",
         ["Offensiveness"]),
        # Five with the same ends.
        ("scrub", "nearest to “excellent”", "nearest to “very poor”",
         ["Conceptual clarity", "Evidential grounding"]),
        # A composite of one among fifteen.
        ("argument-quality", "nearest to “high”", "nearest to “low”", ["Overall quality"]),
        # Two whose ends differ, of which neither is good or bad.
        ("media-bias", "highest", "lowest", ["Biased", "Opinion"]),
        # A product of two, whose ends differ.
        ("conceptual-critique", "highest", "lowest", ["Centrality", "Strength"]),
        # The share of a category.
        ("critical-question", "most clearly “useful”", "least clearly “useful”", ["Usefulness"]),
    ],
)  # fmt: skip
def test_ranks_follow_the_composite_of_the_rubric(
    name: str, first: str, last: str, by: list[str]
) -> None:
    """The first rank is that of the highest composite in the words of its scales, in every format;
    no text is asked to be the best."""
    packet = made(resolve_rubric(name)).packets[0]
    assert packet.ranking is not None
    assert (packet.ranking.first, packet.ranking.last) == (first, last)
    assert list(packet.ranking.by[:2]) == by
    exports = [label_studio_config(packet, "rank"), *(str(one) for one in potato_projects(packet))]
    assert first in exports[0]
    assert f"1: the text that is {first}" in exports[1]
    for text in (packet_page(packet), *exports):
        assert "best" not in text


def test_categories_without_a_composite_give_no_order() -> None:
    """Nothing says by what texts are ranked, so that ranking them is refused, and rating is not."""
    rubric = resolve_rubric("prompt-quality")
    with pytest.raises(ConfigurationError, match="--tasks rate"):
        made(rubric)
    settings = StudySettings(1, 1, tasks=("rate",))
    response = Response(id="a", prompt_id="p", prompt="P?", text="T", system="s")
    assert make_study([response], rubric, settings).packets[0].ranking is None
