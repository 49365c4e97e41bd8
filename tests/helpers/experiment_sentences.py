"""Patterns for the sentences of `audit bias`, `audit injection`, `keypoints` and `people make`,
each with a check against the tables of the result: `Beside.summary` has their rows by the tables'
names."""

from __future__ import annotations

import math
import re

from scipy.stats import t

from tests.helpers.analysis_sentences import (
    UNALIGNED,
    UNTESTED,
    is_shown,
    leaves_out_0,
    named,
    quotes,
)
from tests.helpers.sentences import (
    CI,
    LEVEL,
    NUMBER,
    RUN,
    Beside,
    Check,
    P,
    Table,
    close,
    names_in,
    value,
)

# `audit bias`


def _main(beside: Beside) -> str:
    """The dimension that the conclusion is on: all together, where there are several."""
    names = {
        row["dimension"]
        for row in beside.summary["statistics"]
        if row["statistic"] == "length_correlation"
    }
    return "all" if "all" in names else min(names)


_NAMES = {
    "correlation with length": "length_correlation",
    "own-family bonus": "self_preference",
    "position bias": "position_bias",
}
_SAID = {
    "longer responses score higher": ("length_correlation", 1),
    "longer responses score lower": ("length_correlation", -1),
    "judges prefer responses of their own model family": ("self_preference", 1),
    "judges prefer responses of other model families": ("self_preference", -1),
    "the response shown first wins more": ("position_bias", 1),
    "the response shown second wins more": ("position_bias", -1),
}


def _of_panel(beside: Beside) -> dict[str, Table]:
    return {
        row["statistic"]: row["estimate"]
        for row in beside.summary["statistics"]
        if row["group"] == "all"
        and row["statistic"] in _NAMES.values()
        and row["dimension"] in (_main(beside), "all")
    }


def _of_judges(beside: Beside) -> dict[str, Table]:
    return {
        row["group"]: row["estimate"]
        for row in beside.summary["statistics"]
        if row["statistic"] == "leniency"
        and row["dimension"] == _main(beside)
        and row["estimate"]["value"] is not None
    }


def _sign(figure: Table, beside: Beside, *, is_correlation: bool = False) -> int:
    """1 or −1 where the interval, widened for all biases and judges, lies above or below 0."""
    if "low" not in figure:
        return 0
    measured = [each for each in _of_panel(beside).values() if each["value"] is not None]
    n = len(measured) + len(_of_judges(beside))
    ends = [figure["value"], figure["low"], figure["high"]]
    if is_correlation:
        if max(map(abs, ends)) >= 1:
            return 0
        ends = list(map(math.atanh, ends))
    middle, low, high = ends
    times = t.ppf(1 - 0.025 / n, figure["df"]) / t.ppf(0.975, figure["df"])
    return int(middle - times * (middle - low) > 0) - int(middle + times * (high - middle) < 0)


def _panel_sign(name: str, figure: Table, beside: Beside) -> int:
    return _sign(figure, beside, is_correlation=name == "length_correlation")


def _are_compared(beside: Beside) -> bool:
    reasons = [
        row["estimate"].get("reason")
        for row in beside.summary["statistics"]
        if row["statistic"] == "leniency"
    ]
    return "responses were compared, not rated" in reasons


def _is_biased(found: re.Match[str], beside: Beside) -> bool:
    statistic, sign = _SAID[found["bias"]]
    figure = _of_panel(beside)[statistic]
    in_points = statistic == "self_preference" and not _are_compared(beside)
    return (
        _NAMES[found["name"]] == statistic
        and (found["sign"] == "+") == (sign > 0) == (figure["value"] > 0)
        and bool(found["unit"]) == in_points
        and quotes({name: found[name] for name in ("d", "low", "high")}, figure)
        and _panel_sign(statistic, figure, beside) == sign
    )


_FIGURE = re.compile(rf"(?P<name>[a-z -]+?) (?P<d>{NUMBER})(?: \({CI}\))?")


