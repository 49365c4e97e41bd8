"""`persona-panel questions` and `questions match` as a user runs them, against a real server."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from persona_panel.testing import Answer, ScriptedServer, ok, serving, status
from tests.helpers.command import Command

SAID = [{"id": "pool", "intervention": "We closed it."}, {"id": "cafe", "intervention": "He did."}]


def jsonl(path: Path, *rows: Mapping[str, Any]) -> Path:
    """A file of these rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def at(server: ScriptedServer) -> dict[str, str]:
    """The environment that sends `openai:` models to the server."""
    return {"OPENAI_BASE_URL": server.base_url}


def three(_: int, payload: Mapping[str, Any]) -> Answer:
    """Three questions that name what was said."""
    what = "closed" if "We closed it." in json.dumps(payload) else "did"
    return ok(json.dumps({"questions": [f"Who {what}?", f"Why {what}?", f"When {what}?"]}))


def test_questions_come_out_as_responses_that_score_reads(command: Command, tmp_path: Path) -> None:
    """Three rows an intervention, and the progress of two calls; again they come from the cache;
    the rubric reads them."""
    jsonl(tmp_path / "said.jsonl", *SAID)
    with serving(three) as server:
        arguments = (
            "questions", "ask", "said.jsonl", "--model", "openai:stub", "--out", "asked.jsonl",
        )  # fmt: skip
        first = command(*arguments, **at(server))
        assert (first.returncode, first.stdout) == (0, ""), first.stderr
        assert first.stderr.startswith("2 interventions × openai:stub\n2/2 calls, quest")
        rows = [json.loads(line) for line in (tmp_path / "asked.jsonl").read_text().splitlines()]
        assert [(row["prompt_id"], row["id"], row["response"]) for row in rows] == [
            ("pool", "q1", "Who closed?"), ("pool", "q2", "Why closed?"),
            ("pool", "q3", "When closed?"), ("cafe", "q1", "Who did?"),
            ("cafe", "q2", "Why did?"), ("cafe", "q3", "When did?"),
        ]  # fmt: skip
        assert {row["context"] for row in rows} == {"We closed it.", "He did."}
        assert {row["system"] for row in rows} == {"openai:stub"}
        again = command(*arguments, **at(server))
        assert again.returncode == 0
        assert len(server.calls) == 2
    judged = '{"usefulness": "useful", "reason": "no fault"}'
    with serving(lambda n, payload: ok(judged)) as server:
        scored = command(
            "score", "asked.jsonl", "--rubric", "critical-question", "--personas", "disciplinary",
            "--model", "openai:judge", "--out", "run", **at(server),
        )  # fmt: skip
        assert scored.returncode == 0, scored.stderr
        assert len(server.calls) == 6 * 5
    assert "openai:stub" in scored.stdout
    assert "1.00" in scored.stdout


def test_what_failed_is_named_and_asked_again(command: Command, tmp_path: Path) -> None:
    """An intervention without questions is exit 1; the next run calls for it alone."""
    jsonl(tmp_path / "said.jsonl", *SAID)

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        return ok("No.") if "He did." in json.dumps(payload) else three(number, payload)

    with serving(script) as server:
        half = command("questions", "ask", "said.jsonl", "--model", "openai:stub", **at(server))
    assert half.returncode == 1
    assert len(half.stdout.splitlines()) == 3
    assert "cafe: no questions (unparsed: it holds 0 questions" in half.stderr
    with serving(three) as server:
        whole = command("questions", "ask", "said.jsonl", "--model", "openai:stub", **at(server))
        assert len(whole.stdout.splitlines()) == 6
        assert len(server.calls) in (1, 2)


