"""Two runs compared within strata."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from scipy import stats

from persona_panel import InputError, compare
from persona_panel.analyses.compare import compare_result
from persona_panel.analyses.comparison.compared import compare_runs
from persona_panel.analyses.comparison.result import RunComparison
from persona_panel.statistics import Reason
from tests.helpers.marked_texts import marked_model, marked_run

MODEL = marked_model()
PROMPTS = "pqrstu"
OLD = {p: f"[4,{n}] bob[5,{n}] {p}" for p, n in zip(PROMPTS, (3, 5, 4, 6, 3, 4), strict=True)}
# Ann rates clarity 1, 2, 3, 0, 1, 1 points higher, and Bob 2, 2, 2, 1, 2, 3.
NEW = {
    p: f"[{4 + ann},{n}] bob[{5 + bob},{n}] {p} new"
    for p, n, ann, bob in zip(
        PROMPTS, (3, 5, 4, 6, 3, 4), (1, 2, 3, 0, 1, 1), (2, 2, 2, 1, 2, 3), strict=True
    )
}
TOPICS = {f"{p}-elm": {"topic": "work" if p in "pqr" else "home"} for p in PROMPTS}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("strata")
    marked_run(folder / "old", OLD, MODEL, metadata=TOPICS)
    marked_run(folder / "new", NEW, MODEL, metadata=TOPICS)
    return folder


def by(runs: Path, kind: str) -> RunComparison:
    return compare_runs([runs / "old", runs / "new"], by=kind)


def test_topics_have_their_own_prompts(runs: Path) -> None:
    """Of each topic the mean difference over its prompts, and Welch's test of the two."""
    found = by(runs, "topic")
    one = found.compared[0]
    work, home = [0.75, 1, 1.25], [0.25, 0.75, 1]
    assert {stratum: of.value for stratum, _, of in one.strata} == pytest.approx(
        {"work": 1, "home": 2 / 3}
    )
    assert one.strata[0][2].p == pytest.approx(stats.ttest_1samp(work, 0).pvalue)
    [apart] = one.apart
    assert apart.value == pytest.approx(1 / 3)
    assert apart.p == pytest.approx(stats.ttest_ind(work, home, equal_var=False).pvalue)
    assert "is not shown to depend on topic (1 test)" in found.conclusion[-1]


def test_personas_and_dimensions_are_paired(runs: Path) -> None:
    """Each persona's own ratings, paired by prompt; the dimension on which nothing changed has no
    spread, so that neither is compared with the other."""
    one = by(runs, "persona").compared[0]
    assert {stratum: of.value for stratum, _, of in one.strata} == pytest.approx(
        {"ann": 2 / 3, "bob": 1}
    )
    [apart] = one.apart
    expected = stats.ttest_rel([0.5, 1, 1.5, 0, 0.5, 0.5], [1, 1, 1, 0.5, 1, 1.5])
    assert (apart.a, apart.p) == ("ann", pytest.approx(expected.pvalue))
    one = by(runs, "dimension").compared[0]
    assert [dimension for _, dimension, _ in one.strata] == ["clarity", "depth"]
    assert one.strata[0][2].value == pytest.approx(5 / 3)
    assert [row.reason for row in one.apart] == [Reason.ONE_STRATUM, Reason.NO_SPREAD]


def test_what_is_printed_has_the_strata(runs: Path) -> None:
    """The terminal, the page and JSON: the strata, and what they are apart."""
    found = by(runs, "topic")
    result = compare_result(found)
    for name in ("terminal", "html"):
        text = result.text(name, full=True)
        assert "Composite by topic" in text
        assert "Does b − a depend on topic?" in text
        assert "work − home" in text
    tables = json.loads(result.text("json"))["tables"]
    assert [row["stratum"] for row in tables["strata"]] == ["work", "home"]
    assert tables["apart"][0]["difference"]["p"] == pytest.approx(found.compared[0].apart[0].p)


def test_a_column_that_is_not_there_is_refused(runs: Path) -> None:
    """The error names what one may go by."""
    with pytest.raises(InputError, match=r"no column 'tpoic'.*dimension, topic"):
        by(runs, "tpoic")


def test_a_column_that_was_mapped_is_refused_with_the_field(runs: Path, tmp_path: Path) -> None:
    """It is no column of the run's metadata any more, and the error says which field it is."""
    copied = tmp_path / "mapped"
    shutil.copytree(runs / "old", copied)
    document = json.loads((copied / "run.json").read_text())
    document["starts"][-1]["inputs"] = [{"name": "in.csv", "mapping": {"system": "author"}}]
    (copied / "run.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"mapped to the system \(--map system=author\)"):
        compare(copied, runs / "new", by="author")
