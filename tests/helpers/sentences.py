"""A reader of sentences that knows nothing of how they are made: it takes each apart and compares
what it says with the table beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Table = Mapping[str, Any]
Check = Callable[[re.Match[str], "Beside"], bool]
LEVEL = 0.05
NUMBER = r"[−-]?[\d,]+(?:\.\d+)?"
CI = rf"(?:95 % interval (?P<low>{NUMBER}) to (?P<high>{NUMBER}))"
P = r"(?:adjusted p (?P<p><? ?[\d.e-]+))"
_N = r"(?:(?P<n>[\d,]+) prompts?)"
FACTS = rf"(?: \({CI}?(?:, )?{P}?(?:, )?{_N}?\))?"
UNIT = r"(?: points| percentage points| of the scale's width)?"
POINTS = rf"(?P<d>{NUMBER}){UNIT}"
POWER = (
    r"\(80 % power if so, which is not known; (?:now (?P<now>[\d,]+)|a rough estimate from "
    r"(?P<few>[\d,]+) \w+)\)"
)
COUNTS = r"\((?P<counts>[^()]*)\)"


@dataclass
class Beside:
    """What a sentence is compared with: a document as JSON has it, and its words for kinds read so
    far."""

    summary: Table
    judges: Sequence[tuple[str, str]] = ()
    kinds: set[str] = field(default_factory=set)
    controls: Table | None = None

    @property
    def ranked(self) -> list[Table]:
        return [one for one in self.summary["ranking"] if one["rank"] is not None]

    @property
    def tested(self) -> list[Table]:
        return [one for one in self.summary["differences"] if one["reason"] is None]

    def difference(self, a: str, b: str) -> Table:
        """The row of two systems, turned so that it is a − b."""
        [row] = [one for one in self.summary["differences"] if {one["a"], one["b"]} == {a, b}]
        if row["a"] == a or row["difference"] is None:
            return row
        ends = {"ci_low": row["ci_high"], "ci_high": row["ci_low"]}
        turned = {name: None if row[of] is None else -row[of] for name, of in ends.items()}
        return {**row, "a": a, "b": b, "difference": -row["difference"], **turned}


def value(said: str) -> float:
    return float(said.replace("−", "-").replace(",", "").replace("< ", "").replace("<", ""))


def close(said: str | None, known: float | None) -> bool:
    """Whether a number is the known one, to the digits that it has."""
    if said is None:
        return True
    if known is None:
        return False
    digits = len(said.partition(".")[2])
    return abs(value(said) - known) <= 0.5 * 10.0**-digits + 2e-6


def p_is(said: str | None, known: float | None) -> bool:
    if said is None or known is None:
        return said is None
    if said.startswith("<"):
        return known < value(said)
    return abs(value(said) - known) <= 0.051 * known + 2e-6


def shown(row: Table) -> bool:
    return row["p_adjusted"] is not None and row["p_adjusted"] < LEVEL


def claimed(row: Table) -> bool:
    """Whether a difference may be claimed: its p-value is small, and its interval leaves 0 out."""
    return shown(row) and (row["ci_low"] is None or row["ci_low"] > 0 or row["ci_high"] < 0)


def names_in(said: str) -> list[str]:
    return re.split(r", | and ", said)


def figures(found: re.Match[str], row: Table) -> bool:
    """Whether size, interval, p and prompts are those of the row."""
    groups = found.groupdict()
    return (
        close(groups.get("d"), abs(row["difference"]))
        and close(groups.get("low"), row["ci_low"])
        and close(groups.get("high"), row["ci_high"])
        and p_is(groups.get("p"), row["p_adjusted"])
        and (groups.get("n") is None or value(groups["n"]) == row["n_prompts"])
    )


def _ahead(found: re.Match[str], beside: Beside) -> bool:
    row = beside.difference(found["a"], found["b"])
    return row["difference"] > 0 and claimed(row) and figures(found, row)


def _won(found: re.Match[str], beside: Beside) -> bool:
    own = [
        beside.difference(found["a"], one["system"])
        for one in beside.ranked
        if one["system"] != found["a"]
    ]
    nearest = min(own, key=lambda row: abs(row["difference"]))
    return (
        beside.summary["winner"] == found["a"]
        and all(claimed(row) and row["difference"] > 0 for row in own)
        and all(one["rank_low"] > 1 for one in beside.ranked if one["system"] != found["a"])
        and abs(abs(nearest["difference"]) - value(found["d"])) < 0.006
        and _ahead(found, beside)
    )


def _first(found: re.Match[str], beside: Beside) -> bool:
    """`A has the highest composite (x)` or `A and B are tied for the highest composite (x)`."""
    best = max(one["composite"] for one in beside.ranked)
    top = [one["system"] for one in beside.ranked if one["rank"] == 1]
    if found["several"]:
        named = int(found["several"].split()[0]) == len(top)
    else:
        named = sorted(names_in(found["first"])) == sorted(top)
    return named and close(found["best"], best) and beside.summary["winner"] is None


_FIRST = (
    rf"(?:(?P<several>\d+ systems)|(?P<first>.+?)) (?:has|are tied for) the highest composite "
    rf"\((?P<best>{NUMBER})\)"
)


def _open(found: re.Match[str], beside: Beside) -> bool:
    may_be = [one["system"] for one in beside.ranked if one["rank_low"] in (1, None)]
    if found["all"]:
        named = len(may_be) == len(beside.ranked) == int(found["all"]) > 2
    else:
        named = sorted(names_in(found["open"])) == sorted(may_be)
    return named and _first(found, beside)


def _difference_open(found: re.Match[str], beside: Beside) -> bool:
    first = beside.ranked[0]["system"]
    return _first(found, beside) and all(
        not shown(beside.difference(first, name)) for name in names_in(found["open"])
    )


def _none_established(found: re.Match[str], beside: Beside) -> bool:
    least = min(one["p_adjusted"] for one in beside.tested)
    return (
        not any(map(shown, beside.tested))
        and int(found["pairs"].replace(",", "")) == len(beside.tested)
        and p_is(found["p"], least)
    )


def _those_established(found: re.Match[str], beside: Beside) -> bool:
    said = set()
    for part in found["claims"].split("; "):
        better, worse = part.split(" is ahead of ")
        said |= {(better, one) for one in names_in(worse)}
    true = {
        (one["a"], one["b"]) if one["difference"] > 0 else (one["b"], one["a"])
        for one in beside.tested
        if shown(one)
    }
    return said == true and all(claimed(one) for one in beside.tested if shown(one))


def _would_show(found: re.Match[str], beside: Beside) -> bool:
    row = beside.difference(found["a"], found["b"])
    now = found["now"] or found["few"]
    return (
        beside.ranked[0]["system"] == found["a"]
        and not shown(row)
        and close(found["d"], abs(row["difference"]))
        and int(now.replace(",", "")) == row["n_prompts"]
        and (found["few"] is None) == (row["n_prompts"] >= 5)
        and (found["more"] is not None or value(found["needed"]) > row["n_prompts"])
    )


def _counts(said: str) -> dict[str, float]:
    parts = (part.split(" ", 1) for part in said.split(", "))
    return {name: value(n) for n, name in parts}


def _missing(found: re.Match[str], beside: Beside) -> bool:
    coverage = beside.summary["coverage"]
    total = sum(coverage["missing"].values())
    return (
        _counts(found["counts"]) == {name: n for name, n in coverage["missing"].items() if n}
        and value(found["missing"]) == total
        and value(found["of"]) == coverage["expected"]
        and coverage["expected"] == coverage["scored"] + coverage["abstained"] + total
    )


def _nothing(found: re.Match[str], beside: Beside) -> bool:
    coverage = beside.summary["coverage"]
    known = {**coverage["missing"], "judged as abstentions": coverage["abstained"]}
    counts = {name: n for name, n in known.items() if n}
    return (
        _counts(found["counts"]) == counts
        and coverage["scored"] == 0
        and value(found["of"]) == coverage["expected"]
    )


def _declines(found: re.Match[str], beside: Beside) -> bool:
    [row] = [one for one in beside.summary["ranking"] if one["system"] == found["a"]]
    return (
        row["rank"] is None
        and value(found["n"]) == row["n_abstained"]
        and value(found["of"]) == row["n_judged"]
        and 2 * row["n_abstained"] > row["n_judged"]
        and close(found["mean"], row["composite"])
        and (found["rest"] is None or value(found["rest"]) == row["n_judged"] - row["n_abstained"])
    )


def _alone(found: re.Match[str], beside: Beside) -> bool:
    [row] = beside.ranked
    return (
        row["system"] == found["a"]
        and close(found["d"], row["composite"])
        and close(found["low"], row["ci_low"])
        and close(found["high"], row["ci_high"])
        and value(found["n"]) == row["n_prompts"]
    )


def _of_the_others(found: re.Match[str], beside: Beside) -> bool:
    winner = beside.summary["winner"]
    rest = [one for one in beside.summary["differences"] if winner not in (one["a"], one["b"])]
    return value(found["n"]) == sum(map(shown, rest)) and value(found["of"]) == len(rest)


def _not_established(found: re.Match[str], beside: Beside) -> bool:
    row = beside.difference(found["a"], found["b"])
    return not shown(row) and close(found["signed"], row["difference"])


def _n_established(found: re.Match[str], beside: Beside) -> bool:
    tested = beside.tested
    return (
        value(found["n"]) == sum(map(shown, tested))
        and all(claimed(one) for one in tested if shown(one))
        and value(found["of"]) == len(tested)
    )


RUN: dict[str, Check] = {
    r"Systems cannot be ranked: (?:most of their judgments are abstentions|no response has a "
    r"composite)\.": lambda found, beside: not beside.ranked,
    rf"(?P<a>.+) has a composite of (?P<d>{NUMBER}) \((?:{CI}, )?{_N}\); (?:no other system is "
    r"ranked|there is no other system with a composite) to compare it with\.": _alone,
    rf"Who is ahead cannot be said: {_FIRST}, and no difference can be tested \(.+\)\.": (
        lambda found, beside: not beside.tested and _first(found, beside)
    ),
    rf"(?P<a>\S+) is ahead of (?P<b>\S+), with (?:these judges as they are|judges as a sample of "
    rf"such judges): by {POINTS}{FACTS}\.": _won,
    rf"(?P<a>\S+) is ahead of every other system, with (?:these judges as they are|judges as a "
    rf"sample of such judges): of the nearest, (?P<b>\S+), by {POINTS}{FACTS}\.": _won,
    r"Among the others (?P<n>\d+) of (?P<of>\d+) differences? are established "
    r"\(adjusted p < 0\.05\)\.": _of_the_others,
    r"The difference between (?P<a>\S+) and (?P<b>\S+) is not established \(\S+ − \S+: "
    r"(?P<signed>[+−]?[\d.]+).*\)\.": _not_established,
    rf"(?P<a>\S+) is ahead of (?P<b>\S+) by {POINTS}{FACTS}\.": _ahead,
    rf"Who is ahead cannot be said: {_FIRST}, but first place is open between "
    r"(?:all (?P<all>\d+) systems|(?P<open>.+))\.": _open,
    rf"Who is ahead cannot be said: {_FIRST}, but its difference from (?P<open>.+) is open\.": (
        _difference_open
    ),
    rf"Their difference may be chance{FACTS}\.": (
        lambda found, beside: len(beside.tested) == 1 and not shown(beside.tested[0])
    ),
    r"No difference between two systems is established: the smallest adjusted p of "
    r"(?P<pairs>\d+) pairs is (?P<p>[\d.e-]+)\.": _none_established,
    r"(?P<n>\d+) of (?P<of>\d+) differences between two systems are established "
    r"\(adjusted p < 0\.05\)\.": _n_established,
    r"Established \(adjusted p < 0\.05\): (?P<claims>.+)\.": _those_established,
    rf"If the difference is as large as observed \({POINTS}\), (?:about (?P<needed>[\d,]+)|"
    rf"(?P<more>more than) 10,000) prompts would show that (?P<a>\S+) is ahead of (?P<b>\S+) "
    rf"{POWER}\.": _would_show,
    rf"If the difference is as large as observed \({POINTS}\), no number of prompts would show "
    r"that (?P<a>\S+) is ahead of (?P<b>\S+) with these judges: more judges are needed\.": (
        lambda found, beside: not shown(beside.difference(found["a"], found["b"]))
    ),
    rf"How many prompts would settle it cannot be estimated from the difference of {POINTS} "
    r"between (?P<a>\S+) and (?P<b>\S+)\.": (
        lambda found, beside: close(
            found["d"], abs(beside.difference(found["a"], found["b"])["difference"])
        )
    ),
    r"(?P<a>\S+) is not ranked: (?P<n>[\d,]+) of its (?P<of>[\d,]+) judgments are abstentions "
    rf"\(the response declines to answer\)(?:; its mean of (?P<mean>{NUMBER}) rests on "
    r"(?P<rest>[\d,]+))?\.": _declines,
    r"(?P<n>\d+) systems are not ranked: more than half of the judgments of each are abstentions "
    r"\(the response declines to answer\)\.": (
        lambda found, beside: (
            int(found["n"]) == sum(one["rank"] is None for one in beside.summary["ranking"])
        )
    ),
    rf"(?P<missing>[\d,]+) of (?P<of>[\d,]+) judgments are missing {COUNTS}: (?:composites|Δs) "
    r"are means of those that are there\.": _missing,
    r"There is one judge: what other judges would find is not known\.": (
        lambda found, beside: len(beside.judges) == 1
    ),
    r"All (?P<n>\d+) judges are of one model: what they have in common because of it is in no "
    r"interval\.": (
        lambda found, beside: (
            int(found["n"]) == len(beside.judges) and len({m for _, m in beside.judges}) == 1
        )
    ),
    r"All (?P<n>\d+) judges have one persona: what another one would find is not known\.": (
        lambda found, beside: (
            int(found["n"]) == len(beside.judges) and len({p for p, _ in beside.judges}) == 1
        )
    ),
    r"(?:Nothing could be scored: .+ )?None of (?P<of>[\d,]+) judgments was scored "
    rf"{COUNTS}: nothing can be concluded\.": _nothing,
}


_BY_CONTROLS = "By the judges without a persona: "


def read(sentence: str, beside: Beside, known: Mapping[str, Check] = RUN) -> str | None:
    """What is wrong with a sentence: it is not known, or it is not what the table says."""
    if sentence.startswith(_BY_CONTROLS):
        if beside.controls is None:
            return f"there are none: {sentence}"
        rest = sentence.removeprefix(_BY_CONTROLS)
        rest = rest.replace("who is", "Who is", 1) if rest.startswith("who is") else rest
        return read(rest, Beside(beside.controls, beside.judges, beside.kinds), known)
    for pattern, check in known.items():
        if (found := re.fullmatch(pattern, sentence)) is not None:
            beside.kinds.add(pattern)
            try:
                is_so = check(found, beside)
            except (LookupError, ValueError):
                # What is named is in no row.
                is_so = False
            return None if is_so else f"not so: {sentence}"
    return f"unknown: {sentence}"


# Sweeps: the summary is what summary.json has under `sweep`, with the run's coverage.


def _cells(beside: Beside, system: str | None = None) -> list[Table]:
    return [one for one in beside.summary["cells"] if system in (None, one["system"])]


def _cell(beside: Beside, system: str, said: str) -> Table:
    dimension, condition = said.split(" under ")
    [row] = [
        one
        for one in _cells(beside, system)
        if (one["dimension"], one["condition"]) == (dimension, condition)
    ]
    return row


_CHANGE = re.compile(
    rf"in (?P<cell>\w+ under \w+), (?:by (?P<d>{NUMBER}) points(?: \({CI}?(?:, )?{P}?\))?|"
    rf"in (?P<above>\d+) of (?P<n>\d+) prompts \({P.replace('<p>', '<p_sign>')}\), by "
    rf"(?P<mean>{NUMBER}) points on average of these)"
)


def _changes(found: re.Match[str], beside: Beside) -> bool:
    for verb, sign in (("degrades", 1), ("improves", -1)):
        true = {
            (one["dimension"], one["condition"])
            for one in _cells(beside, found["a"])
            if one["shown"] and one["delta"] * sign > 0
        }
        part = re.search(rf"{verb} (.+?)(?:; it improves|$)", found["changes"])
        named = [] if part is None else list(_CHANGE.finditer(part[1]))
        more = 0 if part is None else int((re.search(r"(\d+) more cell", part[1]) or "00")[1])
        if len(named) + more != len(true):
            return False
        for one in named:
            row = _cell(beside, found["a"], one["cell"])
            size = one["d"] or one["mean"]
            sides = sorted(
                abs(row[name]) for name in ("ci_low", "ci_high") if row[name] is not None
            )
            n = row["n_above"] if sign > 0 else row["n_below"]
            if not (
                (row["dimension"], row["condition"]) in true
                and close(size, abs(row["delta"]))
                and p_is(one["p"] or one["p_sign"], row["p_claim"])
                and (one["low"] is None or close(one["low"], sides[0]))
                and (one["high"] is None or close(one["high"], sides[1]))
                and (one["n"] is None or (int(one["above"]), int(one["n"])) == (n, row["n_pairs"]))
            ):
                return False
    return True


def _no_change(found: re.Match[str], beside: Beside) -> bool:
    own = _cells(beside, found["a"])
    measured = sum(one["n_pairs"] > 0 for one in own)
    return not any(one["shown"] for one in own) and int(found["n"]) == measured


def _reach(found: re.Match[str], beside: Beside) -> bool:
    open_ = [one for one in _cells(beside) if not one["shown"] and one["ci_high"] is not None]
    widest = max(open_, key=lambda one: one["ci_high"])
    where = f"{widest['dimension']} under {widest['condition']}"
    return (
        int(found["n"]) == len(open_)
        and close(found["d"], widest["ci_high"])
        and where == found["cell"]
    )


def _largest(found: re.Match[str], beside: Beside) -> bool:
    open_ = [one for one in _cells(beside) if not one["shown"] and one["n_pairs"]]
    largest = max(open_, key=lambda one: one["delta"])
    where = f"{largest['dimension']} under {largest['condition']}"
    now = found.groupdict().get("now") or found.groupdict().get("few")
    needed = found.groupdict().get("needed")
    return (
        where == found["cell"]
        and close(found["d"], largest["delta"])
        and (now is None or int(now) == largest["n_pairs"])
        and (needed is None or value(needed) > largest["n_pairs"])
    )


def _unmeasured(found: re.Match[str], beside: Beside) -> bool:
    return all(
        not any(one["n_pairs"] for one in _cells(beside, name)) and _cells(beside, name)
        for name in names_in(found["a"])
    )


def _rewording(found: re.Match[str], beside: Beside) -> bool:
    degraded = [one for one in _cells(beside) if one["shown"] and one["delta"] > 0]
    placebo = [one for one in degraded if one["condition"] == "placebo"]
    return bool(placebo) and (found["too"] is not None) == (len(degraded) > len(placebo))


def _too_few(found: re.Match[str], beside: Beside) -> bool:
    most = max(one["n_pairs"] for one in _cells(beside))
    return (
        not any(one["shown"] for one in _cells(beside))
        and int(found["n"]) == most < int(found["needed"])
        and int(found["needed"]) == beside.summary["detectable"]["prompts_needed"]
    )


SWEEP: dict[str, Check] = {
    r"(?P<a>[\w, ]+): nothing could be measured(?: \(.+\))?\.": _unmeasured,
    r"(?P<a>\w+): no change is established in any of (?P<n>\d+) cells?\.": _no_change,
    r"(?P<a>\w+) (?P<changes>(?:degrades|improves|it improves) .+)\.": _changes,
    r"Rewording without pressure lowers scores(?P<too>, too)?: a degradation may come from the "
    r"rewording, see the contrasts with it\.": _rewording,
    r"With (?P<n>\d+) prompts? no effect of any size can be significant in this many cells: at "
    r"least (?P<needed>\d+) prompts are needed\.": _too_few,
    r"That no degradation is established in a cell does not show that there is none: in (?P<n>\d+) "
    rf"such cells? intervals reach up to a Δ of (?P<d>{NUMBER}) \((?P<cell>\w+ under \w+)\)\.": (
        _reach
    ),
    rf"If the largest of them is as observed \((?P<d>{NUMBER}) points, (?P<cell>\w+ under \w+)\), "
    rf"(?:about (?P<needed>[\d,]+)|more than 10,000) prompts would establish it {POWER}\.": (
        _largest
    ),
    rf"If the largest of them is as observed \((?P<d>{NUMBER}) points, (?P<cell>\w+ under \w+)\), "
    r"a few more prompts may establish it \(now (?P<now>\d+)\)\.": _largest,
    r"The changes are plainly asymmetric, and the largest of these degradations "
    rf"\((?P<d>{NUMBER}) points, (?P<cell>\w+ under \w+)\) is opposite to the longer tail: how "
    r"many prompts would establish it cannot be said\.": _largest,
    **{pattern: check for pattern, check in RUN.items() if "Δs" in pattern or "None of" in pattern},
}
