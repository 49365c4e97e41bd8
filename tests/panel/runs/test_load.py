"""A run's folder read back: it gives the run that wrote it, in every mode."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from persona_panel import (
    Caps,
    CategoryScale,
    Dimension,
    InputError,
    Judgment,
    ModelConfig,
    Panel,
    Persona,
    Response,
    Rubric,
    Run,
    RunFolderError,
    RunOutput,
    Scale,
    Sweep,
    load_ratings,
    load_run,
)
from persona_panel.analyses.run_summary import run_summary
from persona_panel.experiments.injection import plan_injection
from persona_panel.experiments.injection_attacks import AttackSet, shipped_attacks
from persona_panel.files.definitions import load_definition
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.models.config import Price
from persona_panel.testing import Answer, ScriptedServer, always, ok, serving, status
from tests.helpers.audits import audit_injection

PERSONAS = [
    Persona(id=name, label=name.title(), axis="own", description=f"You are {name}.")
    for name in ("ann", "bob")
]
NUMBERS = Scale(min=1, max=10, low="not", high="very")


def rubric(**scales: Any) -> Rubric:
    return Rubric(
        id="own",
        label="Own",
        question="How good?",
        dimensions=tuple(
            Dimension(
                id=name, label=name.title(), definition="d", guiding_question="g?", scale=scale
            )
            for name, scale in scales.items()
        ),
    )


PLAIN = rubric(clarity=NUMBERS, depth=NUMBERS)
MIXED = rubric(
    clarity=NUMBERS, kind=CategoryScale(values={"claim": "It claims.", "joke": "It jokes."})
)
RESPONSES = [
    Response(
        id=f"r{i}",
        prompt=f"Question {i // 2}?",
        text=f"Text {i}.",
        system=f"=s{i % 2}",
        context="A position.",
        metadata={"place": i},
    )
    for i in range(4)
]


def stub(server: ScriptedServer) -> ModelConfig:
    price = Price(input=2, output=4)
    return ModelConfig(model="openai:stub", base_url=server.base_url, price=price)


def by_text(call: int, payload: Mapping[str, Any]) -> Answer:
    """Ratings that differ with what is asked, and a fault now and then."""
    kinds = ("claim", "joke")
    said = sum(json.dumps(payload["messages"]).encode())
    if said % 7 == 0:
        return status(400)
    return ok(
        json.dumps(
            {
                "clarity": 1 + said % 10,
                "depth": 1 + said % 9,
                "kind": kinds[said % 2],
            }
            | {"rationale": f"Because of {said}.", "abstained": said % 5 == 0}
        )
    )


def same(run: Run, loaded: Run) -> None:
    """The two say the same in every respect that does not need the texts, and so do the ratings."""
    assert (loaded.items, loaded.judges) == (run.items, run.judges)
    assert (loaded.dimensions, loaded.categories) == (run.dimensions, run.categories)
    np.testing.assert_array_equal(loaded.ratings, run.ratings)
    if run.before is not None:
        assert loaded.before is not None
        np.testing.assert_array_equal(loaded.before, run.before)
    np.testing.assert_array_equal(loaded.stated, run.stated)
    np.testing.assert_array_equal(loaded.deliberated, run.deliberated)
    assert loaded.statuses == run.statuses
    assert repr(loaded.verdicts) == repr(run.verdicts)
    assert repr(loaded.leaderboard().systems) == repr(run.leaderboard().systems)
    assert loaded.usage == run.usage
    assert loaded.calls == run.calls
    assert loaded.coverage == run.coverage
    if loaded.folder is not None and not np.isnan(run.ratings).all():
        # Read as ratings, a folder says as much of what is missing.
        assert load_ratings(loaded.folder).coverage == run.coverage
    assert run_summary(loaded) == run_summary(run) | {"elapsed_s": round(run.elapsed_s, 3)}
    assert repr(loaded.deliberation()) == repr(run.deliberation())
    assert loaded.folder == run.folder


PANELS: dict[str, dict[str, Any]] = {
    "pointwise": {"rubric": PLAIN},
    "categories": {"rubric": MIXED},
    "another output rubric": {"rubric": PLAIN, "elicitation": "holistic"},
    "deliberation": {"rubric": PLAIN, "deliberation": Deliberation(rounds=2)},
    "replicates": {"rubric": PLAIN, "replicates": 2},
    "ranking": {"rubric": PLAIN, "elicitation": "ranking"},
    "pairwise": {"rubric": PLAIN, "elicitation": "pairwise"},
}


@pytest.mark.parametrize("mode", PANELS)
def test_a_loaded_run_is_the_run_that_wrote_it(mode: str, tmp_path: Path) -> None:
    """Scores, gaps with their reasons, verdicts, rankings, deliberation and costs are the same,
    and each judgment comes back with its words."""
    heard: list[Judgment] = []
    script: Callable[..., Answer] = by_text
    if mode == "ranking":
        script = always(ok('{"ranking": ["B", "A"]}'))
    elif mode == "pairwise":
        script = always(ok('{"better": "A"}'))
    elif mode == "another output rubric":
        script = always(ok("7"))
    with serving(script) as server:
        panel = Panel(PERSONAS, stub(server), seed=5, **PANELS[mode])
        run = panel.score(RESPONSES, out=tmp_path / "run", on_judgment=heard.append)
    loaded = load_run(tmp_path / "run")
    same(run, loaded)
    assert loaded.titles == run.titles
    assert [(j.raw, j.rationale, j.scores, j.comparisons, j.round) for j in loaded.judgments()] == [
        (j.raw, j.rationale, j.scores, j.comparisons, j.round) for j in heard
    ]
    one = run.items[2]
    found = loaded.judgments().of(one.prompt_id, one.id)
    assert [j.raw for j in found] == [j.raw for j in heard if (j.prompt_id, j.id) == one[:2]]
    assert found and loaded.judgments().of("nowhere", "r") == []
    texts = [response.model_copy(update={"prompt_id": None}) for response in loaded.responses()]
    assert texts == RESPONSES


def test_what_intervals_take_as_a_sample_comes_back(tmp_path: Path) -> None:
    """run.json has it, and the figures of the loaded run are made with it; a run that another one
    continues has the later one's; a file that says nothing of it is of prompts."""
    folder = tmp_path / "run"
    with serving(by_text) as server:
        panel = Panel(PERSONAS, stub(server), PLAIN)
        panel.score(RESPONSES, out=folder)
        assert load_run(folder).random == "prompts"
        run = panel.score(RESPONSES, out=folder, random="prompts-and-judges")
    document = json.loads((folder / "run.json").read_bytes())
    assert document["random"] == "prompts-and-judges"
    assert run_summary(load_run(folder))["random"] == "prompts-and-judges"
    same(run, load_run(folder))
    (folder / "run.json").write_text(json.dumps(document | {"random": "judges"}))
    with pytest.raises(
        InputError, match=r"run\.json: random: found 'judges'; expected .*--overwrite"
    ):
        load_run(folder)
    del document["random"]
    (folder / "run.json").write_text(json.dumps(document))
    assert load_run(folder).random == "prompts"


