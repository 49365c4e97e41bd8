"""The five answers of a run, computed here and nowhere else: each a figure with its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan, nan
from typing import TYPE_CHECKING

from persona_panel.analyses.analysis import command_on, folder_named
from persona_panel.analyses.ranked_systems import (
    Ranked,
    alone_sentence,
    best_sentence,
    first_so_far,
    not_ranked,
    ranking_of,
    reversal_sentence,
    reversed_pairs_of,
    stopped_sentences,
    untested,
    was_stopped,
)
from persona_panel.analyses.signs_of_bias import off_scale, signs_of_bias
from persona_panel.files.errors import InputError
from persona_panel.files.wording import command_line
from persona_panel.results.conclusions.rows import sign_of
from persona_panel.results.conclusions.score import (
    beyond_bounds,
    can_be_reversed,
    declining,
    few_judged,
    limits,
    nothing_judged,
    on_coverage,
    weakest_lead,
)
from persona_panel.results.conclusions.wording import (
    AVERAGED,
    counted,
    dollars,
    first_lower,
    first_upper,
    in_brackets,
    listed,
    points,
    showing,
    two_digits,
)
from persona_panel.results.result import QUESTIONS, AnswerTo, RunAnswer
from persona_panel.runs.collected import main_ratings, ratings_of
from persona_panel.runs.kept import command_again, command_with
from persona_panel.runs.run import Run, judged_in
from persona_panel.runs.run_remarks import demonstration_notice, is_capped, other_models
from persona_panel.runs.scale_limits import unit_of
from persona_panel.statistics.core.arrays import AnalysisOptions, Reason
from persona_panel.statistics.core.display import COMPOSITE, number
from persona_panel.statistics.core.estimate import (
    ALT_TEST_ITEMS,
    ALT_TEST_PROMPTS,
    LEVEL,
    PASSED,
    POWER,
    RATED_PROMPTS,
    RELIABLE,
    TENTATIVE,
    Difference,
    Estimate,
)
from persona_panel.statistics.core.means import Assurance, widened
from persona_panel.statistics.core.ranking import is_ahead
from persona_panel.statistics.core.sampled_mean import prompts_assured, takes_more_judges
from persona_panel.statistics.core.table import Row, row_in

if TYPE_CHECKING:
    from persona_panel.analyses.analysis import RunWithPeople
    from persona_panel.runs.votes import VotesReport

_SIGNS = 2
"""The number of signs of bias that a shorter answer has."""
NOTHING = 0.5
"""Votes: personas that are shown to add less add next to nothing."""
TOGETHER = 2
"""For how many claims the interval of what personas add to the agreement with people is widened:
this and that a system is the best shall err in at most `LEVEL` of runs; other answers seldom do."""
_EQUAL = 1e-9
_NOT_KNOWN = "Not known"
_LINE = 80
_IN_SHORT = {
    str(Reason.IDENTICAL_REPLICATES): "replicates do not vary",
    str(Reason.FEW_ITEMS_A_PERSON): f"fewer than {ALT_TEST_ITEMS} items in common",
    str(Reason.FEW_PROMPTS_A_PERSON): f"fewer than {ALT_TEST_PROMPTS} prompts in common",
}
"""Reasons in the words of a shorter answer, which is a line where the question is not answered."""


def answers_of(
    run: Run, people: RunWithPeople | None = None, *, systems: bool = True
) -> tuple[RunAnswer, ...]:
    """Return the answers to the five questions about a run, in their order.

    Args:
        people: people's ratings of its responses; they lead where they are there.
        systems: whether its systems are such; conditions of a sweep or an audit are not ranked, and
            of these it is answered whether the panel can be trusted.
    """
    if not systems:
        return (can_be_trusted(run, systems=False),)
    key = "answers", id(people), run.folder, run.random
    if key not in run.computed:
        # What is kept holds `people`, so that no other object has its id.
        run.computed[key] = people, _answers(run, people)
    answers: tuple[RunAnswer, ...] = run.computed[key][1]
    return answers


def conclusion_of(run: Run, people: RunWithPeople | None = None) -> list[str]:
    """Return the answers, then what limits them."""
    answers = answers_of(run, people)
    if not run.coverage.scored:
        return [answers[0].text]
    sentences = [*(answer.text for answer in answers), *declining(run.leaderboard())]
    if (report := run.deliberation()) is not None:
        # Its statistics are of deliberation alone, and few panels deliberate.
        from persona_panel.analyses.deliberation import deliberation_conclusion

        sentences += deliberation_conclusion(
            report.n_deliberated, report.n_responses, report.spread, report.humans
        )
    return sentences


def _answers(run: Run, people: RunWithPeople | None) -> tuple[RunAnswer, ...]:
    if (nothing := nothing_judged(judged_in(run))) is not None:
        why = Estimate(nan, reason="no judgment was scored")
        *others, settle = [
            RunAnswer(each, "Not known: no judgment was scored.", why) for each in [*QUESTIONS][1:]
        ]
        return RunAnswer("best", nothing, why), *others, _after_missing(run, settle, "")
    ranked = ranking_of(run, people)
    reversed_pairs = reversed_pairs_of(run.leaderboard(), ranked)
    rest = (
        can_be_trusted(run, reversed_pairs, people_lead=bool(ranked.basis)),
        do_personas_add(run, people, _n_claims(ranked)),
        may_stand_in(run, people, reversed_pairs),
    )
    settle = _with_open(what_would_settle(run, ranked), *rest)
    return which_is_best(run, ranked, people), *rest, settle


_ALPHA = "Krippendorff's α"
_OPEN = {"personas": "what personas add", "people": "how the panel compares with people"}


def _with_open(settle: RunAnswer, trust: RunAnswer, *others: RunAnswer) -> RunAnswer:
    """Return the answer with the other questions that are open beside its verdict."""
    low, high = trust.estimate.ends
    is_shown = (low >= TENTATIVE or high < TENTATIVE) and not trust.estimate.caution
    agree = [] if is_shown else ["whether judges agree enough"]
    names = [*agree, *(_OPEN[each.question] for each in others if not each.is_known)]
    if not names:
        return settle
    still = f"Still open: {listed(names, 'questions')}."
    return replace(
        settle, sentence=f"{settle.sentence} {still}", limits=[*settle.limits, still],
        shorter=settle.shorter or settle.sentence,
    )  # fmt: skip


def which_is_best(run: Run, ranked: Ranked, people: RunWithPeople | None = None) -> RunAnswer:
    """Return which system is best, and which are tied with it.

    The figure is the difference between the first system and the one from which it is the hardest
    to tell, with the p-value that decides (`persona_panel.statistics.core.ranking.winner_among`).
    """
    command = command_on(run, "report", people=people)
    estimate, measure, above = Estimate(nan), "", ranked.above_first
    decisive = above or ranked.decisive
    unit = unit_of(run.rubric).after_number
    significant = decisive is not None and (above is not None or is_ahead(decisive))
    unclaimed = significant and was_stopped(run)

    def best(beside: Run | None) -> str:
        if decisive is not None and unclaimed:
            return first_so_far(ranked, decisive, unit)
        return best_sentence(ranked, beside, unit=unit)

    if not ranked.systems:
        why = f"systems cannot be ranked: {ranked.unranked}"
        sentence = f"{first_upper(why)}."
    elif len(ranked.systems) < 2:
        why, sentence = "fewer than two systems are ranked", alone_sentence(ranked, run)
    elif decisive is None:
        why, sentence = untested(ranked), best(run)
    else:
        undone = list[str]()
        if not ranked.basis:
            left_open = run.missing_ratings(), run.leaderboard()
            undone = [*beyond_bounds(*left_open), *can_be_reversed(*left_open)]
        sentence = " ".join([best(run), *undone, *not_ranked(run)])
        why = "the first system is not tested against every other"
        if ranked.unrated:
            why = f"people did not rate {listed(ranked.unrated, 'systems')}"
        if unclaimed:
            why = "the run was stopped"
        elif ranked.winner is not None or above or not (significant or ranked.unrated):
            n = [] if decisive.n is None else [counted(decisive.n, "prompt")]
            whose = "by people's ratings" if ranked.basis else ""
            sides = " ".join(filter(None, [f"{decisive.a} − {decisive.b}", whose]))
            estimate = replace(decisive, detail=", ".join([sides, *n]))
            measure, why = "difference", ""
    if why:
        estimate = Estimate(nan, reason=why)
    stopped = [*stopped_sentences(run, significant=significant and not unclaimed)]
    shorter = ""
    if ranked.basis and len(ranked.systems) > 1:
        # Which system is first by the panel alone is in its table.
        shorter = " ".join([*stopped, best(None), *not_ranked(run)])
    whole = " ".join([*stopped, sentence])
    if not ranked.basis and ranked.means_of_people:
        shorter = whole.replace(ranked.means_of_people, "")
    return RunAnswer("best", whole, estimate, command, measure, shorter=shorter)


def can_be_trusted(
    run: Run,
    reversed_pairs: Sequence[tuple[str, str]] = (),
    *,
    people_lead: bool = False,
    systems: bool = True,
) -> RunAnswer:
    """Return whether people's ratings contradict the panel's ranking, whether its judges agree, and
    whether there are signs of bias or of injection.

    The figure is Krippendorff's α of the composite, or of the only dimension, at the ordinal level
    (nominal of categories), as `agree` has it.

    Args:
        reversed_pairs: systems whose order people's ratings reverse.
        people_lead: systems are ranked by people's ratings.
        systems: with what concerns systems: the reliability of their means, signs of bias.
    """
    command, judged = command_on(run, "agree"), judged_in(run)
    common = limits(judged)
    limiting = [*off_scale(run), *few_judged(judged, "composites"), *common]
    signs = [*other_models(run), *(signs_of_bias(run) if systems else ())]
    if people_lead and systems:
        # Without people's ratings the first answer says so.
        signs += can_be_reversed(run.missing_ratings(), run.leaderboard(), people_lead=True)
    if demonstration_notice(*(judge.model for judge in run.judges)):
        signs.append("A model is for demonstration only.")
    # Differences that people reverse are no sign of trust.
    estimate, alpha, agreement = _agreement(run, systems=systems and not reversed_pairs)
    marks = {"tentative": TENTATIVE, "reliable": RELIABLE}
    reversal = [reversal_sentence(reversed_pairs)] if reversed_pairs else []
    verdict = [f"No: {first_lower(each)}" for each in reversal]
    undecided = isnan(estimate.value) or (estimate.high < TENTATIVE and not estimate.caution)
    caution = [] if undecided else ["Agreement does not show that ratings are right."]
    few = signs
    if len(signs) > _SIGNS:
        few = [*signs[:_SIGNS], f"{counted(len(signs) - _SIGNS, 'more sign')}."]
    whole = " ".join([*verdict, agreement, *caution, *signs, *limiting])
    shorter = " ".join([*verdict, alpha, *caution, *few, *([] if reversed_pairs else common)])
    coverage = on_coverage({_ALPHA: estimate})
    beside = [*reversal, *signs, *caution, *coverage]
    if not (isnan(estimate.value) or estimate.has_interval):
        beside.append(f"No interval: {estimate.lacks}.")
    return RunAnswer("trust", whole, estimate, command, _ALPHA, marks, beside, shorter)


def _agreement(run: Run, *, systems: bool) -> tuple[Estimate, str, str]:
    """Return Krippendorff's α, the sentence on it, and the same with what explains it."""
    from persona_panel.runs.votes import are_identical_replicates

    if are_identical_replicates(run, run.ranking_columns()[0]):
        return _unmeasured(Estimate(nan, reason=Reason.IDENTICAL_JUDGES))
    ratings = main_ratings(run)
    if ratings is None:
        return _unmeasured(Estimate(nan, reason="no dimension is rated by two judges"))
    from persona_panel.statistics.agreement import agree

    *_, group = ratings.raters_by_group()
    options = AnalysisOptions(n_permutations=0, random=run.random)
    rows = agree(ratings, options, only={"krippendorff_alpha", "icc2k"}, group=group)
    alpha, reliability = (row_in(rows, name, group) for name in ("krippendorff_alpha", "icc2k"))
    estimate = alpha.estimate()
    if isnan(estimate.value):
        return _unmeasured(estimate)
    options = AnalysisOptions(n_permutations=0, intervals=False)
    numeric = ratings_of(run).numeric()
    by_dimension = agree(numeric, options, only={"krippendorff_alpha"}, group=group)
    own = [row.value for row in by_dimension if row.dimension != COMPOSITE and not row.reason]
    alone = f"{_how_high(estimate)}: {_ALPHA} {_figure(estimate)}"
    parts = [alone if estimate.has_interval else f"{alone} (no interval: {estimate.lacks})"]
    if systems and not isnan(reliability.value):
        parts.append(
            f"the mean of {counted(reliability.n_raters, 'judge')} has a reliability of "
            f"{number(reliability.value)} (ICC(2,k))"
        )
    sentence = f"{'; '.join(parts)}."
    if len(own) > 1 and round(estimate.value, 2) > round(max(own), 2):
        values = f"{number(min(own))} to {number(max(own))}"
        sentence += f" By dimension α is lower, {values}, as {AVERAGED}."
    return estimate, f"{alone}{'' if estimate.has_interval else ' (no interval)'}.", sentence


