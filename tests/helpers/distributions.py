"""Distributions of others, as an installer leaves them."""

from __future__ import annotations

from pathlib import Path


def installed(folder: Path, group: str, entry: str, module: str, source: str) -> None:
    """A distribution, as an installer leaves it, that registers one entry point."""
    info = folder / "others-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[persona_panel.{group}]\n{entry}\n")
    (folder / f"{module}.py").write_text(source)
