"""The client of a Redis or Valkey server, and what its errors mean."""

from __future__ import annotations

import re

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthorizationError
from redis.retry import Retry

from persona_panel.calls.server_address import odd_address

_TIMEOUT_S = 10.0
WITHOUT_ANSWER = (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError)
"""A server that is down, starts, or has just become the replica of another."""
_REFUSED = (redis.AuthenticationError, AuthorizationError)


def client_at(address: str, **options: int) -> redis.Redis:
    """A client of the server at an address, which connects when it is used.

    Raises:
        ConfigurationError: the address cannot be read.
    """
    try:
        client = redis.Redis.from_url(
            address,
            socket_timeout=_TIMEOUT_S,
            socket_connect_timeout=_TIMEOUT_S,
            # Retried here, where the reason is told and closing shortens it.
            retry=Retry(NoBackoff(), 0),
            **options,
        )
        # Made, not connected: refuses what the address calls an option and is none.
        client.connection_pool.connection_class(**client.connection_pool.connection_kwargs)
        return client
    # Not what it says: that may quote a part of the password.
    except (ValueError, TypeError):
        raise odd_address() from None


def is_worth_another(error: BaseException) -> bool:
    """Whether the same may work later."""
    return isinstance(error, WITHOUT_ANSWER) and not isinstance(error, _REFUSED)


def said_by(error: Exception) -> str:
    """What an error says, on one line."""
    # Without our script, in which a server may quote it and redis-py does.
    said = re.sub(r"^Command # \d+ \(EVAL .*?\) of pipeline caused error: ", "", str(error))
    return re.sub(r",? script: \w{40},.*", "", said).rstrip(".") or type(error).__name__
