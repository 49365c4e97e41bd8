"""Every figure in docs/papers that comes from public data, made anew by the page's own command.

    python -m benchmarks.papers PATH

PATH is a folder with the data of the papers, by the names in FOLDERS. Of each page the commands
that need public data are run, and each number of its tables has to stand in what they print: in the
line with the row's name where there is one, rounded as on the page. Rows of papers.yaml with
figures of ours are run likewise. Exit status 1 where one does not.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from benchmarks.harness import ROOT

FOLDERS = {
    "argument-quality": {"PATH": "argument_quality"},
    "critical-questions": {
        "PATH": "critical_questions",
        "validation.json": "critical_questions/validation.json",
    },
    "debate-speeches": {"PATH": "debate_speeches"},
}
"""Of each page, what stands in its commands for a file or folder of the data."""
ROWS = ROOT / "benchmarks" / "papers.yaml"
RECORDED = "Figures of the paper"
_PART = re.compile(
    r"<!-- needs public data -->\n```sh\n(.*?)```\n(.*?)(?=\n#|\Z|\n<!--)", re.DOTALL
)
_NUMBER = re.compile(r"[+−-]?\d+(?:[.,]\d+)*%?")


@cache
def rows() -> dict[str, list[dict[str, str]]]:
    """Return the rows of papers.yaml, by page."""
    found: dict[str, list[dict[str, str]]] = yaml.safe_load(ROWS.read_text("utf-8"))
    return found


def printed(command: str, data: Path, names: dict[str, str]) -> list[str]:
    """Return the lines that a page's command prints, with the data in place of their names."""
    words = [str(data / names[word]) if word in names else word for word in shlex.split(command)]
    program = ["-c", "from persona_panel.cli.main import main; main()"]
    words[:1] = [sys.executable, *(program if words[0] == "persona-panel" else [])]
    wide = os.environ | {"COLUMNS": "200"}
    # What a command writes does not stay.
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        done = subprocess.run(
            words, cwd=folder, env=wide, capture_output=True, text=True, check=False, timeout=600
        )
    if done.returncode:
        raise SystemExit(f"{command}\n{done.stderr}")
    # What examples repeat of papers.yaml is not computed.
    return done.stdout.partition(RECORDED)[0].splitlines()


def rows_of(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a page's tables: their names, and their other cells."""
    lines = text.splitlines()
    for line, before in zip(lines[2:], lines, strict=False):
        # Neither a head nor what is below it.
        if line.startswith("|") and before.startswith("|"):
            name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            yield name, cells


def value_of(number: str) -> float:
    """Return a number as it is written on a page or in a terminal."""
    return float(number.strip("%").replace(",", "").replace("−", "-"))


def stands(number: str, line: str) -> bool:
    """Return whether a line has a number that this one may be, rounded."""
    half = 0.5 * 10.0 ** -len(number.partition(".")[2]) + 1e-9
    return any(abs(value_of(each) - value_of(number)) <= half for each in _NUMBER.findall(line))


def check_rows(page: str, data: Path) -> int:
    """Print of each row of a page that has a figure of ours whether its command prints it; return
    how many differ."""
    n_other, outputs = 0, dict[str, list[str]]()
    for row in rows().get(page, []):
        if "ours" in row:
            command = row["command"]
            if command not in outputs:
                outputs[command] = printed(command, data, FOLDERS[page])
            numbers = _NUMBER.findall(row["ours"].replace(" %", ""))
            equal = all(any(stands(n, line) for line in outputs[command]) for n in numbers)
            n_other += not equal
            print(f"{page}: {row['place']}: {row['ours']}: {'equal' if equal else 'differs'}")
    return n_other


def main(path: str) -> int:
    """Print how many figures of each page were made anew, and those that were not."""
    n_lacking = 0
    for page, names in FOLDERS.items():
        text = (ROOT / "docs" / "papers" / f"{page}.md").read_text("utf-8")
        n_made = 0
        for command, tables in _PART.findall(text):
            lines = printed(command, Path(path), names)
            for name, cells in rows_of(tables):
                label = name.replace(" ", "-")
                own = [line for line in lines if label in line.split() or name in line] or lines
                for number in [
                    n for cell in cells for n in _NUMBER.findall(cell.replace(" %", ""))
                ]:
                    made = any(stands(number, line) for line in own)
                    n_made += made
                    n_lacking += not made
                    if not made:
                        print(f"{page}: {name}: {number} is not printed by: {command.strip()}")
        print(f"{page}: {n_made} figures made anew")
        n_lacking += check_rows(page, Path(path))
    return int(n_lacking > 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    raise SystemExit(main(sys.argv[1]))
