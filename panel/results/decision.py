"""The decision whether a figure meets a requirement: by the unfavourable end of its 95 % interval,
or of that at the level that the requirement names.

That is a one-sided test at 2.5 %: where the figure is in truth on the wrong side of the bound, an
interval that misses in 5 % of the cases, either way alike, lies wholly on the right side in 2.5 %.
That holds of each requirement; that all of several are met although one of them is not in truth is
no more frequent. `benchmarks/null_gate.py` measures it.

Decisions are also Markdown, for a comment on a pull request, and JUnit XML, which
continuous-integration servers read. In Markdown names of systems and answers of servers are in
code, where no host reads links, mentions (`@`), references (`#1`) or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from pathlib import Path
from textwrap import fill
from typing import Literal
from xml.etree import ElementTree as Xml

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.secrets import visible
from persona_panel.results.conclusions.wording import as_many, counted, would_show
from persona_panel.results.console import ReportTable, in_document
from persona_panel.results.required_figures import Figure, find
from persona_panel.results.requirement import (
    Requirement,
    WrongRequirement,
    parse_requirement,
)
from persona_panel.statistics.core.display import general, number, percent, rounded
from persona_panel.statistics.core.estimate import MOST, POWER
from persona_panel.statistics.core.means import (
    Assurance,
    assured,
    spread_at,
    spread_of_interval,
)
from persona_panel.statistics.core.sampled_mean import (
    SampledMean,
    prompts_assured,
    takes_more_judges,
)

Why = Literal[
    "value", "interval", "estimate", "beyond", "open", "contrary", "no interval", "uncertain",
    "undefined", "contradicted",
]  # fmt: skip
"""The basis of a decision: the value of a figure that is known without error, the interval, or the
estimate, as `by_point` asks for. Not met: the interval lies wholly `beyond` the bound, the estimate
is on the right side and the interval is `open`, or the estimate is `contrary`; there is no
interval, it is `uncertain`, as it covers too seldom, or there is no figure; it is `contradicted` by
better ones."""
_BY_POINT = "The estimate decides with --require-point (by_point=True in Python)."
_MOST_DIGITS = 9
_WRONG = {">=": "below", ">": "at or below", "<=": "above", "<": "at or above"}
_REACHES = {">=": "below {}", ">": "to {} or below", "<=": "above {}", "<": "to {} or above"}
_WIDTH = 90
"""Of lines of a block, which no host wraps."""
_SURPRISING = 3
"""Prompts in so many times the number that the figure as found takes are more than one expects."""
# What no XML 1.0 document may hold, escaped or not, beyond what `visible` escapes.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision on whether a figure meets a requirement, with its reason.

    Attributes:
        end: the end of the interval that decided; NaN where none did.
        assured: where more prompts could settle it (`why` is `open`), how likely new ones meet the
            requirement; None where that is not known.
        takes_judges: whether with these judges no number of prompts would do.
    """

    requirement: Requirement
    figure: Figure
    met: bool
    why: Why
    end: float = nan
    assured: Assurance | None = None
    takes_judges: bool = False


def decide(requirement: Requirement, figure: Figure, *, by_point: bool = False) -> Decision:
    """Return whether the figure meets the requirement.

    Args:
        by_point: by the estimate instead of the unfavourable end of the interval. What is wrong
            then passes in up to half of the cases.
    """
    if figure.words:
        met = (figure.word == requirement.word) == (requirement.comparison == "==")
        return Decision(requirement, figure, met, "value")
    if isnan(figure.value):
        return Decision(requirement, figure, False, "undefined")
    figure = figure.at(requirement.level)
    if figure.contradicted:
        return Decision(requirement, figure, False, "contradicted")
    right = requirement.holds_for(figure.value)
    if figure.is_exact:
        return Decision(requirement, figure, right, "value")
    if by_point:
        return Decision(requirement, figure, right, "estimate")
    if not figure.has_interval:
        return Decision(requirement, figure, False, "no interval")
    if figure.uncertain:
        return Decision(requirement, figure, False, "uncertain")
    ends = figure.low, figure.high
    worst, best = ends if requirement.at_least else ends[::-1]
    if requirement.holds_for(worst):
        return Decision(requirement, figure, True, "interval", worst)
    if not requirement.holds_for(best):
        return Decision(requirement, figure, False, "beyond", worst)
    if not right or abs(figure.value - requirement.bound) < 1e-9:
        return Decision(requirement, figure, False, "contrary", worst)
    return _open(Decision(requirement, figure, False, "open", worst))


