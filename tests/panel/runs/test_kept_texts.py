"""The texts that a run's folder keeps: read back as they were, in little memory, and compared."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from persona_panel.files.errors import InputError, RunFolderError
from persona_panel.files.responses import Batch, ResponseFile, load_responses
from persona_panel.graphs import Response
from persona_panel.runs.kept import KeptTexts


def response(name: str = "r", **more: Any) -> Response:
    given: dict[str, Any] = {"prompt": "Why?", "text": "So.", "system": "s", "prompt_id": "q"}
    return Response(id=name, **(given | more))


def kept(folder: Path, *responses: Response, texts: bool = True) -> KeptTexts:
    folder.mkdir(exist_ok=True)
    made = KeptTexts.of_batch(Batch(responses))
    made.write(folder, texts=texts)
    return made


def test_what_is_kept_is_read_back_as_it_was(tmp_path: Path) -> None:
    """Contexts, line breaks, other scripts and metadata of any kind, numbers beyond 64 bits too."""
    batch = [
        response("a", context="A position.\u2028On two lines.\n"),
        response("b", text="名前 \x1b[2J\ttab", metadata={"n": 10**30, "m": {"k": [None, 1.5]}}),
        response("c", prompt_id="q2", prompt="Who?", metadata={"rank": 1, "score": "=1+1"}),
    ]
    kept(tmp_path, *batch)
    assert load_responses(tmp_path / "responses.jsonl") == batch


def test_metadata_takes_the_place_of_no_field(tmp_path: Path) -> None:
    """Metadata called as a field may be is kept under the name that verdicts.csv has for it."""
    odd = {"id": 1, "text": "t", "response_text": "u", "metadata_id": 2, "context": "c"}
    kept(tmp_path, response(metadata=odd))
    [read] = load_responses(tmp_path / "responses.jsonl")
    assert read.metadata == {
        "metadata_id": 1,
        "metadata_text": "t",
        "metadata_response_text": "u",
        "metadata_metadata_id": 2,
        "metadata_context": "c",
    }
    assert read.model_copy(update={"metadata": {}}) == response()


def test_metadata_that_json_cannot_hold_is_named(tmp_path: Path) -> None:
    """An object of another kind is refused with the response's place; no file is left."""
    with pytest.raises(InputError, match="responses:2: metadata"):
        kept(
            tmp_path,
            response("a", metadata={"d": date(2020, 1, 1)}),
            response("b", metadata={"o": object()}),
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("field", ["prompt", "text", "context", "prompt_id"])
def test_half_a_surrogate_pair_is_refused_before_a_call(field: str) -> None:
    """A text that no file and no request can hold is named by its place."""
    odd = {field: "x\ud800"}
    with pytest.raises(InputError, match="responses:2: found half a surrogate pair in 'b'"):
        Batch([response("a"), response("b", **odd)])


def test_a_batch_is_the_same_with_digests_and_in_any_order(tmp_path: Path) -> None:
    """Digests stand for texts: written without them, a folder takes the same batch and more, and
    no other; its own digest does not depend on the order."""
    a, b, c = response("a", context="x"), response("b"), response("c")
    one = kept(tmp_path / "one", a, b, texts=False)
    other = kept(tmp_path / "other", b, a)
    assert one.document() == other.document()
    for folder in ("one", "other"):
        for batch in ([c, b, a], [a, b]):
            KeptTexts.of_batch(Batch(batch)).refuse_others(tmp_path / folder)
        changed = KeptTexts.of_batch(Batch([a.model_copy(update={"context": "y"}), b]))
        with pytest.raises(RunFolderError, match=r"2 other responses: 1 with another .* \('q/a'\)"):
            changed.refuse_others(tmp_path / folder)
    first, _ = (tmp_path / "one" / "responses.jsonl").read_text().splitlines()
    assert json.loads(first)["prompt_sha256"] == hashlib.sha256(b"Why?").hexdigest()


@pytest.mark.parametrize(
    "content", ["{torn", "[]", '{"id": "a"}', '{"prompt_id": "q", "prompt": 1}']
)
def test_a_file_that_no_run_wrote_is_refused(tmp_path: Path, content: str) -> None:
    """The line is named, and not taken for a text that is gone."""
    (tmp_path / "responses.jsonl").write_text(content + "\n")
    with pytest.raises(RunFolderError, match="line 1, was not written by a run"):
        KeptTexts.of_batch(Batch([response("a")])).refuse_others(tmp_path)


def test_texts_go_through_memory_one_by_one(tmp_path: Path) -> None:
    """20 MB of responses are written, and compared with what is there, in less than 2."""
    path = tmp_path / "in.jsonl"
    with path.open("w") as file:
        for i in range(2_000):
            row = {"id": f"r{i}", "prompt": f"Why {i}?", "response": f"{i} " * 2_000, "system": "s"}
            file.write(json.dumps(row) + "\n")
    batch = Batch(ResponseFile(path))
    texts = KeptTexts.of_batch(batch)
    tracemalloc.start()
    texts.write(tmp_path, texts=True)
    texts.refuse_others(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "responses.jsonl").stat().st_size > 15_000_000
    assert peak < 2_000_000
