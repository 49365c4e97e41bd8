"""A study's packets as HTML files."""

from __future__ import annotations

from pathlib import Path

from persona_panel.files.outputs import writing
from persona_panel.files.private_files import make_private_folder, replace_file
from persona_panel.study.kit import PACKETS, Study
from persona_panel.study.page import packet_page


def write_pages(study: Study, folder: Path) -> list[Path]:
    """Write a page for each rater, named after the rater.

    Raises:
        RunFolderError: they cannot be written.
    """
    below = folder / PACKETS
    written = []
    with writing(below):
        make_private_folder(below)
        for packet, keyed in zip(study.packets, study.key.packets, strict=True):
            path = below / f"{keyed.rater}.html"
            replace_file(path, packet_page(packet).encode())
            written.append(path)
    return written
