"""Patterns for the sentences of `compare`, each with a check against the tables of the result.

Besides the tables, `Beside.summary` has what is `missing` by run, by how many people texts were
rated (`people_rated`), and the `models`."""

from __future__ import annotations

import re

from tests.helpers.analysis_sentences import SIGNED, is_shown, leaves_out_0, named, quotes
from tests.helpers.sentences import (
    CI,
    FACTS,
    MANY,
    NUMBER,
    POINTS,
    SURE,
    UNIT,
    Beside,
    Check,
    P,
    Table,
    close,
    value,
)


def _of(beside: Beside, table: str, *runs: str, **keys: str) -> list[Table]:
    """The rows of a table that are of these runs and have these values."""
    return [
        row
        for row in beside.summary[table]
        if {*runs} <= {row["a"], row["b"]} and all(row[key] == keys[key] for key in keys)
    ]


def _whole(beside: Beside, *runs: str) -> Table:
    return _of(beside, "differences", *runs)[0]


def _is_on(said: str | None, row: Table) -> bool:
    return bool(row["dimension"] == (said or "composite"))


def _other_texts(beside: Beside, *runs: str) -> bool:
    [run] = _of(beside, "runs", *runs)
    return bool(run["compared"] == "texts")


def _other_panel(beside: Beside, *runs: str) -> bool:
    [run] = _of(beside, "runs", *runs)
    return bool(run["panel"])


def _is_ahead(found: re.Match[str], beside: Beside) -> bool:
    runs = found["high_run"], found["low_run"]
    row = _whole(beside, *runs)
    figure, sign = row["difference"], 1 if row["b"] == runs[0] else -1
    verb = "is significantly ahead of"
    if not _other_texts(beside, *runs):
        verb = "rates the same texts significantly higher than"
    elif _other_panel(beside, *runs):
        verb = "scores significantly higher than"
    return (
        _is_on(found["on"], row)
        and found["verb"] == verb
        and figure["value"] * sign > 0
        and is_shown(figure)
        and leaves_out_0(figure)
        and (found["over"] is not None) == (figure["over"] == "prompts and judges")
        and quotes(found.groupdict(), figure, sign)
    )


def _is_open(found: re.Match[str], beside: Beside) -> bool:
    row = _whole(beside, found["a"], found["b"])
    figure = row["difference"]
    same_order = (row["a"], row["b"]) == (found["a"], found["b"])
    if not (same_order and _is_on(found["on"], row) and not is_shown(figure)):
        return False
    size = value(found["signed"].replace("+", "")) if found["signed"] else 0.0
    if found["equal"] and abs(figure["value"]) > 1e-9:
        return False
    if abs(size - figure["value"]) > 0.0051:
        return False
    return quotes({name: found[name] for name in ("low", "high", "p", "n")}, figure)


def _is_untested(found: re.Match[str], beside: Beside) -> bool:
    """Of two runs alone a sentence needs no names; of several, any row may be meant."""
    if found["a"]:
        row = _whole(beside, found["a"], found["b"])
        return row["difference"]["value"] is None and not row["n_pairs"]
    rows = [each for each in _of(beside, "differences") if _is_on(found["on"], each)]
    size = value(found["signed"].replace("+", "")) if found["signed"] else 0.0
    return any(
        "p" not in each["difference"]
        and each["difference"]["reason"] == found["reason"]
        and each["difference"]["value"] is not None
        and abs(size - each["difference"]["value"]) <= 0.0051
        for each in rows
    )


def _has_no_level(found: re.Match[str], beside: Beside) -> bool:
    row = _whole(beside, found["a"], found["b"])
    return abs(row["difference"]["value"]) <= 1e-9 and row["dimension"] in (
        "composite",
        "preferred",
    )


