"""The figures of a prompt set that was built."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from persona_panel.experiments.prompt_sets.building import BuiltPrompts, prompt_set_result
from persona_panel.experiments.prompt_sets.candidates import CandidatePrompt
from persona_panel.experiments.prompt_sets.plan import prompt_set_plan

SPEC = """\
id: two
models: [openai:first, openai:second]
sources:
  - {id: bias, file: items.jsonl, item_id: nr, text: "{question}", rewrite: {prompts: 2}}
  - {id: norms, file: items.jsonl, item_id: nr, text: "{question}", rewrite: {prompts: 2}}
diversity: {}
"""


def test_diversity_by_source_and_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: two items of one source, of which the first writer's prompts are equivalent in one
    (0 and 1, mean 0.5, SE 0.5) and of the pairs across writers one of four is in one of them (0.75
    and 1); in the other source, of one item, no pair is."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "items.jsonl").write_text('{"nr": 1, "question": "Why?"}\n')
    built = BuiltPrompts(prompt_set_plan(tmp_path / "spec.yaml"))
    first, second = built.plan.writers["bias"]
    items = (("bias", "x"), ("bias", "y"), ("norms", "z"))
    for (origin, item), (writer, short), n in product(items, ((first, "f"), (second, "s")), (1, 2)):
        name = f"{item}-{short}{n}"
        built.measured.append(CandidatePrompt(name, name, origin, item, origin, writer=writer))
    names = [[one.id for one in built.measured if one.bundle == item] for _, item in items]
    pairs = [(a, b) for own in names for at, a in enumerate(own) for b in own[at + 1 :]]
    built.equivalent = dict.fromkeys(pairs, False)
    built.equivalent |= {("x-f1", "x-f2"): True, ("x-f1", "x-s2"): True}
    table = next(one for one in prompt_set_result(built).tables if one.name == "sources")
    rows = [
        (row["source"], row["writer"], row["diversity"].value, row["se"], row["n_bundles"])
        for row in table.rows
    ]
    assert rows == [
        ("bias", first, 0.5, pytest.approx(0.5), 2),
        ("bias", second, 1.0, 0.0, 2),
        ("bias", "writers", pytest.approx(0.875), pytest.approx(0.125), 2),
        ("norms", first, 1.0, None, 1),
        ("norms", second, 1.0, None, 1),
        ("norms", "writers", 1.0, None, 1),
    ]
