"""Models with names and options, and a panel file together with what overrides it."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest

from persona_panel import Panel, Response
from persona_panel.analyses.score import score_result
from persona_panel.files.errors import ConfigurationError, InputError
from persona_panel.models.config import ModelConfig
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.testing import ScriptedServer, always, serving, thinking
from tests.helpers.invoked import invoked

BATCH = [Response(id="1", prompt="Why?", text="Because.", system="ash")]
AT = "http://127.0.0.1:9/v1"


def entry(name: str | None = None, **settings: Any) -> ModelConfig:
    return ModelConfig(**{"model": "openai:stub", "base_url": AT, "name": name} | settings)


def written(folder: Path, *lines: str) -> Path:
    path = folder / "panel.yaml"
    path.write_text("\n".join(["personas: disciplinary", "models:", *lines]))
    return path


TWO = (
    f"  - {{model: 'openai:stub', name: deep, base_url: '{AT}', options: {{seed: 1, top_p: 0.5}}}}",
    f"  - {{model: 'openai:stub', name: quick, base_url: '{AT}', elicitation: justified}}",
)


@pytest.mark.parametrize(
    ("spec", "shown", "lacks"),
    [
        ("openai:x@127.0.0.1:9", "openai:x@127.0.0.1:9", "http:// or https:// before it"),
        ("openai:x@me:s3cret@localhost:8000/v1", "openai:x@[secret]@localhost:8000/v1",
         "http:// or https:// before it"),
        ("openai:@http://a.example/v1", "openai:@http://a.example/v1", "a name before it"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["score", "init"])
def test_an_address_that_is_none_is_refused_in_words(
    spec: str, shown: str, lacks: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command shows the model without a password, what its address lacks and how it is written,
    and ends with status 2."""
    monkeypatch.chdir(tmp_path)
    Path("texts.csv").write_text("prompt,response,system\nWhy?,So.,a\nWhy?,Else.,b\n")
    own = ("--rubric", "scrub", "--personas", "disciplinary")
    done = invoked(command, "texts.csv", "--model", spec, *own)
    assert done.returncode == 2
    assert (
        f"{shown}: an address without {lacks}, expected provider:NAME@http://HOST:PORT/v1, or "
        "https\n"
    ) in done.stderr
    assert "Traceback" not in done.stderr


# One model twice


def test_one_model_twice_is_two_judges_everywhere(tmp_path: Path) -> None:
    """In tables, judges' ids, prices and files, each with answers of its own from the cache."""

    def served(server: ScriptedServer, name: str, effort: str) -> ModelConfig:
        return entry(
            name,
            base_url=server.base_url,
            options={"reasoning_effort": effort},
            model="openai:gpt-5",
        )

    with serving(always(thinking(300))) as server:
        given = [served(server, "deep", "high"), served(server, "quick", "none")]
        panel = Panel("disciplinary", given)
        run = panel.score(BATCH, out=tmp_path / "run")
        calls = len(server.calls)
        again = panel.score(BATCH)
        assert len(server.calls) == calls
    assert panel.models == ("deep", "quick")
    assert (run.coverage.scored, again.coverage.scored) == (10, 10)
    assert {judge.model for judge in run.judges} == set(run.usage) == {"deep", "quick"}
    assert run.prices["quick"] is not None
    assert run.usage["deep"].reasoning == 5 * 300
    assert run.judges[0].id.split("|")[1] == "deep"
    document = json.loads((tmp_path / "run" / "run.json").read_bytes())
    told = [
        (one["id"], one["model"], one["parameters"]["extra_body"]) for one in document["models"]
    ]
    assert told == [
        ("deep", "openai:gpt-5", {"reasoning_effort": "high"}),
        ("quick", "openai:gpt-5", {"reasoning_effort": "none"}),
    ]
    shown = score_result(run).text(full=True)
    assert "3,000 of " in shown
    assert "output tokens were used for thinking" in shown
    summary = json.loads((tmp_path / "run" / "summary.json").read_bytes())
    assert summary["usage"]["deep"]["reasoning"] == 5 * 300


def test_names_that_are_given_twice() -> None:
    """Two entries of one name, or of one model without names, are refused with the remedy."""
    for twice in ([entry("a"), entry("a", temperature=1)], [entry(), entry(temperature=1)]):
        with pytest.raises(ConfigurationError, match="give each a `name`"):
            PanelPlan.of(models=twice)


