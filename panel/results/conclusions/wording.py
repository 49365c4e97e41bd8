"""Names, numbers, money and the reading of files as sentences of conclusions have them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import ceil, floor, isnan, log10
from typing import TYPE_CHECKING, TypeVar

from persona_panel.statistics.core.display import COMPOSITE, ends, number, percent
from persona_panel.statistics.core.display import counted as counted
from persona_panel.statistics.core.estimate import MOST, POWER

if TYPE_CHECKING:
    from persona_panel.statistics.calibration import Calibration
    from persona_panel.statistics.core.arrays import Random
    from persona_panel.statistics.core.means import Assurance
    from persona_panel.statistics.core.table import Coverage, ItemMatch, Ratings, RatingsOrigin

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

NAMES_SHOWN = 4
"""The largest number of names in a sentence; of more, it has their number."""

SAMPLES: Mapping[Random, str] = {
    "prompts": "over prompts, judges fixed",
    "prompts-and-judges": "over prompts and judges, as a sample of such judges",
}
"""The names of what intervals take as a sample."""

WITHOUT_PEOPLE = (
    "Without human ratings to compare with, all agreement counts as dependence, also that about "
    "what is true: a lower number may be that of better {}s."
)
"""The reading of an effective number of judges (or raters) or votes that is not of errors against
people."""

AVERAGED = "averaging over dimensions removes noise"
"""Why the composite's α may be higher than that of every dimension."""

ONE_PERSON = (
    "There is one human rater: what is said of people is of this person, and how far people agree "
    "with each other is not known."
)
"""The remark wherever something is concluded from the ratings of a single person."""


def listed(names: Sequence[str], what: str = "") -> str:
    """Names in a row: `A`, `A and B`, `A, B and C`; of more than four, how many of `what`.

    >>> listed(["a", "b", "c"]), listed(list("abcdefg"), "systems")
    ('a, b and c', '7 systems')
    """
    if what and len(names) > NAMES_SHOWN:
        return f"{len(names):,} {what}"
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def grouped(items: Iterable[T], of: Callable[[T], K | None]) -> dict[K, list[T]]:
    """Return items by what `of` gives of each, in order of appearance; those it gives None of are
    left out.

    >>> grouped(["a", "bb", "c", ""], lambda text: len(text) or None)
    {1: ['a', 'c'], 2: ['bb']}
    """
    groups: dict[K, list[T]] = {}
    for item in items:
        if (key := of(item)) is not None:
            groups.setdefault(key, []).append(item)
    return groups


def first_of(texts: Sequence[str], most: int) -> str:
    """The first of what is told, and how many more there are.

    >>> first_of(["one", "two", "three"], 2), first_of(["one"], 2)
    ('one; two; 1 more', 'one')
    """
    more = [f"{len(texts) - most:,} more"] if len(texts) > most else []
    return "; ".join([*texts[:most], *more])


def dimension_called(name: str) -> str:
    """Return a dimension as sentences have it."""
    return "the composite" if name == COMPOSITE else name


def all_dimensions(n: int) -> str:
    """Return the name of all of several dimensions.

    >>> all_dimensions(2), all_dimensions(5)
    ('both dimensions', 'all 5 dimensions')
    """
    return "both dimensions" if n == 2 else f"all {n:,} dimensions"


def missing_judgments(
    n: int, expected: int, *, of: str = "", by_status: Mapping[str, int] | None = None
) -> str:
    """Return the beginning of a sentence: how many judgments are missing.

    >>> missing_judgments(3, 40, of="runs/a", by_status={"failed": 2, "refused": 1})
    '3 of 40 judgments of runs/a are missing (2 failed, 1 refused)'
    """
    counts = in_brackets(*(f"{n:,} {status}" for status, n in (by_status or {}).items()))
    return f"{n:,} of {expected:,} judgments{f' of {of}' if of else ''} are missing{counts}"


EDITED = "judgments.jsonl was changed after the run ended"
"""Of figures that are of other judgments than the run made; the run, done again, restores them."""


def judged(coverage: Coverage) -> str:
    """Return how many judgments there are, of how many, and why others are missing."""
    lost = in_brackets(
        *(f"{n:,} {status}" for status, n in coverage.missing.items()),
        EDITED if coverage.edited else "",
    )
    there = coverage.scored + coverage.abstained
    return f"{there:,} of {counted(coverage.expected, 'judgment')}{lost}"


def interval(low: float, high: float) -> str:
    """A 95 % interval behind its label; nothing where there is none.

    >>> interval(-0.5, 2)
    '95 % interval −0.50 to 2.00'
    """
    return "" if isnan(low) else f"95 % interval {ends(low, high)}"


def points(value: float, unit: str = " points") -> str:
    """Return the size of a difference in words, without its sign; `unit` is empty where ratings are
    shares.

    >>> points(-0.5), points(0.5, "")
    ('0.50 points', '0.50')
    """
    return f"{number(abs(value))}{unit}"


def p_adjusted(p: float) -> str:
    """An adjusted p-value in words; nothing where there is none."""
    if isnan(p):
        return ""
    return "adjusted p < 0.001" if p < 0.001 else f"adjusted p {p:.2g}"


