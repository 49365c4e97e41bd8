"""What is visible of a panel's calls where somebody traces it: at a local server that speaks
LangSmith's wire, and in the spans of OpenTelemetry."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from persona_panel.testing import serving
from tests.helpers.extras import needs_extra

ROOT = Path(__file__).parents[2]

JUDGED = """
from persona_panel import ModelConfig, Panel, Response
from tests.helpers.embedded import PLAIN, READERS

one = Response(id="a", prompt="Should rents be capped?", text="Yes: they rose.", system="x")
"""
SCORED = (
    JUDGED
    + """
model = ModelConfig(model="openai:stub", base_url="{url}")
for _ in range(2):
    assert Panel(READERS, model, PLAIN).score([one]).coverage.complete
"""
)
LANGCHAIN = (
    JUDGED
    + """
from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="stub", base_url="{url}", api_key="none")
assert Panel(READERS, model, PLAIN).score([one]).coverage.complete
"""
)
SPANS = (
    JUDGED
    + """
from langsmith.run_trees import get_cached_client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
model = ModelConfig(model="openai:stub", base_url="{url}")
assert Panel(READERS, model, PLAIN).score([one]).coverage.complete
get_cached_client().flush()
PARTS = ("request.model", "usage.input_tokens")
spans = exporter.get_finished_spans()
names = {{span.context.span_id: span.name for span in spans}}
for span in spans:
    above = names[span.parent.span_id] if span.parent else None
    told = [span.attributes.get(f"gen_ai.{{part}}") for part in PARTS]
    print(span.name, "under", above, told[0], told[1] is not None)
"""
)
"""Prints every span with the one above it."""


class LangSmith(ThreadingHTTPServer):
    """Takes the runs that a client tells of; `runs` has them by id, later fields added to earlier
    ones."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.runs: dict[str, dict[str, Any]] = {}

    def take(self, content_type: str, body: bytes) -> None:
        """Read one batch."""
        whole = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
        for part in whole.walk():
            if part.is_multipart():
                continue
            name = str(part.get_param("name", header="content-disposition"))
            _, run_id, *field = name.split(".")
            content = json.loads(cast(bytes, part.get_payload(decode=True)))
            known = self.runs.setdefault(run_id, {})
            known.update({field[0]: content} if field else content)


class _Handler(BaseHTTPRequestHandler):
    server: LangSmith

    def do_GET(self) -> None:
        self._answer({})  # asked for its limits: the client has usual ones

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.take(self.headers["Content-Type"], body)
        self._answer({})

    def _answer(self, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is said of requests."""


@contextmanager
def langsmith() -> Iterator[LangSmith]:
    server = LangSmith()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def traced(code: str, **env: str) -> tuple[list[dict[str, Any]], str]:
    """The runs that a program tells LangSmith of, and what it prints; its calls go to a server."""
    with langsmith() as smith, serving() as models:
        done = subprocess.run(
            [sys.executable, "-c", code.format(url=models.base_url)],
            cwd=ROOT,
            env=os.environ
            | {"PYTHONPATH": str(ROOT), "LANGSMITH_API_KEY": "none"}
            | {"LANGSMITH_ENDPOINT": f"http://127.0.0.1:{smith.server_port}"}
            | env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return list(smith.runs.values()), done.stdout


def above(run: dict[str, Any], runs: list[dict[str, Any]]) -> str:
    [parent] = [one for one in runs if one["id"] == run["parent_run_id"]]
    return str(parent["name"])


def test_calls_are_runs_under_the_graphs() -> None:
    """With LANGSMITH_TRACING each call of a judge is a model's run under its node's, with what was
    asked and answered; what the cache answers is marked and counts no tokens."""
    runs, _ = traced(SCORED, LANGSMITH_TRACING="true")
    calls = [run for run in runs if run["run_type"] == "llm"]
    assert sorted(run["name"] for run in calls) == sorted(
        f"{persona}|openai:stub|dimensions|1" for persona in ("critic", "librarian") * 2
    )
    assert {above(run, runs) for run in calls} == {"read"}
    roots = [run for run in runs if run.get("parent_run_id") is None]
    assert [run["name"] for run in roots] == ["judging", "judging"]
    for run in calls:
        assert "Yes: they rose." in run["inputs"]["messages"][-1]["content"]
        assert json.loads(run["outputs"]["messages"][0]["content"]).keys() == {"clarity", "depth"}
        assert run["extra"]["metadata"]["ls_model_name"] == "stub"
    cached = [run["outputs"] for run in calls if run["extra"]["metadata"]["cached"]]
    asked = [run["outputs"] for run in calls if not run["extra"]["metadata"]["cached"]]
    assert len(cached) == len(asked) == 2
    assert all(one["usage_metadata"]["input_tokens"] > 0 for one in asked)
    assert not any("usage_metadata" in one for one in cached)


def test_langchains_own_runs_are_not_told_twice() -> None:
    """LangChain tells of its calls itself: its runs lie under the judges', which are no model's, so
    that no token counts twice."""
    runs, _ = traced(LANGCHAIN, LANGSMITH_TRACING="true")
    calls = [run for run in runs if run["run_type"] == "llm"]
    assert [run["name"] for run in calls] == ["ChatOpenAI"] * 2
    judges = [run for run in runs if run["name"].endswith("|dimensions|1")]
    assert {above(run, runs) for run in judges} == {"read"}
    # Where structured output is asked for, LangChain has a chain of its own in between.
    ids = {run["id"] for run in judges}
    assert all(ids & set(_ids_in(run["dotted_order"])) for run in calls)


def _ids_in(dotted_order: str) -> list[str]:
    return [part[-36:] for part in dotted_order.split(".")]


def test_nothing_is_told_unasked() -> None:
    """Without LANGSMITH_TRACING nothing is sent."""
    runs, _ = traced(SCORED)
    assert runs == []


@needs_extra("tracing", "opentelemetry.sdk")
def test_calls_are_spans_under_the_graphs() -> None:
    """With LANGSMITH_OTEL_ENABLED the same runs are OpenTelemetry's spans, with the model's name;
    LANGSMITH_OTEL_ONLY keeps them from LangSmith."""
    runs, printed = traced(
        SPANS, LANGSMITH_TRACING="true", LANGSMITH_OTEL_ENABLED="true", LANGSMITH_OTEL_ONLY="true"
    )
    lines = printed.splitlines()
    for persona in ("critic", "librarian"):
        assert f"{persona}|openai:stub|dimensions|1 under read stub True" in lines
    assert "read under judging None False" in lines
    assert "judging under None None False" in lines
    assert runs == []