def _unmeasured(alpha: Estimate) -> tuple[Estimate, str, str]:
    sentence = f"Agreement cannot be measured: {alpha.reason}."
    return alpha, sentence, sentence


def _how_high(alpha: Estimate) -> str:
    low, high = alpha.ends
    asked = f"the {TENTATIVE} asked for tentative conclusions"
    if not alpha.has_interval:
        return "How far judges agree is uncertain"
    if alpha.caution:
        return f"Uncertain, {alpha.caution}"
    if low >= RELIABLE:
        return "Judges agree reliably"
    if low >= TENTATIVE:
        return "Judges agree enough for tentative conclusions"
    if high < TENTATIVE:
        return f"No, judges agree less than {asked}"
    return f"Uncertain, judges may agree less than {asked}"


def _n_claims(ranked: Ranked) -> int:
    """Return for how many claims the interval of what personas add is widened: the test of two
    systems spends the whole level, and leaves it to others only where it is significant (a fixed
    sequence); of more systems a claim errs in about 1 % where all are equal."""
    decisive = ranked.decisive
    spent = len(ranked.systems) == 2 and decisive is not None and not is_ahead(decisive)
    return 2 * len(QUESTIONS) if spent else 1


def do_personas_add(run: Run, people: RunWithPeople | None, n_claims: int = 1) -> RunAnswer:
    """Return whether judges with a persona add anything over as many calls to a plain judge.

    The figure is what they add to the correlation with people (τ_b) or, without people's ratings,
    to the effective number of votes. It is claimed by its interval, widened for `n_claims`.
    """
    from persona_panel.runs.votes import lacking_judges, votes_of

    command, ratings = command_on(run, "people votes"), ratings_of(run)
    if lacks := lacking_judges(run, ratings):
        own = "" if run.folder is None else command_with(run.folder, "--plain-judge")
        return _personas_unknown(lacks, own or "persona-panel score RESPONSES --plain-judge")
    row = None if people is None else people.first("persona_gain_tau_b")
    if people is not None and row is not None and not isnan(row.value):
        command = command_on(run, "people correlate", people=people)
        answer = personas_beside_people(row, command, max(TOGETHER, n_claims))
    elif run.deterministic:
        # Of effective votes such a judge has one, and any two personas that differ have more.
        needs = "needs people's ratings (--human), as a plain judge at temperature 0 repeats itself"
        answer = _personas_unknown(needs if row is None else str(row.reason), command)
    else:
        try:
            answer = personas_in_votes(votes_of(run, ratings), command, n_claims)
        except InputError as error:
            answer = _personas_unknown(error.faults[0].actual, command)
    if run.deterministic and answer.is_known:
        once = "The plain judge was asked once, as its model gives the same answer every time."
        answer = replace(answer, sentence=f"{answer.sentence} {once}", shorter=answer.text)
    return answer