def in_brackets(*facts: str) -> str:
    """Return the facts that are not empty, in brackets behind a space; nothing where all are empty.

    >>> in_brackets("", "one", "two"), in_brackets("")
    (' (one, two)', '')
    """
    there = [fact for fact in facts if fact]
    return f" ({', '.join(there)})" if there else ""


def as_many(needed: int | None, what: str = "prompt") -> str:
    """Return how many of something are needed, to two digits, rounded up as no more are known; None
    is more than `assured` says anything of.

    >>> as_many(1234), as_many(34), as_many(None)
    ('about 1,300 prompts', 'about 34 prompts', 'more than 10,000 prompts')
    """
    if needed is None:
        return f"more than {MOST:,} {what}s"
    return f"about {two_digits(needed):,} {what}s"


def two_digits(needed: int) -> int:
    """Return a number above 0 rounded up to two digits.

    >>> two_digits(123), two_digits(34)
    (130, 34)
    """
    step: int = 10 ** max(0, floor(log10(needed)) - 1)
    return ceil(needed / step) * step


def first_lower(sentence: str) -> str:
    """Return a sentence as it stands behind a colon."""
    return f"{sentence[0].lower()}{sentence[1:]}"


def first_upper(clause: str) -> str:
    """Return a clause as a sentence begins."""
    return f"{clause[0].upper()}{clause[1:]}"


def would_show(assured: Assurance, what: str, of: str = "prompt", least: str = "") -> str:
    """Return the sentence of `showing`.

    >>> from persona_panel.statistics.core.means import Assurance
    >>> would_show(Assurance(12, 138, 0.9), "show it")
    'About 140 new prompts would show it with a probability of 80 % (now 12).'
    >>> would_show(Assurance(12, None, 0.69), "show it", "item")
    'New items would show it with a probability of at most 69 %, however many (now 12).'
    """
    return f"{first_upper(showing(assured, what, of, least))}."


def showing(
    assured: Assurance, what: str, of: str = "prompt", least: str = "", rated: str = ""
) -> str:
    """Return how many new values, analysed by themselves, show what is open, and how likely, as a
    clause; `rated`: by whom they are."""
    how = f"with a probability of {percent(POWER)}"
    now = f"(now {assured.n:,})"
    if assured.needed is None and not assured.limit >= POWER:
        if not assured.limit >= 0:
            return f"no number of new {of}s{rated} would {what} {how} {now}"
        how = f"with a probability of at most {percent(assured.limit)}"
        return f"new {of}s{rated} would {what} {how}, however many {now}"
    return f"{least}{as_many(assured.needed, f'new {of}')}{rated} would {what} {how} {now}"


def spent(usd: Iterable[float | None], in_all: float | None = None) -> str | None:
    """Return the cost of calls in words; None where nothing cost more than 0.

    Args:
        usd: what each model's calls cost, None where their price is not known.
        in_all: what they may come to, where that is to be said.
    """
    costs = list(usd)
    known = [cost for cost in costs if cost is not None]
    if not any(known):
        return "price unknown" if len(known) < len(costs) else None
    more = " + unknown" if len(known) < len(costs) else ""
    coming = "" if in_all is None else f" of about {dollars(in_all)}"
    return f"{dollars(sum(known))}{coming}{more}"


def dollars(usd: float) -> str:
    """An amount: to the cent from a dollar on, below in hundredths of a cent."""
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"


_NAMED = 10


def origin_sentences(origin: RatingsOrigin) -> list[str]:
    """The reading in one line, then what matches nothing, then what may be wrong."""
    sentences = [origin.reading] if origin.reading else []
    if origin.match is not None and origin.match.unmatched:
        sentences.append(match_sentence(origin.match))
    return [*sentences, *(f"Warning: {remark}" for remark in origin.remarks)]


def on_scales(calibrated: Calibration) -> tuple[str, str]:
    """Return what stands behind the names of the panel's figures and of people's: their scales,
    where these differ."""
    if calibrated.scales is None:
        return "", ""
    ours, theirs = (f"\n({low:g} to {high:g})" for low, high in calibrated.scales)
    return ours, theirs


def rescaling_of(ratings: Ratings) -> Iterator[str]:
    """Yield a sentence where figures put dimensions on different scales together, saying how."""
    numeric = ratings.numeric()
    if ratings.comparable_dimensions().scales != numeric.scales and len(numeric.dimensions) > 1:
        yield (
            "Dimensions are on different scales: where they are put together, as in the composite, "
            "each rating counts as the share of its scale's width, from 0 to 1."
        )


def match_sentence(match: ItemMatch) -> str:
    """Return how many items people rated that the panel does not have, and which.

    >>> from persona_panel.statistics.core.table import ItemMatch
    >>> match_sentence(ItemMatch(40, ("x1", "x2"), "runs/a"))
    "2 of the 40 items that people rated are not in runs/a and count for nothing: 'x1', 'x2'; 38 \
(95.0 %) match."
    """
    n = len(match.unmatched)
    named = ", ".join(map(repr, match.unmatched[:_NAMED])) + (", …" if n > _NAMED else "")
    verb = "is" if n == 1 else "are"
    return (
        f"{n:,} of the {counted(match.n_rated, 'item')} that people rated {verb} not in "
        f"{match.panel} and count{'s' if n == 1 else ''} for nothing: {named}; "
        f"{match.n_matched:,} ({100 * match.share:.1f} %) match."
    )
