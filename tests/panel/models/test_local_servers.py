"""Servers of this machine: what answers at an address is listed, or is named with its fault."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO

import pytest
from click.testing import CliRunner

from benchmarks.real_servers import MODEL, llama_server
from persona_panel import Panel, Response
from persona_panel.cli.library import models
from persona_panel.models.config import ModelConfig
from persona_panel.models.local_servers import (
    PROGRAMS,
    LocalServer,
    ServerProgram,
    local_servers,
    local_servers_result,
    model_argument,
    score_command,
)
from persona_panel.results.result import load_format
from persona_panel.testing import always, ok, serving
from tests.helpers.embedded import needs_the_model
from tests.helpers.ports import free_port

Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def http_server(answer: Answer) -> Iterator[int]:
    """A server that answers each GET in this way; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(OSError):
                answer(self)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def raw_server(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that does this with each connection, and closes it; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection, suppress(OSError):
                        connection.recv(65_536)
                        answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]


def said(status: int, body: bytes, **headers: str) -> Answer:
    """The answer with this status, body and headers."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(body)

    return answer


def listing(*ids: object, owner: str = "") -> bytes:
    data = [{"id": name, "object": "model", "owned_by": owner} for name in ids]
    return json.dumps({"object": "list", "data": data}).encode()


def at(port: int, name: str = "vLLM") -> ServerProgram:
    return ServerProgram(name, port, "start it")


def looked(port: int, timeout_s: float = 1.0) -> LocalServer:
    [server] = local_servers([at(port)], timeout_s)
    return server


def test_a_server_is_listed_with_its_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for /v1/models, past a proxy and without the key of the environment; the names
    are the server's, which it makes of the request."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234567890")
    heads: list[str] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        heads.append(str(request.headers))
        said(200, listing(f"{request.command} {request.path}", "b:7b"))(request)

    with http_server(answer) as port:
        server = looked(port)
    assert server == LocalServer("vLLM", f"http://127.0.0.1:{port}/v1", ("GET /v1/models", "b:7b"))
    assert len(heads) == 1
    assert "canary" not in heads[0]
    assert "authorization" not in heads[0].lower()


@pytest.mark.parametrize(
    ("owner", "name"),
    [("library", "Ollama"), ("llamacpp", "llama.cpp"), ("vllm", "vLLM"),
     ("organization_owner", "LM Studio"), ("me", "usual")],
)  # fmt: skip
def test_a_server_is_called_what_it_says_it_is(owner: str, name: str) -> None:
    """Its models say who owns them; what says nothing is called by the port."""
    with http_server(said(200, listing("a", owner=owner))) as port:
        [server] = local_servers([at(port, "usual")])
    assert server.name == name


@pytest.mark.parametrize(
    ("properties", "slots"),
    [(b'{"total_slots": 6}', 6), (b'{"total_slots": "6"}', None), (b'{"total_slots": -1}', None),
     (b"[6]", None), (b"no JSON", None)],
)  # fmt: skip
def test_llama_cpp_says_how_many_slots_it_has(properties: bytes, slots: int | None) -> None:
    """It is asked for its properties; anything odd there is no number of slots."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        is_list = request.path == "/v1/models"
        body = listing("a", owner="llamacpp") if is_list else properties
        said(200 if is_list or request.path == "/props" else 404, body)(request)

    with http_server(answer) as port:
        server = looked(port)
    assert (server.models, server.slots) == (("a",), slots)


def never(connection: socket.socket) -> None:
    time.sleep(3)


def drip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(30):
        connection.sendall(b"[")
        time.sleep(0.1)


def endless(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"a" * 65_536)


