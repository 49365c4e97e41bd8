"""The same 3,000 judgments by other packages, each as its own pages advise for throughput.

openai's and LangChain's clients are in this environment (the extra `test`); inspect-ai
and verdict get environments of their own, made once, in the user's cache folder. What
each does is in contenders/.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

from benchmarks.harness import ROOT, scratch, stub
from benchmarks.overhead import COLD, JUDGES, LOOP, ours, prepare, race, script
from benchmarks.report import FLOOR, Figure, Outcome, Row, row_of

PEERS = {
    "inspect-ai": ("inspect_peer.py", ("inspect-ai==0.3.285", "openai==3.52.0")),
    "verdict": ("verdict_peer.py", ("verdict==0.2.7",)),
}
CLIENTS = {
    "openai.AsyncOpenAI, bare loop": ("openai", "openai"),
    "LangChain's ChatOpenAI, bare loop": ("langchain", "langchain-openai"),
}


def run(options: argparse.Namespace) -> Outcome:
    """100 responses by 30 judges."""
    responses = max(1, round(100 * options.scale))
    notes, absent = [], []
    with scratch("peers") as folder, stub() as url:
        prepare(folder, responses)
        field = [
            script(FLOOR, [*LOOP, "aiohttp"], folder, url, options),
            *ours(folder, url, options),
        ]
        for name, (client, package) in CLIENTS.items():
            field.append(script(name, [*LOOP, client], folder, url, options))
            notes.append(f"{package} {version(package)}: as it comes")
        for name, (file, requirements) in PEERS.items():
            try:
                python = environment_of(name, requirements)
                command = [str(python), str(ROOT / "benchmarks" / "contenders" / file)]
                notes.append(_said([*command, "--configuration"], folder))
            except RuntimeError as error:
                absent.append(Row(name, responses * JUDGES, absent=str(error)))
                continue
            field.append(script(name, command, folder, url, options))
        rows = [*race(field, responses * JUDGES, options.repeat, url), *absent]
    return Outcome(rows, _figures(rows), notes)


def _figures(rows: list[Row]) -> list[Figure]:
    if not row_of(rows, COLD).runs:
        return []
    cost = row_of(rows, COLD).cpu_s
    return [
        Figure(
            f"CPU of {row.name} over that of persona-panel",
            (row.cpu_s / cost,),
            "more than 1",
            row.cpu_s > cost,
        )
        for row in rows
        if row.runs and row.name in PEERS
    ]


def environment_of(name: str, requirements: tuple[str, ...]) -> Path:
    """The Python of a virtual environment that holds them; made if it is not there.

    Raises:
        RuntimeError: they cannot be installed; says pip's last words.
    """
    import platformdirs

    folder = platformdirs.user_cache_path("persona-panel-benchmarks") / name
    made, wanted = folder / "requirements", "\n".join(requirements)
    python = folder / "bin" / "python"
    if made.exists() and made.read_text() == wanted:
        return python
    print(f"  installing {' '.join(requirements)} in {folder}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    _said([str(python), "-m", "pip", "install", "--quiet", *requirements], folder)
    made.write_text(wanted)
    return python


def _said(command: list[str], folder: Path) -> str:
    """What it prints; run in that folder, because some packages leave files behind."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:] or f"ended with {done.returncode}")
    return done.stdout.strip()
