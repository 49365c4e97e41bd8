"""Workers on a Ray cluster, each an actor: what can be said of it without Ray; the engine itself is
in `persona_panel.clusters.ray_engine`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from persona_panel.files.errors import ConfigurationError
from persona_panel.runs.execution import Engine

_HOST_AND_PORT = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]]+):([0-9]{1,5})")
_MOST_PORT = 65535
_AMOUNTS = ("num_cpus", "num_gpus")
_NAMED = "resources"


def check(address: str | None, options: Mapping[str, Any]) -> None:
    """Check that an address and options can be right, without a connection.

    Args:
        address: HOST:PORT of the cluster's head node.
        options: what each worker takes of the cluster: `num_cpus`, `num_gpus` (numbers of 0 or
            more; above 1 they are whole), and `resources`, amounts of those that the cluster's
            machines were given by name.

    Raises:
        ConfigurationError: one cannot.
    """
    if address is not None:
        _check_address(address)
    known = (*_AMOUNTS, _NAMED)
    for name, value in options.items():
        if name in _AMOUNTS:
            _check_amount(name, value)
        elif name != _NAMED:
            raise ConfigurationError(
                f"the engine ray has no option {name!r}; expected {', '.join(known)}"
            )
        elif not isinstance(value, Mapping) or not value:
            raise ConfigurationError(
                f"{name} of the engine ray: found {value!r}; expected amounts by name, such as "
                "{a100: 1}"
            )
        else:
            for each, amount in value.items():
                if not isinstance(each, str) or not each.strip():
                    raise ConfigurationError(
                        f"{name} of the engine ray: found {each!r} as a name; expected text, such "
                        "as {a100: 1}"
                    )
                if each in ("CPU", "GPU", "memory", "object_store_memory"):
                    raise ConfigurationError(
                        f"{name} of the engine ray: found {each}; expected num_cpus or num_gpus "
                        "for these, and other names here"
                    )
                _check_amount(each, amount)


def _check_address(address: str) -> None:
    if address.startswith("ray://"):
        raise ConfigurationError(
            f"{address} is an address for Ray's client, by which workers cannot reach this "
            "command; start it on a machine of the cluster, or by `ray job submit`, with --engine "
            "ray:HOST:PORT"
        )
    parts = _HOST_AND_PORT.fullmatch(address)
    if parts is None or not 0 < int(parts[1]) <= _MOST_PORT:
        raise ConfigurationError(
            f"found {address!r} as the address of a Ray cluster; expected HOST:PORT, such as "
            "10.0.0.4:6379"
        )


def _check_amount(name: str, value: Any) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < math.inf or (value > 1 and value != int(value)):
        raise ConfigurationError(
            f"{name} of the engine ray: found {value!r}; expected a number of 0 or more, a whole "
            "one above 1"
        )


def opened(
    address: str | None, workers: int | None, options: Mapping[str, Any]
) -> AbstractContextManager[Engine]:
    """Open the engine; see `persona_panel.clusters.ray_engine.opened`. Raises ImportError: Ray is
    not installed."""
    from persona_panel.clusters.ray_engine import opened as opened_on_ray

    return opened_on_ray(address, workers, options)
