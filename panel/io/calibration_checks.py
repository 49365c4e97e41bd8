"""What ratings have to have for a panel's means to be corrected by people's."""

from __future__ import annotations

from panel.errors import Fault, InputError
from panel.statistics.core.table import Ratings


def check_calibration(panel: Ratings, humans: Ratings, panel_name: str, humans_name: str) -> None:
    """Refuse ranks, and systems or prompts that only people's ratings name: of items that people
    did not rate nobody could say which they are.

    Raises:
        InputError: lists every fault.
    """
    expected = "scores or labels: means of ranks say nothing of a system"
    faults = [
        Fault(name, "ranks", expected, field="rank")
        for name, side in ((panel_name, panel), (humans_name, humans))
        if side.lower_is_better
    ]
    for field, what in (("source", "the system"), ("prompt", "the prompt")):
        labels = f"{field}s"
        if getattr(panel, labels) is None and getattr(humans, labels) is not None:
            expected = f"a column {field!r} with {what} of every item, as {humans_name} has"
            faults.append(Fault(panel_name, f"no {field}s", expected, field=field))
    if faults:
        raise InputError(faults)
