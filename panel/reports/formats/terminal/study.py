"""A study with human raters in the terminal: its design, who has answered, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from persona_panel.results.conclusions.ratings_to_collect import ranks_alone, too_few_to_come
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.console import TableRow, show_table
from persona_panel.statistics.core.display import NONE, number, percent
from persona_panel.study.collection import CollectedStudy, RaterProgress
from persona_panel.study.reliability import CalibrationAgreement, RepeatReliability


def show_study_design(figures: dict[str, Any], console: Console) -> None:
    """What a design gives, a sentence each."""
    console.print(
        f"{counted(figures['raters'], 'rater')}, {counted(figures['texts'], 'text')} to "
        f"{counted(figures['prompts'], 'prompt')}; tasks: {', '.join(figures['tasks'])}."
    )
    lines = [
        ("Sets per rater", _span(figures["sets_per_rater"])),
        ("Texts per set", _span(figures["texts_per_set"])),
        ("Texts per rater, all included", _span(figures["texts_per_rater"])),
        ("Raters per text", _span(figures["ratings_per_text"])),
    ]
    if figures["pairs"]:
        compared = f"{figures['pairs_compared']} of {figures['pairs']}"
        lines += [
            ("Pairs of texts to a prompt that a rater sees together", compared),
            ("Raters per pair", _span(figures["raters_per_pair"])),
        ]
    lines.append(("Estimated minutes per rater", _span(figures["minutes_per_rater"])))
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        console.print(f"  {name:<{width}}  {value}")
    if figures["rotated_texts_per_rater"][0] < figures["per_rater"]:
        console.print(
            f"Some raters see {figures['rotated_texts_per_rater'][0]:,} texts besides those for "
            f"calibration, not {figures['per_rater']:,}: no prompt comes to a rater twice, and "
            "a set to be ranked has two texts or more."
        )
    if "rank" in figures["tasks"] and figures["incomplete_sets"]:
        console.print(
            f"{counted(figures['incomplete_sets'], 'set')} of raters lack texts of their prompt: "
            "a rank in them is a rank among fewer texts, so that mean ranks are not comparable "
            "between texts; scores are, and so are comparisons within sets. A --per-rater that is "
            "a multiple of the texts to a prompt avoids it."
        )
    tasks = figures["tasks"]
    for sentence in ranks_alone(tasks) or too_few_to_come(
        n_prompts=figures["prompts"],
        texts_per_rater=figures["rated_texts_per_rater"][1],
        raters_per_text=figures["ratings_per_text"][1],
    ):
        console.print(sentence)


def show_study_progress(found: CollectedStudy, console: Console) -> None:
    """A sentence, then a line for each rater."""
    answered = [one for one in found.progress if one.file is not None]
    missing = sum(one.missing for one in answered)
    gaps = f"{missing:,} of their {sum(one.expected for one in answered):,} answers are missing"
    console.print(
        f"{len(answered)} of {counted(len(found.progress), 'rater')} answered"
        + (f"; {gaps}." if missing else ", all that was asked." if answered else ".")
    )
    console.print()
    show_table(
        console,
        "Raters",
        ["rater"],
        ["answers", "missing", "not\nassessable", "reasons", "minutes", "attention\nfailed"],
        [TableRow(one.rater, _cells(one)) for one in found.progress],
    )


def _cells(one: RaterProgress) -> list[Text]:
    if one.file is None:
        return [Text("none"), Text(f"{one.missing:,}"), *(Text(NONE) for _ in range(4))]
    return [
        Text(f"{one.given:,} of {one.expected:,}"),
        Text(f"{one.missing:,}"),
        Text(f"{one.not_assessable:,}"),
        Text(f"{one.reasons:,} of {one.reasons_expected:,}"),
        Text(f"{one.minutes:.1f}"),
        Text(f"{one.attention_failed} of {one.attention}" if one.attention else NONE),
    ]


def show_collected_study(
    found: CollectedStudy,
    repeats: tuple[Sequence[RepeatReliability], Sequence[RepeatReliability]],
    calibration: Sequence[CalibrationAgreement],
    console: Console,
) -> None:
    """Who answered; how far raters agree with themselves; how far on calibration texts."""
    show_study_progress(found, console)
    of_questions, of_raters = repeats
    if of_questions:
        show_table(
            console,
            "Agreement of raters with themselves, on sets shown twice",
            ["of"],
            ["pairs", "equal", "within one", "τ_b"],
            [TableRow(one.of, _repeat_cells(one)) for one in (*of_questions, *of_raters)],
        )
    if calibration:
        show_table(
            console,
            "Agreement of raters on calibration texts",
            ["of"],
            ["texts", "raters", "Krippendorff's α"],
            [
                TableRow(
                    one.of,
                    [Text(str(one.n_texts)), Text(str(one.n_raters)), _statistic(one.alpha)],
                )
                for one in calibration
            ],
        )


def _repeat_cells(one: RepeatReliability) -> list[Text]:
    return [
        Text(f"{one.n:,}"),
        *(Text(NONE if share is None else percent(share)) for share in (one.exact, one.within_one)),
        Text(NONE) if one.correlation is None else _statistic(one.correlation),
    ]


def _statistic(found: Any) -> Text:
    return Text(str(found.reason) if found.reason else number(found.value))


def _span(ends: Sequence[int]) -> str:
    low, high = ends
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
