"""The same judgments by verdict: a layer of one unit a judge, over a dataset of responses.

Its pages on models and rate limits: a server of one's own is a `vLLMModel`, `max_workers`
sets how many threads call, `ratelimit.disable()` lifts the client-side limits; `retries` as
in its README's examples, without which one broken connection ends the whole run. The JSON
is read by a `CustomExtractor`; its default asks for a tool call, which the stub does not
make. The log file, which it writes at debug level, is switched off.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from typing import Any

from batch import MARK, Batch, check, read_batch

RETRIES = 3
ENVIRONMENT = {"VERDICT_NO_LOG": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def pipeline(batch: Batch) -> Any:
    """One layer of units that read the response, each with its own prompt."""
    from verdict import Layer, Pipeline, Unit
    from verdict.extractor import CustomExtractor
    from verdict.model import vLLMModel
    from verdict.schema import Schema

    kinds = {"integer": int, "boolean": bool}
    properties = batch.schema["properties"].items()
    schema = Schema.inline(**{name: kinds[part["type"]] for name, part in properties})

    class Judge(Unit):
        ResponseSchema = schema

    class Json(CustomExtractor):
        def post_extract(self, output: str, logger: Any) -> dict[str, Any]:
            read: dict[str, Any] = json.loads(output)
            return read

    model = vLLMModel(name="stub", api_base=batch.url, api_key="none")
    asked = {"max_tokens": batch.max_tokens, "response_format": batch.response_format}
    units = [
        Judge()
        .prompt(f"@system\n{batch.system}\n@user\n{template.replace(MARK, '{source.text}')}")
        .extract(Json())
        .via(model, retries=RETRIES, **asked)
        for template in batch.templates
    ]
    return Pipeline("judges") >> Layer(units)


def main() -> None:
    if "--configuration" in sys.argv:
        settings = ", ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())
        print(
            f"verdict {version('verdict')} (litellm {version('litellm')}): max_workers as "
            f"given, retries={RETRIES}, ratelimit.disable(), display=False, {settings}"
        )
        return
    batch = read_batch()
    os.environ.update(ENVIRONMENT)
    os.chdir(batch.folder)  # it makes a folder where it is started
    from datasets import Dataset
    from verdict.dataset import DatasetWrapper
    from verdict.util import ratelimit

    ratelimit.disable()
    rows = DatasetWrapper(Dataset.from_list([{"text": text} for text in batch.texts]))
    frame, columns = pipeline(batch).run_from_dataset(
        rows, max_workers=batch.concurrency, display=False
    )
    name = next(iter(batch.schema["properties"]))
    scores = frame[[column for column in columns if column.endswith(name)]]
    check(int(scores.notna().to_numpy().sum()), batch)


if __name__ == "__main__":
    main()
