"""The graphs of langgraph.json in LangGraph's development server, started as the command does and
asked over HTTP, with a panel at the scripted local server or the embedded model."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import yaml

from persona_panel.testing import Answer, ok, serving
from tests.helpers.embedded import needs_the_model
from tests.helpers.extras import needs_extra
from tests.helpers.ports import free_port
from tests.sycophant import world

pytestmark = needs_extra("studio", "langgraph_api")

ROOT = Path(__file__).parents[3]
GRAPHS = ("judging", "deliberating", "comparative", "sweeping")
ONE = {"id": "a", "prompt": "Should rents be capped?", "text": "Yes: they rose.", "system": "x"}
TWO = ONE | {"id": "b", "text": "No: nobody would build."}
INPUTS: dict[str, dict[str, Any]] = {
    "judging": {"response": ONE},
    "deliberating": {"response": ONE},
    "comparative": {"responses": [ONE, TWO]},
    "sweeping": {"prompt": "What is owed to whom in case 0-1?"},
}


def script(number: int, payload: Mapping[str, Any]) -> Answer:
    """The world of a sweep; what it does not know is answered as the schema allows."""
    schema = (payload.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    of_a_ranking = any("enum" in part for part in schema.get("properties", {"": {}}).values())
    if of_a_ranking and "pluralistic_engagement" not in schema["properties"]:
        return ok()
    return world(sycophantic=True)(number, payload)


PROMPT = {
    "prompt": "Rate it from 1 to 5: {text}",
    "read": {"regex": r"(\d)"},
    "scale": {"min": 1, "max": 5, "low": "bad", "high": "good"},
    "example": "4",
}


@contextmanager
def development_server(folder: Path, panel: str) -> Iterator[httpx.Client]:
    """`langgraph dev` on the project's langgraph.json, with what a panel file says."""
    (folder / "panel.yaml").write_text(panel, "utf-8")
    port = free_port()
    command = [Path(sys.executable).with_name("langgraph"), "dev", "--no-browser", "--no-reload"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "--port", str(port), "--config", ROOT / "langgraph.json"],
            cwd=folder,
            env=os.environ | {"PERSONA_PANEL_FILE": str(folder / "panel.yaml")},
            stdout=log,
            stderr=log,
        )
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=240) as client:
                _wait_for(client, server, folder / "log")
                yield client
        finally:
            server.terminate()
            server.wait(30)


def _wait_for(client: httpx.Client, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        try:
            if client.get("/ok").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    pytest.fail(f"the server does not answer:\n{log.read_text()}")


def assistants(client: httpx.Client) -> dict[str, str]:
    """The ids under which graphs are asked for, by their names."""
    found = client.post("/assistants/search", json={}).raise_for_status().json()
    return {one["graph_id"]: one["assistant_id"] for one in found}


def run(client: httpx.Client, graph: str, value: Mapping[str, Any], **asked: Any) -> Any:
    """What a graph comes to in a thread of its own; `asked` has the request's config."""
    thread = client.post("/threads", json={}).raise_for_status().json()["thread_id"]
    asked |= {"assistant_id": graph, "input": value}
    done = client.post(f"/threads/{thread}/runs/wait", json=asked).raise_for_status().json()
    state = client.get(f"/threads/{thread}/state").raise_for_status().json()
    assert state["values"] == done
    return done


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, Path]]:
    """The server with a model at the scripted server, and its folder."""
    folder = tmp_path_factory.mktemp("studio")
    with pytest.MonkeyPatch.context() as patch, serving(script) as models:
        patch.setenv("PERSONA_PANEL_CACHE", str(folder / "cache"))
        model = f"{{model: 'openai:stub', base_url: '{models.base_url}'}}"
        panel = f"personas: disciplinary\nmodels: [{model}]\n"
        with development_server(folder, panel) as client:
            yield client, folder


def test_every_graph_is_there(served: tuple[httpx.Client, Path]) -> None:
    """The server offers the graphs of langgraph.json, and each has a test here."""
    listed = orjson.loads((ROOT / "langgraph.json").read_bytes())["graphs"]
    assert set(assistants(served[0])) == set(listed) == set(GRAPHS)


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_graph_is_drawn_and_has_schemas(served: tuple[httpx.Client, Path], graph: str) -> None:
    """A graph is drawn down to the nodes in which models are called, and says what goes in and what
    comes out."""
    client, _ = served
    path = f"/assistants/{assistants(client)[graph]}"
    drawn = client.get(f"{path}/graph", params={"xray": True}).raise_for_status().json()
    nodes = {node["id"] for node in drawn["nodes"]}
    calling = {"comparative": "compare:compare", "sweeping": "sweep:judge"}.get(graph, "judge:read")
    assert calling in nodes
    assert ("judge:confer" in nodes) == (graph == "deliberating")
    schemas = client.get(f"{path}/schemas").raise_for_status().json()
    assert set(INPUTS[graph]) <= set(schemas["input_schema"]["properties"])
    outcome = {"comparative": "verdicts", "sweeping": "comparisons"}.get(graph, "verdict")
    assert outcome in schemas["output_schema"]["properties"]
    for schema in (schemas["context_schema"], schemas["config_schema"]):
        assert set(schema["properties"]) == {
            "panel",
            "personas",
            "rubric",
            "models",
            "elicitation",
        }