def _unknown(question: AnswerTo, why: str, command: str, more: str = "") -> RunAnswer:
    """Return that a question is not answered, and why; `more` is what is known all the same."""
    brief = f"{_NOT_KNOWN}: {_IN_SHORT.get(why, why)}."
    # What a reader can do about it stays.
    if len(f"{QUESTIONS[question]} {brief}") > _LINE and "--" not in why:
        brief = f"{_NOT_KNOWN}."
    sentence = f"{_NOT_KNOWN}: {why}.{more}"
    return RunAnswer(question, sentence, Estimate(nan, reason=why), command, shorter=brief)


def _personas_unknown(why: str, command: str) -> RunAnswer:
    return _unknown("personas", why, command)


def personas_beside_people(gain: Row, command: str = "", n_claims: int = TOGETHER) -> RunAnswer:
    """Return whether personas change the correlation with people, by what they add to it."""
    estimate = gain.estimate()
    what = "agreement with people (τ_b with the mean of their ratings, over all responses)"
    sentence = _more(estimate, gain.ci_df, what, n_claims)
    return RunAnswer("personas", sentence, estimate, command, "gain of τ_b")


def personas_in_votes(report: VotesReport, command: str = "", n_claims: int = 1) -> RunAnswer:
    """Return whether personas have more effective votes than replicates of a plain judge."""
    from persona_panel.runs.votes import PERSONAS, REPLICATES

    if report.lacks:
        return _personas_unknown(report.lacks, command)
    sides = {PERSONAS, REPLICATES}
    pair = next((each for each in report.main.differences if {each.a, each.b} == sides), None)
    why = "no model spoke for two personas, and for two replicates without a persona"
    if pair is not None:
        why = str(pair.reason or "there is no interval of the effective number of votes")
        plain = next(each for each in report.main.sources if each.source == REPLICATES)
        if plain.votes.reason is Reason.IDENTICAL_JUDGES:
            why = str(Reason.IDENTICAL_REPLICATES)
    if pair is None or not pair.has_interval:
        return _personas_unknown(why, command)
    pair = pair if pair.a == PERSONAS else -pair
    what = "the effective number of votes (independent judges) over as many calls to a plain judge"
    sentence = _more(pair, (pair.n or 2) - 1.0, what, n_claims)
    if pair.sign >= 0 and pair.high < NOTHING:
        sentence = (
            f"Personas add next to nothing: at most {number(pair.high)} effective votes "
            "(independent judges) over as many calls to a plain judge"
            f"{in_brackets(pair.interval())}."
        )
    return RunAnswer("personas", sentence, pair, command, "gain of effective votes")


