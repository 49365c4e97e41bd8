"""Requirements of later commands on people's ratings that are still to be collected, where they
would have too few."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.statistics.alignment import LEAST_PROMPTS as LEAST_TO_ALIGN
from persona_panel.statistics.annotators import LEAST_ITEMS
from persona_panel.statistics.calibration import LEAST_PROMPTS as LEAST_TO_CORRECT


def too_few_to_come(
    *, n_prompts: int, texts_per_rater: int, raters_per_text: int | None = None
) -> list[str]:
    """Return which commands will refuse such ratings, and what they take; nothing where they are
    enough.

    Args:
        n_prompts: how many prompts have texts that are rated.
        texts_per_rater: how many texts the person with the most will have rated.
        raters_per_text: how many people rate a text, at most; None where it is not known.
    """
    sentences = []
    if raters_per_text == 1:
        sentences.append(
            "Each text has one rater: how far people agree will not be known, so that `people "
            "align` and `people correlate --epsilon` will refuse; they take two people a text."
        )
    elif texts_per_rater < LEAST_ITEMS:
        sentences.append(
            f"`people correlate --epsilon` will refuse: it takes {LEAST_ITEMS} texts a person that "
            f"another person rates, too; here a person rates at most {texts_per_rater:,}."
        )
    if n_prompts < LEAST_TO_ALIGN:
        sentences.append(
            f"`people align` will refuse: it takes {LEAST_TO_ALIGN} prompts rated by people; "
            f"here it is {n_prompts:,}."
        )
    return sentences


def prompts_for_people(n_prompts: int) -> list[str]:
    """Return what a design of so many prompts is too small for, were people to rate them; nothing
    where it is large enough.

    >>> prompts_for_people(10)
    []
    """
    if n_prompts >= max(LEAST_TO_CORRECT, LEAST_TO_ALIGN):
        return []
    return [
        f"To correct scores by people's ratings it takes {LEAST_TO_CORRECT} prompts of each system "
        f"that people rated (`people calibrate`), to learn from them {LEAST_TO_ALIGN} (`people "
        f"align`); here it is {n_prompts:,}."
    ]


def ranks_alone(tasks: Sequence[str]) -> list[str]:
    """Return which analyses a study that asks for ranks alone does not serve."""
    if "rate" in tasks:
        return []
    return [
        "Ranks can be correlated; `people calibrate`, `people align` and `people correlate "
        "--epsilon` take scores, for which --tasks needs rate."
    ]