def _sides(said: str, end: str) -> dict[str, str]:
    """What stands behind `higher …` and `lower …`."""
    parts = re.fullmatch(rf"(?:higher {end} (.+?))?(?:,? ?(?:and )?lower {end} (.+))?", said)
    if parts is None:
        raise ValueError(said)
    return {"higher": parts[1] or "", "lower": parts[2] or ""}


def _by_dimension(found: re.Match[str], beside: Beside) -> bool:
    rows = _of(beside, "differences", b=found["b"])[1:]
    sides = _sides(found["parts"], "on")
    for how, sign in (("higher", 1), ("lower", -1)):
        names = [
            row["dimension"]
            for row in rows
            if is_shown(row["difference"]) and row["difference"]["value"] * sign > 0
        ]
        if bool(names) != bool(sides[how]) or (
            names and not named(sides[how], names, "dimensions")
        ):
            return False
    return any(sides.values())


_SYSTEM = re.compile(rf"(?P<name>\w+), by (?P<d>{NUMBER}){FACTS}")


def _by_system(found: re.Match[str], beside: Beside) -> bool:
    rows = {row["system"]: row["difference"] for row in _of(beside, "systems", b=found["b"])}
    sides = _sides(found["parts"], "for")
    for how, sign in (("higher", 1), ("lower", -1)):
        true = [name for name, of in rows.items() if is_shown(of) and of["value"] * sign > 0]
        if counted := re.fullmatch(r"(\d+) systems", sides[how]):
            if not int(counted[1]) == len(true) > 4:
                return False
            continue
        said = list(_SYSTEM.finditer(sides[how]))
        if [each["name"] for each in said] != true or not all(
            quotes(each.groupdict(), rows[each["name"]], sign) for each in said
        ):
            return False
    return any(sides.values())


def _to_settle(found: re.Match[str], beside: Beside) -> bool:
    [row, *_] = beside.summary["differences"]
    figure, said = row["difference"], found.groupdict()
    now, needed = said.get("now"), said.get("needed")
    return (
        len(beside.summary["runs"]) == 1
        and not is_shown(figure)
        and (now is None or value(now) == figure["n"])
        and (needed is None or value(needed) > figure["n"])
        and (said.get("limit") is None or 30 < value(said["limit"]) < 80)
        and (now is not None or figure["over"] == "prompts and judges")
    )


def _more_than_texts(found: re.Match[str], beside: Beside) -> bool:
    return any(
        run["compared"] == "texts" and "; ".join(run["panel"]) == found["panel"]
        for run in beside.summary["runs"]
    )


def _in_order(found: re.Match[str], beside: Beside) -> bool:
    name = "tau_within" if found["within"] else "tau"
    for row in beside.summary["alike"]:
        n = row["best_same"] + row["best_shared"] + row["best_other"]
        if (
            row[name]["value"] is not None
            and close(found["signed"], row[name]["value"])
            and quotes({name: found[name] for name in ("low", "high")}, row[name])
            and (value(found["of"]) == n if found["of"] else not n)
            and (found["other"] is None or value(found["other"]) == row["best_other"])
        ):
            return True
    return False


_NEARER = {
    "has a higher rank correlation with people": ("tau_b", "higher in τ_b", 1),
    "gives scores closer to people's": ("distance", "closer", -1),
    "represents people better": ("alt_test_advantage", "higher in the advantage ρ", 1),
}


def _called(dimension: str) -> str:
    return "the composite" if dimension == "composite" else dimension


def _is_nearer(found: re.Match[str], beside: Beside) -> bool:
    statistic, how, sign = _NEARER[found["what"]]
    rows = _of(beside, "people", found["better"], found["worse"], statistic=statistic)
    turned = sign if rows[0]["b"] == found["better"] else -sign
    true = [
        row
        for row in rows
        if is_shown(row["difference"]) and row["difference"]["value"] * turned > 0
    ]
    names = [_called(row["dimension"]) for row in true]
    return (
        found["how"] == how
        and named(found["on"], names, "dimensions")
        and found["first"] == (names[0] if len(names) > 1 else None)
        and leaves_out_0(true[0]["difference"])
        and quotes(found.groupdict(), true[0]["difference"], turned)
    )