def test_judging(served: tuple[httpx.Client, Path]) -> None:
    """A response is judged by every judge."""
    done = run(served[0], "judging", INPUTS["judging"])
    assert done["verdict"]["n_judges"] == len(done["judgments"]) == 5
    assert 1 <= done["verdict"]["composite"] <= 10


def test_deliberating(served: tuple[httpx.Client, Path]) -> None:
    """Every judge reads a second time."""
    done = run(served[0], "deliberating", INPUTS["deliberating"])
    assert sorted(one["round"] for one in done["judgments"]) == [1] * 5 + [2] * 5


def test_comparing(served: tuple[httpx.Client, Path]) -> None:
    """Two responses are compared by every judge."""
    done = run(served[0], "comparative", INPUTS["comparative"])
    assert [verdict["n_judges"] for verdict in done["verdicts"]] == [5, 5]


def test_sweeping(served: tuple[httpx.Client, Path]) -> None:
    """A prompt is rewritten, answered by the panel's own model, and its answers are judged: the one
    condition to which the model gives way shows."""
    done = run(served[0], "sweeping", INPUTS["sweeping"])
    assert len(done["responses"]) == 1 + len(done["variants"]) == 6
    delta = {one["condition"]: one["delta"] for one in done["comparisons"]}
    assert delta["emotion_agree"]["pluralistic_engagement"] > 2
    assert delta["placebo"]["pluralistic_engagement"] < 2


def test_a_response_that_is_none(served: tuple[httpx.Client, Path]) -> None:
    """A blank text fails the run, and the server goes on."""
    value = {"response": ONE | {"text": " "}}
    thread = served[0].post("/threads", json={}).json()["thread_id"]
    asked = {"assistant_id": "judging", "input": value}
    done = served[0].post(f"/threads/{thread}/runs/wait", json=asked).json()
    fault = "response: text: found is empty; expected a value without this fault"
    assert done["__error__"] == {"error": "InputError", "message": fault}
    assert run(served[0], "judging", INPUTS["judging"])["verdict"]["n_judges"] == 5


@pytest.fixture(scope="module")
def two_readers(served: tuple[httpx.Client, Path]) -> Path:
    """A file with two personas, in the server's folder."""
    readers = [
        {"id": name, "label": name.title(), "axis": "own", "description": f"You are {name}."}
        for name in ("critic", "friend")
    ]
    file = served[1] / "readers.yaml"
    file.write_bytes(orjson.dumps({"id": "readers", "label": "Readers", "personas": readers}))
    return file


@pytest.mark.parametrize("place", ["context", "configurable"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_panel_is_chosen_by_the_config(
    served: tuple[httpx.Client, Path], two_readers: Path, graph: str, place: str
) -> None:
    """Personas and a rubric that a request's config names judge in place of the server's, which
    judge the next request again."""
    chosen = {"personas": str(two_readers), "rubric": "debate-speech"}
    config = {"context": chosen} if place == "context" else {"config": {"configurable": chosen}}
    if graph == "sweeping":
        chosen.pop("rubric")
    done = run(served[0], graph, INPUTS[graph], **config)
    assert {one["judge"]["persona"] for one in done["judgments"]} == {"critic", "friend"}
    if graph == "judging":
        assert list(done["verdict"]["dimensions"]) == ["good_opening"]
        assert run(served[0], graph, INPUTS[graph])["verdict"]["n_judges"] == 5


def test_a_panel_file_is_chosen_by_the_config(
    served: tuple[httpx.Client, Path], two_readers: Path
) -> None:
    """A panel file that a request's config names is the panel; what else it names replaces a part
    of that."""
    own = yaml.safe_load((served[1] / "panel.yaml").read_text("utf-8"))
    own |= {"personas": two_readers.name, "rubric": "debate-speech"}
    file = two_readers.with_name("other.yaml")
    file.write_bytes(orjson.dumps(own))
    done = run(served[0], "judging", INPUTS["judging"], context={"panel": str(file)})
    assert done["verdict"]["n_judges"] == 2
    context = {"panel": str(file), "personas": "disciplinary"}
    done = run(served[0], "judging", INPUTS["judging"], context=context)
    assert (done["verdict"]["n_judges"], list(done["verdict"]["dimensions"])) == (
        5,
        ["good_opening"],
    )


@pytest.mark.parametrize("place", ["context", "configurable"])
@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"persona": "disciplinary"}, "elicitation (did you mean 'personas'?)"),
        (
            {"temperature": 0},
            "temperature: found an unknown key; expected one of panel, personas, rubric, models, "
            "elicitation",
        ),
        ({"rubric": 3}, "rubric: found 3; expected text"),
        ({"rubric": "scrubs"}, "scrubs"),
        ({"panel": "nowhere.yaml"}, "nowhere.yaml"),
        (
            {"models": ["anthropic:mS@http://127.0.0.1:9"]},
            "models: found 'anthropic:mS@http://127.0.0.1:9'; expected provider:name without an "
            "address, which only a panel file may have",
        ),
        *(
            (
                {name: file},
                f"{name}: found {file!r}; expected a file below the folder in which the server was "
                "started",
            )
            for name in ("panel", "personas", "rubric")
            for file in ("/etc/passwd", "../other.yaml")
        ),
    ],
)
def test_a_config_that_chooses_no_panel(
    served: tuple[httpx.Client, Path], chosen: dict[str, Any], told: str, place: str
) -> None:
    """A key that is none and a value that names nothing fail the run in one line, before any
    call."""
    config = {"context": chosen} if place == "context" else {"config": {"configurable": chosen}}
    thread = served[0].post("/threads", json={}).json()["thread_id"]
    asked = {"assistant_id": "judging", "input": INPUTS["judging"]} | config
    done = served[0].post(f"/threads/{thread}/runs/wait", json=asked).json()
    assert told in done["__error__"]["message"]
    assert "\n" not in done["__error__"]["message"].strip()


