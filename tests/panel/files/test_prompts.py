"""Prompts and framed responses in: formats, names, and every fault with its line."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona_panel import FramedResponse, InputError, Prompt, load_framed_responses, load_prompts
from persona_panel.files.outputs import prompt_id_of

EXAMPLES = Path(__file__).parents[3] / "examples" / "prompts.jsonl"


def jsonl(*rows: Mapping[str, Any]) -> io.StringIO:
    return io.StringIO("".join(json.dumps(row) + "\n" for row in rows))


def faults(load: Any, *rows: Mapping[str, Any]) -> list[str]:
    with pytest.raises(InputError) as refused:
        load(jsonl(*rows))
    return [str(fault).removeprefix("<stream>:") for fault in refused.value.faults]


def test_the_examples_are_twelve_questions() -> None:
    """The file that ships has twelve prompts with ids of their own, each a question."""
    prompts = load_prompts(EXAMPLES)
    assert len({prompt.id for prompt in prompts}) == len(prompts) == 12
    assert all(prompt.text.endswith("?") for prompt in prompts)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
def test_every_format_gives_the_same_prompts(suffix: str, tmp_path: Path) -> None:
    """JSONL, CSV, TSV and Parquet with `id` and `prompt`; another column is left aside."""
    rows = [{"id": "1", "prompt": 'What, "then"?', "source": "x"}, {"id": "b", "prompt": "Why?"}]
    path = tmp_path / f"prompts.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        comma = "," if suffix == "csv" else "\t"
        quoted = '"What, ""then""?"'
        lines = [["id", "prompt", "source"], ["1", quoted, "x"], ["b", "Why?", ""]]
        path.write_text("\n".join(comma.join(line) for line in lines) + "\n")
    assert load_prompts(path) == [Prompt(id="1", text='What, "then"?'), Prompt(id="b", text="Why?")]


def test_prompts_without_an_id_are_called_after_their_texts() -> None:
    """The same prompt has the same id in every file; a number that is an id is its text; the limit
    takes the first."""
    rows = ({"prompt": "a?"}, {"prompt_id": 7, "prompt": "b?"}, {"prompt": "c?"})
    ids = [prompt_id_of("a?"), "7", prompt_id_of("c?")]
    assert [prompt.id for prompt in load_prompts(jsonl(*rows))] == ids
    assert [prompt.id for prompt in load_prompts(jsonl(*rows), limit=2)] == ids[:2]
    assert [prompt.id for prompt in load_prompts(jsonl(*rows[::-1]))] == ids[::-1]


def test_a_prompt_without_an_id_comes_once() -> None:
    """The same text again has no id of its own, and is named with both lines."""
    rows = ({"prompt": "a?"}, {"id": "x", "prompt": "a?"}, {"prompt": "a?"})
    assert faults(load_prompts, *rows) == [
        "3: prompt: found the same prompt again, first on line 1; expected each prompt once, or "
        "with an id of its own"
    ]


def test_all_faults_of_prompts_at_once() -> None:
    """A blank text, a repeated id, a missing and a wrong field are each named with their lines,
    also behind the limit."""
    rows = [
        {"id": "a", "prompt": "x?"},
        {"id": "a", "prompt": " "},
        {"id": "b"},
        {"id": "c", "prompt": 7},
        {"id": "d", "prompt": "y?", "prompt_text": "z?"},
    ]
    told = faults(lambda source: load_prompts(source, limit=1), *rows)
    assert [fault.split(" found")[0] for fault in told] == [
        "2: id:", "2: prompt:", "3: prompt:", "4: prompt:", "5: prompt:",
    ]  # fmt: skip
    assert "'a' again, first on line 1" in told[0]
    assert "an empty value" in told[1]


def test_no_prompts_are_refused() -> None:
    """An empty file is a fault, not a sweep over nothing."""
    assert faults(load_prompts) == [" found no prompts; expected at least one"]


def row(prompt_id: str, condition: str, system: str = "s", **more: Any) -> dict[str, Any]:
    fields = {"prompt_id": prompt_id, "prompt": f"{prompt_id}, {condition}?"}
    fields["condition"] = condition
    return {**fields, "system": system, "response": "Yes.", **more}


def test_framed_responses() -> None:
    """A baseline and a framed response, in their order, with any further column left aside."""
    found = load_framed_responses(jsonl(row("p", "baseline"), row("p", "calm", tone="flat")))
    assert found[1] == FramedResponse(
        prompt_id="p", prompt="p, calm?", condition="calm", system="s", text="Yes."
    )
    assert len(found) == 2


def test_all_faults_of_framed_responses_at_once() -> None:
    """Two of one, another prompt under one condition, an empty response, and a missing baseline:
    each with its line."""
    told = faults(
        load_framed_responses,
        row("p", "baseline"),
        row("p", "calm"),
        row("p", "calm"),
        row("p", "baseline", "t", prompt="q?"),
        row("p", "calm", "t", response=" "),
        row("r", "calm", "t"),
        row("r", "loud", "t"),
    )
    assert told == [
        "3: system: found 'p, calm, s' again, first on line 2; expected one response for each "
        "prompt, condition and system",
        "4: prompt: found another prompt than on line 1, for 'p, baseline'; expected the same "
        "prompt for every system under one condition",
        "5: response: found an empty value; expected text",
        "6: condition: found 'calm' of 't' for the prompt 'r', and no baseline; expected a line "
        "with the condition 'baseline' for the same prompt and system",
    ]


def test_baselines_alone_are_refused() -> None:
    """With nothing but baselines there is nothing to compare."""
    assert faults(load_framed_responses, row("p", "baseline")) == [
        " condition: found baselines only; expected at least one other condition"
    ]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_no_file_breaks_the_readers(text: str) -> None:
    """Whatever stands in a file, it is read or refused with faults."""
    for load in (load_prompts, load_framed_responses):
        try:
            found = load(io.StringIO(text))
        except InputError as error:
            assert error.faults
        else:
            assert found