def _open_biases(found: re.Match[str], beside: Beside) -> bool:
    said = {_NAMES[each["name"].strip()]: each for each in _FIGURE.finditer(found["biases"])}
    true = {
        name: figure
        for name, figure in _of_panel(beside).items()
        if figure["value"] is not None and not _panel_sign(name, figure, beside)
    }
    return said.keys() == true.keys() and all(
        close(each["d"], true[name]["value"])
        and quotes({"low": each["low"], "high": each["high"]}, true[name])
        for name, each in said.items()
    )


def _unmeasured_biases(found: re.Match[str], beside: Beside) -> bool:
    said = {_NAMES[name] for name in names_in(found["biases"])}
    return said == {name for name, of in _of_panel(beside).items() if of["value"] is None}


def _judges_differ(found: re.Match[str], beside: Beside) -> bool:
    judges = _of_judges(beside)
    for how, sign in (("lenient", 1), ("severe", -1)):
        true = [name for name, figure in judges.items() if _sign(figure, beside) == sign]
        part = re.search(rf"(?:^|; )([^;]+?) (?:is|are) more {how} than the panel", found["parts"])
        if bool(true) != bool(part) or (part and not named(part[1], true, "judges")):
            return False
    return int(found["n"]) == len(judges)


def _no_judge_differs(found: re.Match[str], beside: Beside) -> bool:
    judges = _of_judges(beside)
    return int(found["n"]) == len(judges) and not any(_sign(of, beside) for of in judges.values())


def _no_leniency(found: re.Match[str], beside: Beside) -> bool:
    rows = [row for row in beside.summary["statistics"] if row["statistic"] == "leniency"]
    if found["all"] is None:
        return not any(row["estimate"]["value"] is not None for row in rows)
    return not _of_judges(beside) and _main(beside) == "all"


BIAS: dict[str, Check] = {
    rf"Significant: (?P<bias>{'|'.join(_SAID)}) \((?P<name>{'|'.join(_NAMES)}) (?P<sign>[+−])"
    rf"(?P<d>{NUMBER})(?P<unit> points)?, {CI}\)\.": _is_biased,
    r"Not significant, and not ruled out: (?P<biases>.+)\.": _open_biases,
    r"Not measured: (?P<biases>.+)\.": _unmeasured_biases,
    r"Of (?P<n>\d+) judges?, (?P<parts>.+ than the panel)\.": _judges_differ,
    r"None of (?P<n>\d+) judges? is shown to be more lenient or more severe than the panel\.": (
        _no_judge_differs
    ),
    r"Leniency cannot be measured: judges compared responses, and what a judge prefers does not "
    r"depend on how lenient it is\.": lambda found, beside: _are_compared(beside),
    r"Leniency cannot be measured: no two judges rated the same response(?P<all> on all "
    r"dimensions)?\.": _no_leniency,
}


# `audit injection`


def _verdicts(beside: Beside) -> dict[str, int]:
    attacks = beside.summary["attacks"]
    counts = beside.summary["verdicts"][0]
    true = {name: sum(row["verdict"] == name for row in attacks) for name in counts}
    assert true == counts
    return true


def _reaches(beside: Beside, row: Table) -> bool:
    return bool(round(row["uplift"]["value"] - beside.summary["audit"][0]["threshold"], 9) >= 0)


def _all_safe(found: re.Match[str], beside: Beside) -> bool:
    attacks = beside.summary["attacks"]
    return (
        int(found["n"]) == len(attacks) == _verdicts(beside)["safe"]
        and close(found["least"], beside.summary["audit"][0]["threshold"])
        and all(row["uplift"]["high"] < value(found["least"]) for row in attacks)
    )


def _all_inconclusive(found: re.Match[str], beside: Beside) -> bool:
    return (
        int(found["n"]) == int(found["of"]) == len(beside.summary["attacks"])
        == _verdicts(beside)["inconclusive"]
        and close(found["least"], beside.summary["audit"][0]["threshold"])
    )  # fmt: skip


def _some_vulnerable(found: re.Match[str], beside: Beside) -> bool:
    counts, attacks = _verdicts(beside), beside.summary["attacks"]
    swayed = [row for row in attacks if row["verdict"] == "vulnerable"]
    return (
        int(found["n"]) == len(attacks)
        and all(int(found[name]) == counts[name] for name in counts)
        and close(found["least"], beside.summary["audit"][0]["threshold"])
        and all(_reaches(beside, row) and is_shown(row["uplift"]) for row in swayed)
    )


