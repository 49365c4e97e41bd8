"""`persona-panel ablate` as a user runs it: a real server whose judges answer by what they are
asked, so that every difference is known by hand."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import krippendorff
import pytest
from scipy import stats

from benchmarks.papers import rows
from persona_panel import load_run
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.testing import Answer, ScriptedServer, ok, serving, status
from persona_panel.testing.scripted_model import default_text, stable_hash
from tests.helpers import forked
from tests.helpers.command import COMMAND, Command
from tests.helpers.results import concluded_in

PROMPTS = 12
RUBRIC = """\
id: one
label: One
question: How good is it?
dimensions:
  - id: quality
    label: Quality
    definition: How good it is.
    guiding_question: Is it good?
    scale: {min: 1, max: 10, low: worst, high: best}
variants:
  novice: {label: For novices, question: "NOVICE: how good is it?"}
"""
PERSONAS = """\
id: two
label: Two
personas:
  - {id: strict, label: Strict, axis: annotator, description: You are STRICT.}
  - {id: mild, label: Mild, axis: annotator, description: You are MILD.}
"""


def judged(number: int, payload: Mapping[str, Any]) -> Answer:
    """A judge that sees how good a response is (4 or 6): strict, 1 less; mild, 1 more; both as it
    is, with reasons; without a persona, 2 more where it is 6 and the prompt odd; without a rubric,
    the other way round."""
    if payload["model"] == "broken":
        return status(401)
    asked = json.dumps(payload["messages"])
    quality = int(re.search(r"quality (\d)", asked)[1])  # type: ignore[index]
    if "response_format" not in payload and "scratchpad" not in asked:
        return ok(str(10 - quality))
    score = quality
    if "scratchpad" not in asked:
        if "STRICT" in asked or "MILD" in asked:
            score += -1 if "STRICT" in asked else 1
        elif quality == 6 and int(re.search(r"case (\d+)", asked)[1]) % 2:  # type: ignore[index]
            score += 2
    said = json.dumps({"quality": score})
    return ok(f"<scratchpad>So.</scratchpad>{said}" if "scratchpad" in asked else said)


@pytest.fixture(autouse=True)
def desk(tmp_path: Path) -> None:
    """Two systems' answers to twelve prompts: of ash as good as 6, of elm as 4."""
    (tmp_path / "one.yaml").write_text(RUBRIC)
    (tmp_path / "two.yaml").write_text(PERSONAS)
    rows = [
        {"id": f"r{i}-{system}", "prompt_id": f"q{i}", "prompt": f"What of case {i}?",
         "response": f"In case {i} this is of quality {quality}.", "system": system}
        for i in range(PROMPTS)
        for system, quality in (("ash", 6), ("elm", 4))
    ]  # fmt: skip
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def panel_file(folder: Path, server: ScriptedServer) -> None:
    (folder / "panel.yaml").write_text(
        "personas: two.yaml\nrubric: one.yaml\nmodels:\n"
        f"  - {{model: 'openai:judge', base_url: '{server.base_url}', concurrency: 8, "
        "elicitation: dimensions, price: {input: 1, output: 2}}\n"
    )


def ablate(command: Command, *more: str) -> Any:
    return command("ablate", "in.jsonl", "--panel", "panel.yaml", "--out", "run", *more)


def differences(stdout: str) -> dict[str, dict[str, Any]]:
    return {row["panel"]: row for row in json.loads(stdout)["tables"]["differences"]}