def spread_of(figure: Figure) -> float:
    """The standard deviation over prompts behind a figure's interval."""
    # An end that was cut at a limit is nearer than it would be; of an interval that is longer on
    # one side the longer side errs toward more prompts.
    reach = max(figure.value - figure.low, figure.high - figure.value)
    return spread_of_interval(-reach, reach, figure.n_prompts or 0, figure.df, figure.level)


def _open(open_: Decision) -> Decision:
    """With how many prompts it would be settled."""
    requirement, figure = open_.requirement, open_.figure
    level = 1 - figure.level
    more = spread_at(figure.value, requirement.bound, figure.limits)
    if figure.sampled is not None and figure.sampled.errors:
        beyond = _spread(figure.sampled, figure.sampled.mean - requirement.bound, more)
        if takes_more_judges(beyond, level):
            return replace(open_, takes_judges=True)
        return replace(open_, assured=prompts_assured(beyond, level))
    if figure.n_prompts is None or isnan(figure.df):
        return open_
    sd = more * spread_of(figure)
    assurance = assured(figure.value, sd, figure.n_prompts, requirement.bound, level)
    return replace(open_, assured=assurance)


def _spread(sampled: SampledMean, mean: float, more: float) -> SampledMean:
    """With another mean, and so many times the standard errors."""
    judges = tuple(
        part._replace(variance=part.variance * more**2, shared=part.shared * more**2)
        for part in sampled.judges
    )
    errors = tuple((error * more, df) for error, df in sampled.errors)
    return replace(sampled, mean=mean, errors=errors, judges=judges)


@dataclass(frozen=True, slots=True)
class GateResult:
    """Decisions on requirements, in their order."""

    decisions: tuple[Decision, ...]

    @property
    def met(self) -> bool:
        """Return whether all of them are met."""
        return all(decision.met for decision in self.decisions)

    @property
    def unmet(self) -> list[Decision]:
        """Return those that are not met."""
        return [decision for decision in self.decisions if not decision.met]

    def sentences(self) -> list[str]:
        """One or two for each: what was required, what was found, what would settle it."""
        return [sentence(decision) for decision in self.decisions]

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def parsed(requirements: Sequence[str]) -> tuple[list[Requirement], list[Fault]]:
    """Return requirements, read, and the faults of those that cannot be."""
    read, faults = [], []
    for text in requirements:
        try:
            read.append(parse_requirement(text))
        except WrongRequirement as error:
            faults.append(_fault(text, error))
    return read, faults


def named(
    requirements: Sequence[Requirement], figures: Sequence[Figure], unread: Sequence[Fault] = ()
) -> list[Figure]:
    """The figure that each requirement names.

    Args:
        unread: the faults of others, which could not be read.

    Raises:
        InputError: some name none; lists them, each with the nearest names, after `unread`.
    """
    named, faults = [], [*unread]
    for requirement in requirements:
        try:
            named.append(find(requirement, figures))
        except WrongRequirement as error:
            faults.append(_fault(str(requirement), error))
    if faults:
        raise InputError(faults)
    return named


def decide_all(
    requirements: Sequence[Requirement], figures: Sequence[Figure], *, by_point: bool = False
) -> GateResult:
    """Decide requirements by these figures; raises as `named`."""
    pairs = zip(requirements, named(requirements, figures), strict=True)
    return GateResult(tuple(decide(*pair, by_point=by_point) for pair in pairs))


def _fault(text: str, error: WrongRequirement) -> Fault:
    return Fault(f"the requirement {text}", error.actual, error.expected)


