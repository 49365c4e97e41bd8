"""Patterns for the sentences on who sees it otherwise: `by_system` has a row for each persona and
system, `by_response` counts of departures, `contested` and `models` a row for each response and
pair of models."""

from __future__ import annotations

import re

from tests.helpers.sentences import (
    CI,
    NUMBER,
    UNIT,
    Beside,
    Check,
    P,
    claimed,
    close,
    names_in,
    p_is,
    shown,
)


def _no_persona(found: re.Match[str], beside: Beside) -> bool:
    tested = [one for one in beside.summary["by_system"] if one["reason"] is None]
    return int(found["n"]) == len(tested) and not any(map(shown, tested))


_RATES = re.compile(
    rf"(?P<who>\w+) rates (?P<on>\w+) (?P<d>{NUMBER}){UNIT} (?P<way>higher|lower) than the "
    rf"panel does \({P}\)"
)


def _personas(found: re.Match[str], beside: Beside) -> bool:
    true = [one for one in beside.summary["by_system"] if one["reason"] is None and shown(one)]
    named = list(_RATES.finditer(found["claims"]))
    more = re.search(r"; (\d+) more$", found["claims"])
    if len(named) + (int(more[1]) if more else 0) != len(true):
        return False
    for one in named:
        [row] = [row for row in true if (row["persona"], row["on"]) == (one["who"], one["on"])]
        if not (
            close(one["d"], abs(row["beyond_severity"]))
            and (one["way"] == "higher") == (row["beyond_severity"] > 0)
            and p_is(one["p"], row["p_adjusted"])
        ):
            return False
    return True


def _departures(found: re.Match[str], beside: Beside) -> bool:
    known = beside.summary["by_response"]
    n_shown = 0 if found["n"] == "none" else int(found["n"])
    return (
        n_shown == known["shown"]
        and int(found["of"]) == known["tested"] > 0
        and close(found.groupdict().get("d"), known["farthest"])
    )


def _contested(found: re.Match[str], beside: Beside) -> bool:
    tested = [one for one in beside.summary["contested"] if one["reason"] is None]
    n = int(found.groupdict().get("n") or 0)
    return n == sum(map(shown, tested)) and int(found["of"]) == len(tested) > 0


def _not_tested(name: str) -> Check:
    def check(found: re.Match[str], beside: Beside) -> bool:
        rows = beside.summary[name]
        return all(one["reason"] is not None for one in rows)

    return check


_PAIR = re.compile(rf"(?P<a>\w+) rates (?P<d>{NUMBER}){UNIT} higher than (?P<b>\w+) \({CI}, {P}\)")


def _models(found: re.Match[str], beside: Beside) -> bool:
    tested = [one for one in beside.summary["models"] if one["reason"] is None]
    true = [one for one in tested if shown(one)]
    said = found["claims"]
    if "not shown to differ" in said:
        names = {(one["a"], one["b"]) for one in tested}
        return not true and set(re.findall(r"^(\w+) and (\w+) are", said)) == names
    if counted := re.match(r"no two of (\d+) pairs are shown to differ", said):
        return not true and int(counted[1]) == len(tested)
    named = list(_PAIR.finditer(said))
    more = int((re.search(r"(\d+) more pair", said) or "00")[1])
    if len(named) + more != len(true):
        return False
    for one in named:
        [row] = [row for row in true if {row["a"], row["b"]} == {one["a"], one["b"]}]
        turned = 1 if row["a"] == one["a"] else -1
        sides = sorted((turned * row["ci_low"], turned * row["ci_high"]))
        if not (
            row["difference"] * turned > 0
            and claimed(row)
            and close(one["d"], abs(row["difference"]))
            and close(one["low"], sides[0])
            and close(one["high"], sides[1])
            and p_is(one["p"], row["p_adjusted"])
        ):
            return False
    return True


def _seen(found: re.Match[str], beside: Beside) -> bool:
    """Which systems models see differently, or none."""
    rows = [one for one in beside.summary["interactions"] if one["reason"] is None]
    systems = list(dict.fromkeys(one["system"] for one in rows if shown(one)))
    if (said := found["seen"]) is None:
        return not rows
    if said == "none is shown to see systems differently":
        return bool(rows) and not systems
    named = said.removeprefix("they see systems differently: ")
    if counted := re.fullmatch(r"(\d+) systems", named):
        return int(counted[1]) == len(systems)
    return sorted(names_in(named)) == sorted(systems)


DIFFERS: dict[str, Check] = {
    r"Personas and systems: no persona is shown to rate a system differently from the panel "
    r"\((?P<n>\d+) cells? tested, severity taken out\)\.": _no_persona,
    r"Personas and systems: nothing can be tested \(.+\)\.": _not_tested("by_system"),
    r"Personas and systems, severity taken out: (?P<claims>.+)\.": _personas,
    r"Personas and single responses: nothing can be tested \(.+\)\.": (
        lambda found, beside: beside.summary["by_response"]["reason"] is not None
    ),
    r"Personas and single responses: (?P<n>none|\d+) of (?P<of>\d+) departures from the panel "
    rf"(?:is|are) beyond noise(?:, up to (?P<d>{NUMBER}){UNIT})?\.": _departures,
    r"Which responses are contested is not known: .+\.": _not_tested("contested"),
    r"No response is shown to be contested: on none of (?P<of>\d+) do personas differ by more than "
    r"noise explains\.": _contested,
    r"(?P<n>\d+) of (?P<of>\d+) responses? (?:is|are) contested: personas differ by more than "
    r"noise explains \(adjusted p < 0\.05\)\."
    r"(?: Not every response could be tested \(.+\)\.)?": _contested,
    r"Models: nothing can be tested \(.+\)\.": _not_tested("models"),
    r"Models: (?P<claims>.+?)(?:; (?P<seen>none is shown to see systems differently|they see "
    r"systems differently: .+))?\.": (
        lambda found, beside: _models(found, beside) and _seen(found, beside)
    ),
}