def _refusal(client: httpx.Client, graph: str, **asked: Any) -> str:
    thread = client.post("/threads", json={}).json()["thread_id"]
    asked = {"assistant_id": graph, "input": INPUTS[graph]} | asked
    done = client.post(f"/threads/{thread}/runs/wait", json=asked).json()
    return str(done["__error__"]["message"])


def test_targets_have_no_address(served: tuple[httpx.Client, Path]) -> None:
    """A request has no server called whose answers would be judged."""
    asked = INPUTS["sweeping"] | {"targets": ["openai:m@http://127.0.0.1:9"]}
    told = _refusal(served[0], "sweeping", input=asked)
    assert "targets: found 'openai:m@http://127.0.0.1:9'; expected provider:name" in told


def test_a_comparison_does_not_drop_the_words_of_a_panel_file(
    served: tuple[httpx.Client, Path],
) -> None:
    """A panel file's own prompt is not asked in a ranking: refused, as by the command."""
    own = yaml.safe_load((served[1] / "panel.yaml").read_text("utf-8"))
    own |= {"personas": "none", "prompt": PROMPT}
    (served[1] / "worded.yaml").write_bytes(orjson.dumps(own))
    told = _refusal(served[0], "comparative", context={"panel": "worded.yaml"})
    assert "a prompt of one's own is asked as it stands, and the elicitation 'ranking'" in told


def test_every_judge_is_a_task(served: tuple[httpx.Client, Path]) -> None:
    """Who follows a run sees each judge read by itself."""
    asked = {"assistant_id": "judging", "input": INPUTS["judging"]}
    asked |= {"stream_mode": ["updates"], "stream_subgraphs": True}
    with served[0].stream("POST", "/runs/stream", json=asked) as streamed:
        lines = [line for line in streamed.iter_lines() if line.startswith("data: {")]
    updates = [orjson.loads(line.removeprefix("data: ")) for line in lines]
    read = [update["read"]["judgments"] for update in updates if "read" in update]
    assert [len(judgments) for judgments in read] == [1] * 5


def test_nothing_blocks_the_servers_loop(served: tuple[httpx.Client, Path]) -> None:
    """All that has been run here ran without a call that blocks, and without a type that is read
    back unregistered or not at all."""
    run(served[0], "judging", INPUTS["judging"])
    log = (served[1] / "log").read_text()
    for complaint in ("BlockingError", "unregistered", "Blocked deserialization"):
        assert complaint not in log


@needs_the_model
def test_with_the_embedded_model(tmp_path: Path) -> None:
    """The embedded model judges in the server, too."""
    one = {"id": "critic", "label": "Critic", "axis": "own", "description": "You doubt."}
    personas = {"id": "own", "label": "Own", "personas": [one]}
    (tmp_path / "personas.yaml").write_bytes(orjson.dumps(personas))
    panel = "personas: personas.yaml\nrubric: debate-speech\nmodels: [local:smollm2-135m]\n"
    with development_server(tmp_path, panel) as client:
        done = run(client, "judging", INPUTS["judging"])
    assert done["verdict"]["n_judges"] == 1
    assert 1 < done["verdict"]["composite"] < 5