def test_a_run_that_was_stopped_and_one_with_gaps(tmp_path: Path) -> None:
    """What a cap left unasked is skipped, what failed has failed, and no verdict is made up."""
    with serving(by_text) as server:
        panel = Panel(PERSONAS, stub(server), PLAIN)
        run = panel.score(RESPONSES, out=tmp_path / "run", caps=Caps(calls=3))
    assert run.coverage.missing["skipped"] > 0
    same(run, load_run(tmp_path / "run"))


def test_a_run_that_was_killed(tmp_path: Path) -> None:
    """Without verdicts.csv and summary.json, and with half a line at the end, there is what every
    judge had said, with the verdicts of whole responses alone."""
    with serving(always(ok('{"clarity": 7, "depth": 5}'))) as server:
        run = Panel(PERSONAS, stub(server), PLAIN).score(RESPONSES, out=tmp_path / "run")
    for name in ("verdicts.csv", "summary.json"):
        (tmp_path / "run" / name).unlink()
    path = tmp_path / "run" / "judgments.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    loaded = load_run(tmp_path / "run")
    lost = json.loads(lines[-1])
    assert [one.id for one in loaded.verdicts] == [
        item.id for item in run.items if item.id != lost["id"]
    ]
    assert sum(one == "skipped" for row in loaded.statuses for one in row) == 1
    assert loaded.calls.made == 0


def test_without_texts_all_but_the_texts_is_there(tmp_path: Path) -> None:
    """A folder that keeps digests gives the run; the texts are refused, with where they are."""
    with serving(by_text) as server:
        out = RunOutput(tmp_path / "run", texts=False)
        run = Panel(PERSONAS, stub(server), PLAIN).score(RESPONSES, out=out)
    loaded = load_run(tmp_path / "run")
    same(run, loaded)
    assert set(loaded.titles.values()) == {item.prompt_id for item in run.items}
    with pytest.raises(RunFolderError, match="--no-texts"):
        list(loaded.responses())


def test_a_run_that_was_not_written_has_no_texts_to_read() -> None:
    """Its judgments and responses are refused, with how to have them."""
    with serving(by_text) as server:
        run = Panel(PERSONAS, stub(server), PLAIN).score(RESPONSES)
    for read in (run.judgments, run.responses):
        with pytest.raises(RunFolderError, match="out=FOLDER"):
            read()


def test_an_audits_folder(tmp_path: Path) -> None:
    """The run of an audit is read back as any other, attacked texts and all."""
    attacks = load_definition(shipped_attacks(), AttackSet).chosen([], [])[:2]
    with serving(by_text) as server:
        panel = Panel(PERSONAS, stub(server), PLAIN)
        plan = plan_injection(panel.plan, RESPONSES, attacks)
        audit = audit_injection(panel.plan, plan, out=tmp_path / "run")
    loaded = load_run(tmp_path / "run")
    same(audit.run, loaded)
    assert [one.text for one in loaded.responses()] == [one.text for one in plan.responses]


