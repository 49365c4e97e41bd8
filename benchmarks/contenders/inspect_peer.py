"""The same judgments by inspect-ai: a sample for each response and judge, scored from its JSON.

Its pages on model concurrency and parallelism name `max_connections` as what sets the
throughput; an explicit number is used as it is, where the default grows from 20 to 100.
`max_samples` follows it. Display, live log and control channel are switched off, which its
reference lists as options; the log file of all samples is written, as it always is.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from typing import Any

from batch import Batch, check, is_judgment, read_batch

OPTIONS: dict[str, Any] = {
    "display": "none",
    "log_realtime": False,
    "score_display": False,
    "ctl_server": False,
}


def task(batch: Batch) -> Any:
    """Generate, then read the JSON: every dimension a score of the sample."""
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import (
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
        ResponseSchema,
    )
    from inspect_ai.scorer import Score, mean, scorer
    from inspect_ai.solver import generate

    @scorer(metrics={"*": [mean()]})
    def dimensions() -> Any:
        async def score(state: Any, target: Any) -> Score:
            said = state.output.completion
            return Score(value=json.loads(said) if is_judgment(said, batch) else {})

        return score

    samples = [
        Sample(
            id=n,
            input=[
                ChatMessageSystem(content=system["content"]),
                ChatMessageUser(content=user["content"]),
            ],
        )
        for n, (system, user) in enumerate(batch.messages)
    ]
    return Task(
        dataset=MemoryDataset(samples),
        solver=generate(),
        scorer=dimensions(),
        config=GenerateConfig(
            max_connections=batch.concurrency,
            max_tokens=batch.max_tokens,
            response_schema=ResponseSchema(name="judgment", json_schema=batch.schema, strict=True),
        ),
    )


def main() -> None:
    if "--configuration" in sys.argv:
        options = ", ".join(f"{name}={value!r}" for name, value in OPTIONS.items())
        print(
            f"inspect-ai {version('inspect-ai')} (openai {version('openai')}): "
            f"max_connections as given, {options}, no cache, log of all samples"
        )
        return
    from inspect_ai import eval as evaluate

    batch = read_batch()
    os.environ["STUB_API_KEY"], os.environ["STUB_BASE_URL"] = "none", batch.url
    (log,) = evaluate(
        task(batch), model="openai-api/stub/stub", log_dir=str(batch.folder / "logs"), **OPTIONS
    )
    if log.status != "success":
        sys.exit(f"inspect-ai ended with {log.status}: {log.error}")
    check(sum(bool(sample.scores) for sample in log.samples), batch)


if __name__ == "__main__":
    main()