def test_every_difference_is_that_of_the_script(command: Command, tmp_path: Path) -> None:
    """Without personas the better system has 2 more on every other prompt: the mean score rises by
    0.5 and the lead by 1, with Student's interval, and its replicates, as many as personas, are
    one judge; with reasons the judges agree, and nothing else changes; without a rubric the order
    is the reverse."""
    with serving(judged) as server:
        panel_file(tmp_path, server)
        vary = ("--vary", "personas,reasoning", "--vary", "guidelines=none")
        done = ablate(command, *vary, "--json")
        assert done.returncode == 0, done.stderr
        calls = len(server.calls)
        shown = ablate(command, *vary)
        assert len(server.calls) == calls == 24 * (2 + 2 + 2 + 2)
    rows = differences(done.stdout)
    assert [*rows] == ["personas=none", "reasoning=yes", "guidelines=none"]
    plain, reasons, free = rows.values()
    # By prompt 0 or 1 (score), 0 or 2 (lead), half of the prompts each: sd √(12/11) times half.
    for row, mean in ((plain["score"], 0.5), (plain["lead"], 1.0)):
        error = mean * sqrt(PROMPTS / (PROMPTS - 1)) / sqrt(PROMPTS)
        reach = stats.t.ppf(0.975, PROMPTS - 1) * error
        assert row["value"] == pytest.approx(mean)
        assert (row["low"], row["high"]) == pytest.approx((mean - reach, mean + reach))
        assert row["p"] == pytest.approx(2 * stats.t.sf(mean / error, PROMPTS - 1))
    # The others change neither on any prompt: there is one test of each, and no adjustment.
    assert plain["lead"]["p_adjusted"] == plain["lead"]["p"]
    assert plain["tau"]["value"] == reasons["tau"]["value"] == 1
    assert free["tau"]["value"] == -1
    said = " ".join(json.loads(done.stdout)["conclusion"])
    assert "The lowest τ_b with the base's ranking of responses is −1.00" in said
    assert reasons["score"]["value"] == free["score"]["value"] == 0
    assert free["lead"]["value"] == -4
    # Of ratings (5, 7) and (3, 5); with reasons both judges say 6, or 4.
    base = krippendorff.alpha([[5, 3] * PROMPTS, [7, 5] * PROMPTS], level_of_measurement="ordinal")
    assert reasons["agreement"]["value"] == pytest.approx(1 - base)
    # As of `score`: replicates that all say the same are one judge, who agrees with nobody.
    assert plain["agreement"]["value"] is None
    assert "count as one" in plain["agreement"]["reason"]
    # No persona is read.
    assert plain["tokens"] < 0 < reasons["tokens"]
    # What else changes is said before a call and with the answer.
    assert plain["changes"] == ["personas (strict, mild; none)", "replicates (1; 2)"]
    assert "reasoning=yes changes elicitation (dimensions; justified)" in said
    assert "guidelines=none changes elicitation (dimensions; unguided)." in done.stderr
    # The answer is kept; the runs are there to be compared.
    assert json.loads((tmp_path / "run" / "ablation.json").read_text()) == json.loads(done.stdout)
    assert "persona-panel compare run/base run/personas=none" in shown.stderr
    assert "score is 0.50 points higher with personas=none" in concluded_in(shown.stdout)
    assert "The lowest τ_b with the base's ranking of responses is −1.00" in concluded_in(
        shown.stdout
    )
    assert len(shown.stdout.splitlines()) <= 24
    # Each is a run like any other.
    agreed = command("agree", "run/base", "--resamples", "0", "--json")
    assert agreed.returncode == 0, agreed.stderr
    assert load_run(tmp_path / "run" / "personas=none").coverage.scored == 48
    again = command("compare", "run/base", "run/personas=none", "--json")
    composite = json.loads(again.stdout)["tables"]["differences"][0]
    assert composite["difference"]["low"] == pytest.approx(plain["score"]["low"])


def test_people_say_which_change_is_for_the_better(command: Command, tmp_path: Path) -> None:
    """People rate as the panel does: reversed, it loses 2 of τ_b within prompts; else nothing."""
    rows = [json.loads(line) for line in (tmp_path / "in.jsonl").read_text().splitlines()]
    ratings = [
        f"{row['id']},{rater},{5 + int(row['system'] == 'ash') + place}"
        for row in rows
        for place, rater in enumerate(("ann", "ben"))
    ]
    (tmp_path / "people.csv").write_text("\n".join(["item,rater,score", *ratings]) + "\n")
    with serving(judged) as server:
        panel_file(tmp_path, server)
        vary = ("--vary", "guidelines=none", "--vary", "personas")
        done = ablate(command, *vary, "--human", "people.csv", "--json")
    assert done.returncode == 0, done.stderr
    rows_of = differences(done.stdout)
    assert rows_of["guidelines=none"]["people"]["value"] == -2
    assert rows_of["personas=none"]["people"]["value"] == 0


