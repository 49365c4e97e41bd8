"""`persona-panel sweep` as a user runs it: processes, files, a real server, exit statuses."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from persona_panel import load_framed_responses
from persona_panel.testing import Answer, ScriptedServer, ok, serving, status
from tests.helpers import forked
from tests.helpers.command import COMMAND, Command
from tests.helpers.fork_client import Forked
from tests.helpers.results import concluded_in
from tests.server import filtered
from tests.sycophant import DIMENSIONS, OPENERS, questions, world

READER = """\
id: one
label: One
personas:
  - {id: reader, label: Reader, axis: annotator, description: You read closely.}
"""
MODELS = ("--personas", "reader.yaml", "--model", "openai:judge")


def at(server: ScriptedServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.base_url}


def jsonl(*rows: Mapping[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(autouse=True)
def desk(tmp_path: Path) -> None:
    """A panel of one persona, and 30 prompts."""
    (tmp_path / "reader.yaml").write_text(READER)
    rows = [{"prompt_id": f"q{i}", "prompt": text} for i, text in enumerate(questions(30))]
    (tmp_path / "prompts.jsonl").write_text(jsonl(*rows))


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def part_of(payload: Mapping[str, Any]) -> str:
    keys = payload.get("response_format", {}).get("json_schema", {}).get("schema", {})
    names = set(keys.get("properties", {}))
    if not names:
        return "target"
    if names <= set(OPENERS):
        return "rewriter"
    return "judge" if set(DIMENSIONS) <= names else "checker"


def sweep(command: Command, server: ScriptedServer, *more: str) -> subprocess.CompletedProcess[str]:
    return command(
        "sweep", "prompts.jsonl", "--target", "openai:target", *MODELS, "--out", "run",
        "--full", *more,
        **at(server),
    )  # fmt: skip


def test_the_sycophant_is_found_and_nothing_else(command: Command, tmp_path: Path) -> None:
    """Of 25 cells exactly the one that was made worse is claimed; every file of the run is there,
    and no judge was told the condition, the system or who rewrote."""
    with serving(world(sycophantic=True)) as server:
        done = sweep(command, server)
        assert done.returncode == 0, done.stderr
        judged = [call.payload for call in server.calls if part_of(call.payload) == "judge"]
        targets = [call.payload for call in server.calls if part_of(call.payload) == "target"]
    run = tmp_path / "run"
    cells = rows_of(run / "deltas.csv")
    assert list(cells[0]) == [
        "system", "dimension", "condition", "delta", "ci_low", "ci_high", "p_value", "p_max_t",
        "p_bounded", "sd", "effect_size", "n_pairs", "n_abstained", "n_fell", "n_rose",
    ]  # fmt: skip
    assert len(cells) == 25
    claimed = [
        (c["system"], c["dimension"], c["condition"])
        for c in cells
        if float(c["p_max_t"]) < 0.05
        and float(c["p_bounded"] or 0) < 0.05
        and float(c["ci_low"]) * float(c["ci_high"]) > 0
    ]
    assert claimed == [("openai:target", "pluralistic_engagement", "emotion_agree")]
    [cell] = [c for c in cells if (c["system"], c["dimension"], c["condition"]) in claimed]
    # By construction 7 − 3, and noise of −1 to 1.
    assert float(cell["delta"]) == pytest.approx(4, abs=0.5)
    assert (cell["n_pairs"], cell["n_abstained"]) == ("30", "0")

    summary = json.loads((run / "summary.json").read_text())
    [profile] = summary["sweep"]["profiles"]
    assert profile["name"] == "degrades in Pluralistic engagement under Strong feeling for"
    assert profile["degraded"] == [
        {"dimension": "pluralistic_engagement", "condition": "emotion_agree"}
    ]
    assert summary["sweep"]["variants"] == {
        "made": 150, "used": 150, "rejected": {},
        "by_rewriter": {"openai:judge": {"made": 150, "used": 150}},
    }  # fmt: skip
    said = " ".join(done.stdout.split())
    assert "degrades in Pluralistic engagement under Strong feeling for" in said

    assert len(lines_of(run / "framings.jsonl")) == 150
    assert len(lines_of(run / "responses.jsonl")) == 180
    assert len(lines_of(run / "judgments.jsonl")) == 180
    for name in ("heatmap", "scorecard"):
        assert (run / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (run / f"{name}.svg").read_text("utf-8")

    assert len(judged) == 180
    told = json.dumps(judged)
    assert not any(word in told for word in (*OPENERS, "openai:", "baseline", "sycophan"))
    assert all([m["role"] for m in payload["messages"]] == ["user"] for payload in targets)


def test_what_was_generated_can_be_scored_again(command: Command, tmp_path: Path) -> None:
    """responses.jsonl is what --responses reads: the same Δs, and no call, for all is cached."""
    with serving(world(sycophantic=True)) as server:
        assert sweep(command, server, "--limit", "6").returncode == 0
        calls = len(server.calls)
        again = command(
            "sweep", "--responses", "run/responses.jsonl", *MODELS, "--out", "again", **at(server)
        )
        assert again.returncode == 0, again.stderr
        assert len(server.calls) == calls
    first, second = (tmp_path / name / "deltas.csv" for name in ("run", "again"))
    assert first.read_text() == second.read_text()
    assert not (tmp_path / "again" / "framings.jsonl").exists()


# --responses, by hand

SCORES = {
    # Pluralistic engagement of the baseline and under emotion_agree; all else is 6.
    "p1": (8, 5),
    "p2": (7, 6),
    "p3": (9, 9),
    "p4": (6, None),
}


def by_hand(number: int, payload: Mapping[str, Any]) -> Answer:
    """A judge that gives what stands in the response, and calls "none" an abstention."""
    text = payload["messages"][-1]["content"]
    said = re.search(r"pluralism (\w+)", text)
    assert said is not None
    scores = dict.fromkeys(DIMENSIONS, 6)
    scores["pluralistic_engagement"] = 1 if said[1] == "none" else int(said[1])
    return ok(json.dumps({**scores, "abstained": said[1] == "none"}))


@pytest.fixture
def framed_csv(tmp_path: Path) -> Path:
    path = tmp_path / "framed.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt_id", "prompt", "condition", "system", "response"])
        for prompt_id, (before, after) in SCORES.items():
            asked = f"What of {prompt_id}?"
            writer.writerow([prompt_id, asked, "baseline", "alder", f"pluralism {before}"])
            text = f"pluralism {'none' if after is None else after}"
            writer.writerow([prompt_id, f"So sure! {asked}", "emotion_agree", "alder", text])
    return path


def test_responses_by_hand(command: Command, framed_csv: Path, tmp_path: Path) -> None:
    """Δs of 3, 1 and 0 and one abstention give the figures worked out on paper."""
    with serving(by_hand) as server:
        done = command(
            "sweep", "--full", "--responses", framed_csv,
            *MODELS, "--out", "run", "--threshold", "1",
            **at(server),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert len(server.calls) == 8
        assert "So sure! What of p1?" in json.dumps([c.payload for c in server.calls])
    cells = {c["dimension"]: c for c in rows_of(tmp_path / "run" / "deltas.csv")}
    cell = cells["pluralistic_engagement"]
    # Mean 4/3; squares of 5/3, −1/3, −4/3 sum to 14/3, so the sd is √(7/3) and d 4/3 ÷ √(7/3).
    assert float(cell["delta"]) == pytest.approx(4 / 3, abs=1e-6)
    assert float(cell["effect_size"]) == pytest.approx(4 / 3 / (7 / 3) ** 0.5, abs=1e-6)
    # t² is 16/9 ÷ 7/9; with two degrees of freedom p is 1 − √(t² / (2 + t²)), five times that 1.3.
    assert float(cell["p_value"]) == pytest.approx(1 - (16 / 30) ** 0.5, abs=1e-6)
    assert float(cell["p_max_t"]) == 1
    # Student's: 4/3 ± 4.302653 √(7/9).
    reach = 4.302653 * (7 / 9) ** 0.5
    assert float(cell["ci_low"]) == pytest.approx(4 / 3 - reach, abs=1e-5)
    assert float(cell["ci_high"]) == pytest.approx(4 / 3 + reach, abs=1e-5)
    assert (cell["n_pairs"], cell["n_abstained"]) == ("3", "1")
    for dimension in set(DIMENSIONS) - {"pluralistic_engagement"}:
        other = cells[dimension]
        assert (float(other["delta"]), other["n_pairs"], other["effect_size"]) == (0, "3", "")
    assert "+1.33" in done.stdout
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["sweep"]["profiles"][0]["kind"] == "none shown"
    # One fell by a third of the scale, 3 of 9 points.
    assert (cell["n_fell"], cell["n_rose"]) == ("1", "0")
    said = " ".join(done.stdout.split())
    assert "|Δ| is 1 or more in: alder, Pluralistic engagement under Strong feeling for." in said
    assert "Large falls of single prompts where no degradation is significant: Pluralistic" in said
    assert "alder 3.0 1/3 0.33 [0.01, 0.91] 0" in said
    assert "establish the largest of them (1.33 points, Pluralistic engagement" in said


def test_the_first_prompts_of_given_responses(command: Command, framed_csv: Path) -> None:
    """--limit takes the first prompts with all their responses."""
    with serving(by_hand) as server:
        done = command(
            "sweep", "--responses", framed_csv, *MODELS, "--limit", "2", "--json", **at(server)
        )
        assert done.returncode == 0, done.stderr
        assert len(server.calls) == 4
    assert json.loads(done.stdout)["tables"]["sweep"][0]["prompts"] == 2


def test_judges_may_see_the_baseline(command: Command, framed_csv: Path) -> None:
    """With --judge-sees baseline no judge reads a framed prompt."""
    with serving(by_hand) as server:
        done = command(
            "sweep", "--responses", framed_csv, *MODELS, "--judge-sees", "baseline", **at(server)
        )
        assert done.returncode == 0, done.stderr
        told = json.dumps([call.payload for call in server.calls])
        assert "What of p1?" in told
        assert "So sure!" not in told


# What is refused


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        (
            "prompts.jsonl",
            jsonl({"id": "a", "prompt": "x?"}, {"id": "a", "prompt": " "}, {"id": "b"}),
            [":2: id: found 'a' again", ":2: prompt: found an empty value", ":3: prompt:"],
        ),
        ("prompts.jsonl", "", ["no prompts"]),
        (
            "own.yaml",
            "id: own\nlabel: Own\nconditions:\n  - {id: calm, label: C}\n  - {id: X, label: X}\n",
            [
                "own.yaml:4: conditions.0.instruction: found nothing",
                "own.yaml:5: conditions.1.instruction: found nothing",
                "own.yaml:5: conditions.1.id: found 'X'",
            ],
        ),
    ],
)
def test_bad_input_is_refused_before_any_call(
    command: Command, name: str, content: str, found: list[str], tmp_path: Path
) -> None:
    """Every fault is named at once with its line; nothing is called and no folder made."""
    (tmp_path / name).write_text(content)
    with serving(world(sycophantic=False)) as server:
        framings = ["--framings", "own.yaml"] if name == "own.yaml" else []
        done = sweep(command, server, *framings)
        assert done.returncode == 2
        assert all(one in done.stderr for one in found), done.stderr
        assert "no model was called" in done.stderr
        assert len(server.calls) == 0
    assert not (tmp_path / "run").exists()


def test_faults_of_all_inputs_come_together(command: Command, tmp_path: Path) -> None:
    """A bad framing set, a bad prompt and a bad target file are named in one go."""
    (tmp_path / "own.yaml").write_text("id: own\nlabel: Own\nconditions: []\n")
    (tmp_path / "prompts.jsonl").write_text(jsonl({"prompt": " "}))
    (tmp_path / "mine.yaml").write_text("model: nameless\n")
    done = command(
        "sweep", "prompts.jsonl", "--framings", "own.yaml", "--target", "mine.yaml", *MODELS
    )
    assert done.returncode == 2
    for place in ("own.yaml:3: conditions", "prompts.jsonl:1: prompt", "mine.yaml:1: model"):
        assert place in done.stderr
    assert "3 faults found; no model was called." in done.stderr


def test_responses_without_a_baseline_are_refused(
    command: Command, framed_csv: Path, tmp_path: Path
) -> None:
    """Each prompt and system that lacks its baseline is named, with its line; nothing is called."""
    kept = [
        line
        for line in framed_csv.read_text().splitlines(keepends=True)
        if not line.startswith(("p2,What", "p4,What"))
    ]
    framed_csv.write_text("".join(kept))
    with serving(by_hand) as server:
        done = command("sweep", "--responses", framed_csv, *MODELS, "--out", "run", **at(server))
        assert done.returncode == 2
        assert len(server.calls) == 0
    told = [line for line in done.stderr.splitlines() if "no baseline" in line]
    assert len(told) == 2
    assert (
        "framed.csv:4: condition: found 'emotion_agree' of 'alder' for the prompt 'p2'" in told[0]
    )
    assert "'p4'" in told[1]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "PROMPTS"),
        (["prompts.jsonl"], "--target"),
        (["prompts.jsonl", "--target", "no-model"], "no-model"),
        (["prompts.jsonl", "--target", "openai:a", "--target", "openai:a"], "target twice"),
        (["prompts.jsonl", "--target", "openai:a", "--framings", "scrb"], "did you mean 'scrub'"),
        (["--responses", "r.csv", "--target", "openai:a"], "leave out --target"),
        (["prompts.jsonl", "--target", "openai:a", "--max-usd", "1"], "price"),
    ],
)
def test_what_does_not_go_together_is_refused(
    command: Command, arguments: list[str], told: str
) -> None:
    """Exit status 2 and a word on what to do; nothing is called."""
    with serving(world(sycophantic=False)) as server:
        done = command("sweep", *arguments, *MODELS, **at(server))
        assert done.returncode == 2
        assert told in " ".join(done.stderr.split()), done.stderr
        assert len(server.calls) == 0


# Money


def test_a_dry_run_says_how_many_calls_and_calls_nothing(command: Command) -> None:
    """It foresees exactly the calls that a sweep without failures makes, and after it none."""
    with serving(world(sycophantic=False)) as server:
        told = sweep(command, server, "--limit", "4", "--dry-run")
        assert told.returncode == 0, told.stderr
        assert len(server.calls) == 0
        # 4 rewrites and 4 checks, 24 answers, 24 judgments.
        assert "Total: 56 calls" in told.stdout
        assert sweep(command, server, "--limit", "4").returncode == 0
        assert len(server.calls) == 56
        again = sweep(command, server, "--limit", "4", "--dry-run")
        assert "Total: 0 calls" in again.stdout
        assert len(server.calls) == 56


def test_a_dry_run_says_what_the_sweep_could_show(command: Command, tmp_path: Path) -> None:
    """In standard deviations, and in points by an earlier sweep; where there are too few prompts,
    how many are needed. `--like` estimates only."""
    with serving(world(sycophantic=False)) as server:
        plain = sweep(command, server, "--dry-run")
        few = sweep(command, server, "--dry-run", "--limit", "1")
        done = sweep(command, server, "--limit", "12")
        dry = sweep(command, server, "--dry-run", "--like", "run", "--json")
        paid = sweep(command, server, "--like", "run")
        absent = sweep(command, server, "--dry-run", "--like", "nowhere")
    said = " ".join(plain.stdout.split())
    assert "With 30 prompts and 25 cells, the smallest detectable Δ is 0.78 standard" in said
    # Below the estimate of what would be spent in vain.
    assert concluded_in(few.stdout).startswith("Too few prompts")
    assert "At least 2 prompts are needed" in " ".join(few.stdout.split())
    assert "No cell is significant, which does not show that Δ is 0" in " ".join(
        done.stdout.split()
    )
    sds = sorted(float(cell["sd"]) for cell in rows_of(tmp_path / "run" / "deltas.csv"))
    found = json.loads(dry.stdout)["tables"]
    assert [one["judgments"] for one in found["models"]] != []
    [median] = [one for one in found["detectable_in_points"] if one["cell"] == "median"]
    assert median["sd"] == pytest.approx(sds[12], abs=1e-5)
    assert median["in_points"] == pytest.approx(0.7828 * sds[12], abs=0.02)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())["sweep"]
    assert summary["detectable"]["prompts"] == 12
    assert summary["asymmetry"]["plain"] is False
    assert (paid.returncode, absent.returncode) == (2, 2)
    assert "add --dry-run" in paid.stderr
    assert "nowhere: found" in absent.stderr


def test_a_cap_covers_rewriters_targets_and_judges(command: Command, tmp_path: Path) -> None:
    """--max-calls stops the sweep at that many calls; without it the rest is made, none twice."""
    counts: Counter[str] = Counter()
    with serving(world(sycophantic=False, counts=counts)) as server:
        capped = sweep(command, server, "--limit", "4", "--max-calls", "30")
        # As no judgment was reached.
        assert capped.returncode == 4
        assert len(server.calls) == 30
        assert "the cap of 30 calls is reached" in (tmp_path / "run/summary.json").read_text()
        done = sweep(command, server, "--limit", "4")
        assert done.returncode == 0, done.stderr
        assert len(server.calls) == 56
    assert set(counts.values()) == {1}


# What goes wrong on the way


def test_a_prompt_that_cannot_be_rewritten_is_left_out(command: Command, tmp_path: Path) -> None:
    """Its variants are reported and it is asked of nobody; the others are compared; exit 1."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        bad = part_of(payload) == "rewriter" and "case 0-1?" in json.dumps(payload)
        return ok("I would rather not say.") if bad else world(sycophantic=False)(number, payload)

    with serving(script) as server:
        done = sweep(command, server, "--limit", "4")
        asked = [c.payload for c in server.calls if part_of(c.payload) == "target"]
    assert done.returncode == 1
    assert "15 of 20 variants passed" in done.stdout
    assert "q1, empirical_i: the rewriter's answer cannot be used" in done.stdout
    assert len(asked) == 18
    assert "case 0-1?" not in json.dumps(asked)
    cells = rows_of(tmp_path / "run/deltas.csv")
    assert {cell["n_pairs"] for cell in cells} == {"3"}
    lines = [
        line for line in lines_of(tmp_path / "run/framings.jsonl") if line["prompt_id"] == "q1"
    ]
    assert [line["attempt"] for line in lines] == [1] * 5 + [2] * 5
    assert not any(line["used"] for line in lines)


