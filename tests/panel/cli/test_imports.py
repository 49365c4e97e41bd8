"""What a command imports: all that it needs, whichever is the first."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
# Other projects' packages are imported once, before the forks: they take most of the time.
CODE = """
import importlib, json, os, sys
from tests.helpers.fork_server import IMPORTED
for name in IMPORTED:
    importlib.import_module(name)
from persona_panel.cli.main import command
from tests.helpers.all_commands import modules_in
began = [name for name in sys.modules if name.startswith("persona_panel")]
failed = []
for module in sorted({module for _, module in modules_in(command)}):
    if not (child := os.fork()):
        importlib.import_module(module)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(module)
print(json.dumps([len(began), failed]))
"""


def test_any_command_may_be_the_first_that_is_imported() -> None:
    """Each command's module can be imported where nothing but the list of commands is: what it
    needs it imports itself, and no two modules wait for each other."""
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    began, failed = json.loads(done.stdout)
    assert began < 30
    assert failed == [], done.stderr


def test_a_run_imports_no_statistic_before_it_has_something_to_say() -> None:
    """scipy.special takes a twelfth of the start of a run: it is loaded by the first statistic that
    needs it."""
    code = (
        "import sys, persona_panel.cli.score, persona_panel.panel, persona_panel.runs.executor\n"
        "print([name for name in sys.modules if name.startswith('scipy.special')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr
