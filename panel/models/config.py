"""A model and its limits, as a panel file says them."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from persona_panel.models.catalogue import Price
from persona_panel.models.options import answer_limit_in, checked_options
from persona_panel.rubrics import elicitation_names

MODEL_SPEC = r"^[a-z0-9_-]+:.+$"
"""What a model is called: `provider:name`, the provider as its file or entry point is called."""


def known_elicitation(value: str | None) -> str | None:
    """The name of an elicitation as it is; for a validator, which raises ValueError for another."""
    if value is not None and value not in elicitation_names():
        raise ValueError(f"{value!r}; one of {', '.join(elicitation_names())}")
    return value


class ModelConfig(BaseModel):
    """A model and its limits.

    `model` is `provider:name`; `name` is what it is called in tables and files, which tells two
    entries of one model apart. `key_env` names the environment variable that holds the key.
    `timeout` is in seconds, for one attempt; `patience`, in seconds, how long the model is tried
    while nothing but faults come; `context_window` in tokens; `price` in US dollars for a million
    tokens, in place of the one that is shipped. `reasoning_tokens` is the room for thinking that
    the limit of an answer has beside the answer itself; 0, the model does not reason. `options` are
    the provider's own settings, by its names for them.
    """

    # A value that is refused is not shown: it may be a key.
    model_config = ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), hide_input_in_errors=True
    )

    model: str = Field(pattern=MODEL_SPEC)
    name: str | None = Field(default=None, min_length=1, max_length=100)
    base_url: str | None = None
    key_env: str | None = None
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    concurrency: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0)
    timeout: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    patience: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    context_window: int | None = Field(default=None, ge=512)
    price: Price | None = None
    reasoning_tokens: int | None = Field(default=None, ge=0)
    options: dict[str, Any] = Field(default_factory=dict)
    elicitation: str | None = None

    _elicitation = field_validator("elicitation")(known_elicitation)

    @field_validator("name")
    @classmethod
    def _is_a_plain_line(cls, value: str | None) -> str | None:
        if value is not None and (not value.isprintable() or value != value.strip()):
            raise ValueError("a name with line breaks or with spaces at its ends; one plain line")
        return value

    @field_validator("options")
    @classmethod
    def _is_an_option(cls, value: dict[str, Any]) -> dict[str, Any]:
        return checked_options(value, frozenset(cls.model_fields))

    @field_validator("key_env")
    @classmethod
    def _names_a_variable(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", value):
            raise ValueError(
                "a value that is not shown, for it may be a key; the name of the environment "
                "variable that holds the key, such as OPENAI_API_KEY"
            )
        return value

    @property
    def provider(self) -> str:
        """What stands before the first colon of `model`."""
        return self.model.partition(":")[0]

    @property
    def model_name(self) -> str:
        """What stands behind the first colon of `model`."""
        return self.model.partition(":")[2]

    @property
    def id(self) -> str:
        """What it is called: its `name`, or else `model`."""
        return self.name or self.model

    @property
    def answer_limit(self) -> int | None:
        """The limit of an answer in tokens, thinking included, that its options set."""
        return answer_limit_in(self.options)

    def changed(self, **fields: Any) -> ModelConfig:
        """The same model with other values in these fields, checked as those of a file are.

        Raises:
            pydantic.ValidationError: one cannot be.
        """
        return ModelConfig.model_validate({**self.model_dump(), **fields})