def test_a_mended_rewriter_mends_a_sweep(command: Command, tmp_path: Path) -> None:
    """Variants that failed their checks are asked for again by the next run, and by no other
    call than theirs is anything made twice."""
    mended = False

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        bad = part_of(payload) == "rewriter" and "case 0-1?" in json.dumps(payload) and not mended
        empty = json.dumps(dict.fromkeys(OPENERS, "…"))
        return ok(empty) if bad else world(sycophantic=False)(number, payload)

    with serving(script) as server:
        assert sweep(command, server, "--limit", "2").returncode == 1
        before = len(server.calls)
        mended = True
        done = sweep(command, server, "--limit", "2")
        parts = Counter(part_of(call.payload) for call in server.calls[before:])
    assert done.returncode == 0, done.stderr
    assert parts == {"rewriter": 1, "checker": 1, "target": 6, "judge": 6}


def test_an_answer_that_does_not_come_is_missing(command: Command, tmp_path: Path) -> None:
    """A withheld answer and a broken call cost their cells one prompt each, and are told."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        text = payload["messages"][-1]["content"]
        if part_of(payload) == "target" and "case 0-2?" in text:
            if OPENERS["placebo"] in text:
                return filtered()
            if OPENERS["empirical_i"] in text:
                return status(400)
        return world(sycophantic=False)(number, payload)

    with serving(script) as server:
        done = sweep(command, server, "--limit", "4")
    assert done.returncode == 1
    pairs = {c["condition"]: c["n_pairs"] for c in rows_of(tmp_path / "run/deltas.csv")}
    assert pairs == {
        "empirical_i": "3", "empirical_friend": "4", "emotion_agree": "4", "emotion_disagree": "4",
        "placebo": "3",
    }  # fmt: skip
    answers = json.loads((tmp_path / "run/summary.json").read_text())["sweep"]["answers"]
    assert sorted((a["condition"], a["status"]) for a in answers["missing"]) == [
        ("empirical_i", "failed"), ("placebo", "refused"),
    ]  # fmt: skip
    # What there is can be scored again, without what is missing.
    assert len(load_framed_responses(tmp_path / "run/responses.jsonl")) == 22
    assert "1 answers missing: refused" in done.stdout


def test_killed_and_resumed_no_call_is_made_twice(tmp_path: Path) -> None:
    """Killed -9 while rewriting, while answering and while judging, the same command goes on:
    in the end no message was sent twice but those in flight at a kill, and the Δs are whole."""
    counts: Counter[str] = Counter()
    plain = world(sycophantic=False, counts=counts)
    in_flight = 8
    (tmp_path / "panel.yaml").write_text(
        f"personas: reader.yaml\nmodels:\n  - {{model: 'openai:judge', concurrency: {in_flight}}}\n"
    )
    command = [
        COMMAND, "sweep", "prompts.jsonl", "--panel", "panel.yaml", "--target", "openai:judge",
        "--out", "run",
    ]  # fmt: skip

    def slow(number: int, payload: Mapping[str, Any]) -> Answer:
        return replace(plain(number, payload), wait_s=0.01)

    with serving(slow) as server, (tmp_path / "output").open("wb") as output:
        environment = os.environ | at(server)

        def start() -> Forked:
            return forked.begun(command, tmp_path, environment, output)

        for calls in (20, 150, 320):
            forked.kill_when_called(start(), server.calls, calls)
        assert start().wait(60) == 0
        made = len(server.calls)
        assert start().wait(60) == 0
        assert len(server.calls) == made
    # 30 rewrites, 30 checks, 180 answers, 180 judgments.
    assert len(counts) == 420
    # Rewriter, target and judge are one model with one gate: so many are in flight at a kill.
    assert made - 420 <= 3 * in_flight
    assert max(counts.values()) <= 4
    cells = rows_of(tmp_path / "run/deltas.csv")
    assert {cell["n_pairs"] for cell in cells} == {"30"}


# Shapes of the command


def near(value: Any) -> Any:
    """A value that summary.json has, to the six digits that it has."""
    return pytest.approx(value, abs=1e-6) if isinstance(value, float) else value


def test_json_has_the_figures_of_the_summary(command: Command, tmp_path: Path) -> None:
    """--json prints one document, with every figure that summary.json has of the sweep."""
    with serving(world(sycophantic=False)) as server:
        done = sweep(command, server, "--limit", "2", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    printed, kept = json.loads(done.stdout), summary["sweep"]
    assert printed["conclusion"] == summary["conclusion"]
    tables = printed["tables"]
    about = {"prompts", "conditions", "judge_sees", "threshold", "level"}
    assert {name: tables["sweep"][0][name] for name in about} == {n: kept[n] for n in about}
    of_mean = {"value": "value", "low": "ci_low", "high": "ci_high", "p": "p_value",
               "p_adjusted": "p_claim", "n": "n_pairs"}  # fmt: skip
    for table, figure in (("cells", "delta"), ("gaps", "gap")):
        assert len(tables[table]) == len(kept[table])
        for row, cell in zip(tables[table], kept[table], strict=True):
            for name, before in of_mean.items():
                found = cell[figure if name == "value" else before]
                assert row[figure].get(name) == near(found), (table, name)
            same = row.keys() & cell.keys() - {figure}
            assert {"system", "dimension", "p_max_t", "sd", "effect_size"} <= same
            assert all(row[name] == near(cell[name]) for name in same)
    composites = [
        (one["system"], one["condition"], one["delta"]["value"], one["delta"].get("low"))
        for one in tables["composites"]
    ]
    assert composites == [
        (one["system"], one["condition"], near(one["delta"]), near(one["ci_low"]))
        for one in kept["composites"]
    ]
    assert [one["name"] for one in tables["profiles"]] == [one["name"] for one in kept["profiles"]]
    assert tables["detectable"][0]["in_sd"] == near(kept["detectable"]["in_sd"])
    assert tables["sweep"][0]["variants_used"] == kept["variants"]["used"]
    assert tables["judgments"][0]["scored"] == summary["coverage"]["scored"]


def test_a_target_from_a_file(command: Command, tmp_path: Path) -> None:
    """A YAML file says where a target is; the judges are elsewhere, and the length is asked for."""
    with serving(world(sycophantic=False)) as judges, serving(world(sycophantic=True)) as own:
        (tmp_path / "own.yaml").write_text(
            f"model: openai:mine\nbase_url: {own.base_url}\ntemperature: 0.5\n"
        )
        done = command(
            "sweep", "prompts.jsonl", "--limit", "2", "--target", "own.yaml", *MODELS,
            "--words", "120", "--out", "run", **at(judges),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert {part_of(call.payload) for call in own.calls} == {"target"}
        assert "target" not in {part_of(call.payload) for call in judges.calls}
        payloads = [call.payload for call in own.calls]
    assert all(p["messages"][-1]["content"].endswith("in about 120 words.") for p in payloads)
    assert {p["temperature"] for p in payloads} == {0.5}
    assert {c["system"] for c in rows_of(tmp_path / "run/deltas.csv")} == {"openai:mine"}


def test_another_sweep_does_not_go_into_the_same_folder(command: Command, tmp_path: Path) -> None:
    """A folder that holds a sweep with other framings, or a plain run, is refused."""
    with serving(world(sycophantic=False)) as server:
        assert sweep(command, server, "--limit", "2").returncode == 0
        other = sweep(command, server, "--limit", "2", "--judge-sees", "baseline")
    assert other.returncode == 2
    assert "differs in: sweep" in other.stderr


def test_framings_are_listed_and_shown(command: Command) -> None:
    """`framings` names the sets with their conditions; `framings NAME` has every instruction."""
    listed = command("library", "framings")
    assert listed.returncode == 0
    assert "emotion_disagree" in listed.stdout
    shown = " ".join(command("library", "framings", "pressure", "--full").stdout.split())
    for name in ("authority", "flattery", "urgency", "group", "placebo"):
        assert name in shown
    assert "doubting it is thought odd" in shown
