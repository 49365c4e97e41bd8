"""Runs compared from their folders: what is paired, what does not match, what is refused."""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from persona_panel import (
    CategoryScale,
    Composite,
    InputError,
    Panel,
    Persona,
    Ratings,
    Response,
    RunOutput,
    compare,
)
from persona_panel.analyses.compare import compare_result
from persona_panel.analyses.comparison.compared import MOST_CHANGED, compare_runs
from persona_panel.analyses.comparison.opened_run import judges_in_both, open_run
from persona_panel.analyses.comparison.result import RunComparison
from persona_panel.analyses.inputs import HumanInput
from persona_panel.rubrics import ModelRequest
from persona_panel.statistics.core.significance import holm
from persona_panel.testing import ScriptedModel
from tests.helpers.marked_texts import (
    CLARITY_DEPTH,
    TEN,
    marked_model,
    marked_run,
    own_rubric,
    personas,
)

MODEL = marked_model()
OLD = {"p": "[4,4]", "q": "[5,5]", "r": "[6,6]", "s": "[5,3]"}
NEW = {"p": "[5,5] new", "q": "[7,7] new", "r": "[9,9] new", "s": "[5,3] new"}


def compared(*runs: Any, human: Any = None, **options: Any) -> RunComparison:
    """The runs, compared with the first."""
    people = None if human is None else HumanInput(human)
    return compare_runs(runs, people, **options)


def refused(*runs: Any, **options: Any) -> str:
    """What `compare` says of runs that it refuses."""
    with pytest.raises(InputError) as error:
        compare(*runs, **options)
    return str(error.value)


def test_other_texts_of_one_panel_are_paired_by_prompt(tmp_path: Path) -> None:
    """Composites 4, 5, 6, 4 and 5, 7, 9, 4 of two systems: 1.5 points, with SciPy's paired t-test
    at 5 %, and two dimensions, by Holm, at another 5 %; three wins and a tie; what changed most."""
    old = marked_run(tmp_path / "old", OLD, MODEL, system="elm")
    new = marked_run(tmp_path / "new", NEW, MODEL, system="oak")
    found = compared(old, new)
    (one,) = found.compared
    assert (one.compared, one.panel, one.notes, one.n_judges) == ("texts", (), (), (2, 2))
    whole, clarity, depth = one.differences.values()
    assert list(one.differences) == ["composite", "clarity", "depth"]
    test = stats.ttest_rel([5, 7, 9, 4], [4, 5, 6, 4])
    assert whole.value == pytest.approx(1.5)
    assert (whole.a_mean, whole.b_mean) == (4.75, 6.25)
    assert whole.p == pytest.approx(test.pvalue)
    # On all three the prompts' differences are 1, 2, 3 and 0.
    assert whole.p == clarity.p == depth.p
    assert [row.p_adjusted for row in one.differences.values()] == pytest.approx(
        [test.pvalue, 2 * test.pvalue, 2 * test.pvalue]
    )
    assert (whole.wins, whole.ties, whole.losses) == (3, 1, 0)
    assert (whole.n, whole.n_pairs) == (4, 4)
    assert [(r.prompt_id, r.system, r.difference) for r in one.risen] == [
        ("r", "elm → oak", 3), ("q", "elm → oak", 2), ("p", "elm → oak", 1)
    ]  # fmt: skip
    assert (one.risen[0].a_ids, one.risen[0].b_ids) == (("r-elm",), ("r-oak",))
    assert one.fallen == ()
    assert found.conclusion[0].startswith("No significant difference between ")


def test_folders_are_compared_as_their_runs_are(tmp_path: Path) -> None:
    """Paths in place of runs, and runs without their texts (--no-texts) give the same figures."""
    marked_run(tmp_path / "old", OLD, MODEL)
    marked_run(tmp_path / "new", NEW, MODEL)
    batch = [
        Response(id=f"{p}-elm", prompt=f"About {p}?", prompt_id=p, text=text, system="elm")
        for p, text in NEW.items()
    ]
    found = compared(tmp_path / "old", str(tmp_path / "new"))
    panel = Panel(personas("ann", "bob"), [MODEL], CLARITY_DEPTH)
    digests = panel.score(batch, out=RunOutput(tmp_path / "digests", texts=False))
    again = compared(tmp_path / "old", digests)
    assert again.compared[0].differences == found.compared[0].differences
    assert compared(digests, tmp_path / "new").compared[0].compared == "panels"


