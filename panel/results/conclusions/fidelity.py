"""What contrasts of groups show: whether personas differ as the people they stand for do."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from persona_panel.results.conclusions.wording import counted, in_brackets, interval, listed
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.names import ALL
from persona_panel.statistics.fidelity.contrast import FidelityContrast
from persona_panel.statistics.fidelity.split_half import RELIABLE
from persona_panel.statistics.fidelity.verdict import FidelityVerdict

_SAID: dict[FidelityVerdict, str] = {
    "caricature": "The personas are a caricature on {of}: they differ by more than twice what "
    "people do",
    "exaggerated": "The personas exaggerate {of}: they differ by more than people do",
    "reversed": "The personas reverse {of}: they differ in the opposite direction to people",
    "flattened": "The personas flatten {of}: they differ by less than half of what people do",
    "as people": "The personas differ as people do on {of}: by half to twice as much",
}
_NAMED = 3


def fidelity_conclusion(rows: Sequence[FidelityContrast]) -> list[str]:
    """What may be concluded from contrasts, the verdicts first, then null controls, then whether
    differences on single items mean something.

    Verdicts rest on intervals that are widened for all contrasts (Bonferroni); see
    `persona_panel.statistics.fidelity.verdict`.
    """
    several = len({row.dimension for row in rows}) > 1
    tested = [row for row in rows if not row.control]
    said = []
    for verdict, words in _SAID.items():
        found = [row for row in tested if row.verdict == verdict]
        if found:
            names = listed([contrast_label(row, several) for row in found], "contrasts")
            said.append(f"{words.format(of=names)}{_figures(found)}.")
    unclear: dict[str, list[FidelityContrast]] = {}
    for row in tested:
        if row.verdict == "not measurable":
            unclear.setdefault(str(row.reason).partition(":")[0], []).append(row)
    for reason, found in unclear.items():
        names = listed([contrast_label(row, several) for row in found], "contrasts")
        said.append(
            f"Whether the personas differ as people do cannot be said on {names}: {reason}."
        )
    return [*said, *_controls([row for row in rows if row.control], several), *_by_item(rows)]


def contrast_label(row: FidelityContrast, several: bool) -> str:
    """A contrast with its stratum, and with its dimension where there are several."""
    of = [part for part in (row.stratum, row.dimension if several else ALL) if part != ALL]
    return f"{row.contrast}{in_brackets(*of)}"


def _figures(found: Sequence[FidelityContrast]) -> str:
    """The ratios of few contrasts, in brackets."""
    if len(found) > _NAMED:
        return ""
    told = [
        f"ratio {number(row.ratio)}, {interval(row.ratio_ci_low, row.ratio_ci_high)}"
        for row in found
    ]
    return f" ({'; '.join(told)})"


def _controls(controls: Sequence[FidelityContrast], several: bool) -> list[str]:
    said = []
    if differ := [row for row in controls if row.human_ci_low > 0 or row.human_ci_high < 0]:
        names = listed([contrast_label(row, several) for row in differ], "null controls")
        said.append(
            f"People differ on {names} (null control), where no difference was expected; by chance "
            "the interval of 1 control in 20 leaves out 0."
        )
    if exceeding := [row for row in controls if row.exceeds]:
        names = listed([contrast_label(row, several) for row in exceeding], "null controls")
        said.append(f"On {names} the personas differ otherwise than people: a null control.")
    calm = [
        row
        for row in controls
        if row not in differ and row not in exceeding and row.panel_ci_low <= 0
    ]
    calm = [row for row in calm if row.panel_ci_high >= 0]
    if calm:
        names = listed([contrast_label(row, several) for row in calm], "null controls")
        said.append(f"Neither people nor personas are shown to differ on {names} (null control).")
    return said


def _by_item(rows: Sequence[FidelityContrast]) -> list[str]:
    found = [row.split_half for row in rows if not isnan(row.split_half)]
    if not found:
        return []
    low, high = min(found), max(found)
    measured = number(low) if len(found) == 1 else f"{number(low)} to {number(high)}"
    of = f"split-half correlation {measured} on {counted(len(found), 'contrast')}"
    if low >= RELIABLE:
        return [f"People's difference is reliable item by item, too: {of}."]
    if high < RELIABLE:
        return [
            f"Item by item, people's difference is noise, or mostly so ({of}): use means over many "
            "items only."
        ]
    return [f"Item by item, people's difference is mostly noise on some contrasts ({of})."]