def test_one_model_twice_with_the_same_settings() -> None:
    """Its answers would count twice, whatever it is called; another elicitation asks for others."""
    with pytest.raises(ConfigurationError, match="a and b are one model with the same settings"):
        PanelPlan.of(models=[entry("a"), entry("b")])
    assert PanelPlan.of(models=[entry("a"), entry("b", elicitation="justified")]).judges
    assert PanelPlan.of(models=[entry("a"), entry("b", options={"seed": 1})]).judges


@pytest.mark.parametrize("name", ["", " a", "a\nb", "x" * 101])
def test_names_that_are_none(name: str) -> None:
    """A name is one plain line, which tables and files can hold."""
    with pytest.raises(ValueError, match="name"):
        entry(name)


def test_models_of_one_account_share_their_limits() -> None:
    """The same model at the same address with the same key has one limiter, whatever the options;
    at another address it has its own."""
    import asyncio

    from persona_panel.calls.budget import NO_CAPS
    from persona_panel.runs.model_access import open_caller

    async def limiters() -> list[int]:
        given = [entry("a"), entry("b", options={"seed": 1}), entry("c", base_url=f"{AT}/other")]
        bound = {model.id: model for model in PanelPlan.of(models=given).models}
        async with open_caller(bound, NO_CAPS) as caller:
            return [id(endpoint.limiter) for endpoint in caller._endpoints.values()]

    first, second, third = asyncio.run(limiters())
    assert first == second != third


def test_a_plan_with_options_can_be_pickled() -> None:
    """It judges alike in another process."""
    plan = PanelPlan.of(models=[entry("a", options={"thinking": {"type": "disabled"}})])
    assert pickle.loads(pickle.dumps(plan)).models[0].config == plan.models[0].config


# A panel file and what overrides it


def test_what_is_named_is_overridden_and_the_rest_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An elicitation is for every model, also for one with its own; options are merged; the log
    names the file and each thing that it no longer says."""
    path = written(tmp_path, *TWO, "replicates: 2", "rubric: scrub")
    with caplog.at_level(logging.WARNING):
        plan = PanelPlan.from_file(
            path,
            elicitation="dimensions",
            options={"seed": 2},
            replicates=3,
            rubric="debate-speech",
        )
    deep, quick = plan.models
    assert (deep.id, deep.config.options) == ("deep", {"seed": 2, "top_p": 0.5})
    assert (quick.id, quick.config.options) == ("quick", {"seed": 2})
    assert {model.elicitation for model in plan.models} == {"dimensions"}
    assert (plan.settings.replicates, plan.rubric.id, len(plan.personas)) == (3, "debate-speech", 5)
    [line] = [record.getMessage() for record in caplog.records]
    assert str(path) in line
    for told in ("elicitation (dimensions)", "options (seed)", "replicates (3)", "rubric ("):
        assert told in line


def test_only_what_the_file_says_is_said_to_be_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is logged of what the file leaves open, or says alike; of what it says otherwise,
    the value that holds, as YAML has it."""
    path = written(tmp_path, *TWO, "replicates: 2", "plain_judge: true")
    with caplog.at_level(logging.WARNING):
        plan = PanelPlan.from_file(
            path,
            replicates=2,
            one_dimension_per_call=True,
            layout="persona-first",
            options={"top_k": 4, "seed": 1},
            models=["deep", "quick"],
        )
        assert plan.settings.one_dimension_per_call
        assert plan.settings.plain_judge
        assert not caplog.records
        plan = PanelPlan.from_file(path, plain_judge=False, options={"top_p": 1, "top_k": 4})
    assert not plan.settings.plain_judge
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: replaced by options of the command or arguments: options (top_p), "
        "plain_judge (false)"
    ]


