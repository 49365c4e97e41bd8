"""`python -m tests.contracts`: the table of providers, measured and written."""

from __future__ import annotations

from tests.contracts.table import write

if __name__ == "__main__":
    write()
