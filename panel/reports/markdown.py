"""Results that do not describe themselves yet as Markdown."""

from panel.reports.terminal.recording import tables_written_by
from panel.results.formats.markdown import write

__getattr__ = tables_written_by(write)