def test_a_cap_is_kept(command: Command, tmp_path: Path) -> None:
    """No call beyond the cap is made; what is left is skipped and said to be."""
    jsonl(tmp_path / "said.jsonl", *SAID)
    with serving(three) as server:
        capped = command(
            "questions",
            "ask",
            "said.jsonl",
            "--model",
            "openai:stub",
            "--max-calls",
            "1",
            **at(server),
        )
        assert len(server.calls) == 1
    assert capped.returncode == 1
    assert "no questions (skipped:" in capped.stderr


def test_a_dry_run_says_what_questions_take_and_calls_nothing(
    command: Command, tmp_path: Path
) -> None:
    """Two calls for two interventions, one once the other is in the cache; no file is written."""
    jsonl(tmp_path / "said.jsonl", *SAID)
    arguments = ("questions", "ask", "said.jsonl", "--model", "openai:stub", "--out", "asked.jsonl")
    with serving(three) as server:
        told = command(*arguments, "--dry-run", **at(server))
        assert told.returncode == 0, told.stderr
        assert "Total: 2 calls" in told.stdout
        assert not server.calls
        assert not (tmp_path / "asked.jsonl").exists()
        command(*arguments, "--max-calls", "1", **at(server))
        assert "Total: 1 calls" in command(*arguments, "--dry-run", **at(server)).stdout
        assert len(server.calls) == 1


def test_a_dry_run_says_what_matching_by_a_model_takes(command: Command, tmp_path: Path) -> None:
    """A call a question, in JSON, too; with a measure that calls no model it is refused."""
    generated = jsonl(tmp_path / "gen.jsonl", *GENERATED)
    references = jsonl(tmp_path / "refs.jsonl", *REFERENCES)
    arguments = ("questions", "match", generated, references, "--dry-run", "--json")
    with serving(three) as server:
        told = command(*arguments, "--by", "model", "--model", "openai:stub", **at(server))
        refused = command(*arguments, "--by", "chrf", **at(server))
        assert not server.calls
    assert [one["calls"] for one in json.loads(told.stdout)["tables"]["models"]] == [3]
    assert refused.returncode == 2
    assert "--dry-run works only with --by model" in refused.stderr


def test_bad_interventions_are_refused_all_at_once(command: Command, tmp_path: Path) -> None:
    """Every bad line is named before anything is called."""
    (tmp_path / "said.jsonl").write_bytes(
        b'{"id": "a", "intervention": "x"}\n{"id": "a", "intervention": "y"}\nnonsense\n'
        b'{"id": "b"}\n{"id": "c", "intervention": " "}\n{"id": "d", "intervention": "\xff"}\n'
    )
    with serving(three) as server:
        refused = command("questions", "ask", "said.jsonl", "--model", "openai:stub", **at(server))
        assert not server.calls
    assert (refused.returncode, refused.stdout) == (2, "")
    for place in (":2: id: found 'a' a second", ":3: found text that", ":4: intervention: found no",
                  ":5: intervention: found an empty", ":6: found the byte 0xff"):  # fmt: skip
        assert f"said.jsonl{place}" in refused.stderr
    assert "5 faults found; no model was called." in refused.stderr


def test_a_place_that_cannot_be_written_is_refused(command: Command, tmp_path: Path) -> None:
    """Nothing is paid for that could not be kept, and a model needs a provider."""
    jsonl(tmp_path / "said.jsonl", *SAID)
    with serving(three) as server:
        arguments = ("questions", "ask", "said.jsonl", "--model")
        nowhere = command(*arguments, "openai:stub", "--out", "no/such/file.jsonl", **at(server))
        nobody = command(*arguments, "stub", **at(server))
        assert not server.calls
    assert (nowhere.returncode, nobody.returncode) == (2, 2)
    assert "the folder no/such does not exist" in nowhere.stderr
    assert "'stub' is not a model" in nobody.stderr


def a_question(prompt_id: str, name: str, text: str, **more: str) -> dict[str, str]:
    """A row of a file of questions."""
    return {"prompt_id": prompt_id, "id": name, "prompt": "Ask.", "response": text} | {
        "system": "s"
    } | more  # fmt: skip


