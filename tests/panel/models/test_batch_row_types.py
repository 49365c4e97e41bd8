"""Rows of batches, held against the types of the providers' own packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import jsonschema
import orjson
import pytest
from pydantic import TypeAdapter

from persona_panel import ModelConfig
from persona_panel.models.batches import BatchClient
from persona_panel.models.providers import client_for
from persona_panel.rubrics import ModelRequest

SCHEMA = {
    "type": "object",
    "properties": {"clarity": {"type": ["integer", "null"]}, "why": {"type": "string"}},
    "required": ["clarity", "why"],
    "additionalProperties": False,
}
ASKED = ("The rubric. ", "The response: “ok”. ", "Rate it.")
FORMS = {
    "plain": ModelRequest("You judge.", ASKED),
    "without a system's words": ModelRequest("", ("Rate it.",)),
    "asked again": ModelRequest("You judge.", ASKED, exchange=(("7?", "Again."),)),
    "schema": ModelRequest("You judge.", ASKED, schema=SCHEMA, max_tokens=300),
    "probabilities": ModelRequest("You judge.", ASKED, top_logprobs=20, max_tokens=2),
}


def of_openai(row: Mapping[str, Any]) -> None:
    """A row of a file for POST /v1/batches: a chat completion that is not streamed."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    assert row.keys() == {"custom_id", "method", "url", "body"}
    assert (row["method"], row["url"]) == ("POST", "/v1/chat/completions")
    fits(row["body"], CompletionCreateParamsNonStreaming)


def of_anthropic(row: Mapping[str, Any]) -> None:
    """A request of message batches."""
    from anthropic.types.messages.batch_create_params import Request

    fits(row, Request)


def of_google(row: Mapping[str, Any]) -> None:
    """A row of a file for batchGenerateContent, whose parts the package's models describe."""
    from google.genai import types

    assert row.keys() == {"key", "request"}
    parts = {
        "contents": list[types.Content],
        "generationConfig": types.GenerationConfig,
        "systemInstruction": types.Content,
        "safetySettings": list[types.SafetySetting],
        "tools": list[types.Tool],
        "toolConfig": types.ToolConfig,
    }
    request = row["request"]
    assert request["contents"] and request.keys() <= parts.keys(), request
    for name, value in request.items():
        TypeAdapter(parts[name]).validate_python(value)


def fits(value: Mapping[str, Any], kind: Any) -> None:
    """See that a value is of a package's type, and has no keys that this does not know."""
    # By the type's JSON schema: by the type itself pydantic leaves what is iterable for later.
    schema = TypeAdapter(kind).json_schema()
    for one in (schema, *schema.get("$defs", {}).values()):
        if "properties" in one:
            one.setdefault("additionalProperties", False)
    jsonschema.validate(value, schema)


PROVIDERS: dict[str, tuple[str, Callable[[Mapping[str, Any]], None]]] = {
    "openai:gpt-4o-mini": ("openai", of_openai),
    "anthropic:claude-sonnet-4-6": ("langchain_anthropic", of_anthropic),
    "google_genai:gemini-2.5-flash": ("langchain_google_genai", of_google),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("spec", PROVIDERS)
def test_a_row_is_what_the_providers_package_would_send(
    spec: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row of a batch passes the types by which the provider's package checks requests."""
    package, check = PROVIDERS[spec]
    if package == "langchain_anthropic" and form == "probabilities":
        pytest.skip("Anthropic's protocol has none")
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    monkeypatch.setenv("KEY_OF_A_TEST", "key-of-a-provider-0123456789")
    config = ModelConfig(model=spec, base_url="http://127.0.0.1:9/v1", key_env="KEY_OF_A_TEST")
    client = client_for(config, keep_prefix=True)
    assert isinstance(client, BatchClient)
    check(orjson.loads(client.batches().line("a" * 64, FORMS[form])))


def test_the_check_of_types_finds_what_is_wrong() -> None:
    """A role that there is not, and a parameter that OpenAI does not know, are not passed."""
    pytest.importorskip("openai")
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "judge", "content": "x"}]}
    row = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions"}
    with pytest.raises(jsonschema.ValidationError):
        of_openai({**row, "body": body})
    right = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    of_openai({**row, "body": right})
    with pytest.raises(jsonschema.ValidationError):
        of_openai({**row, "body": right | {"no_such": 1}})
