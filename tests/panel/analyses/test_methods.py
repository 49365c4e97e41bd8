"""The methods paragraph says what the run was, in its own figures."""

from __future__ import annotations

import numpy as np
import pytest

from persona_panel import Ratings, Run, RunWithPeople, methods_of, score_result
from tests.helpers.answered_runs import answered_run
from tests.helpers.gate_runs import run_of


@pytest.fixture(scope="module")
def biased(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Ratings]:
    run, people = answered_run("biased", tmp_path_factory.mktemp("runs") / "biased")
    assert people is not None
    return run, people


def test_it_has_the_figures_of_the_run(biased: tuple[Run, Ratings]) -> None:
    """Three systems answer 30 prompts, five personas through one model rate them, and four people
    rate the texts to the first 24 prompts."""
    run, people = biased
    paragraph, *references = methods_of(run, RunWithPeople.of(run, people))
    assert paragraph.startswith(
        "90 responses of 3 systems to 30 prompts were rated by 5 judges. 5 personas ("
    )
    assert "4 people rated 72 responses" in paragraph
    assert "No judgment is missing." in paragraph
    assert f"seed {run.seed}." in paragraph
    systems, people = ("Hung", "Shaffer"), ("Kendall", "Calderon", "Angelopoulos")
    for name in (*systems, "Krippendorff", "Shrout", *people):
        assert sum(each.startswith(name) for each in references) == 1
        assert name in paragraph


def test_nothing_is_said_of_people_without_their_ratings(biased: tuple[Run, Ratings]) -> None:
    """Without people's ratings neither the text nor the references name what compares with them."""
    text = " ".join(methods_of(biased[0]))
    assert "people" not in text and "Calderon" not in text and "Angelopoulos" not in text


def test_it_counts_what_is_missing() -> None:
    """Two of eight judgments failed: that is said with the share, and that nothing is imputed."""
    scores = [[[5, 6], [7, np.nan]], [[np.nan, 5], [6, 8]]]
    paragraph = methods_of(run_of(scores, ["ash", "birch"]))[0]
    assert "2 of 8 judgments (25 %) are missing (2 failed); nothing was imputed." in paragraph


def test_the_full_report_ends_with_it(biased: tuple[Run, Ratings]) -> None:
    """`--full` and the JSON have the paragraph; the short report does not."""
    result = score_result(biased[0])
    paragraph = methods_of(biased[0])[0]
    assert paragraph in result.remarks_in_full
    assert "Shaffer 1986" in result.text(full=True) and "Shaffer 1986" not in result.text()