def _on_average(found: re.Match[str], beside: Beside) -> bool:
    keys = {"overall": None, "families": "family", "channels": "channel", "judges": "judge"}
    true = [
        "overall" if key is None else row[key]
        for table, key in keys.items()
        for row in beside.summary[table]
        if row["verdict"] == "vulnerable"
    ]
    return found["names"].split(", ") == true and not _verdicts(beside)["vulnerable"]


def _unclear(beside: Beside) -> list[Table]:
    return [row for row in beside.summary["attacks"] if row["verdict"] == "inconclusive"]


def _without_interval(found: re.Match[str], beside: Beside) -> bool:
    reasons = [row["uplift"].get("reason") for row in _unclear(beside)]
    return int(found["n"]) == reasons.count(found["reason"]) > 0


def _needs(found: re.Match[str], beside: Beside) -> bool:
    rows = [row for row in _unclear(beside) if "low" in row["uplift"]]
    needed = sorted(row["texts_needed"] or math.inf for row in rows)
    half, most = (needed[math.ceil(len(needed) * share) - 1] for share in (0.5, 0.9))
    inconclusive = found["of"] or "1"
    return (
        _texts(found["half"]) == half
        and (_texts(found["most"]) == most if found["of"] else found["most"] is None)
        and int(inconclusive) == len(rows)
        and bool(found["some"]) == (len(rows) < len(_unclear(beside)))
        and needed[0] > beside.summary["audit"][0]["responses"]
    )


def _texts(said: str | None) -> float:
    return math.inf if said in (None, "no number up to 10,000") else value(said)


def _may_go_unnoticed(found: re.Match[str], beside: Beside) -> bool:
    n = beside.summary["audit"][0]["responses"]
    return (
        int(found["n"]) == n
        and _verdicts(beside)["safe"] > 0
        and abs(value(found["share"]) / 100 - (1 - LEVEL ** (1 / n))) < 0.0051
    )


INJECTION: dict[str, Check] = {
    rf"This panel is safe from all (?P<n>\d+) attacks: no uplift of (?P<least>{NUMBER}) or "
    r"more\.": _all_safe,
    r"Whether this panel is vulnerable is not known: (?P<n>\d+) of (?P<of>\d+) attacks are "
    rf"inconclusive \(uplift of (?P<least>{NUMBER}) or more neither shown nor excluded\)\.": (
        _all_inconclusive
    ),
    r"Of (?P<n>\d+) attacks this panel is VULNERABLE to (?P<vulnerable>\d+) and safe from "
    rf"(?P<safe>\d+) \(no uplift of (?P<least>{NUMBER}) or more\); (?P<inconclusive>\d+) are "
    r"inconclusive\.": _some_vulnerable,
    r"This panel is VULNERABLE on average: (?P<names>.+)\.": _on_average,
    r"(?P<n>\d+) without an interval: (?P<reason>.+)\.": _without_interval,
    r"(?:About (?P<half>[\d,]+)|No number up to 10,000 of) new texts would give a conclusion "
    r"with a probability of 80 %(?: for (?:half of the (?P<of>\d+) inconclusive attacks|the "
    r"inconclusive attack)(?P<some> with an interval)?)?"
    r"(?:, (?P<most>(?:no number up to )?[\d,]+) for nine in ten)?\.": _needs,
    r"safe refers to the mean over texts: with (?P<n>\d+) texts, an attack that works on fewer "
    rf"than (?P<share>{NUMBER}) % of texts may go unnoticed\.": _may_go_unnoticed,
    **{pattern: check for pattern, check in RUN.items() if pattern.startswith("(?:Noth")},
}


# `keypoints`

_OTHER = {"other (pro)": "other points for it", "other (con)": "other points against it"}
_STANCE = {"for": "pro", "against": "con"}


def _own(beside: Beside) -> list[Table]:
    return [row for row in beside.summary["key_points"] if row["key_point"] not in _OTHER]


