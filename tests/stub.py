"""The analyses among the public names: `python -m tests.stub` writes them into the package's stub,
`panel/__init__.pyi`."""

from __future__ import annotations

import re
from pathlib import Path

import persona_panel
from persona_panel.cli.main import declared_analyses

STUB = Path(persona_panel.__file__).with_name("__init__.pyi")


def stub_with_analyses(text: str) -> str:
    """Return a stub with a line for each analysis that is declared."""
    names = (name for group in declared_analyses().values() for name in group)
    lines = {f"from persona_panel.analyses.{name} import {name} as {name}" for name in names}
    lines |= {line for line in text.splitlines() if line.startswith("from ")}
    return re.sub(
        r"(^from .*\n)+", "\n".join([*sorted(lines, key=str.split), ""]), text, flags=re.M
    )


if __name__ == "__main__":
    STUB.write_text(stub_with_analyses(STUB.read_text("utf-8")), "utf-8")
