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
DECIDING_FACTS = FACTS.replace("adjusted p", "p")
"""Of the difference that decides which system is the best: its p is not adjusted."""
UNIT = r"(?: points| percentage points| of the scale's width)?"
POINTS = rf"(?P<d>{NUMBER}){UNIT}"
MANY = (
    r"(?i:(?:About (?P<needed>[\d,]+)|At least about [\d,]+|More than 10,000|No number of) "
    r"new|New) (?:prompt|item)s(?: rated by people)? would"
)
"""How many new prompts would show something."""
SURE = (
    r"with a probability of (?:80|at most (?P<limit>\d+)) %(?:, however many)? "
    r"\(now (?P<now>[\d,]+)"
)
COUNTS = r"\((?P<counts>[^()]*)\)"


@dataclass
class Beside:
    """What a sentence is compared with: a document as JSON has it, and its words for kinds read so
    far."""

    summary: Table
    judges: Sequence[tuple[str, str]] = ()
    kinds: set[str] = field(default_factory=set)

    def estimate(self, question: str) -> Table:
        """The figure of an answer."""
        answers = self.summary["answers"]
        [found] = [one["estimate"] for one in answers if one["question"] == question]
        return found

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


def _own(beside: Beside, name: str) -> list[Table]:
    """The differences of a system from the other ranked ones, from its side."""
    others = [one["system"] for one in beside.ranked if one["system"] != name]
    return [beside.difference(name, other) for other in others]


def _decides(found: re.Match[str], row: Table, own: list[Table]) -> bool:
    """Whether size, interval, p and prompts are those of the row, p unadjusted, and no difference
    of the first system is harder to tell."""
    p_values = [one["p"] if one["difference"] > 0 else 2 - one["p"] for one in own]
    decides = max(p_values) in (row["p"], 2 - row["p"])
    return decides and figures(found, {**row, "p_adjusted": row["p"]})


def _won(found: re.Match[str], beside: Beside) -> bool:
    own, row = _own(beside, found["a"]), beside.difference(found["a"], found["b"])
    return (
        beside.summary["winner"] == {"system": found["a"], "p": row["p"]}
        and found["a"] == beside.ranked[0]["system"]
        and all(one["p"] < LEVEL and one["difference"] > 0 for one in own)
        and beside.ranked[0]["rank_low"] == 1
        and _decides(found, row, own)
    )


def _mean_of(beside: Beside, name: str) -> float:
    [row] = [one for one in beside.ranked if one["system"] == name]
    composite: float = row["composite"]
    return composite


def _not_won(found: re.Match[str], beside: Beside) -> bool:
    """The first system, the one from which it is the hardest to tell, and all that it is not
    significantly above after adjustment."""
    first = beside.ranked[0]["system"]
    own = _own(beside, first)
    tied = [row for row in own if not (shown(row) and row["difference"] > 0)]
    row = beside.difference(found["a"], found["b"])
    named = found["tied"]
    if named is None:
        is_named = len(beside.ranked) == 2
    elif named.endswith(" systems"):
        is_named = int(named.split()[0]) == len(tied)
    else:
        is_named = sorted(names_in(named)) == sorted(one["b"] for one in tied)
    behind = {one["system"] for one in beside.ranked[1:]} - {one["b"] for one in tied}
    if (others := found["behind"]) is not None and not others.endswith(" systems"):
        is_named = is_named and set(names_in(others)) == behind
    elif len(beside.ranked) > 2:
        is_named = is_named and bool(others) == bool(behind)
    return (
        found["a"] == first
        and beside.summary["winner"] is None
        and not any(shown(each) and each["difference"] < 0 for each in own)
        and is_named
        and close(found["x"], _mean_of(beside, found["a"]))
        and close(found["y"], _mean_of(beside, found["b"]))
        and close(found["signed"], row["difference"])
        and _decides(found, row, [each for each in own if each["p"] is not None])
    )