def test_systems_of_the_same_name_are_paired(tmp_path: Path) -> None:
    """Elm's composite rises by 0, 0.5 and 1 and oak's by 3, 2.5 and 2, by 1.5 on each prompt; fir,
    with the same texts in both, and those in one run only are left out and named. JSON has the
    systems in a table of their own."""
    both = {
        name: {"elm": "[4,4]", "oak": "[5,5]", "fir": "[7,7]", "yew": "[9,9]"} for name in "pqr"
    }
    changed = {
        name: {"elm": f"[{4 + i},4] x", "oak": f"[8,{8 - i}] x", "fir": "[7,7]", "ash": "[1,1]"}
        for i, name in enumerate("pqr")
    }
    old, new = (
        marked_run(tmp_path / name, texts, MODEL)
        for name, texts in (("old", both), ("new", changed))
    )
    found = compared(old, new)
    (one,) = found.compared
    assert {name: of.value for name, of in one.systems.items()} == {"elm": 0.5, "oak": 2.5}
    whole = one.differences["composite"]
    assert (whole.value, whole.n, whole.n_pairs) == (1.5, 3, 6)
    assert "1 system with the same texts in both runs left out: fir." in one.notes
    assert f"1 system only in {found.runs[0]}: yew." in one.notes
    assert f"1 system only in {found.runs[1]}: ash." in one.notes
    systems = json.loads(compare_result(found).text("json"))["tables"]["systems"]
    figures = [
        (row["system"], row["difference"]["value"], row["difference"]["p"]) for row in systems
    ]
    assert figures == [(name, of.value, of.p) for name, of in one.systems.items()]


def test_responses_are_paired_by_their_column(tmp_path: Path) -> None:
    """With a column `pair`, two responses to a prompt are two pairs, whatever their order, and what
    has no partner is left out; without it a prompt's responses are one pair of means."""
    first = {"p": {"elm/1": "[2,2]", "elm/2": "[8,8]"}, "q": {"elm/1": "[5,5]"}}
    second = {"p": {"elm/1": "[9,9] x", "elm/2": "[4,4] x"}, "q": {"elm/1": "[6,6] x"}}
    topics = {"p-elm/1": {"pair": "easy"}, "p-elm/2": {"pair": "hard"}, "q-elm/1": {"pair": "easy"}}
    turned = {"p-elm/1": {"pair": "hard"}, "p-elm/2": {"pair": "easy"}, "q-elm/1": {"pair": "odd"}}
    old = marked_run(tmp_path / "old", first, MODEL, metadata=topics)
    new = marked_run(tmp_path / "new", second, MODEL, metadata=turned)
    (one,) = compared(old, new).compared
    row = one.differences["composite"]
    # Easy: 2 and 4; hard: 8 and 9. The pairs of q have other names.
    assert (row.value, row.n, row.n_pairs, row.wins) == (1.5, 1, 2, 2)
    assert "Left out, as rated in one of the runs only: 2 pairs." in one.notes
    without = marked_run(
        tmp_path / "without", second, MODEL, metadata={"p-elm/1": {"pair": "hard"}}
    )
    (one,) = compared(old, without).compared
    row = one.differences["composite"]
    # Means of p: 5 and 6.5, of q: 5 and 6.
    assert (row.value, row.n, row.n_pairs) == (1.25, 2, 2)
    assert any(note.startswith("Some responses have no pair") for note in one.notes)


