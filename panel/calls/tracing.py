"""The calls that a graph makes, as runs under the graph's own, where somebody traces it.

LangGraph traces a graph and its nodes to LangSmith, or through it to OpenTelemetry, once
`LANGSMITH_TRACING` is set. The calls of a model that is not LangChain's it does not see: they are
told here. A run holds the texts of its call, without keys that this process knows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Coroutine
from typing import Any, Literal

from persona_panel.files.secrets import SECRETS
from persona_panel.rubrics import ModelRequest, ModelResponse

_TRACING = tuple(
    f"{name}_TRACING{version}" for name in ("LANGSMITH", "LANGCHAIN") for version in ("", "_V2")
)
"""The environment's variables by which LangSmith traces."""


def is_traced() -> bool:
    """Return whether the current work belongs to a run that is traced."""
    # A graph that is traced has imported it.
    helpers = sys.modules.get("langsmith.run_helpers")
    return helpers is not None and helpers.get_current_run_tree() is not None


def may_be_traced() -> bool:
    """Return whether a graph that begins now may be traced, or is told of to a run of LangChain's
    that it is part of; imports nothing."""
    utils, config = (
        sys.modules.get(name) for name in ("langsmith.utils", "langchain_core.runnables.config")
    )
    if config is not None and config.var_child_runnable_config.get() is not None:
        return True
    if utils is not None:
        return bool(utils.tracing_is_enabled())
    return any(os.environ.get(name) for name in _TRACING)


async def traced(
    name: str,
    model: str,
    request: ModelRequest,
    call: Coroutine[Any, Any, ModelResponse],
    *,
    traces_calls: bool = False,
) -> ModelResponse:
    """Await `call` and return its reply, traced as a run of this name under the current one.
    `model`: `provider:name`; `traces_calls`: the model's client traces its calls, tokens and all:
    the run only holds them."""
    provider, _, model_name = model.partition(":")
    about = {"ls_provider": provider, "ls_model_name": model_name}
    from langsmith.run_helpers import trace

    kind: Literal["chain", "llm"] = "chain" if traces_calls else "llm"
    async with trace(name, kind, inputs={"messages": _messages(request)}, metadata=about) as run:
        reply = await call
        run.metadata["cached"] = reply.cached
        outputs: dict[str, Any] = {"messages": [{"role": "assistant", "content": reply.text}]}
        # What a kept reply took was paid for by another run.
        if not (traces_calls or reply.cached):
            read, written = reply.usage.input, reply.usage.output
            outputs["usage_metadata"] = {
                "input_tokens": read,
                "output_tokens": written,
                "total_tokens": read + written,
            }
        run.end(outputs=outputs)
    return reply


def _messages(request: ModelRequest) -> list[dict[str, str]]:
    said = [("system", request.system)] if request.system else []
    said.append(("user", "".join(request.blocks)))
    for answered, asked in request.exchange:
        said += [("assistant", answered), ("user", asked)]
    if request.prefill:
        said.append(("assistant", request.prefill))
    return [{"role": role, "content": SECRETS.scrub(content)} for role, content in said]