def sentence(decision: Decision) -> str:
    """A decision in one or two sentences.

    `tau_c >= 0.4 is not met: 0.45 (95 % interval over prompts 0.31 to 0.57, 24 prompts); the
    interval reaches below 0.4. If …`
    """
    how = "is met" if decision.met else "is not met"
    if decision.met and decision.why == "estimate":
        how = "is met by the estimate"
    return f"{decision.requirement} {how}: {_in_words(decision)}"


def _in_words(decision: Decision) -> str:
    """Return the figure in words, why it is not met, and what is said beside it."""
    words = f"{figure_in_words(decision)}{remark(decision)}"
    caution = "" if decision.why == "contradicted" else decision.figure.caution
    return " ".join(filter(None, [words, caution]))


def figure_in_words(decision: Decision) -> str:
    """Return the figure in words, with its interval and what it rests on."""
    figure, requirement = decision.figure, decision.requirement
    if figure.words:
        return f"{figure.word}{f' ({figure.detail})' if figure.detail else ''}"
    if isnan(figure.value):
        return f"the figure is undefined ({figure.reason})"
    facts = [_interval(figure, requirement)] if figure.has_interval else []
    if figure.detail:
        facts.append(figure.detail)
    elif figure.n_prompts is not None:
        facts.append(counted(figure.n_prompts, _what(figure)))
    brackets = f" ({', '.join(facts)})" if facts else ""
    return f"{_number(figure.value, requirement, figure)}{brackets}"


def remark(decision: Decision) -> str:
    """Return the end of the sentence: why the requirement is not met, and what would meet it."""
    if decision.figure.words:
        return "."
    figure, bound = decision.figure, general(decision.requirement.bound, 12)
    comparison = decision.requirement.comparison
    wrong = f"{_WRONG[comparison]} {bound}"
    match decision.why:
        case "contradicted":
            return f"; {figure.contradicted}"
        case "no interval":
            return f"; it has no interval, which decides ({figure.reason}). {_BY_POINT}"
        case "uncertain":
            return (
                f"; its interval decides nothing, as {figure.uncertain}. More prompts may help. "
                f"{_BY_POINT}"
            )
        case "beyond":
            return f"; the whole interval is {wrong}."
        case "contrary":
            what = _what(figure)
            if decision.requirement.holds_for(figure.value):
                return f"; it is {bound} itself: how many {what}s would settle it is not known."
            return (
                f"; it is {wrong} itself: if that is so, no number of {what}s meets the "
                "requirement."
            )
        case "open":
            reaches = _REACHES[comparison].format(bound)
            return f"; the interval reaches {reaches}. {_settled(decision)}"
    return "."


def _settled(decision: Decision) -> str:
    """Return how many more prompts would settle it."""
    what = _what(decision.figure)
    if decision.takes_judges:
        return (
            f"If the figure is as found, no number of {what}s meets the requirement with these "
            "judges: more judges are needed."
        )
    if decision.assured is None:
        return f"How many {what}s would settle it is not known."
    whole, least = would_show(decision.assured, "meet it", what), decision.assured.as_observed
    if least is None or (decision.assured.needed or MOST) < _SURPRISING * least:
        return whole
    few = as_many(least, what)
    return f"{whole} If the figure is exactly as found, {few} do so in {percent(POWER)} of cases."


def _interval(figure: Figure, requirement: Requirement) -> str:
    low, high = (_number(end, requirement, figure) for end in (figure.low, figure.high))
    over = f"{figure.over} " if figure.over else ""
    return f"{100 * figure.level:g} % interval {over}{low} to {high}"


def _what(figure: Figure) -> str:
    return "item" if figure.of_items else "prompt"


def _number(value: float, requirement: Requirement, figure: Figure) -> str:
    """Return a number with the decimals that it takes to show the side of the bound."""
    if (figure.is_exact or figure.is_whole) and value == int(value):
        return f"{int(value):,}".replace("-", "−")
    side = requirement.holds_for(value)
    for digits in range(4 if figure.is_exact else 2, _MOST_DIGITS + 1):
        shown = rounded(value, digits)
        equal = abs(value - requirement.bound) < 10**-_MOST_DIGITS
        if equal or (requirement.holds_for(shown) == side and shown != requirement.bound):
            return number(shown, digits)
    return number(value, _MOST_DIGITS)


