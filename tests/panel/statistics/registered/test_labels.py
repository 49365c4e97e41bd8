"""Statistics of labels, of five items by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from persona_panel.statistics import Ratings, Reason, Row, agree, correlate
from persona_panel.statistics.agreement import agreement_statistics
from persona_panel.statistics.comparison import comparison_statistics
from persona_panel.statistics.core.registry import Registry
from tests.helpers.rating_tables import QUICK, by_name

NAN = float("nan")
PEOPLE = np.array([[0, 0, 1], [1, 1, 1], [0, 1, 1], [0, 0, 0], [0, 1, NAN]])
"""Their majorities: 0, 1, 1, 0, none."""
JUDGES = np.array([[0, 0, 0], [1, 0, 1], [0, 0, 1], [0, 1, 0], [1, 1, 1]])
"""Their majorities: 0, 1, 0, 0, 1."""


def labelled(labels: np.ndarray, group: str) -> Ratings:
    n_items, n_raters = labels.shape
    return Ratings(
        labels[:, :, None].astype(float), tuple(f"i{n}" for n in range(n_items)),
        tuple(f"{group}{n}" for n in range(n_raters)), ("label",), (group,) * n_raters,
        categories={"label": ("a", "b")},
    )  # fmt: skip


def kappa(x: np.ndarray, y: np.ndarray) -> float:
    """Cohen's κ of two labels, by its definition."""
    both = ~(np.isnan(x) | np.isnan(y))
    first, second = x[both], y[both]
    chance = sum(np.mean(first == code) * np.mean(second == code) for code in (0, 1))
    return float((np.mean(first == second) - chance) / (1 - chance))


def compared(judges: np.ndarray, people: np.ndarray) -> dict[tuple[str, ...], Row]:
    """Rows by name, without those of two labels or two raters each."""
    rows = correlate(labelled(judges, "j"), labelled(people, "h"), QUICK)
    return by_name([row for row in rows if row.statistic not in ("confusion", "kappa_of_two")])


ROWS = compared(JUDGES, PEOPLE)


def value(*key: str) -> float:
    return ROWS[*key, "label"].value


def test_majorities_are_compared_where_both_are_there() -> None:
    """On four items: three of the same label; by chance two, so that κ is (3 − 2) / (4 − 2)."""
    assert value("label_kappa", "j") == pytest.approx(0.5)
    row = ROWS["label_kappa", "j", "label"]
    assert row.note == "left out: 1 items without a majority of the humans"
    assert row.n_items == 4


def test_labels_are_counted_and_agree_by_label() -> None:
    """Two of the two and three `a` are common, and one of the two and one `b`."""
    rows = correlate(labelled(JUDGES, "j"), labelled(PEOPLE, "h"), QUICK)
    counts = {(r.by, r.by_value): r.value for r in rows if r.statistic == "confusion"}
    assert counts == {
        ("humans: a", "panel: a"): 2, ("humans: a", "panel: b"): 0,
        ("humans: b", "panel: a"): 1, ("humans: b", "panel: b"): 1,
    }  # fmt: skip
    assert value("agreement_on_label", "j", "a") == pytest.approx(2 * 2 / (2 + 3))
    assert value("agreement_on_label", "j", "b") == pytest.approx(2 * 1 / (2 + 1))


def test_each_judge_has_a_kappa() -> None:
    """With the majority of people, 0.5, −0.5 and 1."""
    assert [value("judge_label_kappa", "j", f"j{n}") for n in range(3)] == pytest.approx(
        [0.5, -0.5, 1]
    )


def test_people_are_compared_with_the_others() -> None:
    """Each with the majority of the other two, where they have one: the mean of their κ."""
    row = ROWS["human_label_kappa", "humans", "label"]
    others = [[NAN, 1, 1, 0, 1], [NAN, 1, NAN, 0, 0], [0, 1, NAN, 0, NAN]]
    each = [kappa(PEOPLE[:, n], np.array(other)) for n, other in enumerate(others)]
    assert row.value == pytest.approx(np.mean(each))


def test_what_cannot_be_compared_says_why() -> None:
    """One person has no others; ties have no majority; nothing is shared."""
    alone = compared(JUDGES, PEOPLE[:, :1])
    assert alone["human_label_kappa", "humans", "label"].reason is Reason.FEW_PEOPLE
    ties = np.array([[0.0, 1.0]] * 5)
    tied = compared(JUDGES, ties)
    assert tied["label_kappa", "j", "label"].reason is Reason.NO_MAJORITY
    apart = np.where(np.arange(5)[:, None] < 2, JUDGES, NAN)
    other = np.where(np.arange(5)[:, None] < 2, NAN, PEOPLE)
    none = compared(apart, other)
    assert none["label_kappa", "j", "label"].reason is Reason.NO_SHARED_ITEMS


def test_annotators_agree_by_label() -> None:
    """κ of every two, each pair once; on each label a share."""
    rows = agree(labelled(PEOPLE, "h"), QUICK)
    pairs = {(row.by, row.by_value): row.value for row in rows if row.statistic == "kappa_of_two"}
    assert list(pairs) == [("h0", "h1"), ("h0", "h2"), ("h1", "h2")]
    assert pairs["h0", "h1"] == pytest.approx(kappa(PEOPLE[:, 0], PEOPLE[:, 1]))
    on_label = [row for row in rows if row.statistic == "agreement_on_label"]
    assert [(row.by, row.by_value) for row in on_label] == [("label", "a"), ("label", "b")]
    assert {(row.n_items, row.n_raters) for row in on_label} == {(5, 3)}


def test_every_two_of_judges_and_people_have_a_kappa() -> None:
    """And the two majorities with each."""
    rows = correlate(labelled(JUDGES, "j"), labelled(PEOPLE, "h"), QUICK)
    pairs = {(row.by, row.by_value): row.value for row in rows if row.statistic == "kappa_of_two"}
    assert len(pairs) == 8 * 7 / 2
    assert pairs["majority of people", "majority of the panel"] == pytest.approx(0.5)
    assert pairs["majority of people", "j2"] == pytest.approx(1.0)
    assert pairs["j0", "h1"] == pytest.approx(kappa(JUDGES[:, 0], PEOPLE[:, 1]))


@pytest.mark.parametrize(
    ("registry", "ordered", "noted", "of_all"),
    [
        (comparison_statistics,
             "human_label_kappa label_kappa agreement_on_label confusion "
             "judge_label_kappa kappa_of_two persona_gain_kappa",
             "label_kappa persona_gain_kappa",
             "confusion judge_label_kappa kappa_of_two"),
        (agreement_statistics,
             "agreement_on_label kappa_of_two",
             "",
             "kappa_of_two"),
    ],
)  # fmt: skip
def test_statistics_stand_in_this_order(
    registry: Registry[Any], ordered: str, noted: str, of_all: str
) -> None:
    """In their tables; which have their notes below, and which are of all raters alone."""
    module = "persona_panel.statistics.registered.labels"
    found = [each for each in registry if each.function.__module__ == module]
    assert [each.name for each in found] == ordered.split()
    assert [each.name for each in found if each.show_note] == noted.split()
    assert [each.name for each in found if each.table.all_raters_only] == of_all.split()