def _more(estimate: Estimate, df: float, what: str, n_claims: int) -> str:
    """Return a change in words, `Personas raise X by 0.4 (…).`, or that none is significant by the
    interval of `df` degrees of freedom, widened for so many claims."""
    facts = in_brackets(estimate.interval())
    if sign := sign_of(widened(estimate.value, *estimate.ends, df, n_claims)):
        how = "raise" if sign > 0 else "lower"
        return f"Personas {how} {what} by {number(abs(estimate.value))}{facts}."
    value = f"{estimate.number(with_sign=True)}{facts}"
    sentence = f"Personas do not significantly change {what}: {value}."
    if estimate.sign:
        level = f"{100 - 100 * LEVEL / n_claims:g} %"
        sentence += f" At {level}, which a claim takes here, the interval contains 0."
    return sentence


def may_stand_in(
    run: Run, people: RunWithPeople | None, reversed_pairs: Sequence[tuple[str, str]] = ()
) -> RunAnswer:
    """Return whether the panel may stand in for people here, against people's own disagreement.

    The figure is the winning rate of the alternative annotator test.
    """
    if people is None:
        why = "no people's ratings"
        answer = RunAnswer("people", f"Not known: {why} (--human).", Estimate(nan, reason=why))
        n_prompts = len({item.prompt_id for item in run.items})
        if n_prompts < RATED_PROMPTS:
            takes = f"A correction by people's ratings takes {RATED_PROMPTS} prompts"
            return replace(answer, limits=[f"{takes} (now {n_prompts})."])
        if (n := len(run.items)) < ALT_TEST_ITEMS:
            takes = f"The alternative annotator test takes {ALT_TEST_ITEMS} responses"
            return replace(answer, limits=[f"{takes} (now {n})."])
        options: dict[str, str | int] = {"--n": ALT_TEST_ITEMS, "--out": "items.csv"}
        return replace(answer, command=command_on(run, "select", options))
    command = command_on(run, "people correlate", people=people)
    rate = people.first("alt_test_winning_rate")
    row = people.first("pearson_within_prompts", "pearson")
    where = " within prompts" if row.statistic == "pearson_within_prompts" else ""
    r = row.estimate()
    correlated = r.value > 0 and (r.least_p < LEVEL or (isnan(r.least_p) and r.sign > 0))
    goes = "" if isnan(r.value) else f" Correlation with people{where} r {_figure(r)}."
    if not isnan(rate.value):
        passed = rate.value >= PASSED and correlated
        n, n_people = round(rate.value * rate.n_raters), rate.n_raters
        near = (
            f"{n:,} of {n_people:,} people, the panel is as close to the other people as that "
            "person is"
        )
        facts = (
            f" (winning rate {number(rate.value)}, {PASSED} needed; alternative annotator test, ε "
            f"{people.epsilon:g})"
        )
        if rate.value >= PASSED and not correlated and not reversed_pairs:
            facts += ", but no significant correlation with people; the same score for every "
            facts += "response may pass, too"
        verdict = "No" if reversed_pairs else "Yes" if passed else "Not shown"
        sentence = f"{verdict}: for {near}{facts}.{goes}"
        return RunAnswer(
            "people", sentence, rate.estimate(), command, "winning rate", {"needed": PASSED},
            [f"For {near}."], f"{verdict}: for {near}.",
        )  # fmt: skip
    return _unknown("people", str(rate.reason or "too few people rated"), command, goes)


