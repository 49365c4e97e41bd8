"""What a run shows about the effective number of votes of its personas, replicates and models."""

from __future__ import annotations

from math import isnan

from persona_panel.results.conclusions.wording import (
    ONE_PERSON,
    counted,
    in_brackets,
    interval,
    points,
)
from persona_panel.runs.votes import MODELS, PERSONAS, REPLICATES, DimensionVotes, VotesReport
from persona_panel.statistics.core.display import number
from persona_panel.statistics.quality.votes import Votes, VotesDifference

_NOTHING = 0.5
"""Half a vote: personas that are shown to add less add nothing that a panel is built for."""


def votes_conclusion(report: VotesReport) -> list[str]:
    """Two to five sentences: the votes of personas, whether these add to a judge without one, and
    whether the panel is nearer to people than its best judge, and that one person is not people."""
    main = report.main
    found = {one.source: one for one in main.sources}
    said = [_number_of_votes(one, bool(report.n_people)) for one in main.sources[:1]]
    said.append(_personas_add(found, main))
    if (models := found.get(MODELS)) is not None and PERSONAS in found:
        said += _which_more(found[PERSONAS], models, main)
    if main.distance is not None:
        said.append(_nearer(main))
    return [*said, ONE_PERSON] if report.n_people == 1 else said


def _number_of_votes(one: Votes, with_people: bool) -> str:
    if one.reason is not None and isnan(one.votes):
        return f"The effective number of votes of {one.source} cannot be said ({one.reason})."
    shared = "errors against people's ratings" if with_people else "ratings"
    return (
        f"{_judges(one)} have {number(one.votes)} effective "
        f"{'vote' if number(one.votes) == '1.00' else 'votes'}"
        f"{in_brackets(interval(one.ci_low, one.ci_high))}: their {shared} correlate by "
        f"{number(one.correlation)} on average."
    )


def _judges(one: Votes) -> str:
    if one.source == PERSONAS:
        return f"{counted(one.n_judges, 'persona')} on one model"
    if one.source == MODELS:
        return f"{counted(one.n_judges, 'model')} with the same persona"
    return f"{one.n_judges:,} {one.source}"


def _personas_add(found: dict[str, Votes], main: DimensionVotes) -> str:
    if PERSONAS not in found:
        return "What personas add cannot be said: no model spoke for two personas."
    if REPLICATES not in found:
        return (
            "Whether personas add anything cannot be said: no judge without a persona has two "
            "replicates. `score` with --plain-judge adds one, and asks it as often as there are "
            "personas."
        )
    without = [
        f"{name}: {found[name].reason}" for name in (PERSONAS, REPLICATES) if found[name].reason
    ]
    if without:
        return f"Whether personas add anything cannot be said ({'; '.join(without)})."
    one = _between(main, PERSONAS, REPLICATES)
    if one is None or isnan(one.ci_low):
        return "Whether personas add anything cannot be said: there is no interval."
    k = found[PERSONAS].n_judges
    of = f"than {k:,} replicates of a judge without a persona"
    told = interval(one.ci_low, one.ci_high)
    if one.ci_low > 0:
        return f"Personas have {number(one.difference)} effective votes more {of} ({told})."
    if one.ci_high < 0:
        fewer = f"{number(-one.difference)} effective votes fewer {of}"
        return f"Personas add nothing here: they have {fewer} ({told})."
    if one.ci_high < _NOTHING:
        return (
            f"Personas add nothing here: they have at most {number(one.ci_high)} effective votes "
            f"more {of} ({told})."
        )
    return f"It is not established that personas have more effective votes {of} ({told})."


def _which_more(personas: Votes, models: Votes, main: DimensionVotes) -> list[str]:
    one = _between(main, PERSONAS, MODELS)
    if one is None or isnan(one.ci_low) or one.ci_low <= 0 <= one.ci_high:
        return []
    more, fewer = (PERSONAS, MODELS) if one.ci_low > 0 else (MODELS, PERSONAS)
    return [
        f"At the same number of judges, {more} have {number(abs(one.difference))} effective votes "
        f"more than {fewer} "
        f"(95 % interval {min(abs(one.ci_low), abs(one.ci_high)):.2f} to "
        f"{max(abs(one.ci_low), abs(one.ci_high)):.2f})."
    ]


def _nearer(main: DimensionVotes) -> str:
    distance = main.distance
    if distance is None or isnan(distance.ensemble):
        why = f" ({distance.reason})" if distance is not None else ""
        return f"Whether the panel is nearer to people than its best judge cannot be said{why}."
    unit = " points" if main.in_points else ""
    told = (
        f"{points(distance.ensemble, unit)} from people's mean rating, the best judge "
        f"{distance.best:.2f} (root mean square over {counted(distance.n_prompts, 'prompt')}; the "
        "best judge was chosen on the other prompts, every second one)"
    )
    if distance.reason is not None or distance.ci_low <= 0 <= distance.ci_high:
        return (
            "It is not established whether the panel is nearer to people than its best judge: the "
            f"panel is {told}."
        )
    which = "nearer to" if distance.ci_low > 0 else "farther from"
    return f"The panel is {which} people than its best judge: it is {told}."


def _between(main: DimensionVotes, a: str, b: str) -> VotesDifference | None:
    return next((one for one in main.differences if (one.a, one.b) == (a, b)), None)