REFERENCES = [
    a_question("pool", "r1", "Did it go down elsewhere?", label="Useful"),
    a_question("pool", "r2", "When did the pool close?", label="invalid"),
]
GENERATED = [
    a_question("pool", "q1", "Did it go down anywhere else?", label="useful"),
    a_question("pool", "q2", "When did that pool close?", label="useful"),
    a_question("pool", "q3", "Is Hale a fair comparison?", label="useful"),
]


def test_matching_by_chrf(command: Command, tmp_path: Path) -> None:
    """Labels come from the nearest reference, and what is far from all is not evaluable."""
    pytest.importorskip("sacrebleu")
    generated = jsonl(tmp_path / "gen.jsonl", *GENERATED)
    references = jsonl(tmp_path / "refs.jsonl", *REFERENCES)
    done = command("questions", "match", generated, references, "--by", "chrf", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)["tables"]
    assert [one["label"] for one in document["matches"]] == ["useful", "invalid", None]
    [system] = document["systems"]
    assert system["score"] == pytest.approx(1 / 3, abs=1e-6)
    assert system["not_evaluable_share"] == pytest.approx(1 / 3, abs=1e-6)
    # people call all of them useful: a constant rater has no kappa
    [kappa] = document["kappa"]
    assert kappa["kappa"]["value"] is None
    assert kappa["kappa"]["reason"]


def test_which_question_matched_which_reference(command: Command, tmp_path: Path) -> None:
    """The terminal and the JSON give each question with its reference's text, and the diversity of
    the useful questions alone, which is that of a file of them."""
    pytest.importorskip("sacrebleu")
    generated = jsonl(tmp_path / "gen.jsonl", *GENERATED)
    references = jsonl(tmp_path / "refs.jsonl", *REFERENCES)
    arguments = ("questions", "match", "--full", generated, references, "--by", "chrf")
    document = json.loads(command(*arguments, "--json").stdout)["tables"]
    texts = {one["id"]: one["response"] for one in REFERENCES}
    for one, row in zip(document["matches"], GENERATED, strict=True):
        assert one["question"] == row["response"]
        assert one["reference_text"] == texts.get(one["reference"])
    shown = " ".join(command(*arguments).stdout.split())
    first = document["matches"][0]
    assert f"{first['question']} useful ({first['reference']}, similarity" in shown
    assert "not evaluable: no reference is near enough" in shown
    [system] = document["diversity"]
    assert (system["n"], system["useful_n"]) == (3, 1)
    jsonl(tmp_path / "gen.jsonl", GENERATED[0])
    [alone] = json.loads(command(*arguments, "--json").stdout)["tables"]["diversity"]
    for name in ("n", "ngram", "compression"):
        assert system[f"useful_{name}"] == alone[name]
    assert "runs" not in document


