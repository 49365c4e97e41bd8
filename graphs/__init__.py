"""Graphs: in which order things happen, as LangGraph state machines over plain records.

Importing this package does not import LangGraph; `graphs.judging` does.
"""

from graphs.records import Judge, Judgment, LabelSummary, Response, Summary, Verdict

__all__ = ["Judge", "Judgment", "LabelSummary", "Response", "Summary", "Verdict"]
