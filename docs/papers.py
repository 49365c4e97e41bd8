"""The tables of the papers' methods, tables and figures, made of benchmarks/papers.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_ROWS = Path(__file__).parents[1] / "benchmarks" / "papers.yaml"
_MARK = "<!-- rows of the paper -->"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put a paper's table in the place of its mark; a hook of mkdocs."""
    if _MARK not in markdown:
        return markdown
    rows = yaml.safe_load(_ROWS.read_text("utf-8"))[Path(page.file.src_uri).stem]
    return markdown.replace(_MARK, table(rows))


def table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a Markdown table, after how many there are with a command or call."""
    done = sum("command" in row for row in rows)
    lines = [f"{done} of {len(rows)}.", ""]
    lines += ["| in the paper | by | ours | the paper's | remark |", "|---|---|---|---|---|"]
    for row in rows:
        by = f"`{row['command']}`" if "command" in row else "cannot"
        cells = [
            f"{row['place']}: {row['method']}", by,
            *(row.get(name, "") for name in ("ours", "theirs", "note")),
        ]  # fmt: skip
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