def test_ratings_are_compared_by_judges_of_both(tmp_path: Path) -> None:
    """Bob, three points more severe, did not answer on b's p, and Cid is in b alone: by Ann and Bob
    where both rated, differences are 1, 2 and 3; the panels differ, and nobody is said to be
    ahead."""
    old = {"p": "[5,5] bob[2,2]", "q": "[5,5] bob[2,2]", "r": "[5,5] bob[2,2]"}
    new = {"p": "[6,6] bob[x]", "q": "[7,7] bob[4,4]", "r": "[8,8] bob[5,5] cid[1,1]"}
    a = marked_run(tmp_path / "old", old, MODEL, "ann", "bob")
    b = marked_run(tmp_path / "new", new, MODEL, "ann", "bob", "cid")
    found = compared(a, b)
    (one,) = found.compared
    assert one.differences["composite"].value == 2
    assert one.n_judges == (2, 2)
    assert one.panel == (f"personas (only {found.runs[1]} has cid)",)
    assert any(note.startswith(f"1 judge only in {found.runs[1]}, left out") for note in one.notes)
    assert any("may come from any of these" in sentence for sentence in found.conclusion)
    assert "ahead" not in " ".join(found.conclusion)


def test_a_plain_judge_in_one_run_only_is_named(tmp_path: Path) -> None:
    """The judge without a persona has the id `none`, which would read as if there were none."""
    marked_run(tmp_path / "a", OLD, MODEL, "ann", "bob")
    marked_run(tmp_path / "b", OLD, MODEL, "ann", "bob", plain_judge=True)
    found = compared(tmp_path / "a", tmp_path / "b")
    (one,) = found.compared
    assert f"personas (only {found.runs[1]} has the plain judge)" in one.panel


def test_a_dimension_that_is_the_composite_is_tested_once(tmp_path: Path) -> None:
    """A rubric of one dimension: composite and dimension have one p-value, which needs no
    adjustment."""
    rubric, model = own_rubric("clarity"), marked_model(["clarity"])
    texts = [{"p": f"[{n}]", "q": f"[{n + 1}]", "r": f"[{2 * n}]"} for n in (3, 5)]
    runs = [
        marked_run(tmp_path / name, of, model, rubric=rubric)
        for name, of in zip(("old", "new"), texts, strict=True)
    ]
    whole, clarity = compared(*runs).compared[0].differences.values()
    assert whole.p == whole.p_adjusted == clarity.p_adjusted


def test_shares_of_categories_are_compared(tmp_path: Path) -> None:
    """On a dimension of categories the difference is that of each category's share, and a rubric
    without a composite has no composite row."""
    kinds = CategoryScale(values={"claim": "It claims.", "joke": "It jokes."})
    rubric = own_rubric("kind", scale=kinds)
    model = ScriptedModel(
        lambda request: json.dumps({"kind": "joke" if "fun" in str(request) else "claim"})
    )
    first, second = (
        marked_run(tmp_path / name, dict(zip("pqr", texts, strict=True)), model, rubric=rubric)
        for name, texts in (("old", ("a", "b", "c fun")), ("new", ("d fun", "e", "f fun")))
    )
    found = compared(first, second)
    rows = found.compared[0].differences
    assert list(rows) == ["kind:claim", "kind:joke"]
    assert "on Kind: claim" in found.conclusion[0]
    assert "points" not in found.conclusion[0]
    assert rows["kind:joke"].value == pytest.approx(1 / 3)
    assert (rows["kind:joke"].wins, rows["kind:claim"].losses) == (1, 1)


# The same texts, another panel


