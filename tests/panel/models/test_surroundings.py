"""What the environment says of the way to a server: proxies, and whose certificates count."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pycurl
import pytest
from aiohttp import web
from pydantic import SecretStr

from persona_panel.models import http_connection
from persona_panel.models.client import CallError
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import MODEL, always, ok, serving
from tests.helpers.langchain_chats import OpenAICompatible

ASK = ModelRequest(system="You judge.", blocks=("Read this. ", "Rate it."))
ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def proxying(refuses: int | None = None) -> AsyncIterator[tuple[str, list[web.BaseRequest]]]:
    """A proxy that answers what it is asked to fetch by itself; its address, and the requests."""
    seen: list[web.BaseRequest] = []

    async def fetch(request: web.BaseRequest) -> web.Response:
        seen.append(request)
        if refuses is not None:
            return web.Response(status=refuses)
        message = {"role": "assistant", "content": "by proxy"}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}]})

    runner = web.ServerRunner(web.Server(fetch, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}", seen
    finally:
        await runner.cleanup()


async def text_from(base_url: str, key: str | None = None) -> str:
    model = OpenAICompatible(
        model=MODEL, base_url=base_url, api_key=SecretStr(key) if key else None, timeout_s=5
    )
    try:
        return (await model.complete(ASK)).text
    finally:
        await model.aclose()


async def test_calls_go_through_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HTTP_PROXY is asked for the whole address, with its own credentials and the server's key."""
    async with proxying() as (address, seen):
        monkeypatch.setenv("HTTP_PROXY", f"http://ann:pass%40word@{address}")
        assert await text_from("http://model.invalid/v1", "sk-key-12345678") == "by proxy"
    (request,) = seen
    assert str(request.raw_path) == "http://model.invalid/v1/chat/completions"
    assert request.headers["Authorization"] == "Bearer sk-key-12345678"
    basic = b64encode(b"ann:pass@word").decode()
    assert request.headers["Proxy-Authorization"] == f"Basic {basic}"


async def test_a_proxy_may_be_named_without_a_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    """As curl and pip take it, too."""
    async with proxying() as (address, seen):
        monkeypatch.setenv("http_proxy", address)
        assert await text_from("http://model.invalid/v1", "sk-key-12345678") == "by proxy"
    assert "Proxy-Authorization" not in seen[0].headers


async def test_tls_is_asked_of_its_own_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTPS_PROXY is asked for a tunnel; a proxy that refuses one is a fault that names it and
    shows no credentials."""
    async with proxying(refuses=502) as (address, seen):
        monkeypatch.setenv("HTTPS_PROXY", f"http://ann:secret-word@{address}")
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        with pytest.raises(CallError, match="502") as caught:
            await text_from("https://model.invalid/v1", "sk-key-12345678")
    (request,) = seen
    assert request.method == "CONNECT"
    assert request.headers["Proxy-Authorization"].startswith("Basic ")
    assert "sk-key-12345678" not in str(request.headers)
    assert "Authorization" not in request.headers
    assert caught.value.kind == "transient"
    assert "secret-word" not in str(caught.value)


@pytest.mark.parametrize("left_out", ["127.0.0.1", "*", "localhost,127.0.0.1"])
async def test_no_proxy_leaves_servers_out(left_out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server in NO_PROXY is reached without the proxy."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", left_out)
    with serving(always(ok("direct"))) as server:
        assert await text_from(server.base_url) == "direct"


async def test_no_proxy_may_name_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server at that port is reached without the proxy, another at the same host through it."""
    async with proxying() as (address, _):
        # In lower case, as libcurl would read it by itself.
        monkeypatch.setenv("http_proxy", address)
        with serving(always(ok("direct"))) as server:
            port = server.port
            monkeypatch.setenv("NO_PROXY", f"localhost:9,127.0.0.1:{port}")
            assert await text_from(server.base_url) == "direct"
            monkeypatch.setenv("NO_PROXY", f"127.0.0.1:{port}0")
            assert await text_from(server.base_url) == "by proxy"


@pytest.mark.parametrize("written", ["::1", "[::1]", "[::1]:8000", "::1:8000"])
def test_no_proxy_may_name_an_address_of_ipv6(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without brackets and a port."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", written)
    assert http_connection._proxy_options("http://[::1]:8000/v1") == {pycurl.PROXY: ""}
    assert len(http_connection._proxy_options("http://[::2]:8000/v1")) == 2


async def test_a_proxy_for_everything_else_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """libcurl, too, looks at none but HTTP_PROXY and HTTPS_PROXY."""
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with serving(always(ok("direct"))) as server:
        assert await text_from(server.base_url) == "direct"


async def test_an_empty_no_proxy_leaves_no_server_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """In lower case it takes the place of NO_PROXY, for libcurl, too."""
    async with proxying() as (address, _):
        monkeypatch.setenv("HTTP_PROXY", address)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("no_proxy", "")
        with serving(always(ok("direct"))) as server:
            assert await text_from(server.base_url) == "by proxy"


@pytest.mark.parametrize("proxy", ["socks5://ann:secret-word@127.0.0.1:9", "http://", "http://[::"])
async def test_a_proxy_that_cannot_be_used_is_said_once(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable that names it, and what would do; it is no use to try again."""
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(
        CallError, match="HTTP_PROXY is not the address of a proxy at http://"
    ) as caught:
        await text_from("http://model.invalid/v1")
    assert caught.value.kind == "permanent"
    assert "secret-word" not in str(caught.value)


async def test_a_netrc_does_not_take_the_place_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials for the host in ~/.netrc are somebody else's: the key goes out as it is."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ann password word\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with serving(always(ok("7"))) as server:
        await text_from(server.base_url, "sk-key-12345678")
    assert server.calls[0].headers["Authorization"] == "Bearer sk-key-12345678"


# Certificates


@contextmanager
def tls_server(folder: Path) -> Iterator[tuple[str, Path]]:
    """A server with a certificate that it has signed itself; its address, and the certificate."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    loop, done, ready = asyncio.new_event_loop(), asyncio.Event(), threading.Event()
    port = 0

    async def work() -> None:
        nonlocal port

        async def answer(request: web.BaseRequest) -> web.Response:
            message = {"role": "assistant", "content": "over TLS"}
            return web.json_response({"choices": [{"message": message}]})

        runner = web.ServerRunner(web.Server(answer, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        port = runner.addresses[0][1]
        ready.set()
        await done.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(work()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield f"https://127.0.0.1:{port}/v1", certificate
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(10)
        loop.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_certificates_that_the_environment_names_are_trusted(tmp_path: Path) -> None:
    """A server whose certificate nobody else has signed is trusted where SSL_CERT_FILE names it, or
    SSL_CERT_DIR a folder that has it by its hash, and is given up at once where neither does."""
    program = (
        "import asyncio, sys\n"
        "from persona_panel.models.client import CallError\n"
        "from tests.panel.models.test_surroundings import text_from\n"
        "try:\n"
        "    print(asyncio.run(text_from(sys.argv[1])))\n"
        "except CallError as error:\n"
        "    print(error.kind, error)\n"
    )
    own = {name: value for name, value in os.environ.items() if "SSL_CERT" not in name}
    own["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])

    def said(**more: str) -> str:
        command = [sys.executable, "-c", program, base_url]
        done = subprocess.run(
            command, env=own | more, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout.strip()

    with tls_server(tmp_path) as (base_url, certificate):
        assert said(SSL_CERT_FILE=str(certificate)) == "over TLS"
        hashed = ["openssl", "x509", "-hash", "-noout", "-in", str(certificate)]
        name = subprocess.run(hashed, capture_output=True, text=True, check=True).stdout.strip()
        (tmp_path / "trusted").mkdir()
        shutil.copy(certificate, tmp_path / "trusted" / f"{name}.0")
        assert said(SSL_CERT_DIR=str(tmp_path / "trusted")) == "over TLS"
        refused = said()
    assert refused.startswith("permanent")
    assert "self-signed certificate" in refused