def what_would_settle(run: Run, ranked: Ranked) -> RunAnswer:
    """Return how many prompts, at what cost, would settle which system is best.

    The figure is the number of new prompts that would show the first system to be ahead of the one
    that is hardest to tell from it with the probability `POWER`; see
    `persona_panel.statistics.core.sampled_mean.prompts_assured`.
    """
    if ranked.winner is not None and not ranked.uncorrected:
        sentence, why = _not_settled(run, ranked), "judgments are missing"
        if sentence:
            answer = RunAnswer("settle", sentence, Estimate(nan, reason=why))
            return _after_missing(run, answer, sentence)
        by = "" if ranked.basis else " by the panel's scores"
        why = f"which system is best{by} is shown at the 5 % level"
        return RunAnswer("settle", f"{first_upper(why)}.", Estimate(nan, reason=why))
    answer = _by_more(run, ranked)
    then = "" if answer.sentence.startswith(_NOT_KNOWN) else f"Then {answer.sentence}"
    return _after_missing(run, replace(answer, sentence=first_upper(answer.sentence)), then)


def _not_settled(run: Run, ranked: Ranked) -> str:
    """Return why judgments that are missing leave open whether the winner is the best system."""
    if missing := next(not_ranked(run), ""):
        return missing
    lead = None if ranked.basis else weakest_lead(run.missing_ratings(), run.leaderboard())
    if lead is not None:
        # Responses that no judge has read yet are among what is missing.
        return "" if lead.holds else "Missing ratings could undo which system is best."
    return "" if run.whole.all() else "The other responses could undo which system is best."


