"""`import panel` goes on: the same modules by the old name, where nobody else owns it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SAME = """
import panel, panel.statistics, persona_panel.statistics
from panel.files.ratings import load_ratings
from persona_panel import load_ratings as same
assert panel is persona_panel
assert panel.statistics is persona_panel.statistics
assert persona_panel.statistics.__spec__.name == "persona_panel.statistics"
assert load_ratings is same
import pickle
assert pickle.loads(pickle.dumps(panel.Persona)) is persona_panel.Persona
print(panel.__version__)
"""


def output_of(code: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_old_name_is_the_same_modules(tmp_path: Path) -> None:
    """Both names give one copy of each module, in any folder, that of this repository too."""
    assert output_of(SAME, tmp_path) == output_of(SAME, ROOT) != ""


def test_another_owner_of_the_old_name_keeps_it(tmp_path: Path) -> None:
    """Where HoloViz Panel or a user's own package is called `panel`, that is imported; ours works
    beside it by its own name."""
    (tmp_path / "panel").mkdir()
    (tmp_path / "panel" / "__init__.py").write_text("owner = 'another'\n")
    code = "import panel, persona_panel; print(panel.owner, persona_panel.Panel.__name__)"
    assert output_of(code, tmp_path, PYTHONPATH=str(tmp_path)) == "another Panel"


def test_the_wheel_installs_one_package_and_the_alias(tmp_path: Path) -> None:
    """Installed there are `persona_panel`, with the graphs, personas, rubrics and the batches of
    the demo inside it, and the module `panel`; no file is in it twice, and none of the tests."""
    import zipfile

    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, ROOT],
        check=True, capture_output=True,
    )  # fmt: skip
    [wheel] = tmp_path.glob("*.whl")
    packed = zipfile.ZipFile(wheel)
    names = packed.namelist()
    assert len(names) == len(set(names))
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {
        "persona_panel", "panel.py",
    }  # fmt: skip
    for name in ("graphs/judging.py", "personas/library/disciplinary.yaml", "py.typed"):
        assert f"persona_panel/{name}" in names
    assert "persona_panel/library/models.yaml" in names
    # What `persona-panel demo` scores and names is a link in the repository.
    for name in ("debate_speeches.jsonl", "responses.jsonl"):
        batch = (ROOT / "examples" / name).read_bytes()
        assert packed.read(f"persona_panel/library/{name}") == batch
