"""Where keys may go for the batches of a run that somebody else may have made."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from stat import S_IMODE
from typing import Any

import orjson
import pytest

from persona_panel import ConfigurationError
from persona_panel.calls.batch_records import BatchRecord, prepared, submitted
from persona_panel.calls.batch_rounds import BatchAddress
from persona_panel.files.outputs import BATCHES
from persona_panel.models.batches import plain_id
from persona_panel.models.client import NOTHING, CallError
from persona_panel.runs.provider_batches import remember, require_known
from tests.helpers.invoked import invoked

OPENAI = "https://api.openai.com/v1"
LOCAL = "http://127.0.0.1:9/v1"


def at(
    address: str,
    key_env: str | None = None,
    settings: Mapping[str, Any] = {"timeout": 9.0},
    spec: str = "openai:m",
) -> BatchAddress:
    return BatchAddress(spec, address, key_env, settings, ())


@pytest.mark.parametrize("command", ["status", "wait", "cancel"])
def test_a_strangers_run_gets_no_key(tmp_path: Path, command: str) -> None:
    """Nothing connects to the server that its journal names; the refusal has the server and the
    variable. With --trust it is the id, which leads elsewhere on the server, that is refused."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        batch = BatchRecord(
            "t", "m", "openai:m", address, "MY_OTHER_SECRET", (), NOTHING, 0.0,
            settings={"timeout": 9.0},
        )  # fmt: skip
        records = [prepared(batch), submitted("t", "../../models")]
        (tmp_path / BATCHES).write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in records))
        done = invoked("batch", command, tmp_path, MY_OTHER_SECRET="sk-other-0123456789")
        assert done.returncode == 2
        told = " ".join(done.stderr.split())
        assert f"'MY_OTHER_SECRET' sent to '{address}'" in told
        assert "add --trust" in told
        done = invoked("batch", command, tmp_path, "--trust", MY_OTHER_SECRET="sk-other-0123456789")
        assert done.returncode == 1
        assert "'../../models' as the id of a batch" in " ".join(done.stderr.split())
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    "server",
    [at(OPENAI), at(OPENAI, settings={"timeout": 9.0, "seed": 1, "organization": "o"})],
)
def test_a_providers_own_server_is_known(server: BatchAddress) -> None:
    """OpenAI's, with its usual key, wherever the run was made."""
    require_known(Path("j"), [server])


def test_the_environments_server_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of OPENAI_BASE_URL is; OpenAI's own then is not where the environment's key goes."""
    monkeypatch.setenv("OPENAI_BASE_URL", LOCAL)
    require_known(Path("j"), [at(LOCAL)])
    with pytest.raises(ConfigurationError, match="add --trust"):
        require_known(Path("j"), [at(OPENAI)])


OTHERS = [
    at(LOCAL),
    at(OPENAI, "AWS_SECRET_ACCESS_KEY"),
    at("https://api.anthropic.com", settings={"anthropic_proxy": LOCAL}, spec="anthropic:m"),
]


@pytest.mark.parametrize("server", OTHERS)
def test_where_batches_were_submitted_is_known(server: BatchAddress) -> None:
    """Another server, another variable and an option that may lead a key elsewhere are refused
    until this user has submitted batches so, and then for nothing else."""
    with pytest.raises(ConfigurationError, match="add --trust"):
        require_known(Path("j"), [server])
    remember([server])
    remember([server])
    require_known(Path("j"), [server])
    for other in OTHERS:
        if other is not server:
            with pytest.raises(ConfigurationError, match="add --trust"):
                require_known(Path("j"), [other])


def test_a_refusal_shows_no_password() -> None:
    """Not even one that is an ordinary word."""
    with pytest.raises(ConfigurationError, match=r"http://me:\[secret\]@127.0.0.1:9/v1"):
        require_known(Path("j"), [at("http://me:password@127.0.0.1:9/v1")])


def test_what_is_remembered_is_private(tmp_path: Path) -> None:
    """It is one line for a server however often batches go there, has no address, and nobody else
    can read or write it."""
    remember([at("http://me:password@127.0.0.1:9/v1")])
    remember([at("http://me:password@127.0.0.1:9/v1")])
    (file,) = (path for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_bytes().splitlines()) == 1
    assert b"password" not in file.read_bytes()


@pytest.mark.parametrize(
    ("id_", "folder"),
    [("batch_1", ""), ("file-a.b:c", ""), ("batches/a-1", "batches/"), ("files/b", "files/")],
)
def test_ids_of_providers_are_plain(id_: str, folder: str) -> None:
    """OpenAI's, and Gemini's with their folder, are taken as they are."""
    assert plain_id(id_, folder) == id_


@pytest.mark.parametrize(
    ("id_", "folder"),
    [
        *((id_, "") for id_ in ("../../models", "a/b", "..", ".", "a..b", "a?b", "a%2fb", "")),
        ("a\n", ""),
        *((id_, "batches/") for id_ in ("batch_1", "batches/../files/a", "batches/", "files/a")),
        (None, ""),
    ],
)  # fmt: skip
def test_ids_that_lead_elsewhere_are_refused(id_: object, folder: str) -> None:
    """None that changes the path or begins a query."""
    with pytest.raises(CallError, match="as the id of a batch"):
        plain_id(id_, folder)