def _after_missing(run: Run, answer: RunAnswer, then: str) -> RunAnswer:
    """Return the answer behind the judgments that are missing and the command that makes them;
    `then` is what it says behind those."""
    coverage = run.coverage
    if not (n := sum(coverage.missing.values())):
        return answer
    command, how = "", "Score the same responses again."
    if run.folder is not None:
        capped = is_capped(run)
        times = coverage.expected / max(coverage.expected - n, 1)
        command = command_again(run.folder, times, capped=capped)
        more = ", with a higher cap" if capped else ""
        how = f"Score the same responses into {folder_named(run)} again{more}."
        if command:
            how = f"The same command makes them{more}: `{command}`."
    first = f"First make the missing judgments ({n:,} of {coverage.expected:,})."
    return replace(
        answer, sentence=" ".join(filter(None, [first, how, then])), command=command,
        limits=[how], shorter=first,
    )  # fmt: skip


def _by_more(run: Run, ranked: Ranked) -> RunAnswer:
    """Return what would settle which system is best, where no system is, or people's ratings lead
    without a correction: its sentence begins in lower case, to stand behind another, unless it is
    not known."""
    if (why := ranked.uncorrected) in (Reason.FEW_FOR_A_CORRECTION, Reason.NOT_RATED_BY_PEOPLE):
        clause = (
            f"people's ratings of at least {RATED_PROMPTS} prompts of every system would correct "
            "the panel's scores."
        )
        return RunAnswer("settle", clause, Estimate(nan, reason=why))
    if why:
        return RunAnswer("settle", f"{_NOT_KNOWN}: {why}.", Estimate(nan, reason=why))
    command = command_line("plan", [], {"--from": folder_named(run)})
    if ranked.above_first is not None:
        why = "the means of systems are of different prompts or judges"
        clause = "responses of every system to the same prompts would, rated by the same judges."
        return RunAnswer("settle", clause, Estimate(nan, reason=why))
    if ranked.corrected:
        return _more_of_people(run, ranked)
    open_ = [
        (each, each.sampled)
        for each in (ranked.of_first() if len(ranked.systems) > 1 else [])
        if not is_ahead(each) and each.sampled is not None and each.sampled.errors
    ]
    if not open_:
        why = "no open difference between systems has a standard error"
        sentence = f"{_NOT_KNOWN}: {why}; it takes several prompts in common."
        return RunAnswer("settle", sentence, Estimate(nan, reason=why), command)
    # Needs judges, not prompts; else the smallest in its standard errors.
    hardest, sampled = min(
        open_,
        key=lambda each: (
            not takes_more_judges(each[1], LEVEL),
            abs(each[0].value) / (each[1].errors[0][0] or 1.0),
        ),
    )
    which = _ahead(hardest)
    if abs(hardest.value) <= _EQUAL or not sampled.errors[0][0]:
        size = points(hardest.value, "")
        why = f"the difference between {ranked.first} and {hardest.b} is {size}"
        return RunAnswer("settle", f"{_NOT_KNOWN}: {why}.", Estimate(nan, reason=why), command)
    unit = unit_of(run.rubric).after_number
    size = f"at the observed difference of {points(hardest.value, unit)}"
    if takes_more_judges(sampled, LEVEL):
        why = "more judges are needed"
        clause = f"no number of prompts would show {which} {size}: {why}."
        return RunAnswer("settle", clause, Estimate(nan, reason=why), command)
    assurance = prompts_assured(sampled, LEVEL)
    more = ": the reverse may be true" if assurance.limit < POWER else ""
    if assurance.needed is not None:
        # What a design needs takes long to import.
        from persona_panel.runs.design import cost_of_prompts

        usd = cost_of_prompts(run, assurance.needed)
        more = f"; they cost about {dollars(usd)}" if usd else ""
    return _by_new_prompts(assurance, f"{showing(assurance, f'show {which}')}{more}.", command)