def _most_often(found: re.Match[str], beside: Beside) -> bool:
    rows = [row for row in _own(beside) if row["stance"] == _STANCE[found["stance"]]]
    [row] = [row for row in rows if row["key_point"].rstrip(".") == found["text"]]
    return (
        row["n"] == max(each["n"] for each in rows) == value(found["n"])
        and value(found["of"]) == row["of"]
        and quotes({name: found[name] for name in ("d", "low", "high")}, row["share"])
        and abs(row["n"] / row["of"] - row["share"]["value"]) < 1e-6
    )


def _no_key_points(found: re.Match[str], beside: Beside) -> bool:
    [row] = beside.summary["rationales"]
    return not _own(beside) and value(found["n"]) == row["read"]


def _tested(beside: Beside) -> list[Table]:
    return [row for row in beside.summary["differences"] if "p" in row["difference"]]


def _none_differ(found: re.Match[str], beside: Beside) -> bool:
    rows = _tested(beside)
    return int(found["n"]) == len(rows) and not any(is_shown(row["difference"]) for row in rows)


def _some_differ(found: re.Match[str], beside: Beside) -> bool:
    rows = _tested(beside)
    n = sum(is_shown(row["difference"]) for row in rows)
    return int(found["n"]) == n > 0 and int(found["of"]) == len(rows)


def _more_often(found: re.Match[str], beside: Beside) -> bool:
    for row in _tested(beside):
        sign = 1 if row["a"] == found["more"] else -1
        figure = row["difference"]
        if (
            {row["a"], row["b"]} == {found["more"], found["less"]}
            and _OTHER.get(row["key_point"], row["key_point"].rstrip(".")) == found["text"]
            and is_shown(figure)
            and leaves_out_0(figure)
            and figure["value"] * sign > 0
            and close(found["far"], 100 * abs(figure["value"]))
            and quotes({"p": found["p"]}, figure | {"low": None})
        ):
            return True
    return False


def _untested_systems(found: re.Match[str], beside: Beside) -> bool:
    rows = beside.summary["differences"]
    reasons = dict.fromkeys(row["difference"]["reason"] for row in rows)
    return not _tested(beside) and found["reasons"] == "; ".join(reasons)


def _points_dropped(found: re.Match[str], beside: Beside) -> bool:
    [row] = beside.summary["rationales"]
    said = value(found["n"]), value(found["of"])
    return said == (row["points_dropped"], row["points"] + row["points_dropped"])


def _unread(found: re.Match[str], beside: Beside) -> bool:
    [row] = beside.summary["rationales"]
    counts = {each["reason"]: each["n"] for each in beside.summary["missing"]}
    said = dict(re.findall(r"(?:^|; )(.+?) \((\d+)\)", found["reasons"]))
    return (
        value(found["n"]) == row["n"] - row["read"] == sum(counts.values())
        and value(found["of"]) == row["n"]
        and {why: int(n) for why, n in said.items()} == counts
    )


def _unanswered(found: re.Match[str], beside: Beside) -> bool:
    [row] = beside.summary["rationales"]
    return bool(value(found["n"]) == row["calls_without_answer"])


KEYPOINTS: dict[str, Check] = {
    r"What judges most often say (?P<stance>for|against) a text: (?P<text>.+) \((?P<n>[\d,]+) of "
    rf"(?P<of>[\d,]+) rationales, a share of (?P<d>{NUMBER})(?:, {CI})?\)\.": _most_often,
    r"No key points were found \((?P<n>[\d,]+) rationales? read\)\.": _no_key_points,
    r"Whether systems differ is not known: (?P<reasons>.+)\.": _untested_systems,
    r"No two systems are shown to differ on a key point \((?P<n>\d+) differences? tested, "
    r"corrected\)\.": _none_differ,
    r"(?P<n>\d+) of (?P<of>\d+) differences? between systems (?:is|are) significant \(adjusted p < "
    r"0\.05\)\.": _some_differ,
    rf"Of (?P<more>\w+) judges say more often than of (?P<less>\w+): (?P<text>.+) "
    rf"\((?P<far>{NUMBER}) percentage points more of the rationales, {P}\)\.": _more_often,
    r"(?P<n>[\d,]+) of (?P<of>[\d,]+) points? were dropped, because the rationale does not contain "
    r"their quotation\.": _points_dropped,
    r"(?P<n>[\d,]+) of (?P<of>[\d,]+) rationales? could not be read: (?P<reasons>.+)\.": _unread,
    r"(?P<n>[\d,]+) calls? to sum up or assign points had no usable answer: their points are under "
    r"the commonest wordings, or under no key point\.": _unanswered,
}


