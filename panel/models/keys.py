"""The key that a provider wants: where it is looked for, and what is said where it is missing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.secrets import SECRETS, credentials_in
from persona_panel.models.config import ModelConfig

_NAME_EXAMPLE = "OPENAI_API_KEY"
_PLAIN_NAME = re.compile(r"(?!(?:\D*\d){4})[A-Z][A-Z0-9]{0,19}(?:_[A-Z0-9]{1,19}){1,5}")
"""Words in capitals with underscores and few figures: what is no key, and can be shown."""


_missing: ContextVar[dict[str, None] | None] = ContextVar("missing", default=None)


@contextmanager
def keys_optional() -> Iterator[None]:
    """Within it models can be had without their keys, for what calls none of them: an estimate."""
    before = _missing.set({})
    try:
        yield
    finally:
        _missing.reset(before)


def missing_keys() -> list[str]:
    """What is to be said of each key that was found missing so far, where keys are optional."""
    return list(_missing.get() or ())


def find_key(config: ModelConfig, variable: str | None, *, required: bool = True) -> str | None:
    """The key in the environment variable that `config` names, or else in `variable`.

    From then on neither the key nor a password in the model's address appears in any message.
    None where no variable is named, or it is not set and no key is `required`, or keys are
    optional (`keys_optional`).

    Raises:
        ConfigurationError: a key is required, or named by `config`, and not there.
    """
    variable = config.key_env or variable
    key = os.environ.get(variable) if variable else None
    SECRETS.learn(key, *credentials_in(config.base_url or ""))
    if variable is None or key or not (required or config.key_env):
        return key or None
    message, missing = _no_key(config, variable), _missing.get()
    if missing is None:
        raise ConfigurationError(message)
    missing[message] = None
    return None


def _no_key(config: ModelConfig, variable: str) -> str:
    if not _PLAIN_NAME.fullmatch(variable):
        SECRETS.learn(variable)
        return (
            f"{config.model} needs a key, and key_env names no environment variable that is set "
            "(it is not shown, for it may be a key itself); put the key into a variable, and "
            f"that variable's name, such as {_NAME_EXAMPLE}, into key_env"
        )
    return (
        f"{config.model} needs a key; put it into the environment variable {variable}, or name "
        "another variable with key_env in a panel file"
    )
