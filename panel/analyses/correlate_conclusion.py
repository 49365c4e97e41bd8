"""Sentences on a comparison with human ratings: where a panel correlates with people, and where
that is not shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import atanh, inf, isnan

from persona_panel.analyses.annotator_test import annotator_test_conclusion
from persona_panel.results.conclusions.rows import (
    adjusted_ends,
    by_dimension,
    called_judges,
    clusters_of,
    figure,
    labelled_rows,
    on_dimensions,
    range_over,
    reasons_of,
    sign_of,
    spread_of,
    strata_differ,
)
from persona_panel.results.conclusions.wording import (
    ONE_PERSON,
    all_dimensions,
    first_upper,
    listed,
    would_show,
)
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.display import COMPOSITE, number
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.means import assured, widened
from persona_panel.statistics.core.table import HUMANS, NO_PERSONA_GROUP, Ratings, Row
from persona_panel.statistics.strata import broken_down_by

_SHOWN = 3
_MAIN, _LABELS = "pearson", "label_kappa"
_WITHIN = f"{_MAIN}_within_prompts"
_DIFFERENCE = "human_difference_tau_b"
_DIFFERENCE_WITHIN = f"{_DIFFERENCE}_within_prompts"
_CALLED = {_MAIN: "r", _WITHIN: "r", _DIFFERENCE: "τ_b", _DIFFERENCE_WITHIN: "mean τ_b"}


def correlate_conclusion(
    rows: Sequence[Row],
    panel: Ratings,
    humans: Ratings,
    judges: Mapping[str, str] | None = None,
) -> list[str]:
    """Say where the panel's mean correlates with people's, and more or less so than one person; how
    many prompts would settle what is open.

    The correlation is Pearson's r within prompts where a prompt has two items, as the difference
    between easy and hard prompts is none between responses; else it is r over all items. It is
    established where its p-value, adjusted over dimensions, is below `LEVEL`, as the interval of
    the same test then leaves 0 out; without a p-value, where the interval does that is widened for
    the number of dimensions. The panel differs from one person, and labels agree, where such a
    widened interval leaves 0 out; from one person it differs within prompts where the correlation
    is within them and that difference has an interval, else over all items (with half of the
    degrees of freedom). The number of prompts is that of a t-test of Fisher's z, with the value and
    the spread behind its interval, for the dimension that needs most. The composite, where there is
    one, comes first: a family of its own. `judges` are what sentences call judges, by their names.
    """
    called = called_judges(panel) if judges is None else judges
    rows, (panel, humans) = labelled_rows(rows, panel, humans)
    *_, group = panel.raters_by_group()
    by = broken_down_by(rows)
    differ = [] if by is None else _by_strata(rows, by)
    if by not in (None, "dimension"):
        return differ
    result = _tested(by_dimension(rows, group, _MAIN), by_dimension(rows, group, _WITHIN))
    labels = by_dimension(rows, group, _LABELS)
    # A dimension may have the name of the mean over dimensions.
    is_mean = COMPOSITE in result and COMPOSITE not in panel.dimensions
    primary = {COMPOSITE: result.pop(COMPOSITE)} if is_mean else {}
    sentences, over = list[str](), clusters_of(panel if humans.prompts is None else humans)
    differences = _differences(rows, group, primary), _differences(rows, group, result)
    for family, apart in zip((primary, result), differences, strict=True):
        if family:
            sentences += _correlated(family)
            sentences += _people(apart, family)
            sentences += _to_settle(family, over)
    if labels:
        sentences.append(_labelled(labels))
    if (primary or result or labels) and humans.n_raters_of(panel) == 1:
        sentences.append(ONE_PERSON)
    correlated = [
        name
        for family in (primary, result)
        for name, row in family.items()
        if _sign(row, len(family)) == 1
    ]
    correlated += _beyond_chance(labels)
    sentences += annotator_test_conclusion(rows, group, correlated, panel, humans, called)
    sentences += differ
    return sentences or ["Panel and people share no dimension on which they can be compared."]


def _by_strata(rows: Sequence[Row], by: str) -> list[str]:
    """Say from where to where the correlation is in the strata, and whether these differ."""
    sentences: list[str] = []
    for statistic, name in (
        (_WITHIN, "correlation with people within prompts"),
        (_MAIN, "correlation with people"),
        (_LABELS, "κ of the majorities"),
    ):
        own = [row for row in rows if row.statistic == statistic and row.by == by]
        values = [
            row
            for row in own
            if row.reason is None
            and row.group != HUMANS
            and not row.group.endswith(NO_PERSONA_GROUP)
        ]
        differ = strata_differ(rows, statistic, name, by)
        if whole := [row for row in values if row.dimension == COMPOSITE]:
            values, name = whole, f"{name} on the composite"
        if values:
            sentences.append(f"By {by}, {name} {range_over(values)}.")
        if values or differ:
            # Over all items easy and hard prompts count, too; within them it is asked alone.
            return [*sentences, *differ]
    return [f"By {by}, panel and people cannot be compared."]


def _tested(over_all: Mapping[str, Row], within: Mapping[str, Row]) -> dict[str, Row]:
    """Return by dimension the correlation that is concluded from."""
    return {
        name: within[name]
        if name in within and within[name].reason is not Reason.ONE_ITEM_A_PROMPT
        else row
        for name, row in over_all.items()
    }


def _sign(row: Row, n_tests: int) -> int:
    """Return 1 or −1 where a correlation is significant, else 0."""
    if isnan(row.p_value):
        return sign_of(adjusted_ends(row, n_tests, fisher=True))
    return 0 if row.p_value >= LEVEL else 1 if row.value > 0 else -1


def _correlated(correlations: Mapping[str, Row]) -> list[str]:
    defined = {name: row for name, row in correlations.items() if not row.reason}
    if not defined:
        why = reasons_of(correlations.values())
        return [f"Whether the panel correlates with people is not known: {why}."]
    sentences = []
    for sign, how in (
        (1, "The panel's mean correlates with people's mean{where}{on}: {figures}."),
        (-1, "The panel's mean runs contrary to people's mean{where}{on}: {figures}."),
        (0, "A correlation with people's mean{where} is not significant{on}: {figures}."),
    ):
        for statistic, where in ((_WITHIN, " within prompts"), (_MAIN, " over all items")):
            names = [
                name
                for name, row in defined.items()
                if row.statistic == statistic and _sign(row, len(correlations)) == sign
            ]
            if names:
                every = all_dimensions(len(correlations)) if sign else "any dimension"
                on = on_dimensions(names, correlations, every)
                figures = _figures(names, defined)
                sentences.append(how.format(where=where, on=on, figures=figures))
    if without := [name for name, row in correlations.items() if row.reason]:
        why = reasons_of(correlations[name] for name in without)
        sentences.append(f"It is undefined on {listed(without, 'dimensions')} ({why}).")
    return sentences


def _figures(names: Sequence[str], correlations: Mapping[str, Row]) -> str:
    """Return r or τ_b of few dimensions each, of more from the lowest to the highest."""
    what = _CALLED[correlations[names[0]].statistic]
    if len(names) == 1:
        return f"{what} {figure(correlations[names[0]])}"
    if len(names) <= _SHOWN:
        return "; ".join(f"{name}, {what} {figure(correlations[name])}" for name in names)
    values = sorted(names, key=lambda name: correlations[name].value)
    (least, low), (most, high) = (
        (name, correlations[name].value) for name in (values[0], values[-1])
    )
    return f"{what} from {number(low)} ({least}) to {number(high)} ({most})"


def _people(differences: Mapping[str, Row], correlations: Mapping[str, Row]) -> list[str]:
    """Say whether the panel's mean correlates more or less with people than a person does."""
    if not differences:
        return []
    sentences, rest = [], dict(differences)
    for sign, how in ((1, "more"), (-1, "less")):
        if names := _on_side(sign, differences):
            on = on_dimensions(names, correlations, "all dimensions")
            sentences.append(
                f"The panel's mean correlates {how} with the other people than one person does"
                f"{on}: {_where_they_differ(names, differences, len(differences))}."
            )
            rest = {name: row for name, row in rest.items() if name not in names}
    if rest:
        on = on_dimensions(list(rest), correlations, "any dimension")
        sentences.append(
            "That the panel's mean correlates more or less with the other people than one person "
            f"does is not shown{on}: {_where_they_differ(list(rest), rest, len(differences))}."
        )
    return sentences


