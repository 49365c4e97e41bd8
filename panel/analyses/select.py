"""The items that were drawn for people to rate, and whether they are enough for a correction."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.results.conclusions.ratings_to_collect import too_few_to_come
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, for_programs, row_of
from persona_panel.statistics.calibration import LEAST_PROMPTS
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
    if fewest < LEAST_PROMPTS:
        more = "choose a larger --n" if len(drawn) < n_scored else "score more prompts"
        sentences.append(
            f"A correction takes {LEAST_PROMPTS} prompts of each system rated by people; here it "
            f"is {fewest} of some: {more}."
        )
    n_prompts = len({item.prompt or item.item for item in drawn})
    return sentences + too_few_to_come(n_prompts=n_prompts, texts_per_rater=len(drawn))