def _ahead(difference: Difference) -> str:
    """Return which of the two systems has the higher mean, in words."""
    higher = difference if difference.value >= 0 else -difference
    return f"{higher.a} ahead of {higher.b}"


def _by_new_prompts(assurance: Assurance, clause: str, command: str = "") -> RunAnswer:
    needed = assurance.needed
    value = Estimate(
        nan if needed is None else float(two_digits(needed)), n=assurance.n, unit="prompts",
        reason="no number of prompts is likely enough" if needed is None else None, exact=True,
    )  # fmt: skip
    now = {"now": float(assurance.n)}
    return RunAnswer("settle", clause, value, command, "prompts needed", now)


def _more_of_people(run: Run, ranked: Ranked) -> RunAnswer:
    """Return how many responses, or new prompts where they rated all, people would have to rate."""
    decisive = ranked.decisive
    mean = None if decisive is None else ranked.corrected[frozenset((decisive.a, decisive.b))]
    if decisive is not None and mean is not None and mean.to_show is not None:
        clause = showing(mean.to_show, f"show {_ahead(decisive)}", rated=" rated by people")
        return _by_new_prompts(mean.to_show, f"{clause}.")
    needed = None if mean is None else mean.to_halve
    if decisive is None or needed is None:
        why = "more ratings by people than there are responses"
        clause = "more prompts than there are, rated by the panel and by people."
        return RunAnswer("settle", clause, Estimate(nan, reason=why))
    clause = (
        f"people's ratings of about {counted(needed, 'response')} would halve the interval of the "
        f"difference between {decisive.a} and {decisive.b}."
    )
    value = Estimate(float(needed), n=decisive.n, unit="responses", exact=True)
    command = command_on(run, "select", {"--n": needed, "--out": "items.csv"})
    return RunAnswer("settle", clause, value, command, "responses to rate")


def _figure(estimate: Estimate) -> str:
    return f"{estimate.number()}{in_brackets(estimate.interval())}"
