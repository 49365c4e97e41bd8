"""Figures and sentences of a comparison as they are shown, in a terminal and on a page."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.analyses.comparison.result import (
    ChangedResponse,
    ComparedRuns,
    RunComparison,
    StratumApart,
)
from persona_panel.results.conclusions.wording import SAMPLES, counted
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.paired.panels import PairedFigure

_IDS_SHOWN = 2


def what_differs(one: ComparedRuns) -> str:
    """Which of the two kinds of comparison it is."""
    if one.compared == "panels":
        return "Same texts, other panel" if one.panel else "Same texts, same panel"
    return "Other texts and other panel" if one.panel else "Other texts, same panel"


def matching(one: ComparedRuns) -> list[str]:
    """What was compared, and what does not match, a sentence each."""
    whole = one.differences[0]
    judges = " and ".join(dict.fromkeys(counted(n, "judge") for n in one.n_judges))
    said = [
        f"{counted(whole.n_prompts, 'prompt')}, {counted(whole.n_pairs, 'pair')} of responses, "
        f"{judges}."
    ]
    if one.panel:
        said.append(f"The panels differ in: {'; '.join(one.panel)}.")
    return [*said, *one.notes]


def differences_title(a: str, b: str) -> str:
    """What the table of differences is called."""
    return f"Differences b − a (a: {a}; b: {b})"


def label(response: ChangedResponse) -> str:
    """A response by its prompt, system and ids, those of both runs where they differ."""
    sides = dict.fromkeys(map(_ids, (response.a_ids, response.b_ids)))
    return f"{response.prompt_id}, {response.system}, {' → '.join(sides)}"


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_IDS_SHOWN]) + (", …" if len(ids) > _IDS_SHOWN else "")


def changed_title(one: ComparedRuns) -> str:
    """What the responses that changed most are called."""
    if one.compared == "texts":
        return "Responses that changed most"
    return "Responses that the panels rate most differently"


def people_title(one: ComparedRuns) -> str:
    """What the table of nearness to people is called."""
    within = any(found.within for _, found in one.people)
    where = "within prompts" if within else "over all responses"
    return f"Which panel is nearer to people (τ_b {where})"


def places_title(found: RunComparison) -> str:
    """What the table of the alternative annotator test is called."""
    allowance = "" if found.epsilon is None else f", epsilon {found.epsilon:g}"
    return f"Which panel takes a person's place better (alternative annotator test{allowance})"


def strata_title(by: str | None) -> str:
    """What the table of differences within strata is called."""
    return "Differences by dimension" if by == "dimension" else f"Composite by {by}"


def apart_title(by: str | None) -> str:
    """What the table is called that compares strata with each other."""
    return f"Does b − a depend on {by}?"


def apart_rows(one: ComparedRuns) -> list[tuple[str, StratumApart]]:
    """The lines of that table with what they are called: of two strata, there is one."""
    if len(one.apart) == 1 and len(one.strata) == 2:
        first, second = (row.stratum for row in one.strata)
        return [(f"{first} − {second}", one.apart[0])]
    return [(row.stratum, row) for row in one.apart]


APART_REMARK = (
    "b − a in a stratum less its mean in the others; of two, that in the first less that in the "
    "second. Over prompts, with these judges as they are. p is adjusted by Holm's method over all "
    "lines."
)
PEOPLE_REMARK = (
    "τ_b with the mean human rating: higher is nearer. Distance of a panel's score from it, on the "
    "panel's scale, if people rated on that: lower is nearer. So b − a above 0 says of τ_b that b "
    "is nearer, of the distance that b is farther. Differences are paired by prompt; p is adjusted "
    "by Holm's method over them, those of ρ, all dimensions and runs; composites are a family of "
    "their own, as above."
)
PLACES_REMARK = (
    "Advantage ρ: how often a panel is at least as near to the other people as a person is, on "
    "average over people who share 30 items; higher is better, with these people as they are. "
    "Winning rate ω (with --epsilon): the share of people over whom it wins; a count of tests, "
    "which has no interval. Differences and p as for nearness."
)


def figure_reasons(figures: dict[str, list[PairedFigure]]) -> list[str]:
    """Why values or intervals are not there, a sentence for each reason."""
    said: dict[tuple[str, Reason], list[str]] = {}
    for name, those in figures.items():
        for one in those:
            what, reason = "Undefined", one.reason
            if reason is None:
                what, reason = "No interval", one.ci_reason
            if reason is not None and name not in said.setdefault((what, reason), []):
                said[what, reason].append(name)
    return [f"{what}: {'; '.join(names)} ({reason})." for (what, reason), names in said.items()]


def alike_reasons(one: ComparedRuns) -> list[str]:
    """What of the agreement of two panels is not there."""
    return figure_reasons(
        {
            "τ_b within prompts": [alike.tau_within for alike in one.alike],
            "τ_b": [alike.tau for alike in one.alike],
            "α": [alike.alpha for alike in one.alike],
        }
    )


def people_reasons(one: ComparedRuns) -> list[str]:
    """What of the nearness to people is not there."""
    return figure_reasons(
        {
            "τ_b": [found.tau for _, found in one.people],
            "distance": [found.distance for _, found in one.people],
        }
    )


def places_reasons(one: ComparedRuns) -> list[str]:
    """What of the alternative annotator test is not there."""
    return figure_reasons(
        {"ρ": [found.advantages.difference for _, found in one.people if found.advantages]}
    )


def how_to_read(found: RunComparison) -> list[str]:
    """What the columns are, and what intervals and tests rest on."""
    said = [
        f"a: {found.runs[0]}; b: the run compared with it. Intervals and tests are "
        f"{SAMPLES[found.random]}; a prompt counts once. p: Student's t, adjusted by Holm's "
        "method over all dimensions and runs; composites are a family of their own, and each "
        "family has half of the level, and all of it once the other is shown (by system: over all "
        "systems and runs). Intervals are each at 95 %, not widened for their number. Effect size: "
        "the mean of the prompts' differences, divided by their standard deviation. The largest "
        "changes are partly chance: in other runs they would be smaller."
    ]
    if any(one.compared == "panels" for one in found.compared):
        said.append(
            "τ_b: 1, the same order of responses; 0, none in common. α: Krippendorff's, at the "
            "interval level: 1, the same scores. Best: in how many prompts both rate the same one "
            "highest, share some of several that tie, or rate another one highest. In brackets: "
            "95 % intervals over prompts."
        )
    return said