def _none_nearer(found: re.Match[str], beside: Beside) -> bool:
    rows = _of(beside, "people", found["a"], found["b"])
    [first, *_] = [row for row in rows if row["statistic"] == "tau_b"]
    figure = first["difference"]
    if any(row["difference"] and is_shown(row["difference"]) for row in rows):
        return False
    if found["reason"]:
        return figure["value"] is None and found["reason"] == figure["reason"]
    return (
        found["on"] == _called(first["dimension"])
        and close(found["first"], first["a_value"])
        and close(found["second"], first["b_value"])
        and close(found["signed"].replace("+", ""), figure["value"])
        and quotes({name: found[name] for name in ("low", "high", "p")}, figure)
        and (found["why"] is None or found["why"] == figure["reason"])
    )


def _numbers_of_judges(found: re.Match[str], beside: Beside) -> bool:
    [run] = _of(beside, "runs", found["a"], found["b"])
    people = _of(beside, "people", found["a"], found["b"])
    n, m, both = (int(found[name] or 0) for name in ("n", "m", "both"))
    return (
        (n, m) == (run["n_judges_a"], run["n_judges_b"])
        and both <= min(n, m)
        and bool(found["noise"]) == (n != m and not people)
        and (found["number"] is None or (n != m and bool(people)))
        and bool(found["alike"]) == (both > 0 and not n == m == both)
    )


def _missing_in_run(found: re.Match[str], beside: Beside) -> bool:
    missing, expected = beside.summary["missing"][found["run"]]
    said = value(found["missing"]), value(found["of"])
    return bool(said == (missing, expected) and missing >= 0.05 * expected)


_APART = re.compile(
    rf"(?P<b>\S+) − (?P<a>\S+) is (?P<d>{NUMBER}) (?P<way>higher|lower) in (?P<in>\w+) than in the "
    rf"mean of the others \({CI}, {P}\)"
)


def _depends(found: re.Match[str], beside: Beside) -> bool:
    true = [row for row in beside.summary["apart"] if is_shown(row["difference"])]
    said = list(_APART.finditer(found["parts"]))
    more = re.search(r"; (\d+) more$", found["parts"])
    for each in said:
        [row] = [row for row in true if (row["b"], row["stratum"]) == (each["b"], each["in"])]
        sign = 1 if each["way"] == "higher" else -1
        if row["difference"]["value"] * sign < 0 or not quotes(
            each.groupdict(), row["difference"], sign
        ):
            return False
    return len(said) + (int(more[1]) if more else 0) == len(true)


def _depends_on_nothing(found: re.Match[str], beside: Beside) -> bool:
    tested = [row for row in beside.summary["apart"] if "p" in row["difference"]]
    return int(found["n"]) == len(tested) and not any(is_shown(row["difference"]) for row in tested)


def _untested_strata(found: re.Match[str], beside: Beside) -> bool:
    rows = beside.summary["apart"]
    reasons = dict.fromkeys(row["difference"]["reason"] for row in rows)
    return "; ".join(reasons) == found["reasons"] and not any("p" in r["difference"] for r in rows)


_ON = r"(?: on (?P<on>\w+))?"
FACTS_OVER = FACTS.removesuffix(r"\))?") + r"(?P<over>, over prompts and judges)?\))?"

