"""Results that do not describe themselves yet as LaTeX."""

from panel.reports.terminal.recording import tables_written_by
from panel.results.formats.latex import write

__getattr__ = tables_written_by(write)