def test_one_estimate_counts_what_two_panels_ask_alike_once(
    command: Command, tmp_path: Path
) -> None:
    """Of two replicates the first is the base's; a dry run calls nothing."""
    with serving(judged) as server:
        panel_file(tmp_path, server)
        vary = ("--vary", "replicates=2,3", "--vary", "guidelines=novice")
        done = ablate(command, *vary, "--dry-run", "--json", "--max-calls", "100")
        assert done.returncode == 0, done.stderr
        assert not server.calls
        made = ablate(command, *vary)
        assert made.returncode == 0, made.stderr
        assert len(server.calls) == 24 * 2 * 4
    rows = json.loads(done.stdout)["tables"]["models"]
    assert {row["panel"]: row["calls"] for row in rows} == {
        "base": 48, "replicates=2": 48, "replicates=3": 48, "guidelines=novice": 48,
    }  # fmt: skip
    assert "would stop before its end at --max-calls 100: it takes at least 192" in done.stderr


def test_one_cap_is_of_all_panels(command: Command, tmp_path: Path) -> None:
    """The cap ends the calls of all panels together; with a higher one the same command makes the
    rest, and nothing twice."""
    with serving(judged) as server:
        panel_file(tmp_path, server)
        vary = ("--vary", "personas,reasoning")
        first = ablate(command, *vary, "--max-calls", "60")
        assert len(server.calls) == 60
        # 36 of 48 of it are missing: no figure is of the rest.
        said = "Not compared: personas=none (36 of 48 judgments are missing)"
        assert said in concluded_in(first.stdout)
        assert first.returncode == 4, first.stderr
        ablate(command, *vary, "--max-calls", "60")
        assert len(server.calls) == 60
        # 48 of the base, as many without personas and with reasons.
        whole = ablate(command, *vary, "--max-calls", "144")
        assert whole.returncode == 0, whole.stderr
        assert len(server.calls) == 144
    said = (tmp_path / "run" / "reasoning=yes" / "summary.json").read_text()
    assert json.loads(said)["coverage"]["missing"] == {}


def test_a_second_ablation_in_the_folder_is_refused(tmp_path: Path) -> None:
    """The cap is of all panels: a second command on the folder makes no call while the first asks,
    as it could not count what the first will."""

    def slow(number: int, payload: Mapping[str, Any]) -> Answer:
        return replace(judged(number, payload), wait_s=0.05)

    with serving(slow) as server, (tmp_path / "output").open("wb") as output:
        panel_file(tmp_path, server)
        command = [
            COMMAND, "ablate", "in.jsonl", "--panel", "panel.yaml", "--vary", "personas",
            "--max-calls", "96", "--out", "run",
        ]  # fmt: skip
        first = forked.begun(command, tmp_path, os.environ, output)
        until = time.monotonic() + 60
        while not server.calls:
            assert time.monotonic() < until
            time.sleep(0.002)
        with (tmp_path / "second").open("wb") as second:
            assert forked.begun(command, tmp_path, os.environ, second).wait(60) != 0
        assert first.wait(60) == 0
        assert len(server.calls) == 96
    assert "another run is writing to" in (tmp_path / "second").read_text()


def test_a_panel_that_fails_ends_no_other(command: Command, tmp_path: Path) -> None:
    """A model without a valid key has no run to compare; the others are compared all the same."""
    with serving(judged) as server:
        panel_file(tmp_path, server)
        broken = f"openai:broken@{server.base_url}"
        done = ablate(command, "--vary", f"models={broken}", "--vary", "personas", "--json")
    assert done.returncode == 1, done.stderr
    assert [*differences(done.stdout)] == ["personas=none"]
    document = json.loads(done.stdout)
    assert "No panel changes the ranking of responses" in " ".join(document["conclusion"])
    [row] = [row for row in document["tables"]["panels"] if row["reason"]]
    assert row["panel"] == f"models={broken}"
    assert "a run without a scored response" in row["reason"]
    assert f"Not compared: models={broken} (a run without" in document["conclusion"][1]


