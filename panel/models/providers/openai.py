"""`openai:NAME`: OpenAI's models, and any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.secrets import SECRETS, credentials_in
from persona_panel.models.availability import Availability, find_key
from persona_panel.models.client import ModelClient
from persona_panel.models.config import HEADER_OPTIONS, ModelConfig

URL = "https://api.openai.com/v1"
packages = ("pycurl",)
_NOT_OF_THE_BODY = frozenset({"seed", "extra_body", "headers", *HEADER_OPTIONS})


def client(config: ModelConfig, keep_prefix: bool) -> ModelClient:
    """See `Provider.client`; OpenAI keeps the beginning of a request by itself."""
    from pydantic import SecretStr, ValidationError

    from persona_panel.models.openai_client import OpenAIClient

    base_url = config.base_url or os.environ.get("OPENAI_BASE_URL") or URL
    SECRETS.learn(*credentials_in(base_url))
    # The key is for the address of OpenAI, or of the environment that has the key: that in a panel
    # file may be anybody's.
    of_the_key = (URL, os.environ.get("OPENAI_BASE_URL", "").rstrip("/"))
    at = base_url.rstrip("/")
    key = find_key(config, "OPENAI_API_KEY" if at in of_the_key else None, required=at == URL)
    body, headers = _sent(config.options)
    try:
        return OpenAIClient(
            model=config.model_name,
            base_url=base_url,
            api_key=SecretStr(key) if key else None,
            temperature=config.temperature,
            seed=config.options.get("seed"),
            timeout_s=config.timeout,
            extra_body=body,
            headers=headers,
        )
    except ValidationError as error:
        problems = "; ".join(str(fault["msg"]) for fault in error.errors(include_input=False))
        raise ConfigurationError(f"{config.model}: {problems}") from None


def _sent(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return options as fields of each request's body beside the seed, and as its headers."""
    body = {name: value for name, value in options.items() if name not in _NOT_OF_THE_BODY}
    body |= options.get("extra_body") or {}
    headers = dict(options.get("headers") or {})
    headers |= {
        header: str(options[name]) for name, header in HEADER_OPTIONS.items() if name in options
    }
    return body, headers


def availability() -> Sequence[Availability]:
    """See `Provider.availability`."""
    base_url = os.environ.get("OPENAI_BASE_URL", URL)
    model = "openai:NAME"
    if "OPENAI_API_KEY" in os.environ:
        return [Availability(model, True, f"key in OPENAI_API_KEY, for {base_url}")]
    if base_url.rstrip("/") != URL:
        return [Availability(model, True, f"without a key, for {base_url}")]
    missing = "needs OPENAI_API_KEY, or OPENAI_BASE_URL"
    return [Availability(model, False, missing)]
