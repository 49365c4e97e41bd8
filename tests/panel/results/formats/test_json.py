"""A result as JSON, and the schema that every such document keeps."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema
import pytest

from persona_panel.results.formats import json as json_format
from persona_panel.results.formats.json import schema
from tests.helpers.results import SAMPLE

ROOT = Path(__file__).parents[4]


def test_the_schema_of_the_docs_is_the_one_that_holds() -> None:
    """docs/reference/result.schema.json is what `schema` gives, and a schema itself."""
    written = json.loads((ROOT / "docs/reference/result.schema.json").read_text("utf-8"))
    assert written == schema()
    jsonschema.Draft202012Validator.check_schema(written)


def test_a_document_has_every_cell() -> None:
    """Tables as lists of rows by name, undefined numbers null, what an estimate has not left out;
    the document keeps the schema."""
    to = io.StringIO()
    json_format.render(SAMPLE, to, full=False)
    found = json.loads(to.getvalue())
    jsonschema.Draft202012Validator(schema()).validate(found)
    assert (found["schema"], found["analysis"]) == (1, "sample")
    first, second, third = found["tables"]["means"]
    assert first == {
        "system": "alder", "dimension": "composite",
        "mean": {"value": 6.0, "low": 5.5, "high": 6.25, "level": 0.95, "over": "prompts",
                 "n": 12, "p": 0.01, "p_adjusted": 0.02},
        "weight": 0.5, "rated": 16, "n": 40, "verdict": "better", "notes": ["few", "odd"],
        "control": False, "raw_p": 0.01,
    }  # fmt: skip
    assert second["mean"] == {"value": 5.0, "n": 1, "reason": "one prompt alone"}
    assert (second["weight"], second["raw_p"], third["raw_p"]) == (None, None, None)
    assert third["mean"] == {"value": None, "reason": "nobody rated it"}
    assert found["remarks"] == ["mean: of all judges.", "p: adjusted.", "weight: of the panel."]
    assert found["missing"]["missing"] == {"failed": 2}
    assert found["next_step"] == "Score 20 more prompts."


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema": 2},
        {"tables": {"means": [{"mean": {"low": 1}}]}},
        {"tables": {"means": [{"mean": {"value": 1, "low": 0}}]}},
        {"tables": {"means": [{"mean": {"value": 1, "ci_low": 0}}]}},
        {"figures": []},
    ],
)
def test_another_form_is_refused(wrong: dict[str, object]) -> None:
    """Another version, an interval with one end or none of a value, and unknown names."""
    to = io.StringIO()
    json_format.render(SAMPLE, to, full=False)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema()).validate(json.loads(to.getvalue()) | wrong)
