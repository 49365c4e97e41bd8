"""What ratings have to have, or may not have, for what is computed of them."""

from __future__ import annotations

from persona_panel.files.errors import Fault, InputError
from persona_panel.statistics.core.table import Ratings


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


def check_groups(source: str, ratings: Ratings, *taken: str) -> None:
    """Refuse groups of raters whose names would be taken for something else.

    Args:
        taken: names that no group may have, besides `all` where there are several.

    Raises:
        InputError: there is such a group.
    """
    groups = dict.fromkeys(ratings.groups)
    reserved = (*taken, "all") if len(groups) > 1 else taken
    if faults := [
        Fault(source, f"a group called {name!r}", "another name: this one is used in the results")
        for name in groups
        if name in reserved
    ]:
        raise InputError(faults)
