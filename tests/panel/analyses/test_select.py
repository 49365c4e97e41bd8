"""What is said of later commands before people have rated anything."""

from __future__ import annotations

import pytest

from persona_panel.analyses.select import ranks_alone, too_few_to_come


@pytest.mark.parametrize(
    ("n_prompts", "texts", "raters", "named"),
    [
        (10, 30, 2, []),
        (10, 30, None, []),
        (10, 29, 2, ["people correlate --epsilon"]),
        (9, 30, 2, ["people align"]),
        (9, 12, None, ["people correlate --epsilon", "people align"]),
        (10, 30, 1, ["people align", "people correlate --epsilon"]),
    ],
)
def test_analyses_that_will_come_to_nothing_are_named(
    n_prompts: int, texts: int, raters: int | None, named: list[str]
) -> None:
    """With fewer than 30 texts a person, ten prompts, or two people a text."""
    said = " ".join(
        too_few_to_come(n_prompts=n_prompts, texts_per_rater=texts, raters_per_text=raters)
    )
    assert [name for name in said.split("`")[1::2] if name in said] == named
    assert ("at most 29" in said, "here it is 9" in said) == (texts == 29, n_prompts == 9)


def test_ranks_alone_are_not_enough() -> None:
    """Where raters are asked for ranks and no scores, that is said."""
    assert "--tasks needs rate" in " ".join(ranks_alone(["rank"]))
    assert ranks_alone(["rank", "rate"]) == []
