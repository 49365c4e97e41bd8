"""What tells one text from another, and one batch from another: SHA-256, so that anybody can
check it without this package, where it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b, sha256
from typing import Any

import orjson

TEXTS = ("prompt", "response", "context")
"""The fields of a line of responses.jsonl that are texts."""
LABELS = ("prompt_id", "id", "system", "condition")
"""Those that are names."""
DIGEST_BYTES = 32
_DIGITS = 12


def sha256_of(text: str) -> str:
    """The SHA-256 of a text in UTF-8, in hexadecimal digits."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def short_digest(text: str) -> bytes:
    """What tells a text of a batch from the others while it is read: 16 bytes of BLAKE2b."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def prompt_id_of(prompt: str) -> str:
    """The id of a prompt that was given none: `p-` and the first 12 digits of its SHA-256.

    The same prompt has it in every batch, so that runs can be joined. It begins with a letter:
    a spreadsheet would take 12 digits with an e among them for a number.
    """
    return f"p-{sha256_of(prompt)[:_DIGITS]}"


def response_id_of(system: str, text: str, context: str | None = None) -> str:
    """The id of a response that was given none: `r-` and the first 12 digits of the SHA-256 of its
    system, its text and, where it has one, its context, each with a line feed behind it.

    Without the system, two that answer in the same words would have one id.
    """
    parts = [system, text] if context is None else [system, text, context]
    return f"r-{sha256_of(''.join(part + chr(10) for part in parts))[:_DIGITS]}"


def without_texts(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line of responses.jsonl with the SHA-256 of each text in the text's place, and without
    metadata."""
    kept = {name: line[name] for name in LABELS if name in line}
    digests = {f"{name}_sha256": sha256_of(line[name]) for name in TEXTS if name in line}
    return kept | digests


def digest_of(line: Mapping[str, Any]) -> bytes:
    """What tells a line of responses.jsonl from others, with or without its texts: 32 bytes.

    Metadata has no part in it.
    """
    texts = [
        sha256_of(line[name]) if name in line else line.get(f"{name}_sha256") for name in TEXTS
    ]
    return sha256(orjson.dumps([[line.get(name) for name in LABELS], texts])).digest()


def digest_of_all(digests: Iterable[bytes]) -> str:
    """The digest of a batch by those of its lines, whatever their order."""
    return sha256(b"".join(sorted(digests))).hexdigest()
