"""Files that a command writes: never over one that it reads, nor over one of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from persona_panel.files.addresses import is_meant_as_address
from persona_panel.files.errors import ConfigurationError, Fault, InputError, RunFolderError
from persona_panel.files.wording import unreadable

RUN_FILES = frozenset({
    "run.json", "judgments.jsonl", "verdicts.csv", "summary.json", "responses.jsonl",
    "prompts.jsonl", "injection.json", "keypoints.json", "bias.json", "framings.jsonl",
    "deltas.csv", "spent.json", "batches.jsonl",
})  # fmt: skip
"""What runs and what is computed of them write into a run's folder. Its page, report.html, is not
among them: it can be made again, at another place, too."""


def refuse_as_output(option: str, output: str | Path, others: Iterable[str | Path]) -> None:
    """Refuse a file as an output.

    Args:
        option: which names it, for the message.
        others: the files and folders that the command is given besides; what is neither, such as
            the name of a model, is no matter.

    Raises:
        ConfigurationError: it is one of these files, by whatever name, or a file of a run's folder:
            one that has a run.json, or is among the others; or it is at an address.
    """
    if is_meant_as_address(output):
        raise ConfigurationError(
            f"{option} {output}: found an address; expected a place on this machine, from where it "
            "can be copied"
        )
    path = Path(output)
    given = [Path(one) for one in others]
    if path.is_file() and any(_is_same(path, one) for one in given):
        raise ConfigurationError(
            f"{option} {path}: found a file that is read; expected another one"
        )
    if path.name in RUN_FILES and (
        (path.parent / "run.json").exists() or any(_is_same(path.parent, one) for one in given)
    ):
        raise ConfigurationError(
            f"{option} {path}: found a file of a run's folder; expected another one"
        )


def write_new(path: Path, content: bytes, expected: str) -> None:
    """Write a file that is not there yet; one that has the same content already stays as it is.

    Args:
        expected: what to do where another file is there.

    Raises:
        InputError: there is another file, or it cannot be written.
    """
    try:
        if path.exists() and path.read_bytes() != content:
            raise InputError([Fault(str(path), "a file that is there already", expected)])
        path.write_bytes(content)
    except OSError as error:
        found = "no such folder" if isinstance(error, FileNotFoundError) else unreadable(path)
        raise InputError([Fault(str(path), found, "a file that can be written")]) from None


@contextmanager
def writing(path: Path, remedy: str = "") -> Iterator[None]:
    """Says of a file or folder what keeps it from being written, and a remedy.

    Raises:
        RunFolderError: something does.
    """
    try:
        yield
    except OSError as error:
        what_helps = f"; {remedy}" if remedy else ""
        raise RunFolderError(f"{path} cannot be written: {error.strerror}{what_helps}") from None


def _is_same(one: Path, other: Path) -> bool:
    """Whether both are there and are the same file or folder, through links as well."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False
