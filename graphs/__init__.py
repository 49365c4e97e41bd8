"""Graphs: in which order things happen, as LangGraph state machines over plain records.

Importing this package does not import LangGraph; `persona_panel.graphs.judging` does.

`CHECKPOINTED` are the types that the graphs' states hold besides texts and numbers. A LangGraph
checkpointer reads back the types that it is told of:
`JsonPlusSerializer(allowed_msgpack_modules=CHECKPOINTED)`.
"""

from persona_panel.graphs.framing import Degradation
from persona_panel.graphs.records import Judge, Judgment, LabelSummary, Response, Summary, Verdict
from persona_panel.rubrics import Usage

CHECKPOINTED = (Degradation, Judge, Judgment, LabelSummary, Response, Summary, Usage, Verdict)

__all__ = [
    "CHECKPOINTED",
    "Judge",
    "Judgment",
    "LabelSummary",
    "Response",
    "Summary",
    "Verdict",
]
