"""The models of `echo`, asked by batches, which this process keeps."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from my_panel.echo import EchoClient

from persona_panel.models.batches import BatchAnswer, BatchSought, BatchStatus
from persona_panel.rubrics import ModelRequest, ModelResponse

SENT: dict[str, Sequence[bytes]] = {}


class LateBatches:
    most_rows, most_bytes = 1_000, 1_000_000

    def line(self, custom_id: str, request: ModelRequest) -> bytes:
        return json.dumps({"custom_id": custom_id, "asked": "".join(request.blocks)}).encode()

    def read(self, line: bytes) -> BatchAnswer | None:
        row = json.loads(line)
        if not isinstance(row, dict) or "answer" not in row:
            return None
        return BatchAnswer(row["custom_id"], ModelResponse(row["answer"]))

    async def submit(self, token: str, lines: Sequence[bytes]) -> BatchStatus:
        SENT[token] = lines
        return await self.status(token)

    async def find(self, sought: BatchSought) -> BatchStatus | None:
        return await self.status(sought.token) if sought.token in SENT else None

    async def status(self, id_: str) -> BatchStatus:
        return BatchStatus(id_, "ended", "completed", done=len(SENT[id_]))

    async def results(self, status: BatchStatus, folder: Path) -> AsyncIterator[BatchAnswer]:
        for line in SENT[status.id]:
            yield BatchAnswer(json.loads(line)["custom_id"], ModelResponse("7"))

    async def cancel(self, id_: str) -> BatchStatus:
        return await self.status(id_)

    async def aclose(self) -> None:
        """There is nothing to give back."""


class LateClient(EchoClient):
    address = "https://late.example"
    settings: Mapping[str, Any] = {}
    header_names: Sequence[str] = ()

    def batches(self) -> LateBatches:
        return LateBatches()