COMPARE: dict[str, Check] = {
    r"(?P<high_run>\S+) (?P<verb>is significantly ahead of|scores significantly higher than|rates "
    rf"the same texts significantly higher than) (?P<low_run>\S+?){_ON}, by {POINTS}"
    rf"{FACTS_OVER}\.": _is_ahead,
    rf"No significant difference between (?P<a>\S+) and (?P<b>\S+?){_ON}: "
    rf"(?:(?P<equal>their mean scores are equal)|\S+ − \S+ is (?P<signed>{SIGNED}){UNIT})"
    rf"{FACTS_OVER}\.": _is_open,
    rf"(?:The difference{_ON} cannot be tested \((?P<reason>.+)\): (?:their mean scores are equal|"
    rf"\S+ − \S+ is (?P<signed>{SIGNED}){UNIT})|(?P<a>\S+) and (?P<b>\S+) cannot be compared"
    r"(?: on \w+)?: no response has a score in both)\.": _is_untested,
    rf"Neither (?P<a>\S+) nor (?P<b>\S+) rates higher{_ON}: a ranking has no level, as the mean "
    r"over the responses to a prompt is the same in each\.": _has_no_level,
    r"By dimension \(adjusted p < 0\.05\), (?P<b>\S+) is (?P<parts>.+)\.": _by_dimension,
    r"By system, (?P<b>\S+) is (?P<parts>.+)\.": _by_system,
    r"No number of prompts would show it with these judges: more judges are needed\.": _to_settle,
    rf"{MANY} show the difference {SURE}\)\.": _to_settle,
    r"The runs differ in more than their texts \((?P<panel>.+)\): the difference may come from "
    r"any of these\.": _more_than_texts,
    r"The two order (?:(?P<within>responses in prompts)|all responses) with a (?(within)mean )τ_b "
    rf"of (?P<signed>{SIGNED})(?: \({CI}\))?(?:; the highest-rated response differs in "
    r"(?P<other>[\d,]+) of (?P<of>[\d,]+) prompts?)?\.": _in_order,
    rf"(?P<better>\S+) (?P<what>{'|'.join(_NEARER)}) than (?P<worse>\S+) on (?P<on>.+?) "
    rf"\((?:(?P<first>[\w ]+): )?{POINTS} (?P<how>higher in τ_b|closer|higher in the advantage ρ), "
    rf"{CI}, {P}\)\.": _is_nearer,
    r"Neither (?P<a>\S+) nor (?P<b>\S+) is significantly closer to people: (?:τ_b with "
    r"people is undefined \((?P<reason>.+)\)|on (?P<on>.+?), the τ_b of \S+ with people is "
    rf"(?P<first>{NUMBER}), that of \S+ (?P<second>{NUMBER}) \(\S+ − \S+: (?P<signed>{SIGNED})"
    rf"(?:, {CI})?(?:, {P})?(?:, (?P<why>[^)]+))?\))\.": _none_nearer,
    r"(?P<a>\S+) has (?P<n>\d+) judges? and (?P<b>\S+) (?P<m>\d+)(?:, (?P<both>\d+) of them in "
    r"both)?: (?:the mean of more judges (?:(?P<noise>has less noise)|(?P<number>tends to be "
    r"closer to people for their number alone)))?(?:; )?(?P<alike>judges in both make the two more "
    r"alike)?\.": _numbers_of_judges,
    r"There is one human rater: what is said of people is of this person, and how far people agree "
    r"with each other is not known\.": lambda found, beside: beside.summary["people_rated"] == 1,
    r"(?P<missing>[\d,]+) of (?P<of>[\d,]+) judgments of (?P<run>\S+) are missing: its scores are "
    r"means of those that are there\.": _missing_in_run,
    r"All judges are of one model: no interval includes the error that they share\.": (
        lambda found, beside: len(beside.summary["models"]) == 1
    ),
    r"By \w+ the runs have no stratum in common\.": (
        lambda found, beside: not beside.summary["apart"]
    ),
    r"Whether the difference of the runs depends on \w+ cannot be tested: (?P<reasons>.+)\.": (
        _untested_strata
    ),
    r"The difference of the runs is not shown to depend on \w+ \((?P<n>\d+) tests?\)\.": (
        _depends_on_nothing
    ),
    r"The difference of the runs depends on \w+: (?P<parts>.+)\.": _depends,
}
