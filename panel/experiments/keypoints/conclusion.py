"""What the key points of a run's rationales come to, in sentences."""

from __future__ import annotations

from persona_panel.experiments.keypoints.report import OTHER, KeyPointReport
from persona_panel.results.conclusions.wording import counted, in_brackets, interval, p_adjusted
from persona_panel.statistics.core.display import number
from persona_panel.statistics.sources import GroupShare

_NAMED = 3


def key_points_conclusion(report: KeyPointReport) -> list[str]:
    """What judges say most often, on which points systems are shown to differ, what is missing."""
    read = f"{counted(report.read, 'rationale')} read"
    own = [one for one in report.key_points if one.text not in OTHER.values()]
    if not own:
        return [f"No key points were found ({read}).", *_left_out(report)]
    said = []
    for stance, word in (("pro", "for"), ("con", "against")):
        those = [one for one in own if one.stance == stance]
        if those:
            first = those[0]
            said.append(
                f"What judges most often say {word} a text: {first.text.rstrip('.')} "
                f"({first.share.n:,} of {first.share.of:,} rationales, a share of "
                f"{number(first.share.share)}{_ends(first.share)})."
            )
    return [*said, *_differences(report), *_left_out(report)]


def _ends(share: GroupShare) -> str:
    told = interval(share.ci_low, share.ci_high)
    return f", {told}" if told else ""


def _differences(report: KeyPointReport) -> list[str]:
    tested = [one for one in report.differences if one.reason is None]
    if not report.differences:
        return []
    if not tested:
        reasons = dict.fromkeys(str(one.reason) for one in report.differences)
        return [f"Whether systems differ cannot be said: {'; '.join(reasons)}."]
    shown = sorted((one for one in tested if one.shown), key=lambda one: -abs(one.difference))
    if not shown:
        n_tested = counted(len(tested), "difference")
        return [
            f"No two systems are shown to differ on a key point ({n_tested} tested, corrected)."
        ]
    sentences = [
        f"{len(shown):,} of {counted(len(tested), 'difference')} between systems "
        f"{'is' if len(shown) == 1 else 'are'} established (adjusted p < 0.05)."
    ]
    for one in shown[:_NAMED]:
        more, less = (one.a, one.b) if one.difference > 0 else (one.b, one.a)
        far = f"{number(100 * abs(one.difference), 0)} percentage points more of the rationales"
        sentences.append(
            f"Of {more} judges say more often than of {less}: "
            f"{report.key_points[one.feature].text.rstrip('.')}"
            f"{in_brackets(far, p_adjusted(one.p_adjusted))}."
        )
    return sentences


def _left_out(report: KeyPointReport) -> list[str]:
    said = []
    if report.unquoted:
        n = report.points + report.unquoted
        said.append(
            f"{report.unquoted:,} of {counted(n, 'point')} were dropped, because the rationale "
            "does not contain their quotation."
        )
    if missing := report.rationales - report.read:
        said.append(
            f"{missing:,} of {counted(report.rationales, 'rationale')} could not be read: "
            + "; ".join(f"{error} ({n:,})" for error, n in report.missing.items())
            + "."
        )
    if report.unmerged:
        said.append(
            f"{counted(report.unmerged, 'call')} to sum up or assign points had no usable answer: "
            "their points are under the commonest wordings, or under no key point."
        )
    return said
