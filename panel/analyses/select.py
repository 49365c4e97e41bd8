"""The items that were drawn for people to rate, and the commands for which their ratings, or those
of a study, will be too few."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.results.conclusions.wording import counted
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, for_programs, row_of
from persona_panel.statistics.alignment import LEAST_PROMPTS as LEAST_TO_ALIGN
from persona_panel.statistics.core.estimate import ALT_TEST_ITEMS, RATED_PROMPTS
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.selection import SelectedItem, scored_items


def select_result(
    result: Sequence[SelectedItem], panel: Ratings, n: int, *, source: str = ""
) -> Result:
    """Return the items that were drawn, with their probabilities.

    Args:
        n: how many were asked for.
        source: what the panel's ratings are called.
    """
    key, columns = (
        Key("item", "item"),
        (
            Column("prompt", "text", "prompt"),
            Column("inclusion_probability", "number", "probability"),
            Column("spread", "number", "spread"),
        ),
    )
    items = Table(
        "items",
        (key,),
        (Column("source", "text", "system"), *columns),
        [row_of(each, (key, *columns), source=each.system) for each in result],
        "Items for people to rate",
        when="full",
    )
    drawn = Table(
        "selection",
        (),
        (
            *(Column(name, "whole", figure=name) for name in ("items", "prompts", "systems")),
            *for_programs("whole", "of", "scored"),
        ),
        [
            {
                "items": len(result),
                "prompts": len({each.prompt or each.item for each in result}),
                "systems": len({each.system for each in result}),
                "of": len(panel.items),
                "scored": int(scored_items(panel).sum()),
            }
        ],
    )
    return Result(
        "select",
        select_conclusion(result, panel, n),
        (items, drawn),
        (),
        [
            "probability: with which an item was drawn. spread: the standard deviation of the "
            "judges' scores."
        ],
        source=source,
        coverage=panel.coverage,
    )


def select_conclusion(drawn: Sequence[SelectedItem], panel: Ratings, n: int) -> list[str]:
    """Say how many items of how many systems and prompts were drawn, their probabilities, and where
    they are too few for `people calibrate`, the annotator test and `people align`."""
    systems = {item.system for item in drawn}
    prompts = {item.prompt for item in drawn}
    of = f" of {counted(len(systems), 'system')}" if panel.sources is not None else ""
    of += f" in {counted(len(prompts), 'prompt')}" if panel.prompts is not None else ""
    chances = [item.inclusion_probability for item in drawn]
    low, high = f"{min(chances):.2g}", f"{max(chances):.2g}"
    how = "each with probability" if low == high else f"with probabilities from {low} to"
    n_items, n_scored = len(panel.items), int(scored_items(panel).sum())
    source = f"{n_items:,}"
    if n_scored < n_items:
        source = f"the {n_scored:,} of {n_items:,} that the panel scored"
    sentences = [f"{counted(len(drawn), 'item')}{of}, drawn from {source}, {how} {high}."]
    if len(drawn) < n:
        sentences.append(f"There are no more than these: {n:,} were asked for.")
    by_system = {
        name: len({item.prompt or item.item for item in drawn if item.system == name})
        for name in set(panel.sources or [None])
    }
    fewest = min(by_system.values())
    if fewest < RATED_PROMPTS:
        more = "choose a larger --n" if len(drawn) < n_scored else "score more prompts"
        sentences.append(
            f"A correction takes {RATED_PROMPTS} prompts of each system rated by people; here "
            f"it is {fewest} of some: {more}."
        )
    n_prompts = len({item.prompt or item.item for item in drawn})
    return sentences + too_few_to_come(n_prompts=n_prompts, texts_per_rater=len(drawn))


def too_few_to_come(
    *, n_prompts: int, texts_per_rater: int, raters_per_text: int | None = None
) -> list[str]:
    """Return which analyses of such ratings will come to nothing, and what they take; nothing where
    the ratings are enough.

    Args:
        n_prompts: how many prompts have texts that are rated.
        texts_per_rater: how many texts the person with the most will have rated.
        raters_per_text: how many people rate a text, at most; None where it is not known.
    """
    sentences = []
    if raters_per_text == 1:
        sentences.append(
            "Each text has one rater: how far people agree will not be known, `people align` will "
            "learn nothing, and the alternative annotator test of `people correlate --epsilon` "
            "will be undefined; they take two people a text."
        )
    elif texts_per_rater < ALT_TEST_ITEMS:
        sentences.append(
            "The alternative annotator test of `people correlate --epsilon` will be undefined: it "
            f"takes {ALT_TEST_ITEMS} texts a person that another person rates, too; here a person "
            f"rates at most {texts_per_rater:,}."
        )
    if n_prompts < LEAST_TO_ALIGN:
        sentences.append(
            f"`people align` will learn nothing: it takes {LEAST_TO_ALIGN} prompts rated by "
            f"people; here it is {n_prompts:,}."
        )
    return sentences


def prompts_for_people(n_prompts: int) -> list[str]:
    """Return what a design of so many prompts is too small for, were people to rate them; nothing
    where it is large enough.

    >>> prompts_for_people(10)
    []
    """
    if n_prompts >= max(RATED_PROMPTS, LEAST_TO_ALIGN):
        return []
    return [
        f"To correct scores by people's ratings it takes {RATED_PROMPTS} prompts of each system "
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