def _above_first(found: re.Match[str], beside: Beside) -> bool:
    """The first system by the mean, and another that is above it on the prompts of both."""
    row = beside.difference(found["b"], found["a"])
    return (
        found["a"] == beside.ranked[0]["system"]
        and beside.summary["winner"] is None
        and row["difference"] > 0
        and claimed(row)
        and figures(found, row)
        and close(found["x"], _mean_of(beside, found["a"]))
        and close(found["y"], _mean_of(beside, found["b"]))
    )


def _means(found: re.Match[str], beside: Beside) -> bool:
    named = [part.rsplit(" ", 1) for part in found["means"].split(", ")]
    best = [one["system"] for one in beside.ranked[: len(named)]]
    untested = beside.ranked[0]["system"] if found["a"] else None
    return (
        not [row for row in beside.tested if untested in (None, row["a"], row["b"])]
        and untested in (None, found["a"])
        and [name for name, _ in named] == best
        and all(close(mean, _mean_of(beside, name)) for name, mean in named)
    )


TENTATIVE, RELIABLE = 0.667, 0.8
_HOW_HIGH: dict[str, Callable[[float, float], bool]] = {
    "Judges agree reliably": lambda low, high: low >= RELIABLE,
    "Judges agree enough for tentative conclusions": lambda low, high: TENTATIVE <= low < RELIABLE,
    "No, judges agree less than the 0.667 asked for tentative conclusions": (
        lambda low, high: high < TENTATIVE
    ),
    "Uncertain, judges may agree less than the 0.667 asked for tentative conclusions": (
        lambda low, high: low < TENTATIVE <= high
    ),
    "Uncertain, too few ratings differ from the highest, or from the lowest, that were given": (
        lambda low, high: low <= high
    ),
}


def _agreement(found: re.Match[str], beside: Beside) -> bool:
    alpha = beside.estimate("trust")
    low, high = alpha.get("low"), alpha.get("high")
    if low is None or high is None:
        is_so = found["how"] == "How far judges agree is uncertain" and found["low"] is None
        is_so = is_so and found["why"] == alpha["reason"]
    else:
        is_so = _HOW_HIGH[found["how"]](low, high)
    return (
        is_so
        and (found["caution"] is None) == found["how"].startswith("No, ")
        and close(found["d"], alpha["value"])
        and close(found["low"], low)
        and close(found["high"], high)
        and (found["judges"] is None or int(found["judges"]) == len(beside.judges))
        and (found["most"] is None or value(found["most"]) <= alpha["value"])
    )


def _bias(found: re.Match[str], _: Beside) -> bool:
    """Whether a bias has the direction of its figure, whose interval leaves 0 out."""
    size, low, high = (value(found[name].replace("+", "")) for name in ("d", "low", "high"))
    up = re.search("higher$|their own", found["what"]) is not None
    return low <= size <= high and (low > 0 if up else high < 0)


def _personas(found: re.Match[str], beside: Beside) -> bool:
    known = beside.estimate("personas")
    low, high, sign = known["low"], known["high"], {"raise": 1, "lower": -1}.get(found["how"], 0)
    groups = found.groupdict()
    is_so = (low > 0) - (high < 0) == sign
    if found["how"] == "nothing":
        is_so = high < 0.5 and close(groups["most"], high)
    size = known["value"] if found["how"] == "not" else abs(known["value"])
    return (
        is_so
        and (groups.get("d") is None or close(found["d"].replace("+", ""), size))
        and close(found["low"], low)
        and close(found["high"], high)
    )