def test_scores_over_runs(command: Command, tmp_path: Path) -> None:
    """Questions asked in several runs are asked anew in each and carry its number; `questions
    match` gives the mean and standard deviation (n − 1) of the runs' scores, which are the standard
    library's."""
    pytest.importorskip("sacrebleu")
    (tmp_path / "said.jsonl").write_text(json.dumps(SAID[0]) + "\n")
    asked = iter(
        ["Did it go down anywhere else?", "When did that pool close?", "Is Hale a fair comparison?"]
    )

    def script(n: int, payload: Mapping[str, Any]) -> Answer:
        return ok(json.dumps({"questions": [next(asked), f"What of {n}?", f"And why {n}?"]}))

    arguments = ("questions", "ask", "said.jsonl", "--model", "openai:stub", "--runs", "3")
    with serving(script) as server:
        dry = command(*arguments, "--dry-run", **at(server))
        done = command(*arguments, "--out", "gen.jsonl", **at(server))
        assert done.returncode == 0, done.stderr
        assert len(server.calls) == 3
    assert "3" in dry.stdout
    rows = [json.loads(line) for line in (tmp_path / "gen.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows][::3] == ["run1-q1", "run2-q1", "run3-q1"]
    assert [row["run"] for row in rows] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    references = jsonl(tmp_path / "refs.jsonl", *REFERENCES)
    found = command("questions", "match", "gen.jsonl", references, "--by", "chrf", "--json")
    document = json.loads(found.stdout)["tables"]
    [system] = document["runs"]
    scores = [
        sum(
            match["label"] == "useful"
            for match, row in zip(document["matches"], rows, strict=True)
            if row["run"] == run
        )
        / 3
        for run in (1, 2, 3)
    ]
    assert len(set(scores)) > 1
    assert [one["score"] for one in document["run_scores"]] == pytest.approx(scores, abs=1e-6)
    assert system["mean"] == pytest.approx(statistics.fmean(scores), abs=1e-6)
    assert system["sd"] == pytest.approx(statistics.stdev(scores), abs=1e-6)


def test_matching_by_a_model(command: Command, tmp_path: Path) -> None:
    """The model is shown the list and says which is alike; who gets no answer is missing."""

    def script(_: int, payload: Mapping[str, Any]) -> Answer:
        said = json.dumps(payload["messages"])
        if "Is Hale" in said:
            return status(400)
        return ok('{"reference": 1}' if "anywhere else" in said else '{"reference": null}')

    generated = jsonl(tmp_path / "gen.jsonl", *GENERATED)
    references = jsonl(tmp_path / "refs.jsonl", *REFERENCES)
    with serving(script) as server:
        arguments = (
            "questions",
            "match",
            generated,
            references,
            "--by",
            "model",
            "--model",
            "openai:stub",
        )
        done = command(*arguments, "--json", **at(server))
        assert done.returncode == 1, done.stderr
        assert len(server.calls) == 3
        shown = command(*arguments, **at(server))
    document = json.loads(done.stdout)["tables"]
    assert [one["label"] for one in document["matches"]] == ["useful", None, None]
    [system] = document["systems"]
    assert (system["not_evaluable"], system["missing"], system["score"]) == (1, 1, None)
    assert system["not_evaluable_share"] == 0.5
    assert "0.50" in shown.stdout


def test_the_table_of_matches_is_whole_at_80_columns(command: Command, tmp_path: Path) -> None:
    """Every heading and a system's name are there in full, and a kappa that is undefined says
    why."""
    pytest.importorskip("sacrebleu")
    system = "openai:accounts/fireworks/models/qwen3-235b-a22b-instruct-2507"
    rows = [row | {"system": system} for row in GENERATED]
    generated = jsonl(tmp_path / "gen.jsonl", *rows)
    references = jsonl(tmp_path / "refs.jsonl", *REFERENCES)
    done = command(
        "questions", "match", "--full", generated, references, "--by", "chrf", COLUMNS="80"
    )
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    for heading in ("score", "useful", "unhelpful", "invalid", "evaluable", "missing", "n-grams",
                    "compression"):  # fmt: skip
        assert heading in done.stdout
    assert "…" not in done.stdout
    assert "openai:accounts/fireworks/models/qwen3-235b-" in done.stdout
    assert "undefined (constant rater), over 2 questions" in " ".join(done.stdout.split())


def test_bad_references_are_refused(command: Command, tmp_path: Path) -> None:
    """Labels that are none, and options that do not go together, are exit 2."""
    generated = jsonl(tmp_path / "gen.jsonl", a_question("other", "q", "Why?"))
    references = jsonl(tmp_path / "refs.jsonl", a_question("pool", "r", "Why?", label="good"))
    refused = command("questions", "match", generated, references)
    assert refused.returncode == 2
    assert "'good'; expected one of useful" in refused.stderr
    assert "'other', of which there is no reference" in refused.stderr
    assert command("questions", "match", generated, references, "--by", "model").returncode == 2
