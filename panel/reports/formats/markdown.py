"""Results that do not describe themselves yet as Markdown."""

from persona_panel.reports.formats.terminal.recording import tables_written_by
from persona_panel.results.formats.markdown import write

__getattr__ = tables_written_by(write)
