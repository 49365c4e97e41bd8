"""Why labels of judges and people cannot be compared."""

from __future__ import annotations

from math import nan

from persona_panel.statistics import Reason, correlate
from tests.helpers.rating_tables import QUICK, labelled, only


def test_labels_without_a_majority_are_shared_items() -> None:
    """Where raters of a side are tied on every item, that is the reason, not that no item was
    shared; where none was rated by both, that is."""
    judges = [[0, 0], [1, 1], [0, 1], [1, 0]]
    tied = [[0, 1], [1, 0], [0, 1], [1, 0]]
    apart = [[nan, nan], [nan, nan], [nan, nan], [nan, nan], [0, 0]]
    names = ("label_kappa", "judge_label_kappa", "agreement_on_label")
    for people, reason in (
        (tied, Reason.NO_MAJORITY),
        (apart, Reason.NO_SHARED_ITEMS),
    ):
        rows = correlate(labelled(judges, "j"), labelled(people, "p"), QUICK)
        for name in names:
            found = {row.reason for row in rows if row.statistic == name}
            assert found == {reason}, name


def test_one_person_has_nobody_to_agree_with() -> None:
    """Of labels by one person, or by one of two on shared items, κ with the others has that
    reason."""
    judges = labelled([[0, 0], [1, 1], [0, 1]], "j")
    for people in ([[0], [1], [1]], [[0, nan], [1, nan], [1, nan], [0, 1]]):
        rows = correlate(judges, labelled(people, "p"), QUICK)
        assert only(rows, "human_label_kappa", "humans", "use").reason is Reason.FEW_PEOPLE
