"""Azure OpenAI, by OpenAI's package."""

from __future__ import annotations

from tests.contracts.wire import KEY, Payload, Said, Wire
from tests.contracts.wires.chat_completions import error, judged, schema_of
from tests.contracts.wires.openai import ERRORS

_POLICY = (
    "The response was filtered due to the prompt triggering Azure OpenAI's content management "
    "policy. Please modify your prompt and retry."
)


def _filtered(payload: Payload) -> Said:
    inner = {
        "code": "ResponsibleAIPolicyViolation",
        "content_filter_result": {"violence": {"filtered": True, "severity": "medium"}},
    }
    body = {"message": _POLICY, "type": None, "param": "prompt", "code": "content_filter"}
    return Said({"error": body | {"status": 400, "innererror": inner}}, 400)


WIRE = Wire(
    spec="azure_openai:gpt-4o-mini",
    packages=("langchain", "langchain_openai"),
    env={
        "AZURE_OPENAI_API_KEY": KEY,
        "AZURE_OPENAI_ENDPOINT": "{url}",
        "OPENAI_API_VERSION": "2024-10-21",
    },
    base_url=None,
    schema=schema_of,
    judged=judged,
    other=ERRORS
    | {
        "filtered": _filtered,
        "limit": error(429, "Requests to the deployment exceed its rate limit.", code="429"),
        "key": error(
            401, "Access denied due to invalid subscription key or wrong API endpoint.", code="401"
        ),
        "credit": error(
            403, "The subscription has been disabled; its spending limit is reached.", code="403"
        ),
        "model": error(
            404, "The API deployment for this resource does not exist.", code="DeploymentNotFound"
        ),
    },
)