def test_killed_and_resumed_no_call_is_made_twice(tmp_path: Path) -> None:
    """Killed -9 while the base and while another panel judges, the same command goes on: no
    request is sent twice but those in flight at a kill."""
    counts: Counter[str] = Counter()

    def slow(number: int, payload: Mapping[str, Any]) -> Answer:
        counts[json.dumps(payload["messages"])] += 1
        return replace(judged(number, payload), wait_s=0.02)

    with serving(slow) as server, (tmp_path / "output").open("wb") as output:
        panel_file(tmp_path, server)
        command = [
            COMMAND, "ablate", "in.jsonl", "--panel", "panel.yaml", "--vary", "personas,reasoning",
            "--out", "run",
        ]  # fmt: skip
        for calls in (20, 60):
            process = forked.begun(command, tmp_path, os.environ, output)
            forked.kill_when_called(process, server.calls, calls)
        assert forked.begun(command, tmp_path, os.environ, output).wait(60) == 0
        made = len(server.calls)
        assert forked.begun(command, tmp_path, os.environ, output).wait(60) == 0
        assert len(server.calls) == made
    # Replicates of a plain judge are asked in the same words.
    assert sum(counts.values()) == made
    # Two kills, each with eight calls in flight.
    assert 144 <= made <= 144 + 2 * 8


def test_stopped_in_the_second_panel_the_same_command_goes_on(tmp_path: Path) -> None:
    """Ctrl-C while the panel without personas judges: the command says how to go on; then no call
    is made twice, and the answer is that of an ablation that nothing stopped."""

    def slow(number: int, payload: Mapping[str, Any]) -> Answer:
        return replace(judged(number, payload), wait_s=0.02)

    answers = []
    with serving(slow) as server:
        panel_file(tmp_path, server)
        for out, stops in (("stopped", True), ("whole", False)):
            command = [
                COMMAND, "ablate", "in.jsonl", "--panel", "panel.yaml", "--out", out,
                "--vary", "personas,reasoning",
            ]  # fmt: skip
            before = len(server.calls)
            env = {**os.environ, "PERSONA_PANEL_CACHE": str(tmp_path / f"cache-{out}")}
            with (tmp_path / "output").open("wb") as output:
                process = forked.begun(command, tmp_path, env, output)
                if stops:
                    until = time.monotonic() + 60
                    while len(server.calls) < 60:
                        assert time.monotonic() < until
                        time.sleep(0.002)
                    process.send_signal(signal.SIGINT)
                    assert process.wait(60) == 130
                    told = (tmp_path / "output").read_text()
                    assert "The same command continues" in " ".join(told.split())
                    assert len(server.calls) < 100
                    process = forked.begun(command, tmp_path, env, output)
                assert process.wait(60) == 0
            # Calls in flight when it is stopped are given up.
            assert 144 <= len(server.calls) - before <= 144 + 8 * stops
            answers.append(json.loads((tmp_path / out / "ablation.json").read_text()))
    assert answers[0] == answers[1]


def ablations_of_papers() -> list[str]:
    """Return the ablations in the rows of the papers, as commands or in notes."""
    texts = [f"{row.get('command')}`{row.get('note')}" for page in rows().values() for row in page]
    return [each for text in texts for each in re.findall(r"persona-panel (ablate [^`]+)", text)]


def test_every_setting_that_papers_vary_is_among_their_rows() -> None:
    """Reasons, guidelines, runs, personas, ensembles, and one rating with and without a rubric."""
    varied = {re.search(r"--vary (\S+)", each)[1] for each in ablations_of_papers()}  # type: ignore[index]
    assert varied == {
        "reasoning", "reasoning,guidelines", "replicates=3,5", "personas", "models=A+B,C+D",
        "elicitation=holistic,unguided",
    }  # fmt: skip