def _differences(
    rows: Sequence[Row], group: str, correlations: Mapping[str, Row]
) -> dict[str, Row]:
    """Return by dimension panel less person: within prompts where that has an interval."""
    defined = {
        (row.statistic, row.dimension): row
        for row in rows
        if row.statistic in (_DIFFERENCE, _DIFFERENCE_WITHIN)
        and (row.group, row.by_value) == (group, "panel − human")
        and not row.reason
    }
    chosen = {}
    for name, row in correlations.items():
        over_all = defined.get((_DIFFERENCE, name))
        within = defined.get((_DIFFERENCE_WITHIN, name)) if row.statistic == _WITHIN else None
        if within is not None and not isnan(within.ci_low):
            chosen[name] = within
        elif over_all is not None:
            chosen[name] = over_all
    return chosen


def n_claimed(rows: Sequence[Row], group: str) -> int:
    """Return for how many dimensions the intervals of a group less one person are widened; the
    composite, where there is one, is by itself."""
    over_all = by_dimension(rows, group, _MAIN)
    result = _tested(over_all, by_dimension(rows, group, _WITHIN))
    return len([name for name in _differences(rows, group, result) if name != COMPOSITE])


def _where_they_differ(names: Sequence[str], differences: Mapping[str, Row], n_tests: int) -> str:
    """Say where the differences lie, and where an interval alone makes no claim."""
    text = []
    for statistic, where in (
        (_DIFFERENCE_WITHIN, "within prompts"),
        (_DIFFERENCE, "over all items"),
    ):
        if those := [name for name in names if differences[name].statistic == statistic]:
            text.append(f"difference {where} of {_figures(those, differences)}")
    if any(
        differences[name].ci_low * differences[name].ci_high > 0
        and not sign_of(_claimed_ends(differences[name], n_tests))
        for name in names
    ):
        level = f"{100 - 100 * LEVEL / n_tests:.4g} %"
        text.append(
            f"each interval is at 95 %; at {level}, which a claim takes here, each contains 0"
        )
    return "; ".join(text)


