"""Texts that models were asked to write, in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from persona_panel.experiments.generation.report import GeneratedTexts, TargetTexts
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.console import TableRow, show_table
from persona_panel.statistics.core.display import NONE


def show_generated_texts(texts: GeneratedTexts, console: Console) -> None:
    """That there is no text, where there is none; a line for each target, then what the columns
    mean where something is in them."""
    plan, found = texts.plan, texts.by_target()
    if not texts.has_rows:
        whys = [why for _, why in texts.missing] or ["no answer has a question"]
        console.print(Text(f"No response came: {min(whys, key=_is_of_another)}."))
        console.print()
    columns = ["responses", "words: median\n(range)", "cut off", "refused", "missing"]
    capped = plan.max_words is not None
    if capped:
        columns.insert(2, "trimmed")
    show_table(
        console,
        "Generated responses",
        ["target"],
        columns,
        [TableRow(one.target, _cells(one, capped=capped)) for one in found],
    )
    for sentence in _remarks(texts, found):
        console.print(Text(sentence))


def _is_of_another(why: str) -> bool:
    """Whether a text is skipped, which it is for what went wrong with another."""
    return why.startswith("skipped")


def _cells(one: TargetTexts, *, capped: bool) -> list[Text]:
    length = NONE
    if one.words is not None:
        fewest, middle, most = one.words
        length = f"{middle:,.0f} ({fewest:,}-{most:,})"
    cells = [f"{one.rows:,}", length]
    cells += [f"{sum(one.trimmed.values()):,}"] if capped else []
    cells += [f"{one.cut_off:,}", f"{one.refused:,}", f"{sum(one.missing.values()):,}"]
    return [Text(cell) for cell in cells]


def _remarks(texts: GeneratedTexts, found: list[TargetTexts]) -> list[str]:
    said = []
    if n := sum(one.cut_off for one in found):
        said.append(
            f"{counted(n, 'response')} ended at the token limit (field cut_off): the end is "
            "missing. A larger --words raises the limit."
        )
    if n := sum(sum(one.trimmed.values()) for one in found):
        said.append(
            f"{counted(n, 'response')} of more than {texts.plan.max_words:,} words "
            f"{'was' if n == 1 else 'were'} cut at the end of a sentence (field trimmed)."
        )
    if n := sum(one.trimmed.get("word", 0) for one in found):
        said.append(
            f"{n:,} of these {'has' if n == 1 else 'have'} no sentence that ends so early, and "
            f"{'was' if n == 1 else 'were'} cut after a word."
        )
    if n := sum(one.refused for one in found):
        said.append(
            f"{counted(n, 'answer')} {'reads' if n == 1 else 'read'} as a refusal (field refused)."
        )
    return said
