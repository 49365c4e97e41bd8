"""What every test has: a cache of its own, and no key or address of the person who runs it; and
the command, for those that want it."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

from tests.helpers import forked
from tests.helpers.command import COMMAND, Command

# A busy machine is slower than hypothesis expects, and no less right.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Under `nohup`, or in the background of a script, these are ignored, and would be by the commands
# that tests start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# Several workers share the cores: threads of linear algebra would wait for each other, and take ten
# times the CPU for small matrices.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# What is collected stays to the end: no collection of garbage need look at it.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from now on, and leave out what was imported."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 50)


LONG = (
    "tests/test_documents.py", "tests/examples/test_examples.py", "tests/test_types.py",
    "tests/test_end_to_end.py",
)  # fmt: skip
"""Files that take long: begun first, so that no worker is left alone with them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long files come first."""
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONG))


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where caches are: ours has nothing of this user's but converted weights; those of other
    packages, such as lists of fonts, are the user's own, since they take long to make."""
    home = tmp_path_factory.mktemp("cache-home")
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    ours = Path("persona-panel")
    (home / ours).mkdir(mode=0o700)
    there = [path.relative_to(users) for path in users.glob("*") if path.name != ours.name]
    for name in (*there, ours / "weights"):
        if (users / name).exists():
            (home / name).symlink_to((users / name).absolute())
    return home


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies, also those on their way to a store elsewhere, and what is remembered of batches are
    kept in folders of the tests; no OPENAI_*, proxy or panel file of the Studio is set."""
    monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in list(os.environ):
        # The servers of tests are on this machine: a proxy would not find them.
        if name.startswith("OPENAI_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("PERSONA_PANEL_FILE", raising=False)


@pytest.fixture(scope="session")
def demo_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the walk of the README leaves the replies to its demo, for every worker of a session;
    absent before it."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "demo-cache"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs `persona-panel` with these arguments in tmp_path, on a wide terminal's width."""

    def run(
        *arguments: str | Path, stdin: str | bytes = b"", **env: str
    ) -> subprocess.CompletedProcess[str]:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        surroundings = os.environ | {"COLUMNS": "160"} | env
        return forked.run([COMMAND, *arguments], tmp_path, surroundings, stdin=given)

    return run