def _to_settle(correlations: Mapping[str, Row], what: str) -> list[str]:
    """Say how many prompts would show each correlation that is open to be other than 0."""
    needed = {}
    for name, row in correlations.items():
        if row.reason or _sign(row, len(correlations)) or isnan(row.ci_low) or abs(row.value) >= 1:
            continue
        # An end at a limit is infinite on Fisher's scale: half of the interval is enough.
        z, inner = atanh(row.value), row.ci_low if row.value > 0 else row.ci_high
        if abs(inner) >= 1:
            continue
        reach = abs(z - atanh(inner))
        needed[name] = assured(
            z, spread_of(row, -reach, reach), row.n_clusters or 0, 0.0, LEVEL / len(correlations)
        )
    if not needed:
        return []
    hardest = max(needed, key=lambda name: (needed[name].needed or inf, -needed[name].limit))
    on = on_dimensions([hardest], correlations, "")
    return [would_show(needed[hardest], f"show the correlation{on} not to be 0", what)]


def _labelled(labels: Mapping[str, Row]) -> str:
    above = _beyond_chance(labels)
    rest = [name for name in labels if name not in above and not labels[name].reason]
    sentences = []
    if above:
        on = on_dimensions(above, labels, all_dimensions(len(labels)))
        text = "; ".join(figure(labels[name]) for name in above[:_SHOWN])
        sentences.append(
            f"The panel's labels agree with people's beyond chance{on} (Cohen κ {text})"
        )
    if rest:
        text = "; ".join(figure(labels[name]) for name in rest[:_SHOWN])
        on = on_dimensions(rest, labels, "any dimension")
        sentences.append(
            f"agreement of labels beyond chance is not significant{on} (Cohen κ {text})"
        )
    if not sentences:
        why = reasons_of(labels.values())
        sentences.append(f"whether labels agree with people's is not known ({why})")
    return f"{first_upper('; '.join(sentences))}."


def _beyond_chance(labels: Mapping[str, Row]) -> list[str]:
    """Return the dimensions on which the agreement of labels is significant."""
    n = len(labels)
    return [name for name, row in labels.items() if adjusted_ends(row, n)[0] > 0]


def _on_side(sign: int, differences: Mapping[str, Row]) -> list[str]:
    """Return the dimensions whose difference, adjusted for so many claims, is on this side of 0."""
    return [
        name
        for name, row in differences.items()
        if sign_of(_claimed_ends(row, len(differences))) == sign
    ]


def _claimed_ends(row: Row, n_tests: int) -> tuple[float, float]:
    """Return the interval of a difference, widened for so many claims.

    Over all items the widened one has half of the degrees of freedom: the jackknife's variance of
    the panel less one human varies as one with 9 or 10 of 20 items does, and with 21 to 24 of 48.
    """
    if row.statistic != _DIFFERENCE or n_tests < 2:
        return adjusted_ends(row, n_tests)
    ends = row.value, row.ci_low, row.ci_high
    return widened(*ends, row.ci_df, n_tests, widened_df=row.ci_df / 2)