@pytest.fixture(scope="module")
def panels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two panels on the same 32 texts: Ann rates at random, Bob as people do, two points higher."""
    folder = tmp_path_factory.mktemp("panels")
    rng = np.random.default_rng(3)
    quality = {f"p{p}": rng.permutation(4) for p in range(8)}
    texts = {
        prompt: {
            f"s{i}": f"[5,5] ann[{rng.integers(1, 7)},5] bob[{3 + q + 2},{3 + q + 2}] {prompt}{i}"
            for i, q in enumerate(order)
        }
        for prompt, order in quality.items()
    }
    marked_run(folder / "ann", texts, MODEL, "ann")
    marked_run(folder / "bob", texts, MODEL, "bob")
    marked_run(folder / "again", texts, MODEL, "bob", seed=1)
    lines = ["item,rater,score"]
    for prompt, order in quality.items():
        for i, q in enumerate(order):
            lines += [f"{prompt}/{prompt}-s{i},{who},{3 + q}" for who in ("x", "y")]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    return {path.stem: path for path in folder.iterdir()}


def test_two_panels_on_the_same_texts(panels: dict[str, Path]) -> None:
    """Scores, order and best responses of two panels: differences paired by response, τ_b as SciPy
    has it, and the number of prompts whose best response is another."""
    found = compared(panels["ann"], panels["bob"])
    (one,) = found.compared
    assert (one.compared, one.panel) == ("panels", ("personas (ann; bob)",))
    assert (one.differences["composite"].n, one.differences["composite"].n_pairs) == (8, 32)
    verdicts = {}
    for name in ("ann", "bob"):
        lines = (panels[name] / "verdicts.csv").read_text().splitlines()[1:]
        verdicts[name] = np.array([float(line.split(",")[3]) for line in lines])
    assert one.differences["composite"].value == pytest.approx(
        (verdicts["bob"] - verdicts["ann"]).mean()
    )
    alike = one.alike[0]
    assert alike.tau.value == pytest.approx(
        stats.kendalltau(verdicts["ann"], verdicts["bob"]).statistic
    )
    best = [side.reshape(8, 4) for side in verdicts.values()]
    same = sum(
        set(np.flatnonzero(x == x.max())) == set(np.flatnonzero(y == y.max()))
        for x, y in zip(*best, strict=True)
    )
    assert (alike.best.same, alike.best.n_prompts) == (same, 8)
    assert any("The two order responses in prompts" in said for said in found.conclusion)


def test_with_people_the_nearer_panel_is_named(panels: dict[str, Path]) -> None:
    """Bob ranks responses exactly as people do, two points higher, and Ann at random: Bob's τ_b is
    1, which the conclusion says, and his distance 2."""
    found = compared(panels["ann"], panels["bob"], human=panels["people"])
    ((name, one),) = found.compared[0].people.items()
    tau, distance = one.figures["tau_b"], one.figures["distance"]
    assert (name, tau.b_value, distance.b_value) == ("composite", 1, 2)
    assert tau.shown
    said = " ".join(found.conclusion)
    assert f"{found.runs[1]} has a higher rank correlation with people than {found.runs[0]}" in said


def test_rankings_are_nearer_to_people_by_shares(tmp_path: Path) -> None:
    """Of judges that compare responses neither the conclusion nor the page says points."""
    rng = np.random.default_rng(3)
    quality = {f"p{p}": rng.permutation(4) for p in range(8)}

    def prefers(request: ModelRequest) -> str:
        asked = "\n".join(request.blocks)
        (who,) = re.findall(r"You are (\w+)\.", asked)
        first, second = map(int, re.findall(rf"{who}\[(\d)\]", asked))
        return json.dumps({"better": "first" if first > second else "second"})

    texts = {
        prompt: {f"s{i}": f"ann[{n}] bob[{q}] {prompt}{i}" for i, (n, q) in enumerate(both)}
        for prompt, both in (
            (prompt, zip(rng.permutation(4), order, strict=True))
            for prompt, order in quality.items()
        )
    }
    model = ScriptedModel(prefers)
    runs = [
        marked_run(tmp_path / who, texts, model, who, elicitation="pairwise")
        for who in ("ann", "bob")
    ]
    lines = [
        f"{prompt}/{prompt}-s{i},{who},{q / 3}"
        for prompt, order in quality.items()
        for i, q in enumerate(order)
        for who in "xy"
    ]
    people = tmp_path / "people.csv"
    people.write_text("\n".join(["item,rater,score", *lines]) + "\n")
    found = compared(*runs, human=people)
    assert "gives scores closer to people's" in " ".join(found.conclusion)
    result = compare_result(found)
    for text in (*found.conclusion, result.text(full=True), result.text("html", full=True)):
        assert "points" not in text


def test_with_people_the_change_of_the_advantage_is_given(panels: dict[str, Path]) -> None:
    """Two people who agree are never farther from each other than a panel: ρ is the share of
    responses that a panel rates as they do. Ann's are counted by hand, Bob's are none, two points
    higher; ω, which is given with an epsilon, is 0 of both. It is in the terminal, in JSON and on
    the page, and all three differences are adjusted together."""
    found = compared(panels["ann"], panels["bob"], human=panels["people"], epsilon=0.1)
    ((_, one),) = found.compared[0].people.items()
    advantage, rate = one.figures["alt_test_advantage"], one.figures["alt_test_winning_rate"]
    people = {
        tuple(line.split(",")[0].split("/")): float(line.split(",")[2])
        for line in panels["people"].read_text().splitlines()[1:]
    }
    verdicts = csv.DictReader((panels["ann"] / "verdicts.csv").read_text().splitlines())
    of_ann = [float(row["composite"]) == people[row["prompt_id"], row["id"]] for row in verdicts]
    assert 0 < np.mean(of_ann) == advantage.a_value
    assert (advantage.b_value, rate.a_value, rate.b_value) == (0, 0, 0)
    figures = one.figures.values()
    adjusted = [figure.p_adjusted for figure in figures]
    expected = holm([figure.p for figure in figures]).tolist()
    assert adjusted == pytest.approx(expected, nan_ok=True)
    result, name = compare_result(found), f"{advantage.a_value:.2f}"
    text = result.text(full=True)
    assert "By the alternative annotator test, epsilon 0.1: advantage ρ" in " ".join(text.split())
    assert re.search(rf"advantage ρ +{name} +0\.00 ", text)
    assert f">{name}</td>" in result.text("html").partition("advantage ρ")[2]
    rows = {row["statistic"]: row for row in json.loads(result.text("json"))["tables"]["people"]}
    assert list(rows) == ["tau_b", "distance", "alt_test_advantage", "alt_test_winning_rate"]
    row = rows["alt_test_advantage"]
    assert (row["a_value"], row["difference"]["value"]) == (
        advantage.a_value, advantage.value,
    )  # fmt: skip
    assert row["difference"]["p_adjusted"] == advantage.p_adjusted
    assert (
        rows["alt_test_winning_rate"]["b_value"],
        rows["alt_test_winning_rate"]["difference"],
    ) == (0, None)
    without = compare(panels["ann"], panels["bob"], human=panels["people"])
    assert "alt_test_winning_rate" not in without.text("json")


def test_people_who_rated_dimensions_are_compared_with_them(panels: dict[str, Path]) -> None:
    """People's ratings by dimension: each is compared, and their mean with the composite; of one
    dimension alone there is no composite."""
    items = [
        f"{line['prompt_id']}/{line['id']}"
        for line in map(json.loads, (panels["bob"] / "responses.jsonl").read_text().splitlines())
    ]
    scores = np.random.default_rng(0).integers(1, 11, (32, 2, 2)).astype(float)
    people = Ratings(scores, tuple(items), ("x", "y"), ("clarity", "depth"), ("all", "all"))
    found = compared(panels["ann"], panels["bob"], human=people)
    assert [*found.compared[0].people] == ["composite", "clarity", "depth"]
    first, *rest = (
        [one.p for one in each.figures.values()] for each in found.compared[0].people.values()
    )
    expected = holm(first), holm(np.concatenate(rest))
    adjusted = [
        one.p_adjusted
        for each in found.compared[0].people.values()
        for one in each.figures.values()
    ]
    np.testing.assert_allclose(adjusted, np.concatenate(expected))
    alone = Ratings(scores[:, :, :1], tuple(items), ("x", "y"), ("clarity",), ("all", "all"))
    found = compared(panels["ann"], panels["bob"], human=alone)
    assert [*found.compared[0].people] == ["clarity"]
    far = replace(alone, scores=scores[:, :, :1] * 10, scales={"clarity": (10, 100)})
    ((_, one),) = compared(panels["ann"], panels["bob"], human=far).compared[0].people.items()
    assert np.isnan(one.figures["distance"].b_value)


def test_the_same_panel_twice_is_said_to_be_that(panels: dict[str, Path]) -> None:
    """Texts and panel are the same, the seed is not: no difference, and why it cannot be tested."""
    found = compared(panels["bob"], panels["again"])
    (one,) = found.compared
    assert (one.compared, one.panel) == ("panels", ())
    assert "Another seed (0; 1)." in one.notes
    assert one.differences["composite"].value == 0
    assert "their mean scores are equal" in found.conclusion[0]


def test_several_runs_are_adjusted_together(panels: dict[str, Path], tmp_path: Path) -> None:
    """A third run, a copy of the second under another name: p-values of the composite, and of the
    dimension, are of two tests and not of one, and each run is compared with the first."""
    shutil.copytree(panels["bob"], tmp_path / "copy")
    two, three = (
        compared(panels["ann"], panels["bob"], *more) for more in ([], [tmp_path / "copy"])
    )
    assert [one.b for one in three.compared] == [*three.runs[1:]]
    # On depth all prompts differ by the same: it is not tested.
    of_two, of_three = (
        [row for each in runs.compared for row in each.differences.values()]
        for runs in (two, three)
    )
    p = [row.p for row in of_two if not np.isnan(row.p)]
    assert [row.p_adjusted for row in of_two if not np.isnan(row.p)] == p
    assert len(p) == 2
    found = [row.p_adjusted for row in of_three if not np.isnan(row.p)]
    assert found == pytest.approx(np.minimum(2 * np.array([*p, *p]), 1).tolist())
    assert of_three[0].p_adjusted > of_two[0].p_adjusted


def test_over_prompts_and_judges_takes_what_panels_share(panels: dict[str, Path]) -> None:
    """Panels of one persona each, which are not the same, are no sample of judges: no interval,
    with the reason; another value is refused."""
    found = compared(panels["ann"], panels["bob"], random="prompts-and-judges")
    whole = found.compared[0].differences["composite"]
    assert not whole.has_interval
    assert "neither the same personas nor the same models" in str(whole.reason)
    with pytest.raises(ValueError, match="random is one of"):
        compared(panels["ann"], panels["bob"], random="judges")  # type: ignore[arg-type]


# What does not match


def test_prompts_and_missing_responses_are_named(tmp_path: Path) -> None:
    """A prompt in one run only, and one of the same id with another text, are left out and named;
    an unfinished run is said to be unfinished."""
    old = marked_run(tmp_path / "old", OLD, MODEL)
    new = marked_run(tmp_path / "new", {**NEW, "t": "[1,1]"}, MODEL)
    path = tmp_path / "new" / "responses.jsonl"
    path.write_text(path.read_text().replace("About p?", "About pears?"))
    (tmp_path / "new" / "summary.json").unlink()
    (one,) = compared(old, tmp_path / "new").compared
    assert new.folder is not None
    assert f"1 prompt with ratings only in {new.folder}: t." in one.notes
    assert "1 prompt of the same id with another text, left out: p." in one.notes
    assert any(note.startswith(f"{new.folder} is unfinished: 5 of 5") for note in one.notes)
    assert one.differences["composite"].n == 3


def test_what_makes_panels_differ_is_listed(tmp_path: Path) -> None:
    """Rubric, descriptions, models, elicitation, replicates: each in a few words."""
    texts = {"p": "[4,4]", "q": "[5,5]"}
    a = marked_run(tmp_path / "a", texts, MODEL)
    reworded = CLARITY_DEPTH.model_copy(update={"question": "Is it good?"})
    b = marked_run(tmp_path / "b", texts, marked_model(name="other"), rubric=reworded, replicates=2)
    assert compared(a, b).compared[0].panel == (
        "rubric (own, reworded)",
        "models (scriptedmodel:marked; scriptedmodel:other)",
        "replicates (1; 2)",
    )
    # Another instance has another script.
    c = marked_run(tmp_path / "c", texts, marked_model())
    assert compared(a, c).compared[0].panel == ("settings of model scriptedmodel:marked (script)",)
    people = [
        Persona(id=name, label=name.title(), axis="own", description=f"You are {name}. Be kind.")
        for name in ("ann", "bob")
    ]
    batch = [
        Response(id=f"{p}-elm", prompt=f"About {p}?", prompt_id=p, text=text, system="elm")
        for p, text in texts.items()
    ]
    d = Panel(people, [MODEL], CLARITY_DEPTH).score(batch, out=tmp_path / "d")
    assert compared(a, d).compared[0].panel == ("description of persona ann, bob",)
    # Judges of the same ids count as in both where nothing of that is theirs.
    e = Panel([people[0], *personas("bob")], [MODEL], CLARITY_DEPTH).score(
        batch, out=tmp_path / "e"
    )
    f = marked_run(tmp_path / "f", texts, MODEL, rubric=reworded)
    g = marked_run(tmp_path / "g", texts, MODEL, "ann", "bob", "cleo")
    both = [{one.persona for one in judges_in_both(open_run(a), open_run(x))} for x in (c, e, f, g)]
    assert both == [set(), {"bob"}, set(), {"ann", "bob"}]


# What is refused


def test_what_is_no_run_is_refused_with_all_that_is_wrong(tmp_path: Path) -> None:
    """A missing folder, a file and a folder that is no run's are refused at once, and a run that
    was not written says so."""
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    said = refused(tmp_path / "none", tmp_path / "file", tmp_path / "empty")
    assert "none: found no such file" in said
    assert "file: found a file; expected a run's folder" in said
    assert "empty/run.json: found no such file" in said
    run = Panel("disciplinary", ScriptedModel(), "debate-speech").score(
        [Response(id="1", prompt="Why?", text="Because.", system="elm")]
    )
    assert "a run that was not written" in refused(run, run)


def test_a_run_with_itself_is_refused(tmp_path: Path) -> None:
    """The same folder under two names is one run."""
    marked_run(tmp_path / "old", OLD, MODEL)
    said = refused(tmp_path / "old", tmp_path / ".." / tmp_path.name / "old")
    assert "the same run as" in said


def test_a_run_without_ratings_is_refused(tmp_path: Path) -> None:
    """All judges failed: there is nothing to compare."""
    old = marked_run(tmp_path / "old", OLD, MODEL)
    failed = marked_run(tmp_path / "failed", {"p": "[x] f"}, MODEL)
    assert "without a scored response" in refused(old, failed)


def test_folders_of_other_commands_are_refused(tmp_path: Path) -> None:
    """A sweep's and an injection audit's folder hold variants of texts, which are no batch."""
    old = marked_run(tmp_path / "old", OLD, MODEL)
    marked_run(tmp_path / "audit", NEW, MODEL)
    (tmp_path / "audit" / "injection.json").write_text("{}")
    assert "an injection audit's folder" in refused(old, tmp_path / "audit")
    new = marked_run(tmp_path / "new", NEW, MODEL)
    path = tmp_path / "new" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"sweep": {"systems": ["elm"]}}))
    assert "a sweep's folder" in refused(old, tmp_path / "new")
    assert "a sweep's folder" in refused(new, old)


def test_no_prompt_in_common_is_refused(tmp_path: Path) -> None:
    """Prompts of other ids, and prompts of the same ids with other texts."""
    old = marked_run(tmp_path / "old", OLD, MODEL)
    other = marked_run(tmp_path / "other", {"x": "[1,1]"}, MODEL)
    assert "only prompts that" in (said := refused(old, other))
    assert "score answers to the same prompts" in said
    new = marked_run(tmp_path / "new", NEW, MODEL)
    path = tmp_path / "new" / "responses.jsonl"
    path.write_text(path.read_text().replace("About", "On"))
    assert new.folder is not None
    assert "prompts of the same ids (p, q, r, …) with other texts" in refused(old, new.folder)


def test_other_scales_are_refused(tmp_path: Path) -> None:
    """A dimension on another scale, a composite on another, and no dimension in common: each with
    both sides and what would do."""
    old = marked_run(tmp_path / "old", OLD, MODEL)
    five = own_rubric("clarity", "depth", scale=TEN.model_copy(update={"max": 9}))
    narrow = marked_run(tmp_path / "five", NEW, MODEL, rubric=five)
    said = refused(old, narrow)
    assert "clarity: found the scale 1 to 9; expected that of" in said
    assert "1 to 10: only ratings on one scale have a difference" in said
    product = own_rubric("clarity", "depth", composite=Composite(product_of=("clarity", "depth")))
    whole = marked_run(tmp_path / "product", OLD, MODEL, rubric=product)
    assert "composite: found a composite from 1 to 100; expected one like that of" in refused(
        old, whole
    )
    # Of other texts, composites of other terms are left out, and dimensions compared.
    (one,) = compared(old, marked_run(tmp_path / "n", NEW, MODEL, rubric=product)).compared
    assert list(one.differences) == ["clarity", "depth"]
    assert "Not in both runs, left out: composite." in one.notes
    width = own_rubric("width", "height")
    alien = marked_run(
        tmp_path / "alien", NEW, marked_model(["width", "height"], "marked"), rubric=width
    )
    assert "found only dimensions that" in refused(old, alien)


def test_systems_that_cannot_be_paired_are_refused(tmp_path: Path) -> None:
    """Two systems of other names each; a run that has all texts of the first and more is compared
    by the texts of both."""
    old = marked_run(
        tmp_path / "old", {p: {"elm": t, "oak": f"{t} o"} for p, t in OLD.items()}, MODEL
    )
    new = marked_run(
        tmp_path / "new", {p: {"fir": t, "ash": f"{t} a"} for p, t in NEW.items()}, MODEL
    )
    said = refused(old, new)
    assert "system: found no system of" in said
    assert "rename them, or score them in one run" in said
    further = {p: {"elm": OLD[p], "oak": f"{OLD[p]} o", "fir": t} for p, t in NEW.items()}
    more = marked_run(tmp_path / "more", further, MODEL)
    (one,) = compared(old, more).compared
    assert (one.compared, one.differences["composite"].n_pairs) == ("panels", 8)
    assert one.notes == (
        f"Left out: 4 responses of {more.folder}, of whose text the other run has no rating.",
    )


def test_other_texts_by_other_judges_are_refused(tmp_path: Path) -> None:
    """Texts and judges differ: the difference could come from either."""
    old = marked_run(tmp_path / "old", OLD, MODEL, "ann")
    new = marked_run(tmp_path / "new", NEW, MODEL, "bob")
    said = refused(old, new)
    assert "other texts and only judges that" in said
    assert "score the texts of both runs with one panel" in said


def test_ratings_relative_to_a_run_are_refused(tmp_path: Path) -> None:
    """Judges who rank the responses of a run say nothing of another run's."""
    texts = {"p": {"elm": "[4,4]", "oak": "[5,5]"}}
    batches = [
        [
            Response(id=name, prompt="Why?", prompt_id=p, text=f"{text} {run}", system=name)
            for p, given in texts.items()
            for name, text in given.items()
        ]
        for run in ("a", "b")
    ]
    model = ScriptedModel()
    runs = [
        Panel("disciplinary", model, "debate-speech", elicitation="pairwise").score(
            batch, out=tmp_path / name
        )
        for batch, name in zip(batches, "ab", strict=True)
    ]
    assert "ratings by comparison with the other responses of the same run" in refused(*runs)