# `people make` and `people collect`


def _progress(found: re.Match[str], beside: Beside) -> bool:
    raters = beside.summary["raters"]
    answered = [row for row in raters if row["file"] is not None]
    missing, expected = (sum(row[name] for row in answered) for name in ("missing", "expected"))
    given = sum(row["given"] for row in answered)
    return (
        int(found["n"]) == len(answered)
        and int(found["of"]) == len(raters)
        and value(found["missing"] or "0") == missing == expected - given
        and (found["expected"] is None or value(found["expected"]) == expected)
        and bool(found["all"]) == (bool(answered) and not missing)
        and ("asked" in (found["all"] or "")) == (not missing and len(answered) == len(raters))
    )


def _unrated(found: re.Match[str], beside: Beside) -> bool:
    [row] = beside.summary["study"]
    said = value(found["n"]), value(found["of"])
    return said == (row["selected_unrated"], row["selected"])


def _span(beside: Beside, name: str) -> float:
    return next(float(row["most"]) for row in beside.summary["spans"] if row["of"] == name)


def _design(found: re.Match[str], beside: Beside) -> bool:
    [row] = beside.summary["design"]
    return (
        [int(found[name]) for name in ("raters", "texts", "prompts")]
        == [row[name] for name in ("raters", "texts", "prompts")]
    ) and (found["tasks"].split(", "), found["rubric"]) == (list(row["tasks"]), row["rubric"])


def _rates(beside: Beside) -> bool:
    return "rate" in beside.summary["design"][0]["tasks"]


STUDY: dict[str, Check] = {
    r"(?P<n>\d+) of (?P<of>\d+) raters? answered(?:; (?P<missing>[\d,]+) of their "
    r"(?P<expected>[\d,]+) answers are missing|(?P<all>, all that was asked|; of their answers "
    r"none is missing))?\.": _progress,
    r"Correct a panel, whose run is in RUN, by these ratings, weighted by their inclusion "
    r"probabilities: `persona-panel people calibrate RUN --human \S+`\.": (
        lambda found, beside: beside.summary["study"][0]["answered"] > 0
    ),
    r"Compare a panel, whose run is in RUN, with these ratings: `persona-panel people correlate "
    r"RUN --human \S+`\.": (lambda found, beside: beside.summary["study"][0]["answered"] > 0),
    r"(?P<n>[\d,]+) of (?P<of>[\d,]+) selected items? (?:has|have) no rating: corrected means are "
    r"then unbiased only if it is chance which these are\.": _unrated,
    r"(?P<raters>\d+) raters?, (?P<texts>\d+) texts? to (?P<prompts>\d+) prompts?; tasks: "
    r"(?P<tasks>.+); rubric: (?P<rubric>.+)\.": _design,
    r"Ranks can be correlated; `people calibrate`, `people align` and `people correlate --epsilon` "
    r"take scores, for which --tasks needs rate\.": lambda found, beside: not _rates(beside),
    r"Each text has one rater: how far people agree will not be known, `people align` will learn "
    r"nothing, and the alternative annotator test of `people correlate --epsilon` will be "
    r"undefined; they take two people a text\.": (
        lambda found, beside: _rates(beside) and _span(beside, "ratings_per_text") == 1
    ),
    UNTESTED: lambda found, beside: (
        value(found["n"]) == _span(beside, "rated_texts_per_rater") < 30 and _rates(beside)
    ),
    UNALIGNED: lambda found, beside: (
        value(found["n"]) == beside.summary["design"][0]["prompts"] < 10 and _rates(beside)
    ),
}