def test_a_file_alone_is_what_it_says(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is replaced, and nothing is logged."""
    with caplog.at_level(logging.WARNING):
        plan = PanelPlan.from_file(written(tmp_path, *TWO), elicitation=None, models=())
    assert [model.elicitation for model in plan.models] == ["dimensions", "justified"]
    assert not caplog.records


def test_models_by_their_names_in_the_file(tmp_path: Path) -> None:
    """One of the file's keeps its settings; any other spec is a model without any."""
    plan = PanelPlan.from_file(written(tmp_path, *TWO), models=["deep"])
    assert [(model.id, model.config.options) for model in plan.models] == [
        ("deep", {"seed": 1, "top_p": 0.5})
    ]


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("shallow", ""),
        ("depe", r" \(did you mean 'deep'\?\)"),
        ("DEEP", r" \(did you mean 'deep'\?\)"),
        ("OPENAI:m", r" \(did you mean 'openai:m'\?\)"),
        ("openia:m", r" \(did you mean 'openai:m'\?\)"),
    ],
)
def test_a_model_that_the_file_does_not_have(tmp_path: Path, spec: str, hint: str) -> None:
    """The refusal lists the file's own, with the nearest, and the form of any other."""
    said = f"panel.yaml has no model called '{spec}'{hint}: its models are 'deep', 'quick'; "
    with pytest.raises(ConfigurationError, match=f"{said}.* or provider:name"):
        PanelPlan.from_file(written(tmp_path, *TWO), models=[spec])
    assert PanelPlan.from_file(written(tmp_path, *TWO), models=["local:smollm2-135m"]).judges


@pytest.mark.parametrize(
    ("arguments", "judges", "asked"),
    [((), 20, 1), (("--no-plain-judge",), 10, 1), (("--no-one-dimension-per-call",), 20, 0)],
)
def test_a_command_switches_off_what_a_file_switches_on(
    command: Any, tmp_path: Path, arguments: tuple[str, ...], judges: int, asked: int
) -> None:
    """`plain_judge: true` and `one_dimension_per_call: true` of a file, by the command's
    options; run.json has what holds."""
    path = written(tmp_path, *TWO, "plain_judge: true", "one_dimension_per_call: true")
    (tmp_path / "batch.jsonl").write_text(
        json.dumps({"id": "1", "prompt": "Why?", "response": "So.", "system": "ash"})
    )
    with serving() as server:
        path.write_text(path.read_text().replace(AT, server.base_url))
        done = command(
            "score", "--full", "batch.jsonl", "--panel", path,
            "--elicitation", "dimensions", *arguments,
            "--out", "run",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "run" / "judgments.jsonl").read_text().splitlines()) == judges
    manifest = json.loads((tmp_path / "run" / "run.json").read_bytes())
    assert manifest["plain_judge"] is (judges == 20)
    assert manifest["one_dimension_per_call"] is bool(asked)
    assert ("_judge (false)" in done.stderr) is ("--no-plain-judge" in arguments)


def test_a_sweep_and_an_audit_leave_a_file_s_plain_judge_out(command: Any, tmp_path: Path) -> None:
    """They take none, and say how to leave it out; with that option the file is theirs, too."""
    path = written(tmp_path, *TWO, "plain_judge: true")
    (tmp_path / "prompts.jsonl").write_text(json.dumps({"prompt": "Why?"}))
    sweep = ("sweep", "prompts.jsonl", "--target", "deep", "--panel", path, "--dry-run")
    refused = command(*sweep)
    assert refused.returncode == 2
    assert "--no-plain-judge" in refused.stderr
    assert command(*sweep, "--no-plain-judge").returncode == 0
    audit = ("audit", "injection", "--panel", path, "--limit", "5", "--dry-run")
    assert command(*audit).returncode == 2
    assert command(*audit, "--no-plain-judge").returncode == 0


def test_a_secret_among_a_file_s_options(tmp_path: Path) -> None:
    """It is refused with its line and the remedy, and not shown."""
    path = written(tmp_path, "  - model: openai:stub", "    options: {api_key: hunter2hunter2}")
    with pytest.raises(InputError) as caught:
        PanelPlan.from_file(path)
    assert "key_env" in str(caught.value)
    assert "panel.yaml:4" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_temperature_among_options_of_a_command() -> None:
    """A file has a field for it, a command has not."""
    from persona_panel.planning.definitions import configured

    config = configured("openai:stub", {"temperature": 0.5, "seed": 1})
    assert (config.temperature, config.options) == (0.5, {"seed": 1})


def test_the_command_says_what_it_overrides(command: Any, tmp_path: Path) -> None:
    """`--panel` with `--model` and `--option`: the panel's own model with another seed, said on
    standard error."""
    path = written(tmp_path, *TWO)
    (tmp_path / "batch.jsonl").write_text(
        json.dumps({"id": "1", "prompt": "Why?", "response": "So.", "system": "ash"})
    )
    done = command(
        "score", "batch.jsonl", "--panel", path, "--model", "deep", "--option", "seed=2",
        "--dry-run", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [one["model"] for one in json.loads(done.stdout)["tables"]["models"]] == ["deep"]
    assert "models (deep), options (seed)" in " ".join(done.stderr.split())