def endless_heads(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-A: " + b"a" * 60_000 + b"\r\n")


ODD = {
    "page": (http_server, said(200, b"<html>It works", Content_Type="text/html"), "and no list"),
    "not found": (http_server, said(404, b"{}"), "HTTP 404, and no list"),
    "no list": (http_server, said(200, b"[1, 2]"), "and no list"),
    "not UTF-8": (http_server, said(200, b'\xff\xfe{"data": \x80'), "and no list"),
    "deep": (http_server, said(200, b"[" * 200_000), "and no list"),
    "a key wanted": (http_server, said(401, b"{}"), "HTTP 401: it wants a key"),
    "no model": (http_server, said(200, b'{"object": "list", "data": null}'), "no model yet"),
    "odd names": (http_server, said(200, listing(1, None, "", "a\x1b[31m", " a", "x" * 501)),
                  "no model yet"),
    "odd entries": (http_server, said(200, b'{"data": [1, "a", [], {"name": 1}]}'), "no model"),
    "never": (raw_server, never, "no whole answer within 0.5 s"),
    "drip": (raw_server, drip, "no whole answer within 0.5 s"),
    "endless": (raw_server, endless, "an answer of more than 1 MB"),
    "endless heads": (raw_server, endless_heads, "no answer over HTTP"),
    "closed": (raw_server, lambda connection: None, "no answer over HTTP"),
    "bytes": (raw_server, lambda c: c.sendall(b"\x00\xff" * 1000), "no answer over HTTP"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_whatever_else_listens_is_named(kind: str) -> None:
    """It is no server of models, and the result says where it is and what is wrong."""
    start, answer, problem = ODD[kind]
    with start(answer) as port:  # type: ignore[operator]
        server = looked(port, timeout_s=0.5)
    assert server.models == ()
    assert problem in server.problem
    conclusion = local_servers_result([server]).conclusion
    assert f"http://127.0.0.1:{port}/v1 (vLLM?): {server.problem}." in conclusion


def test_a_redirect_is_not_followed() -> None:
    """The address that it names is not asked."""
    asked: list[str] = []
    with http_server(lambda request: asked.append(request.path)) as elsewhere:
        to = f"http://127.0.0.1:{elsewhere}/v1/models"
        with http_server(said(302, b"", Location=to)) as port:
            server = looked(port)
    assert (asked, server.models) == ([], ())
    assert "HTTP 302: a redirect, which is not followed" in server.problem


def test_one_that_is_slow_holds_up_no_other() -> None:
    """All are asked at once, and listed in the order in which they were given."""
    with raw_server(never) as slow, http_server(said(200, listing("a"))) as quick:
        started = time.monotonic()
        servers = local_servers([at(slow), at(slow), at(slow), at(quick)], 1.0)
        assert time.monotonic() - started < 2.5
    assert [bool(server.models) for server in servers] == [False, False, False, True]


def test_where_nothing_listens_the_result_says_how_to_start_a_server() -> None:
    """Each address that was asked is there, with a command for it."""
    programs = [ServerProgram(each.name, free_port(), each.start) for each in PROGRAMS]
    assert local_servers(programs) == []
    text = local_servers_result([], programs).text()
    for program in programs:
        assert program.address in text
        assert program.start in text
    assert "No server of models answers" in text
    assert len(text.splitlines()) <= 24


def test_many_models_fit_on_a_screen() -> None:
    """The short report has at most 24 lines of 80 columns, the full one every model."""
    names = tuple(f"publisher/a-rather-long-name-of-a-model-{n}" for n in range(60))
    server = LocalServer("LM Studio", "http://127.0.0.1:1234/v1", names)
    result = local_servers_result([server])
    assert len(result.text().splitlines()) <= 24
    assert all(f"openai:{name}@" in result.text(full=True) for name in names)


@pytest.mark.parametrize("name", ["llama3.2:3b", "/models/two words.gguf", "a@b", "x@http"])
def test_what_is_listed_is_what_model_takes(name: str) -> None:
    """`--model` with the argument asks the server for that model."""
    with serving(always(ok('{"good_opening": 4}'))) as server:
        argument = model_argument(LocalServer("vLLM", server.base_url), name)
        panel = Panel("disciplinary", argument, "debate-speech")
        run = panel.score([Response(id="a", prompt="p", text="t", system="s")])
        assert {call.payload["model"] for call in server.calls} == {name}
    assert (run.ratings == 4).all()
    assert {judge.model for judge in run.judges} == {f"openai:{name}"}


def test_an_address_is_given_once() -> None:
    """A base_url beside another address in the name is refused."""
    spec = "openai:a@http://127.0.0.1:1/v1"
    assert ModelConfig(model=spec, base_url="http://127.0.0.1:1/v1").base_url is not None
    with pytest.raises(ValueError, match="one of them"):
        ModelConfig(model=spec, base_url="http://127.0.0.1:2/v1")


def test_the_next_step_names_a_model_that_can_judge() -> None:
    """One for embeddings is passed over."""
    server = LocalServer("Ollama", "http://127.0.0.1:11434/v1", ("nomic-embed-text", "qwen3:4b"))
    command = score_command([server])
    assert command is not None
    assert command.endswith("--model openai:qwen3:4b@http://127.0.0.1:11434/v1")
    assert score_command([server._replace(models=("nomic-embed-text",))]) is None


def test_the_command_lists_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints the arguments, as JSON where asked, and then a command with one of them."""
    with http_server(said(200, listing("two words"))) as port:
        monkeypatch.setattr(
            "persona_panel.cli.library.local_servers", lambda: local_servers([at(port)])
        )
        done = CliRunner().invoke(models, ["--local"])
        document = json.loads(CliRunner().invoke(models, ["--local", "--json"]).stdout)
    argument = f"openai:two words@http://127.0.0.1:{port}/v1"
    assert done.exit_code == 0
    assert argument in done.stdout
    assert f"  persona-panel score RESPONSES --model '{argument}'" in done.stderr
    assert [row["argument"] for row in document["tables"]["models"]] == [argument]


def test_the_command_ends_well_whatever_listens_here() -> None:
    """At the usual ports of this machine there may be anything."""
    assert CliRunner().invoke(models, ["--local"]).exit_code == 0


@needs_the_model
@pytest.mark.slow("a real server loads the embedded model")
def test_a_real_server_of_llama_cpp_is_found() -> None:
    """It says itself what it is; the model is its alias."""
    with llama_server() as url:
        [server] = local_servers([at(int(url.rpartition(":")[2]))], 10.0)
    assert (server.name, server.models, server.problem) == ("llama.cpp", (MODEL,), "")
    assert server.slots == 2
    assert str(score_command([server])).endswith("--concurrency 2")


@pytest.mark.parametrize("columns", [30, 40])
def test_in_a_narrow_terminal_nothing_is_cut(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """How to start a server is folded, not shortened."""
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = StringIO()
    load_format("terminal").render(local_servers_result([]), stream, full=True)
    text = stream.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= columns
    for word in ("llama-server", "FILE.gguf", "ollama"):
        assert word in text