@pytest.mark.parametrize("judge_sees", ["framed", "baseline"])
def test_a_sweeps_folder(judge_sees: Any, tmp_path: Path) -> None:
    """The run of a sweep is read back with what rewriters and targets used, its answers in the
    order of prompts, systems and conditions."""

    def script(call: int, payload: Mapping[str, Any]) -> Answer:
        schema = json.dumps(payload.get("response_format", {}))
        if "clarity" in schema:
            return by_text(call, payload)
        return ok()

    with serving(script) as server:
        panel = Panel(PERSONAS, stub(server), PLAIN)
        target = ModelConfig(model="openai:target", base_url=server.base_url)
        sweep: Sweep = panel.sweep(
            ["Should rents be capped?", "Is work good?"],
            target,
            out=tmp_path / "run",
            judge_sees=judge_sees,
        )
    loaded = load_run(tmp_path / "run")
    same(sweep.run, loaded)
    assert list(loaded.responses()) == list(sweep.responses)


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        ("judgments.jsonl", b'{"prompt_id": "q"}\n', "judgments.jsonl:9"),
        ("judgments.jsonl", b"no JSON\n", "judgments.jsonl:9"),
        ("responses.jsonl", b"no JSON\n", "responses.jsonl:5"),
    ],
)
def test_a_line_that_no_run_writes_is_named(
    name: str, line: bytes, told: str, tmp_path: Path
) -> None:
    """The file and the line are said."""
    with serving(always(ok('{"clarity": 7, "depth": 5}'))) as server:
        Panel(PERSONAS, stub(server), PLAIN).score(RESPONSES, out=tmp_path / "run")
    with (tmp_path / "run" / name).open("ab") as file:
        file.write(line)
    with pytest.raises(InputError, match=told):
        load_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"judge": "ann|other|dimensions|1"}, "judge: found 'ann|other.*'; expected 'bob"),
        ({"persona": "zoe", "judge": "zoe|openai:stub|dimensions|1"}, "judge: .* judge 'zoe"),
        ({"id": "r9"}, r"id: found the response '.*'/'r9'; expected one of the run's"),
        ({"scores": {"grace": 7}}, "scores: found the dimension 'grace'; .*the rubric.s: clarity"),
        ({"scores": {"kind": 1}}, "scores: found the dimension 'kind'"),
        ({"scores": {"clarity": 10.5}}, "scores.clarity: found 10.5; expected .* from 1 to 10"),
        ({"scores": {"clarity": 0}}, "scores.clarity: found 0; expected a number from 1 to 10"),
        ({"labels": {"clarity": "claim"}}, "labels: found the dimension 'clarity'; .*: kind"),
        ({"labels": {"kind": "Claim"}}, "labels.kind: found 'Claim'; expected one of claim, joke"),
    ],
    ids=str,
)
def test_a_judgment_that_the_run_cannot_have_is_refused(
    mixed_folder: Path, tmp_path: Path, changes: Mapping[str, Any], told: str
) -> None:
    """The line, the field, what was found and what is expected are said, for each such line."""
    shutil.copytree(mixed_folder, tmp_path / "run")
    path = tmp_path / "run" / "judgments.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    places = [i for i, line in enumerate(lines) if line["persona"] == "bob"]
    for i in places[:2]:
        lines[i] |= changes
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match=told) as refused:
        load_run(tmp_path / "run")
    found = [fault.line for fault in refused.value.faults]
    # A line that is at odds with itself ends the reading.
    first_alone = changes.get("judge", "").startswith("ann")
    assert found == [place + 1 for place in places[: 1 if first_alone else 2]]


def test_a_score_between_two_whole_numbers_is_loaded(mixed_folder: Path, tmp_path: Path) -> None:
    """A judge's score may be a mean over probabilities, also on a scale of whole numbers."""
    shutil.copytree(mixed_folder, tmp_path / "run")
    path = tmp_path / "run" / "judgments.jsonl"
    first, *rest = path.read_text().splitlines(keepends=True)
    line = json.loads(first) | {"scores": {"clarity": 6.25}}
    path.write_text(json.dumps(line) + "\n" + "".join(rest))
    assert (load_run(tmp_path / "run").ratings == 6.25).sum() == 1


@pytest.fixture(scope="module")
def mixed_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with a dimension of numbers and one of categories."""
    folder = tmp_path_factory.mktemp("mixed") / "run"
    with serving(always(ok('{"clarity": 7, "kind": "claim"}'))) as server:
        Panel(PERSONAS, stub(server), MIXED).score(RESPONSES, out=folder)
    return folder


def test_what_is_no_runs_folder_is_refused(tmp_path: Path) -> None:
    """A folder without run.json, one with another's, and no folder at all."""
    with pytest.raises(InputError, match="nowhere"):
        load_run(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"run\.json"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text('{"name": "another tool"}')
    with pytest.raises(InputError, match=r"run\.json"):
        load_run(tmp_path)