@pytest.mark.parametrize("row", ablations_of_papers())
def test_each_ablation_of_a_paper_is_one_command(
    command: Command, tmp_path: Path, row: str
) -> None:
    """Every panel has all of its judgments, and is compared."""

    def judge(number: int, payload: Mapping[str, Any]) -> Answer:
        asked = json.dumps(payload["messages"])
        if "scratchpad" not in asked:
            return ok(default_text(payload) if "response_format" in payload else "2")
        rubric = re.search(r"--rubric (\S+)", row)
        ids = [each.id for each in resolve_rubric(rubric[1] if rubric else "scrub").dimensions]
        said = json.dumps({each: 1 + stable_hash([asked, each]) % 3 for each in ids})
        return ok(f"<scratchpad>So.</scratchpad>{said}")

    texts = [json.loads(line) for line in (tmp_path / "in.jsonl").read_text().splitlines()]
    ratings = [
        f"{text['id']},{rater},{n % 3 + 1}" for n, text in enumerate(texts) for rater in "xy"
    ]
    (tmp_path / "people.csv").write_text("\n".join(["item,rater,score", *ratings]) + "\n")
    with serving(judge) as server:
        spec = f"openai:{{}}@{server.base_url}"
        row = row.replace("RESPONSES", "in.jsonl")
        row = re.sub(r"\b(RATINGS|RANKS)\b", "people.csv", row)
        row = re.sub(r"(?<=[ =+,])[A-D]\b", lambda name: spec.format(name[0].lower()), row)
        more = [] if "--model" in row else ["--model", spec.format("judge")]
        done = command(*row.split(), *more, "--out", "run", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert not [each for each in document["tables"]["panels"] if each["reason"]]
    assert len(document["tables"]["differences"]) == len(document["tables"]["panels"]) - 1 > 0


def test_two_panels_never_share_a_folder(command: Command, tmp_path: Path) -> None:
    """Two files whose paths differ by a sign alone have a folder each."""
    for name in ("a-b.yaml", "a/b.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(RUBRIC.replace("How good", f"By {name} how good"))
    with serving(judged) as server:
        panel_file(tmp_path, server)
        done = ablate(command, "--vary", "rubric=a-b.yaml,a/b.yaml")
        assert done.returncode == 0, done.stderr
        assert len(server.calls) == 24 * 2 * 3
    folders = sorted(path.name for path in (tmp_path / "run").iterdir() if path.is_dir())
    assert folders == ["base", "rubric=a-b.yaml-no-1", "rubric=a-b.yaml-no-2"]


def test_personas_are_not_compared_with_one_judgment_counted_twice(
    command: Command, tmp_path: Path
) -> None:
    """At temperature 0 as many judgments without a persona as with one would be the same one: each
    of 24 texts is asked about once by it, and twice by two personas."""
    with serving(judged) as server:
        panel_file(tmp_path, server)
        done = ablate(command, "--vary", "personas", "--option", "temperature=0")
        assert len(server.calls) == 24 * (2 + 1)
    assert done.returncode == 0, done.stderr
    assert load_run(tmp_path / "run" / "personas=none").coverage.scored == 24


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        ("persona", "nothing is called 'persona' (did you mean 'personas'?)"),
        ("replicates", "--vary replicates needs values"),
        ("reasoning=maybe", "found 'maybe'; expected yes or none"),
        ("replicates=1", "changes nothing: the panel has these values already"),
        ("replicates=many", "replicates: found"),
        ("temperature=hot", "found 'hot'; expected a temperature"),
        ("deliberation=long", "found 'long'; expected a number of rounds or none"),
        ("replicates= 1 ", "changes nothing: the panel has these values already"),
        ("guidelines=expert", "no variant 'expert'"),
        ("models", "--vary models needs values"),
        ("reasoning=none", "changes nothing: the panel has these values already"),
    ],
)
def test_what_cannot_be_varied_is_refused(
    command: Command, tmp_path: Path, vary: str, said: str
) -> None:
    """Nothing is called, and what would do is said."""
    with serving(judged) as server:
        panel_file(tmp_path, server)
        done = ablate(command, "--vary", vary)
        assert not server.calls
    assert done.returncode == 2
    assert said in done.stderr


def test_a_requirement_names_a_panel(command: Command, tmp_path: Path) -> None:
    """A figure is required by the panel's name; one that will not be there is refused before a
    call."""
    with serving(judged) as server:
        panel_file(tmp_path, server)
        refused = ablate(command, "--vary", "personas", "--require", 'score["reasoning=yes"] < 1')
        assert (refused.returncode, len(server.calls)) == (2, 0)
        unmet = ablate(command, "--vary", "personas", "--require", 'score["personas=none"] < 0.2')
    assert unmet.returncode == 3, unmet.stderr
