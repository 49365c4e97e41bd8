"""One panel on texts and their translations: whether it is harsher in a language."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from persona_panel import InputError, Panel, audit_language
from persona_panel.analyses.language import ByLanguage, by_language, language_result
from persona_panel.statistics.core.means import FAR_OFF
from tests.helpers.answered_runs import (
    Case,
    answered_run,
    model_of,
    responses_of,
    translated_run,
)  # fmt: skip
from tests.helpers.gate_runs import run_of
from tests.helpers.invoked import invoked


@pytest.mark.parametrize("translated", [True, False])
def test_a_panel_that_is_harsher_in_a_language_is_named(tmp_path: Path, translated: bool) -> None:
    """Half a point less in German is found, paired by text, however translations are named."""
    found = by_language(translated_run(tmp_path / "run", 0.5, translated=translated))
    (pair,) = found.pairs
    assert (pair.difference.a, pair.difference.b) == ("en", "de")
    assert pair.difference.low < 0.5 < pair.difference.high
    assert pair.difference.shown
    assert found.n_texts == 48
    result = language_result(found)
    assert result.conclusion[0].startswith("The panel scores the same text 0.")
    assert "higher in en than in de" in result.conclusion[0]


def test_a_panel_that_scores_languages_alike_is_not_accused(tmp_path: Path) -> None:
    """Without a difference nothing is claimed, and α is what the variances make it."""
    found = by_language(translated_run(tmp_path / "run", 0.0, translated=False))
    (pair,) = found.pairs
    assert not pair.difference.shown
    # Variances: of texts .5² + .4² + .4², of a persona's leaning, drawn anew for each text, .8², of
    # noise and rounding in the mean of five dimensions (.7² + 1/12) / 5: the first is .43 of all.
    assert pair.alpha.low < 0.43 < pair.alpha.high
    assert "Agreement of a judge's scores" in language_result(found).conclusion[1]
    none = replace(found, pairs=(replace(pair, alpha=replace(pair.alpha, low=-0.2)),))
    assert "No agreement beyond chance is shown" in language_result(none).conclusion[1]
    assert language_result(found).conclusion[0].startswith("No difference between 2 languages")


def test_a_mean_that_intervals_may_not_cover_is_named_where_it_stands() -> None:
    """Of one of two languages a text of six falls from 9 to 3 on a scale from 1 to 10."""
    scores = np.array([[9, 9, 8, 9, 9, 3], [5, 6, 5, 7, 6, 5]]).T[:, :, None]
    compared = ByLanguage(run_of(scores, ["de", "en"]).leaderboard(), (), 6, 0)
    (remark,) = language_result(compared)["languages"].remarks
    assert remark.startswith(f"de: {FAR_OFF}. Coverage of such 95 % intervals may be")


def test_the_command_says_what_python_does(tmp_path: Path) -> None:
    """Of a stored run, in JSON; a requirement on a pair of languages decides the exit status."""
    run = translated_run(tmp_path / "run", 0.5)
    result = audit_language(run)
    done = invoked("audit", "language", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["conclusion"] == list(result.conclusion)
    (pair,) = document["tables"]["pairs"]
    assert (pair["a"], pair["b"]) == ("en", "de")
    # By hand: the mean of all scores of one language less that of the other.
    of = np.array([each.metadata["language"] == "en" for each in run.responses()])
    scores = np.nanmean(run.ratings, axis=(1, 2))
    assert pair["difference"]["value"] == pytest.approx(scores[of].mean() - scores[~of].mean())
    words = ("audit", "language", tmp_path / "run", "--require")
    assert invoked(*words, "difference[en,de] > 0").returncode == 0
    assert invoked(*words, "difference[en,de] < 0.1").returncode == 3
    answered_run("few", tmp_path / "other")
    assert "no language" in invoked("audit", "language", tmp_path / "other").stderr


def test_what_cannot_be_paired_is_refused(tmp_path: Path) -> None:
    """No language, an unknown original, a second text in a language: all are named at once."""
    case = Case({"ash": 6.0}, n_prompts=3)
    first, second, third = responses_of(case)
    texts = [
        first.model_copy(update={"metadata": {"language": "en"}}),
        second.model_copy(update={"metadata": {"language": "de", "translation_of": "nothing"}}),
        third,
    ]
    with pytest.raises(InputError) as refused:
        by_language(Panel("disciplinary", model_of(case)).score(texts, out=tmp_path / "run"))
    assert [fault.field for fault in refused.value.faults] == ["p1/ash-1", "p2/ash-2"]
