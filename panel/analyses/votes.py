"""Estimate the effective number of votes of personas and models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import isnan
from typing import TYPE_CHECKING

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis
from persona_panel.results.conclusions.wording import (
    ONE_PERSON,
    WITHOUT_PEOPLE,
    counted,
    in_brackets,
    points,
)
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, for_programs, row_of
from persona_panel.statistics.core.display import number

if TYPE_CHECKING:
    from persona_panel.analyses.analysis import RunWithPeople
    from persona_panel.analyses.inputs import RatingsSource, RunSource
    from persona_panel.files.ratings import GivenScale
    from persona_panel.files.records import ColumnMapping
    from persona_panel.runs.votes import DimensionVotes, VotesReport
    from persona_panel.statistics.votes import Votes


def _on_page(of: RunWithPeople) -> Iterator[Result]:
    from persona_panel.files.errors import InputError
    from persona_panel.runs.votes import votes_of

    # Of a single judge, or of categories alone, there are no votes to count.
    with suppress(InputError):
        report = votes_of(of.run, of.own, of.humans, of.names)
        yield votes_result(report, labels=of.dimensions)


@analysis(
    "Effective number of votes",
    parameters.run(),
    parameters.people("Human ratings of the same responses, in the form that `agree` reads."),
    group="People",
    example="runs/first",
    requirements=("votes[personas] >= 2", "votes_difference[personas, models] > 0"),
    on_page=_on_page,
)
def votes(
    run: RunSource,
    human: RatingsSource | None = None,
    *,
    human_mapping: ColumnMapping | None = None,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
) -> Result:
    """Estimate the effective number of votes of the judges of RUN, a run's folder.

    k judges whose ratings correlate by r have k / (1 + (k - 1) r) effective votes. Counted at
    the same number of judgments: personas on one model; replicates of a judge without a persona on
    it (`score --plain-judge`); models with the same persona. Differences have 95 % intervals that
    hold together. Without --human all agreement counts as dependence, that about what is true as
    well; with it only errors do, and the mean of all judges is compared with the judge that is
    nearest to people on other prompts. Printed are the figures of the composite, or the only
    dimension; with --full those of each dimension. --json always has all.

    Args:
        run: a run's folder, or a run that has one.
        human: people's ratings of its responses.
        human_mapping, human_scale, allow_unmatched: of people's ratings; see
            `load_aligned_ratings`.

    Raises:
        InputError: anything is wrong with either, nothing is rated by numbers, or no two judges of
            the run differ in persona, model or replicate alone.
    """
    from persona_panel.analyses.inputs import HumanInput, folder_of, input_name, opened_run
    from persona_panel.files.ratings import load_ratings
    from persona_panel.runs.votes import votes_of

    opened = opened_run(run)
    theirs = None
    if human is not None:
        theirs = HumanInput(human, human_mapping, human_scale, allow_unmatched).read()
    names = input_name(run, ""), "" if human is None else input_name(human, "the human ratings")
    report = votes_of(opened, load_ratings(folder_of(opened)), theirs, names)
    return votes_result(report, source=names[0])


def votes_result(
    report: VotesReport, *, source: str = "", labels: Mapping[str, str] | None = None
) -> Result:
    """Return the result of a report; `source` is what the run is called, `labels` what people read
    in place of dimensions, by their names."""
    from persona_panel.results.conclusions.wording import origin_sentences

    main = report.main
    dimension = Key("dimension", "dimension", {main.dimension}, labels or {})
    short = {"dimension": {main.dimension}}
    k = main.sources[0].n_judges
    columns: tuple[Column, ...] = (
        Column("votes", "estimate", "votes", better="higher", figure="votes"),
        Column(
            "correlation",
            "number",
            "mean\ncorrelation",
            definition="mean of Pearson's r over every two judges",
        ),
        Column("largest_set", "whole", "largest set"),
        Column("n_sets", "whole", "sets"),
        Column("n_judges", "whole"),
    )
    sources = Table(
        "sources",
        (Key("source", "judges differ in"), dimension),
        columns,
        [
            row_of(of, columns, dimension=each.dimension, source=of.source)
            for each in report.dimensions
            for of in each.sources
        ],
        f"Effective number of votes of {k:,} judges",
        short=short,
    )
    differences = Table(
        "differences",
        (Key("a", "judges"), Key("b"), dimension),
        (Column("difference", "estimate", "difference", figure="votes_difference"),),
        [
            {"dimension": each.dimension, "a": pair.a, "b": pair.b, "difference": pair}
            for each in report.dimensions
            for pair in each.differences
        ],
        "Differences in effective votes at equal cost",
        short=short,
        sides=("a", "b"),
    )
    columns = (
        Column("best_judge", "text"),
        *for_programs("number", "reliability", "ensemble", "best"),
        Column("difference", "estimate", figure="nearer_to_people"),
        Column("n_items", "whole"),
    )
    people = Table(
        "people",
        (dimension,),
        columns,
        [
            row_of(
                each.distance, columns, dimension=each.dimension, best_judge=each.best,
                reliability=each.reliability,
            )
            for each in report.dimensions
            if each.distance is not None
        ],
    )  # fmt: skip
    columns = *for_programs("whole", "n_people", "n_judges"), Column("deliberated", "flag")
    panel = Table("panel", (), columns, [row_of(report, columns)])
    return Result(
        "votes",
        votes_conclusion(report),
        (sources, differences, people, panel),
        _remarks(report),
        reading=[] if report.people is None else origin_sentences(report.people),
        source=source,
        coverage=report.coverage,
    )


def _remarks(report: VotesReport) -> list[str]:
    main, sentences = report.main, []
    k = main.sources[0].n_judges
    if any(of.largest_set < k for of in main.sources):
        sentences.append(
            f"Where the largest set is smaller than {k:,}, the number is that of {k:,} judges who "
            "correlate as those do."
        )
    if not isnan(main.reliability):
        errors = (
            "Errors are those against people's mean, corrected for its noise (reliability "
            f"{number(main.reliability)})."
        )
        if len(report.dimensions) > 1:
            errors += (
                " They are of the composite: `people correlate` prints the effective number of "
                "judges of each dimension, with the reliability of people's mean on that one; "
                "--json has both."
            )
        sentences.append(errors)
    if not report.n_people:
        like = " The differences compare like with like." if main.differences else ""
        sentences.append(f"{WITHOUT_PEOPLE.format('judge')}{like}")
    if report.deliberated:
        sentences.append(
            "Judges saw each other's ratings in the deliberation, so that these are no longer "
            "independent; votes before it take a run without --deliberate."
        )
    return sentences


def votes_conclusion(report: VotesReport) -> list[str]:
    """Return two to five sentences: the votes of personas, whether these add to a judge without
    one, whether the panel is closer to people than its best judge, that one person is not people.
    """
    from persona_panel.analyses.answers import personas_in_votes
    from persona_panel.runs.votes import MODELS, PERSONAS

    main = report.main
    pairs = {(each.a, each.b): each for each in main.differences}
    first = main.sources[0]
    kinds = {PERSONAS: ("persona", "on one model"), MODELS: ("model", "with the same persona")}
    kind, where = kinds.get(first.source, ("", ""))
    judges = (
        f"{counted(first.n_judges, kind)} {where}" if kind else f"{first.n_judges:,} {first.source}"
    )
    sentences = [_number_of_votes(first, judges, bool(report.n_people))]
    personas = personas_in_votes(report)
    if not report.n_people:
        sentences.append(personas.text)
    elif personas.is_known:
        # The answer to the question is then of agreement with people.
        sentences.append(personas.sentence)
    if (pair := pairs.get((PERSONAS, MODELS))) is not None and pair.sign:
        more = pair if pair.sign > 0 else -pair
        sentences.append(
            f"At the same number of judges, {more.a} have {more.number()} effective votes more "
            f"than {more.b} ({more.interval()})."
        )
    if main.distance is not None:
        sentences.append(_nearer(main))
    return [*sentences, ONE_PERSON] if report.n_people == 1 else sentences


def _number_of_votes(of: Votes, judges: str, with_people: bool) -> str:
    if isnan(of.votes.value):
        return f"The effective number of votes of {of.source} is not known ({of.votes.reason})."
    shared = "errors against people's ratings" if with_people else "ratings"
    return (
        f"{judges} have {of.votes.number()} effective "
        f"{'vote' if of.votes.number() == '1.00' else 'votes'}{in_brackets(of.votes.interval())}: "
        "their mean is as noisy as that of so many independent judges, since their "
        f"{shared} correlate by {number(of.correlation)} on average."
    )


def _nearer(main: DimensionVotes) -> str:
    distance = main.distance
    if distance is None or isnan(distance.ensemble):
        why = f" ({distance.difference.reason})" if distance is not None else ""
        return f"The panel and its best judge are not compared with people{why}."
    unit = " points" if main.in_points else ""
    prompts = counted(distance.difference.n or 0, "prompt")
    away = (
        f"{points(distance.ensemble, unit)} from people's mean rating, the best judge "
        f"{number(distance.best)} (root mean square over {prompts}; the best judge was chosen on "
        "the other prompts, every second one)"
    )
    if distance.difference.reason is not None or not distance.difference.sign:
        return (
            "Neither the panel nor its best judge is significantly closer to people: the "
            f"panel is {away}."
        )
    which = "closer to" if distance.difference.sign > 0 else "farther from"
    return f"The panel is {which} people than its best judge: it is {away}."
