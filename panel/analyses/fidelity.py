"""Compare how personas differ with how the people they stand for differ.

See docs/explanation/fidelity.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis
from persona_panel.results.conclusions.wording import counted, grouped, in_brackets, listed
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, for_programs, row_of
from persona_panel.statistics.core.display import ALL, number

if TYPE_CHECKING:
    from pathlib import Path

    from persona_panel.analyses.analysis import RunWithPeople
    from persona_panel.analyses.group_contrasts import GroupContrasts
    from persona_panel.analyses.inputs import RatingsSource
    from persona_panel.files.attributes import GroupFile
    from persona_panel.files.ratings import GivenScale
    from persona_panel.files.records import ColumnMapping, Source
    from persona_panel.statistics.group_fidelity import FidelityContrast, FidelityVerdict

_WORDS: dict[FidelityVerdict, str] = {
    "caricature": "The personas are a caricature on {of}: they differ by more than twice what "
    "people do",
    "exaggerated": "The personas exaggerate {of}: they differ by more than people do",
    "reversed": "The personas reverse {of}: they differ in the opposite direction to people",
    "flattened": "The personas flatten {of}: they differ by less than half of what people do",
    "as people": "The personas differ as people do on {of}: by half to twice as much",
}
_NAMED = 3


def _on_page(of: RunWithPeople) -> Iterator[Result]:
    if of.fidelity is not None:
        yield fidelity_result(of.fidelity, labels=of.dimensions)


@analysis(
    "Do personas differ as people do?",
    parameters.ratings("panel"),
    parameters.people("The human ratings.", parameters.COLUMNS_OF_RATINGS, required=True),
    parameters.groups(required=True),
    parameters.Option(
        "--items",
        metavar="ITEMS",
        help="A file with `item` and attributes of items, for contrasts within strata. Without it "
        "they are the metadata of the run, and columns of PANEL and RATINGS.",
    ),
    parameters.Option(
        "--dimension",
        metavar="NAME",
        help="Compare this dimension only. Human ratings that name none are of it.",
    ),
    group="People",
    example="RUN --human h.csv --raters r.csv --groups g.yaml",
    requirements=("fidelity[left-right] != caricature", "fidelity_ratio[left-right] < 2"),
    on_page=_on_page,
)
def fidelity(
    panel: RatingsSource,
    human: RatingsSource,
    raters: Source,
    groups: str | Path | GroupFile,
    *,
    items: Source | None = None,
    dimension: str | None = None,
    mapping: ColumnMapping | None = None,
    human_mapping: ColumnMapping | None = None,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
) -> Result:
    """Compare how personas differ with how the people they stand for differ.

    PANEL is a run's folder, or ratings; RATINGS are people's ratings of the same items, both as
    `people correlate` takes them. GROUPS says which people form a group, which personas stand for
    it, and which groups are contrasted:

    \b
      groups:
        left:  {condition: political_ideology < 0, personas: left-annotator}
        right: {condition: political_ideology > 0, personas: right-annotator}
      contrasts:
        - left - right
        - {contrast: left - right, within: outlet_side = left}

    For each contrast it prints people's difference, paired by item, with a 95 % interval over
    prompts and raters; the personas' difference, over prompts and, where there are several,
    models; their ratio with Fieller's interval; and a verdict. Without prompts (a run's, or a
    column: --map-human prompt=topic) intervals are over items, as if these were independent.
    Verdicts rest on intervals that are widened for all contrasts (Bonferroni):

    \b
      as people       the ratio is shown to lie from 0.5 to 2 (95 % interval)
      exaggerated     the ratio's lower end is above 1
      caricature      the ratio's lower end is above 2
      flattened       the ratio's upper end is below 0.5
      reversed        the ratio's upper end is below 0
      not measurable  people's interval holds 0, or the ratio's is too wide

    Args:
        panel: a run, its folder, or ratings.
        human: people's ratings of the same items.
        raters: a file with `rater` and people's attributes.
        groups: the file of groups and contrasts, or what was read from it.
        items: a file with `item` and attributes of items; without it they are a run's metadata and
            the further columns of the files of ratings.
        dimension: which one is compared; people's ratings that name none are of it. Without it, all
            that both have.
        mapping, human_mapping: of columns of `panel` and `human` that have other names.
        human_scale, allow_unmatched: of people's ratings; see `load_aligned_ratings`.

    Raises:
        InputError: anything is wrong with a file, a condition names an attribute that there is not,
            or nobody meets it, or a persona is not there; lists every fault.
    """
    from persona_panel.analyses.group_contrasts import group_contrasts
    from persona_panel.analyses.inputs import HumanInput, input_name

    people = HumanInput(human, human_mapping, human_scale, allow_unmatched)
    result = group_contrasts(panel, people, raters, groups, items, dimension, mapping)
    return fidelity_result(result, source=input_name(panel, ""))


def fidelity_result(
    result: GroupContrasts, *, source: str = "", labels: Mapping[str, str] | None = None
) -> Result:
    """Return the result of contrasts; `source` is what the panel's ratings are called, `labels`
    what people read in place of dimensions, by their names."""
    from persona_panel.results.conclusions.wording import origin_sentences
    from persona_panel.statistics.group_fidelity import VERDICTS

    labels = labels or {}
    dimensions = {row.dimension for row in result.rows}
    shown = [
        replace(
            row,
            contrast=result.names.get(row.contrast, row.contrast),
            dimension=labels.get(row.dimension, row.dimension),
        )
        for row in result.rows
    ]
    columns: tuple[Column, ...] = (
        Column("human", "estimate", "people", digits=3, figure="human_difference"),
        Column("panel", "estimate", "personas", digits=3, figure="panel_difference"),
        Column(
            "ratio",
            "estimate",
            "ratio",
            digits=3,
            figure="fidelity_ratio",
            definition="the personas' difference by people's, with Fieller's interval (E. C. "
            "Fieller, 1954, Some problems in interval estimation)",
        ),
        Column("verdict", "text", "verdict", figure="fidelity", words=VERDICTS),
        Column("control", "flag", "null\ncontrol" if any(row.control for row in shown) else ""),
        Column("n_items", "whole", "items", full=True),
        Column("n_raters", "whole", "raters", full=True),
        *for_programs("whole", "n_raters_a", "n_raters_b", "n_prompts", "n_tests"),
        Column("difference", "estimate"),
        Column("exceeds", "flag"),
        Column("split_half", "number"),
        Column("reason", "text"),
    )
    keys = (
        Key("contrast", "contrast", labels=result.names),
        Key("stratum", "items", {ALL}),
        Key("dimension", "dimension", dimensions if len(dimensions) == 1 else (), labels),
    )
    contrasts = Table(
        "contrasts",
        keys,
        columns,
        [row_of(row, (*keys, *columns)) for row in result.rows],
        "Differences between groups, A - B",
        chart="ratio",
    )
    return Result(
        "fidelity",
        fidelity_conclusion(shown),
        (contrasts,),
        [*_how_to_read(shown), *result.notes],
        reading=[] if result.people is None else origin_sentences(result.people),
        source=source,
        coverage=result.coverage,
    )


def _how_to_read(rows: Sequence[FidelityContrast]) -> list[str]:
    people, personas = (
        ", or ".join(dict.fromkeys(over))
        for over in zip(*((row.human.over, row.panel.over) for row in rows), strict=True)
    )
    several = len({row.dimension for row in rows}) > 1
    # Other reasons are those of an interval that is not there.
    unclear = grouped([row for row in rows if row.ratio.has_interval], lambda row: row.reason)
    return [
        f"People's intervals are over {people}, the personas' over {personas}; of the ratio, "
        "Fieller's. Verdicts rest on intervals that are widened for the number of contrasts.",
        *(
            f"Not measurable: {'; '.join(contrast_label(row, several) for row in those)}: {why}."
            for why, those in unclear.items()
        ),
    ]


def fidelity_conclusion(rows: Sequence[FidelityContrast]) -> list[str]:
    """Return what may be concluded from contrasts, by intervals that are widened for all of them:
    verdicts, then null controls, then whether differences on single items mean something."""
    several = len({row.dimension for row in rows}) > 1
    tested = [row for row in rows if not row.control]
    by_verdict = grouped(tested, lambda row: row.verdict)
    sentences = [
        f"{words.format(of=_named(by_verdict[verdict], several))}{_figures(by_verdict[verdict])}."
        for verdict, words in _WORDS.items()
        if verdict in by_verdict
    ]
    unclear = by_verdict.get("not measurable", [])
    sentences += [
        f"Whether the personas differ as people do is not known on {_named(those, several)}: "
        f"{reason}."
        for reason, those in grouped(unclear, lambda row: str(row.reason).partition(":")[0]).items()
    ]
    return [*sentences, *_controls([row for row in rows if row.control], several), *_by_item(rows)]


def _named(rows: Sequence[FidelityContrast], several: bool, what: str = "contrasts") -> str:
    return listed([contrast_label(row, several) for row in rows], what)


def contrast_label(row: FidelityContrast, several: bool) -> str:
    """Return a contrast with its stratum, and with its dimension where there are several."""
    of = [part for part in (row.stratum, row.dimension if several else ALL) if part != ALL]
    return f"{row.contrast}{in_brackets(*of)}"


def _figures(contrasts: Sequence[FidelityContrast]) -> str:
    """Return the ratios of few contrasts, in brackets."""
    if len(contrasts) > _NAMED:
        return ""
    ratios = [f"ratio {row.ratio.number()}, {row.ratio.interval()}" for row in contrasts]
    return f" ({'; '.join(ratios)})"


def _controls(controls: Sequence[FidelityContrast], several: bool) -> list[str]:
    differ = [row for row in controls if row.human.sign]
    exceeding = [row for row in controls if row.exceeds]
    calm = [
        row
        for row in controls
        if row not in differ and row not in exceeding and row.panel.low <= 0 <= row.panel.high
    ]
    return [
        sentence.format(of=_named(those, several, "null controls"))
        for those, sentence in (
            (
                differ,
                "People differ on {of} (null control), where no difference was expected; by chance "
                "the interval of 1 control in 20 leaves out 0.",
            ),
            (
                exceeding,
                "On {of} the personas differ in another way than people: a null control.",
            ),
            (calm, "Neither people nor personas are shown to differ on {of} (null control)."),
        )
        if those
    ]


def _by_item(rows: Sequence[FidelityContrast]) -> list[str]:
    from persona_panel.statistics.group_fidelity import RELIABLE

    result = [row.split_half for row in rows if not isnan(row.split_half)]
    if not result:
        return []
    low, high = min(result), max(result)
    measured = " to ".join(dict.fromkeys((number(low), number(high))))
    of = f"split-half correlation {measured} on {counted(len(result), 'contrast')}"
    if low >= RELIABLE:
        return [f"People's difference is reliable item by item, too: {of}."]
    if high < RELIABLE:
        return [
            f"Item by item, people's difference is noise, or mostly so ({of}): use means over many "
            "items only."
        ]
    return [f"Item by item, people's difference is mostly noise on some contrasts ({of})."]
