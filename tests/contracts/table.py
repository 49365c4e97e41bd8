"""The table of providers and scenarios in the documentation."""

from __future__ import annotations

from pathlib import Path

from tests.contracts.measure import SCENARIOS, measured, wires

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "providers.md"
_START, _END = "<!-- measured -->\n", "<!-- end of measured -->\n"


def table() -> str:
    """As it is measured now."""
    results = {f"`{wire.provider}:`": measured(wire) for wire in wires()}
    rows = [["", *results], ["---"] * (len(results) + 1)]
    for scenario, name in SCENARIOS.items():
        rows.append([name, *(one.cell(scenario) for one in results.values())])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def present(page: str) -> str:
    """As a page has it."""
    return page.partition(_START)[2].partition(_END)[0].strip("\n") + "\n"


def write() -> None:
    """Put it into the documentation."""
    page = PAGE.read_text()
    before, _, rest = page.partition(_START)
    after = rest.partition(_END)[2]
    PAGE.write_text(f"{before}{_START}\n{table()}\n{_END}{after}")