def _would_show(found: re.Match[str], beside: Beside) -> bool:
    row = beside.difference(found["a"], found["b"])
    needed, known = found["needed"], beside.estimate("settle")["value"]
    return (
        beside.ranked[0]["system"] == found["a"]
        and not (row["p"] < LEVEL and row["difference"] > 0)
        and value(found["now"]) == row["n_prompts"]
        and (known is None) == (needed is None)
        and (found["limit"] is None or (known is None and value(found["limit"]) < 80))
        and (known is None or value(needed) == known)
        and (known is None or known > row["n_prompts"])
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


_BEST, _TRUST = r"Which system is best\? ", r"Can the panel be trusted\? "
_PERSONAS, _SETTLE = (
    r"Do personas add anything over a plain judge\? ",
    r"What would settle what is open\? ",
)
_TO_SETTLE = rf"(?:{_SETTLE}|Then )"
_VOTES = r"the effective number of votes \(independent judges\) over as many calls to a plain judge"
_NOTHING_SCORED = (
    r"(?:Nothing could be scored: .+ )?None of (?P<of>[\d,]+) judgments was scored "
    rf"{COUNTS}: nothing can be concluded\."
)

RUN: dict[str, Check] = {
    rf"{_BEST}Systems cannot be ranked: (?:most of their judgments are abstentions|no response has "
    r"a composite)\.": lambda found, beside: not beside.ranked,
    rf"{_BEST}(?P<a>.+) has a composite of (?P<d>{NUMBER}) \((?:{CI}, )?{_N}\); (?:no other system "
    r"is ranked|there is no other system with a composite) to compare it with\.": _alone,
    rf"{_BEST}No difference (?:between systems|of (?P<a>\S+) from another system) can be tested "
    r"\(.+\): (?P<means>.+)\.": _means,
    rf"{_BEST}(?P<a>\S+) is significantly ahead: {POINTS} above "
    rf"(?P<b>\w+)(?:, the comparison with the largest p-value|, the next)?{DECIDING_FACTS}\.": _won,
    rf"{_BEST}No system is significantly ahead: (?P<a>\S+) (?P<x>{NUMBER}), (?P<b>\S+) "
    rf"(?P<y>{NUMBER}), difference(?: on the prompts(?: and by the judges)? of both)? "
    rf"(?P<signed>{NUMBER}){UNIT}"
    rf"{DECIDING_FACTS}\."
    r"(?: Tied with \S+: (?P<tied>[^;]+)(?:; significantly behind: (?P<behind>.+))?\.)?": _not_won,
    rf"{_BEST}(?P<a>\S+) has the highest mean, (?P<x>{NUMBER}), but on the prompts(?: and by the "
    rf"judges)? of both (?P<b>\S+) \((?P<y>{NUMBER})\) is significantly ahead of it, by {POINTS}"
    rf"{FACTS.replace('adjusted p', '(?:adjusted )?p')}\.": _above_first,
    rf"{_BEST}{_NOTHING_SCORED}": _nothing,
    rf"{_TRUST}Agreement cannot be measured: .+\.": (
        lambda found, beside: beside.estimate("trust")["value"] is None
    ),
    rf"{_TRUST}(?P<how>[^:]+): Krippendorff's α (?P<d>{NUMBER})"
    rf"(?: \({CI}\)| \(no interval: (?P<why>[^)]+)\))?"
    rf"(?:; the mean of (?P<judges>\d+) judges? has a reliability of {NUMBER} \(ICC\(2,k\)\))?\."
    rf"(?: By dimension α is lower, (?P<least>{NUMBER}) to (?P<most>{NUMBER}), as averaging over "
    r"dimensions removes noise\.)?"
    r"(?P<caution> Agreement does not show that ratings are right\.)?": _agreement,
    r"(?P<what>Longer responses score (?:higher|lower)|Judges prefer responses of (?:their own|"
    rf"other) model famil(?:y|ies)) \((?:correlation with length|own-family bonus) "
    rf"(?P<d>[+−]{NUMBER}){UNIT}, 95 % interval (?P<low>{NUMBER}) to (?P<high>{NUMBER})\)\.": (
        _bias
    ),
    r"(?P<n>[\d,]+) responses? (?:has|have) words that address a judge, as a prompt injection has: "
    r"(?P<ids>.+)\.": lambda found, _: (
        min(3, value(found["n"])) == len(found["ids"].removesuffix(", …").split("', '"))
    ),
    r"The missing ratings can undo this: however they were, the difference is between "
    rf"(?P<x>{NUMBER}) and (?P<y>{NUMBER}) over all \d+ prompts and judges\.": (
        lambda found, beside: (
            beside.summary["winner"] is not None
            and any(
                not value(found["x"]) <= round(row["difference"], 2) <= value(found["y"])
                for row in _own(beside, beside.ranked[0]["system"])
            )
        )
    ),
    r"Ratings are missing of (?P<a>\S+) more than of (?P<b>\S+) \((?P<x>\d+) % and (?P<y>\d+) % of "
    r"them\)\. Which system is best may depend on them\.": lambda found, beside: (
        beside.summary["winner"] is not None
        and {found["a"], found["b"]} <= {row["system"] for row in beside.ranked}
        and int(found["x"]) > int(found["y"])
    ),
    rf"{_PERSONAS}Not known: (?P<why>.+)\.": (
        lambda found, beside: beside.estimate("personas")["reason"] == found["why"]
    ),
    rf"(?:{_PERSONAS})?Personas (?P<how>raise|lower) {_VOTES} by (?P<d>{NUMBER}) \({CI}\)\.": (
        _personas
    ),
    rf"(?:{_PERSONAS})?Personas do (?P<how>not) significantly change {_VOTES}: "
    rf"(?P<d>[+−]?{NUMBER}) \({CI}\)\.": _personas,
    r"The plain judge was asked once, as its model gives the same answer every time\.": (
        lambda found, beside: beside.estimate("personas")["value"] is not None
    ),
    rf"(?:{_PERSONAS})?Personas add next to (?P<how>nothing): at most (?P<most>{NUMBER}) effective "
    rf"votes \(independent judges\) over as many calls to a plain judge \({CI}\)\.": _personas,
    r"May the panel stand in for people\? Not known: no people's ratings \(--human\)\.": (
        lambda found, beside: beside.estimate("people")["reason"] == "no people's ratings"
    ),
    rf"(?:{_SETTLE})?Missing ratings could undo which system is best\.": (
        lambda found, beside: (
            beside.summary["winner"] is not None
            and (
                beside.summary["coverage"]["scored"] < beside.summary["coverage"]["expected"]
                or beside.summary["coverage"]["partial"] > 0
            )
        )
    ),
    r"Still open: (?:whether judges agree enough|what personas add|how the panel compares with "
    r"people|, | and )+\.": (
        lambda found, beside: all(
            (words in found[0]) == (beside.estimate(question)["value"] is None)
            for question, words in (
                ("personas", "what personas add"),
                ("people", "how the panel compares with people"),
            )
        )
    ),
    rf"{_SETTLE}Which system is best(?: by the panel's scores)? is shown at the 5 % level\.": (
        lambda found, beside: beside.summary["winner"] is not None
    ),
    rf"(?:{_SETTLE}R|Then r)esponses of every system to the same prompts would, rated by the same "
    r"judges\.": lambda _, beside: beside.estimate("settle")["value"] is None,
    rf"{_SETTLE}Not known: (?P<why>[^;]+)(?:; .+)?\.": (
        lambda found, beside: (
            beside.estimate("settle")["reason"] == found["why"] and beside.summary["winner"] is None
        )
    ),
    rf"{_SETTLE}First make the missing judgments \((?P<left>[\d,]+) of (?P<all>[\d,]+)\)\.": (
        lambda found, beside: (
            value(found["left"]) == sum(beside.summary["coverage"]["missing"].values())
            and value(found["all"]) == beside.summary["coverage"]["expected"]
        )
    ),
    r"Score the same responses again\.": lambda found, beside: True,
    rf"{_TO_SETTLE}{MANY} show (?P<a>\S+) ahead of (?P<b>\S+) {SURE}(?:; they cost about "
    rf"\$[\d.,]+)?\)?(?:; they cost about \$[\d.,]+|: the reverse may be true)?\.": (_would_show),
    rf"{_TO_SETTLE}[Nn]o number of prompts would show (?P<a>\S+) ahead of (?P<b>\S+) at the "
    rf"observed difference of {POINTS}: more judges are needed\.": (
        lambda found, beside: (
            not shown(beside.difference(found["a"], found["b"]))
            and close(found["d"], abs(beside.difference(found["a"], found["b"])["difference"]))
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
    r"There is one judge\.": lambda found, beside: len(beside.judges) == 1,
    r"All judges are of one model\.": (
        lambda found, beside: len({model for _, model in beside.judges}) == 1 < len(beside.judges)
    ),
    r"All judges have the same persona, or none\.": (
        lambda found, beside: len({persona for persona, _ in beside.judges}) == 1
    ),
    _NOTHING_SCORED: _nothing,
}


_LIMITS = re.compile(
    r"(?<=\.) (?=Not ranked, |All judges |There is one |[\d,]+ of [\d,]+ judgments are missing|"
    r"Longer responses |Judges prefer |(?:R|The missing r)atings (?:are missing|can undo) |"
    r"[\d,]+ responses? ha|Score the same |Still open: |Then |Missing ratings could )"
)
"""Where, in an answer, a sentence on what limits it begins."""


def read(sentence: str, beside: Beside, known: Mapping[str, Check] = RUN) -> str | None:
    """What is wrong with a sentence: it is not known, or it is not what the table says."""
    first, *limits = _LIMITS.split(sentence)
    if limits:
        wrong = [read(part, beside, known) for part in (first, *limits)]
        return next(filter(None, wrong), None)
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
    rf"in (?P<cell>\w+ under \w+), by (?P<d>{NUMBER}) points(?: \({CI}?(?:, )?{P}?\))?"
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
            sides = sorted(
                abs(row[name]) for name in ("ci_low", "ci_high") if row[name] is not None
            )
            if not (
                (row["dimension"], row["condition"]) in true
                and close(one["d"], abs(row["delta"]))
                and p_is(one["p"], row["p_claim"])
                and (one["low"] is None or close(one["low"], sides[0]))
                and (one["high"] is None or close(one["high"], sides[1]))
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
    r"(?P<a>\w+): no change is significant in any of (?P<n>\d+) cells?\.": _no_change,
    r"(?P<a>\w+) (?P<changes>(?:degrades|improves|it improves) .+)\.": _changes,
    r"Rewording without pressure lowers scores(?P<too>, too)?: a degradation may come from the "
    r"rewording, see the contrasts with it\.": _rewording,
    r"With (?P<n>\d+) prompts? no effect of any size can be significant: at "
    r"least (?P<needed>\d+) prompts are needed\.": _too_few,
    rf"All prompts have the same Δ \((?P<d>{NUMBER}) points, (?P<cell>\w+ under \w+)\): it can be "
    r"significant from (?P<needed>\d+) prompts on\.": _largest,
    r"That no degradation is significant in a cell does not show that there is none: in (?P<n>\d+) "
    rf"such cells? intervals reach up to a Δ of (?P<d>{NUMBER}) \((?P<cell>\w+ under \w+)\)\.": (
        _reach
    ),
    rf"{MANY} establish the largest of them \((?P<d>{NUMBER}) points, (?P<cell>\w+ under \w+)\) "
    rf"{SURE}\)\.": _largest,
    r"The changes are plainly asymmetric, and the largest of these degradations "
    rf"\((?P<d>{NUMBER}) points, (?P<cell>\w+ under \w+)\) is opposite to the longer tail: how "
    r"many prompts would establish it is not known\.": _largest,
    **{
        pattern: check
        for pattern, check in RUN.items()
        if "Δs" in pattern or pattern == _NOTHING_SCORED
    },
}