def test_people_are_for_panels(tmp_path: Path, panels: dict[str, Path]) -> None:
    """With other texts, people's ratings are refused, and `people correlate` is named."""
    old = marked_run(tmp_path / "old", OLD, MODEL)
    new = marked_run(tmp_path / "new", NEW, MODEL)
    said = refused(old, new, human=panels["people"])
    assert "two panels on the same texts" in said
    assert "`people correlate` compares" in said


# What is given back


def test_no_more_than_five_responses_are_named_each_way(panels: dict[str, Path]) -> None:
    """Those that rose most, the largest first; the result has them with those that fell."""
    (one,) = (found := compared(panels["ann"], panels["bob"])).compared
    assert len(one.risen) == MOST_CHANGED
    assert [r.difference for r in one.risen] == sorted(
        (r.difference for r in one.risen), reverse=True
    )
    rows = compare_result(found)["changed"].rows
    assert [row["change"] for row in rows] == ["higher"] * 5 + ["lower"] * len(one.fallen)


def test_a_data_frame_has_a_row_for_each_difference(panels: dict[str, Path]) -> None:
    """The rows as a table of pyarrow: composite and two dimensions, with missing values as null."""
    table = compare(panels["bob"], panels["again"]).to_frame("pyarrow", table="differences")
    assert table.column("dimension").to_pylist() == ["composite", "clarity", "depth"]
    assert table.column("difference_low").to_pylist() == [None, None, None]
    assert table.column("n_pairs").to_pylist() == [32, 32, 32]
