"""The judgments that every contender makes, read from two files; and its own work per call.

`calls.json` holds a template of a prompt for each judge, made by this project's own
wording, so that everybody sends what persona-panel sends. The standard library only: it
is imported in the peers' environments too.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = "@@RESPONSE@@"


@dataclass(frozen=True, slots=True)
class Batch:
    """`templates` are one a judge, with MARK where the response belongs."""

    url: str
    concurrency: int
    texts: list[str]
    system: str
    templates: list[str]
    schema: dict[str, Any]
    max_tokens: int
    folder: Path

    @property
    def messages(self) -> Iterator[list[dict[str, str]]]:
        """What is asked, response by response, judge by judge."""
        for text in self.texts:
            for template in self.templates:
                yield [
                    {"role": "system", "content": self.system},
                    {"role": "user", "content": template.replace(MARK, text)},
                ]

    @property
    def response_format(self) -> dict[str, Any]:
        """OpenAI's structured output."""
        wanted = {"name": "judgment", "strict": True, "schema": self.schema}
        return {"type": "json_schema", "json_schema": wanted}


def read_batch() -> Batch:
    """From the command line: the folder, the server's address, calls in flight."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("url")
    parser.add_argument("concurrency", type=int)
    options = parser.parse_args()
    with (options.folder / "responses.jsonl").open() as lines:
        texts = [json.loads(line)["response"] for line in lines]
    calls = json.loads((options.folder / "calls.json").read_text())
    return Batch(options.url + "/v1", options.concurrency, texts, folder=options.folder, **calls)


def check(judgments: int, batch: Batch) -> None:
    """Refuse a contender that read fewer judgments than were asked for."""
    wanted = len(batch.texts) * len(batch.templates)
    if judgments != wanted:
        sys.exit(f"read {judgments} judgments of {wanted}")


def is_judgment(text: str, batch: Batch) -> bool:
    """Whether it is the JSON object asked for: the work that all of them do with a reply."""
    return bool(json.loads(text).keys() == batch.schema["properties"].keys())