def markdown(
    result: GateResult, conclusion: Sequence[str], shown: ReportTable | None = None
) -> str:
    """Return in Markdown whether the requirements are met, what may be concluded, a table of the
    requirements and the first table that people are shown."""
    n, unmet = len(result.decisions), len(result.unmet)
    of = counted(n, "requirement")
    head = f"{unmet:,} of {of} not met" if unmet else f"{n:,} of {of} met"
    rows = [
        (
            _code(str(decision.requirement)),
            "met" if decision.met else "**not met**",
            _plain(f"{_in_words(decision)}"),
        )
        for decision in result.decisions
    ]
    parts = [f"### persona-panel: {head}", _block(conclusion)]
    parts.append(_table(("requirement", "result", "found"), rows))
    if shown is not None:
        parts.append(_shown(shown))
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(table: ReportTable) -> str:
    rows = [
        [
            _code(", ".join(name for name in (line.heading, line.label) if name)),
            *(_plain(" ".join(in_document(cell).split())) for cell in line.cells),
        ]
        for line in table.lines
    ]
    heads = [table.heads[-1], *table.columns]
    return _table([_plain(" ".join(head.split())) for head in heads], rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _plain(text: str) -> str:
    """A text of ours in a cell, in which no sign is markup."""
    return re.sub(r"([\\`*_{}\[\]<>#@|~!])", r"\\\1", visible(text))


def _code(text: str) -> str:
    """A text as code in a cell of a table, whatever it holds."""
    text = visible(text)
    fence = "`" * (_longest_run(text) + 1)
    padded = f" {text} " if text[:1] == "`" or text[-1:] == "`" else text
    return f"{fence}{padded}{fence}".replace("|", "\\|")


def _block(lines: Sequence[str]) -> str:
    """Sentences as a block of code."""
    if not lines:
        return ""
    text = "\n".join(fill(visible(line), _WIDTH) for line in lines)
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'


def junit(result: GateResult, suite: str, *, no_result: str = "") -> str:
    """A document with one test suite, in which each requirement is a test case; one that is not met
    has a failure with its sentence.

    Args:
        suite: its name, such as `persona-panel score`.
        no_result: why the command has no result, so that each case is an error; empty if it has.
    """
    n = len(result.decisions)
    failures, errors = (0, n) if no_result else (len(result.unmet), 0)
    counts = {"tests": str(n), "failures": str(failures), "errors": str(errors), "skipped": "0"}
    root = Xml.Element("testsuites", counts)
    cases = Xml.SubElement(root, "testsuite", {"name": _text(suite), **counts, "time": "0"})
    for decision in result.decisions:
        about = {"classname": _text(suite), "name": _text(str(decision.requirement)), "time": "0"}
        case = Xml.SubElement(cases, "testcase", about)
        text = _text(sentence(decision))
        if no_result:
            kind = {"message": _text(no_result), "type": "no result"}
            Xml.SubElement(case, "error", kind).text = text
        elif decision.met:
            Xml.SubElement(case, "system-out").text = text
        else:
            kind = {"message": text, "type": f"requirement: {decision.why}"}
            Xml.SubElement(case, "failure", kind).text = text
    Xml.indent(root)
    return f"{_HEAD}\n{Xml.tostring(root, 'unicode')}\n"


def remove_junit(path: Path) -> None:
    """Remove a document of `junit` that an earlier command left: one that ends before it has a
    result would seem to have that. Any other file stays."""
    try:
        with path.open("rb") as file:
            is_ours = file.read(100).startswith(f"{_HEAD}\n<testsuites".encode())
        if is_ours:
            path.unlink()
    except OSError:
        # Whatever is wrong with the file is said when it is written.
        return


def _text(text: str) -> str:
    """A text in characters that XML may hold."""
    return _FORBIDDEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", visible(text))
