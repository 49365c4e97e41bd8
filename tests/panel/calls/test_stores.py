"""Stores of replies that another distribution brings along, chosen by $PERSONA_PANEL_CACHE."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from persona_panel import ConfigurationError, Panel, Response
from persona_panel.calls.budget import NO_CAPS, Budget
from persona_panel.calls.cache import ENVIRONMENT_VARIABLE, open_reply_store, page_of
from persona_panel.calls.caller import Caller
from persona_panel.calls.endpoint import Endpoint
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.rubrics import ModelRequest
from persona_panel.rubrics.extensions import load_extension
from persona_panel.testing import MemoryReplyStore, ScriptedModel, serving
from tests.helpers import forked
from tests.helpers.command import COMMAND
from tests.helpers.distributions import installed

STORE = """
import os, pickle
from persona_panel.testing import MemoryReplyStore


def open_store(location):
    return Store(location.removeprefix("others://"))


class Store(MemoryReplyStore):
    def __init__(self, path):
        self.location = self.path = path
        replies = pickle.load(open(path, "rb")) if os.path.exists(path) else {}
        self.replies = replies
        super().__init__(replies)

    def close(self):
        pickle.dump(self.replies, open(self.path, "wb"))
"""


def test_a_store_of_another_distribution_keeps_a_run_s_replies(tmp_path: Path) -> None:
    """A second run calls nothing: the store named in the variable had all replies."""
    installed(tmp_path / "site", "reply_stores", "others = others_store", "others_store", STORE)
    (tmp_path / "essays.csv").write_text("id,prompt,text,system\na,Why?,Because.,s\n")
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    with serving() as server:
        environment = os.environ | {
            "PYTHONPATH": path.rstrip(os.pathsep),
            "OPENAI_BASE_URL": server.base_url,
            ENVIRONMENT_VARIABLE: f"others://{tmp_path / 'kept'}",
        }
        for _ in range(2):
            arguments = [COMMAND, "score", "essays.csv", "--model", "openai:stub"]
            done = forked.run(arguments, tmp_path, environment)
            assert done.returncode == 0, done.stderr
        assert len(server.calls) == 10
    assert (tmp_path / "kept").exists()
    assert not (tmp_path / "cache").exists()


def test_an_unknown_store_is_refused_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any call; what is no address is a folder."""
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "nowhere://there")
    model = ScriptedModel()
    essay = Response(id="a", prompt="Why?", text="Because.", system="s")
    with pytest.raises(ConfigurationError, match=r"no store of replies is called 'nowhere'.*disk"):
        Panel("disciplinary", model).score([essay])
    assert model.requests == []


@pytest.mark.parametrize("scheme", ["redis", "rediss", "unix"])
def test_a_store_without_its_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """Where the package of a store of ours is not installed the way to get it is told, and
    nothing of the address, which may hold a password."""
    monkeypatch.delitem(sys.modules, "persona_panel.calls.stores.redis", raising=False)
    monkeypatch.setitem(sys.modules, "redis", None)
    load_extension.cache_clear()
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, f"{scheme}://:canary@here")
    needed = "redis needs redis, which is not installed"
    told = rf"with {needed}; get it with: pip install 'persona-panel\[redis\]'"
    with pytest.raises(ConfigurationError, match=told) as refused:
        open_reply_store()
    assert "canary" not in str(refused.value)


def test_a_folder_may_be_an_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """disk:// before a folder is that folder."""
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, f"disk://{tmp_path / 'here'}")
    store = open_reply_store()
    assert store.location == str(tmp_path / "here")
    store.close()


async def test_a_caller_is_content_with_any_store() -> None:
    """Replies kept in memory are served like those on disk."""
    model = ScriptedModel("4")
    caller = Caller({"m": Endpoint(model, RateLimiter(1))}, MemoryReplyStore(), Budget(NO_CAPS, {}))
    request, page = ModelRequest("", ("Rate it.",)), page_of(model.parameters, "essay")
    replies = [await caller.complete("m", request, page) for _ in range(2)]
    assert [(reply.text, reply.cached) for reply in replies] == [("4", False), ("4", True)]
    assert len(model.requests) == 1
