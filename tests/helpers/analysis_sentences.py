"""Patterns for the sentences of `select` and `people fidelity`, each with a check against the
tables of the result: `Beside.summary` has their rows by the tables' names, as JSON has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from persona_panel.results.result import Result
from persona_panel.results.table import document_of
from tests.helpers.sentences import (
    CI,
    LEVEL,
    NUMBER,
    Beside,
    Check,
    Table,
    close,
    p_is,
    value,
)

SIGNED = r"[+−-]?[\d,]+(?:\.\d+)?"


def tables_of(result: Result, **more: Any) -> dict[str, Any]:
    """The rows of each table, and what else a check needs to know."""
    return {table.name: document_of(table) for table in result.tables} | more


def is_shown(figure: Table) -> bool:
    return bool(figure.get("p_adjusted", 1.0) < LEVEL)


def leaves_out_0(figure: Table) -> bool:
    return "low" in figure and (figure["low"] > 0 or figure["high"] < 0)


def quotes(said: Mapping[str, str | None], figure: Table, sign: int = 1) -> bool:
    """Whether size, interval, p-value and number are those of a figure, seen from the side from
    which it has this sign."""
    ends = [figure.get("low"), figure.get("high")]
    if sign < 0:
        ends = [None if end is None else -end for end in reversed(ends)]
    n = said.get("n")
    return (
        close(said.get("d"), abs(figure["value"]))
        and close(said.get("low"), ends[0])
        and close(said.get("high"), ends[1])
        and (said.get("low") is not None) == (ends[0] is not None)
        and p_is(said.get("p"), figure.get("p_adjusted"))
        and (n is None or value(n) == figure["n"])
    )


def named(said: str, names: Iterable[str], what: str) -> bool:
    """Whether these names are in a row, or their number where they are more than four."""
    names = list(names)
    if counted := re.fullmatch(rf"(\d+) {what}", said):
        return int(counted[1]) == len(names) > 4
    for name in sorted(names, key=len, reverse=True):
        if name not in said:
            return False
        said = said.replace(name, "", 1)
    return bool(names) and re.fullmatch(r"(, )*( and )?", said) is not None


def two_digits(said: str | None, known: float) -> bool:
    return said is None or p_is(said, known)


# `select`: besides the tables, how many items were `asked` for, and `n_systems` there are.


def _drawn(found: re.Match[str], beside: Beside) -> bool:
    items, [drawn] = beside.summary["items"], beside.summary["selection"]
    chances = [item["inclusion_probability"] for item in items]
    prompts, systems = ({item[key] for item in items} for key in ("prompt", "source"))
    of = found["scored"] or found["of"]
    return (
        value(found["n"]) == len(items) == drawn["items"] <= value(of)
        and found["systems"] in (None, str(len(systems)))
        and found["prompts"] in (None, str(len(prompts)))
        and value(of) == drawn["scored"]
        and value(found["of"]) == drawn["of"]
        and two_digits(found["each"], min(chances))
        and two_digits(found["each"], max(chances))
        and two_digits(found["low"], min(chances))
        and two_digits(found["high"], max(chances))
        and (found["each"] is not None or value(found["low"]) < value(found["high"]))
    )


def _no_more(found: re.Match[str], beside: Beside) -> bool:
    [drawn] = beside.summary["selection"]
    asked = beside.summary["asked"]
    return bool(drawn["items"] == drawn["scored"] < asked == value(found["n"]))


def _prompts_by_system(beside: Beside) -> dict[str, int]:
    rows = {(item["source"], item["prompt"] or item["item"]) for item in beside.summary["items"]}
    return {name: sum(source == name for source, _ in rows) for name, _ in rows}


def _too_few_to_correct(found: re.Match[str], beside: Beside) -> bool:
    [drawn] = beside.summary["selection"]
    by_system = _prompts_by_system(beside)
    fewest = min(by_system.values()) if len(by_system) == beside.summary["n_systems"] else 0
    could_draw_more = drawn["items"] < drawn["scored"]
    return (
        int(found["n"]) == fewest < 8
        and (found["what"] == "choose a larger --n") == could_draw_more
    )


def _too_few_for_a_person(found: re.Match[str], beside: Beside) -> bool:
    [most] = [row["items"] for row in beside.summary["selection"]]
    return bool(value(found["n"]) == most < 30)


def _too_few_to_align(found: re.Match[str], beside: Beside) -> bool:
    [drawn] = beside.summary["selection"]
    return bool(value(found["n"]) == drawn["prompts"] < 10)


UNTESTED = (
    r"The alternative annotator test of `people correlate --epsilon` will be undefined: it takes "
    r"30 texts a person that another person rates, too; here a person rates at most "
    r"(?P<n>[\d,]+)\."
)
UNALIGNED = (
    r"`people align` will learn nothing: it takes 10 prompts rated by people; here it is "
    r"(?P<n>[\d,]+)\."
)

SELECT: dict[str, Check] = {
    r"(?P<n>[\d,]+) items?(?: of (?P<systems>\d+) systems?)?(?: in (?P<prompts>\d+) prompts?)?, "
    r"drawn from (?:the (?P<scored>[\d,]+) of )?(?P<of>[\d,]+)(?(scored) that the panel scored), "
    rf"(?:each with probability (?P<each>{NUMBER})|with probabilities from (?P<low>{NUMBER}) to "
    rf"(?P<high>{NUMBER}))\.": _drawn,
    r"There are no more than these: (?P<n>[\d,]+) were asked for\.": _no_more,
    r"A correction takes 8 prompts of each system rated by people; here it is (?P<n>\d+) of some: "
    r"(?P<what>choose a larger --n|score more prompts)\.": _too_few_to_correct,
    UNTESTED: _too_few_for_a_person,
    UNALIGNED: _too_few_to_align,
}


# `people fidelity`


def _label(row: Table, beside: Beside) -> str:
    several = len({each["dimension"] for each in beside.summary["contrasts"]}) > 1
    of = [row["stratum"], row["dimension"]] if several else [row["stratum"]]
    of = [each for each in of if each != "all"]
    return str(row["contrast"]).replace("-", " - ", 1) + (f" ({', '.join(of)})" if of else "")


def _contrasts(beside: Beside, *, control: bool) -> list[Table]:
    return [row for row in beside.summary["contrasts"] if row["control"] == control]


def _named_rows(said: str, rows: Sequence[Table], beside: Beside, what: str = "contrasts") -> bool:
    return named(said, [_label(row, beside) for row in rows], what)


_SUPPORTED = {
    "caricature": lambda low, high: low > 2,
    "exaggerated": lambda low, high: low > 1,
    "reversed": lambda low, high: high < 0,
    "flattened": lambda low, high: high < 0.5,
    "as people": lambda low, high: low < 2 and high > 0.5,
}
_RATIO = re.compile(rf"ratio (?P<d>{NUMBER}), {CI}")


def _verdict(verdict: str) -> Check:
    def check(found: re.Match[str], beside: Beside) -> bool:
        rows = [row for row in _contrasts(beside, control=False) if row["verdict"] == verdict]
        ratios = list(_RATIO.finditer(found["figures"] or ""))
        return (
            _named_rows(found["of"], rows, beside)
            and len(ratios) == (len(rows) if len(rows) < 4 else 0)
            and all(_SUPPORTED[verdict](row["ratio"]["low"], row["ratio"]["high"]) for row in rows)
            and all(
                close(ratio["d"], row["ratio"]["value"])
                and close(ratio["low"], row["ratio"]["low"])
                and close(ratio["high"], row["ratio"]["high"])
                for ratio, row in zip(ratios, rows, strict=False)
            )
        )

    return check


def _unclear(found: re.Match[str], beside: Beside) -> bool:
    rows = [
        row
        for row in _contrasts(beside, control=False)
        if row["verdict"] == "not measurable" and row["reason"].startswith(found["reason"])
    ]
    holds_0 = "holds 0" in found["reason"]
    return _named_rows(found["of"], rows, beside) and not (
        holds_0 and any("low" not in row["human"] for row in rows)
    )


def _people_differ(found: re.Match[str], beside: Beside) -> bool:
    rows = [row for row in _contrasts(beside, control=True) if leaves_out_0(row["human"])]
    return _named_rows(found["of"], rows, beside, "null controls")


def _differ_otherwise(found: re.Match[str], beside: Beside) -> bool:
    rows = [row for row in _contrasts(beside, control=True) if row["exceeds"]]
    return _named_rows(found["of"], rows, beside, "null controls") and all(
        leaves_out_0(row["difference"]) for row in rows
    )


def _calm(found: re.Match[str], beside: Beside) -> bool:
    rows = [
        row
        for row in _contrasts(beside, control=True)
        if not (row["exceeds"] or leaves_out_0(row["human"]) or leaves_out_0(row["panel"]))
        and "low" in row["panel"]
    ]
    return _named_rows(found["of"], rows, beside, "null controls") and all(
        "low" in row["human"] for row in rows
    )


_HALVES = (
    rf"split-half correlation (?P<least>{NUMBER})(?: to (?P<most>{NUMBER}))? on (?P<n>\d+) "
    r"contrasts?"
)


def _by_item(reliable: Any) -> Check:
    def check(found: re.Match[str], beside: Beside) -> bool:
        halves = [row["split_half"] for row in beside.summary["contrasts"]]
        known = [each for each in halves if each == each]
        least, most = min(known), max(known)
        return (
            int(found["n"]) == len(known)
            and close(found["least"], least)
            and close(found["most"] or found["least"], most)
            and found["most"] != found["least"]
            and bool(reliable(least, most))
        )

    return check


FIDELITY: dict[str, Check] = {
    **{
        rf"The personas {does} (?P<of>.+?): they differ {how}(?P<figures> \(ratio .+\))?\.": (
            _verdict(verdict)
        )
        for verdict, does, how in (
            ("caricature", "are a caricature on", "by more than twice what people do"),
            ("exaggerated", "exaggerate", "by more than people do"),
            ("reversed", "reverse", "in the opposite direction to people"),
            ("flattened", "flatten", "by less than half of what people do"),
        )
    },
    r"The personas differ as people do on (?P<of>.+?): by half to twice as much"
    r"(?P<figures> \(ratio .+\))?\.": _verdict("as people"),
    r"Whether the personas differ as people do is not known on (?P<of>.+?): "
    r"(?P<reason>.+)\.": _unclear,
    r"People differ on (?P<of>.+) \(null control\), where no difference was expected; by chance "
    r"the interval of 1 control in 20 leaves out 0\.": _people_differ,
    r"On (?P<of>.+) the personas differ in another way than people: a null control\.": (
        _differ_otherwise
    ),
    r"Neither people nor personas are shown to differ on (?P<of>.+) \(null control\)\.": _calm,
    rf"People's difference is reliable item by item, too: {_HALVES}\.": _by_item(
        lambda least, most: least >= 0.5
    ),
    rf"Item by item, people's difference is noise, or mostly so \({_HALVES}\): use means over many "
    r"items only\.": _by_item(lambda least, most: most < 0.5),
    rf"Item by item, people's difference is mostly noise on some contrasts \({_HALVES}\)\.": (
        _by_item(lambda least, most: least < 0.5 <= most)
    ),
}
