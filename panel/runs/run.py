"""A run: ratings with the reason of every gap, verdicts, rankings.

Filled judgment by judgment while the panel judges, or from a folder (`persona_panel.runs.load`);
holds no texts. Files are written from it by `persona_panel.runs.folder`.

A run in short: its calls and leaderboard as summary.json has them, its data frames, its facts
for a Python prompt, and what may be concluded from it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from persona_panel.calls.budget import CallCounts, Spending
from persona_panel.files.errors import RunFolderError
from persona_panel.files.responses import Batch, Item
from persona_panel.files.secrets import SECRETS
from persona_panel.graphs import Judge, Judgment, Response, Verdict
from persona_panel.graphs.aggregate import aggregate
from persona_panel.models.config import Price, total_cost
from persona_panel.personas import Persona
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.results.conclusions.score import Judged
from persona_panel.results.frames import ColumnKind, FrameColumn, FrameMethod, field_columns
from persona_panel.rubrics import Rubric, Status, Usage
from persona_panel.runs.collected import CollectedRatings, judge_sample, judgment_of_row
from persona_panel.runs.judgment_lines import JudgmentFile, usage_document
from persona_panel.runs.kept import kept_responses
from persona_panel.runs.scale_limits import composite_limits, mean_limits, share_name, unit_of
from persona_panel.statistics.core.arrays import Random
from persona_panel.statistics.core.display import Facts, counted, ends
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.ranking import Leaderboard, competition_ranks, rank_systems
from persona_panel.statistics.core.sampled_mean import JudgeSample

if TYPE_CHECKING:
    from persona_panel.runs.deliberation import DeliberationReport
    from persona_panel.statistics.core.strengths import Strengths
    from persona_panel.statistics.core.table import Ratings
    from persona_panel.statistics.missing import MissingRatings

Prices = Mapping[str, Price | None]


def calls_document(counts: CallCounts, prices: Prices) -> dict[str, Any]:
    """Return the figures of the calls, and what earlier runs into the same folder spent."""
    estimated = Spending(counts.estimated.calls, counts.estimated.usage)
    return {
        "made": counts.made,
        "unsent": counts.unsent,
        "cached": counts.cached,
        "taken_back": counts.taken_back,
        "usd": json_usd(total_cost(prices, counts.spent)),
        "usage": _usages(counts.spent),
        "estimated": _spending(estimated, prices),
        "earlier_runs": _spending(counts.before, prices),
        "odd_usage": dict(sorted(counts.odd.items())),
        "answered_by": dict(sorted(counts.answered_by.items())),
        "faults": dict(sorted(counts.faults.items())),
    }


def json_usd(usd: float | None) -> float | None:
    """Return null for JSON where a price is not known, which is not to say that it is nothing."""
    return None if usd is None else round(usd, 6)


def _spending(spent: Spending, prices: Prices) -> dict[str, Any]:
    return {
        "calls": spent.calls,
        "tokens": spent.tokens,
        "usd": json_usd(total_cost(prices, spent.usage)),
        "usage": _usages(spent.usage),
    }


def _usages(used: Mapping[str, Usage]) -> dict[str, dict[str, int]]:
    return {model: usage_document(usage) for model, usage in sorted(used.items())}


def judgment_columns(run: CollectedRatings) -> list[FrameColumn]:
    """Return the columns of a data frame with one row a judgment and dimension, missing ones with
    them.

    Rows, not a column for each dimension: so the columns are the same for every rubric, whatever
    its dimensions are called, and numbers and categories do not share one.

    Columns: `prompt_id`, `id`, `system`, `judge`, `persona`, `model`, `elicitation`, `replicate`,
    `status` (why a rating is there or not), `dimension`, `score`, and `label`, which stands in
    place of the score on dimensions that are rated by categories. Of judges that deliberated,
    ratings are those of the last round.
    """
    n, j, d = run.ratings.shape
    columns = [
        _repeated(name, "text", [getattr(item, name) for item in run.items], j * d, 1)
        for name in ("prompt_id", "id", "system")
    ]
    judges = run.judges
    columns += [
        _repeated("judge", "text", [judge.id for judge in judges], d, n),
        _repeated("persona", "text", [judge.persona for judge in judges], d, n),
        _repeated("model", "text", [judge.model for judge in judges], d, n),
        _repeated("elicitation", "text", [judge.elicitation for judge in judges], d, n),
        _repeated("replicate", "whole", [judge.replicate for judge in judges], d, n),
        _repeated("status", "text", [entry for row in run.statuses for entry in row], d, 1),
        _repeated("dimension", "text", run.dimensions, 1, n * j),
    ]
    scores = run.ratings.copy()
    labels = np.full((n, j, d), None, dtype=object)
    for place, name in enumerate(run.dimensions):
        if (categories := run.categories.get(name)) is not None:
            codes = run.ratings[:, :, place]
            there = ~np.isnan(codes)
            named = np.array(categories, dtype=object)[codes[there].astype(np.intp)]
            labels[:, :, place][there] = named
            scores[:, :, place] = np.nan
    return [
        *columns,
        FrameColumn("score", "number", scores.ravel().tolist()),
        FrameColumn("label", "text", labels.ravel().tolist()),
    ]


def verdict_columns(run: Run) -> list[FrameColumn]:
    """Return the columns of a data frame with one row a verdict, in the order of the input.

    Columns are those of verdicts.csv: `prompt_id`, `id`, `system`, `composite`, `rank` (within the
    prompt), `n_judges`; for each dimension `NAME_mean`, `NAME_sd` and `NAME_n`, or `NAME_majority`,
    the share of each category, `NAME:CATEGORY`, and `NAME_n`; then `abstain_share` and, where the
    rubric leaves judges out of the composite, `n_unreliable`. Of words and metadata, which are
    the responses', a run knows nothing.
    """
    verdicts = run.verdicts
    ranks = {
        (verdict.prompt_id, verdict.id): rank
        for ranking in run.prompt_rankings().values()
        for rank, verdict in ranking
    }
    columns = [
        *field_columns(verdicts, "text", "prompt_id", "id", "system"),
        *field_columns(verdicts, "number", "composite"),
        FrameColumn("rank", "whole", [ranks[item.prompt_id, item.id] for item in verdicts]),
        *field_columns(verdicts, "whole", "n_judges"),
    ]
    for name in run.dimensions:
        if (categories := run.categories.get(name)) is not None:
            labels = [verdict.labels[name] for verdict in verdicts]
            columns.append(
                FrameColumn(f"{name}_majority", "text", [label.majority for label in labels])
            )
            shares = [label.shares for label in labels]
            columns += [
                FrameColumn(f"{name}:{each}", "number", [share[each] for share in shares])
                for each in categories
            ]
            columns.append(FrameColumn(f"{name}_n", "whole", [label.n for label in labels]))
        else:
            means = [verdict.dimensions[name] for verdict in verdicts]
            columns += [
                FrameColumn(f"{name}_mean", "number", [mean.mean for mean in means]),
                FrameColumn(f"{name}_sd", "number", [mean.sd for mean in means]),
                FrameColumn(f"{name}_n", "whole", [mean.n for mean in means]),
            ]
    columns += field_columns(verdicts, "number", "abstain_share")
    return columns + (field_columns(verdicts, "whole", "n_unreliable") if run.reliability else [])


def _interval_columns(name: str, of: Sequence[Estimate]) -> list[FrameColumn]:
    return [
        FrameColumn(f"{name}_low", "number", [each.low for each in of]),
        FrameColumn(f"{name}_high", "number", [each.high for each in of]),
        FrameColumn(f"{name}_reason", "text", [each.reason for each in of]),
    ]


def ranking_columns(run: Run) -> list[FrameColumn]:
    """Return the columns of a data frame with one row a system, best first: the leaderboard.

    Columns are the fields of `SystemRank`, the intervals of the composite as `ci_low` and `ci_high`
    (with judges as a sample `judges_ci_low` and `judges_ci_high`), and for each dimension
    `NAME_mean`, `NAME_ci_low` and `NAME_ci_high`; the share of a category is called
    `NAME:CATEGORY`.
    """
    systems = run.leaderboard().systems
    columns = [
        *field_columns(systems, "text", "system"),
        *field_columns(systems, "whole", "rank", "rank_low", "rank_high"),
        FrameColumn("composite", "number", [each.composite.value for each in systems]),
        *_interval_columns("ci", [each.composite for each in systems]),
        *_interval_columns("judges_ci", [each.with_judges for each in systems]),
        *field_columns(systems, "whole", "n_prompts", "n_abstained", "n_judged"),
    ]
    for name in systems[0].dimensions if systems else ():
        means = [system.dimensions[name] for system in systems]
        columns.append(FrameColumn(f"{name}_mean", "number", [mean.value for mean in means]))
        columns += _interval_columns(f"{name}_ci", means)[:2]
    return columns


def difference_columns(run: Run) -> list[FrameColumn]:
    """Return the columns of a data frame with one row for every two systems, the better one first.

    Columns: `a`, `b`, `difference` (a − b), `ci_low`, `ci_high`, `p`, `p_adjusted`, `effect_size`,
    `n_prompts`, `reason`.
    """
    pairs = run.leaderboard().differences
    called = {"value": "difference", "low": "ci_low", "high": "ci_high", "n": "n_prompts"}
    columns = [
        *field_columns(pairs, "text", "a", "b"),
        *field_columns(pairs, "number", "value", "low", "high", "p", "p_adjusted", "effect_size"),
        *field_columns(pairs, "whole", "n"),
        *field_columns(pairs, "text", "reason"),
    ]
    return [column._replace(name=called.get(column.name, column.name)) for column in columns]


def _repeated(
    name: str, kind: ColumnKind, values: Sequence[Any], each: int, times: int
) -> FrameColumn:
    """Repeat every value `each` times in a row, and all of that `times` times."""
    source = np.empty(len(values), dtype=object)
    source[:] = values
    return FrameColumn(name, kind, np.tile(np.repeat(source, each), times).tolist())


def run_facts(
    run: CollectedRatings, folder: Path | None, board: Leaderboard | None = None
) -> Facts:
    """Return sizes, coverage and the folder; with the leaderboard, where it is given."""
    coverage = run.coverage
    facts = [
        counted(len(run.items), "response"),
        counted(len(run.judges), "judge"),
        counted(len(run.dimensions), "dimension"),
        f"{coverage.scored:,} of {counted(coverage.expected, 'judgment')} scored",
    ]
    facts += [f"{coverage.abstained:,} abstained"] if coverage.abstained else []
    facts += [f"{n:,} {status}" for status, n in coverage.missing.items()]
    facts += [] if folder is None else [f"in {SECRETS.scrub(str(folder))}"]
    return Facts(
        "Run",
        facts,
        ("rank", "system", "composite", "95 % interval, over prompts", "prompts"),
        []
        if board is None
        else [
            (
                entry.rank,
                SECRETS.scrub(entry.system),
                entry.composite.value,
                ends(*entry.composite.ends),
                entry.n_prompts,
            )
            for entry in board.systems
        ],
    )


def judged_in(run: CollectedRatings) -> Judged:
    """Return what conclusions have to know of a run's judges, and of its gaps."""
    coverage = run.coverage
    judges = [run.judges[column] for column in run.ranking_columns()[0]]
    reasons = {status: run.commonest_reason(status) for status in coverage.missing}
    return Judged(
        n_judges=len(judges),
        n_personas=len({judge.persona for judge in judges}),
        n_models=len({judge.model for judge in judges}),
        expected=coverage.expected,
        scored=coverage.scored,
        abstained=coverage.abstained,
        missing=coverage.missing,
        reasons={status: why[0] for status, why in reasons.items() if why is not None},
        unit=unit_of(run.rubric).after_number,
    )


class Run(CollectedRatings):
    """The outcome of a panel's reading of a batch.

    Attributes:
        items: which responses there are, in the order of the input, n of them.
        titles: the beginning of each prompt, by its id; the id itself where no text is known.
        judges: in the panel's order, j of them.
        personas: whose labels and axes are known.
        rubric: as the ratings come (`PanelPlan.output_rubric`).
        dimensions: the rubric's dimension ids, d of them.
        categories: for each dimension that has them, the names of its categories.
        ratings: shape (n, j, d), NaN where missing. A category stands there as its place
            in `categories`, from 0: nominal, to be compared and never averaged.
        before: the ratings before any deliberation, None where the panel did not deliberate.
        deliberated: shape (n,), on which responses at least one judge read again.
        stated: shape (n, j), which judges said what changed their mind.
        n_revisions_failed: how many revisions failed, by how they ended; see `Coverage`.
        n_reasons_missing: how many judges could not be asked what changed their mind.
        is_edited: whether judgments.jsonl was changed after the run ended.
        humans: people's ratings of the responses, with which a deliberation is compared; they
            may be set.
        reliability: which judges the rubric's composite leaves out, None if none.
        verdicts: in the order of the input.
        prices: each model's, None where it is not known.
        usage: the tokens of each model's judgments.
        calls: how many calls were made, and what they took.
        folder: where the run was written, if it was.
        computed: what was computed of its ratings and is asked for again, at a run's end by the
            terminal, the summary and the page; emptied by every judgment and verdict.
        random: what differences between systems and the ranges of ranks take as a sample; it
            may be set.
        deterministic: whether its models give the same answer however often they are asked.
    """

    def __init__(
        self,
        items: Sequence[Item],
        titles: Mapping[str, str],
        judges: Sequence[Judge],
        rubric: Rubric,
        *,
        prices: Mapping[str, Price | None],
        seed: int,
        deliberating: bool = False,
    ) -> None:
        super().__init__(items, judges, rubric, deliberating=deliberating)
        self.titles = dict(titles)
        self.reliability = rubric.composite.reliable_where if rubric.composite else None
        self.seed = seed
        self.prices = dict(prices)
        self.personas: tuple[Persona, ...] = ()
        self.folder: Path | None = None
        self.calls = CallCounts()
        self.elapsed_s = 0.0
        self.humans: Ratings | None = None
        self.random: Random = "prompts"
        self.deterministic = False
        self.computed: dict[Hashable, Any] = {}
        self._report: tuple[Ratings | None, DeliberationReport] | None = None
        self._verdicts: list[Verdict | None] = [None] * len(self.items)

    @classmethod
    def of(
        cls, plan: PanelPlan, batch: Batch, prices: Mapping[str, Price | None] | None = None
    ) -> Run:
        """The run of a plan on a batch, before any judgment."""
        run = cls(
            batch.items,
            batch.titles,
            plan.judges,
            plan.output_rubric,
            prices=plan.prices if prices is None else prices,
            seed=plan.settings.seed,
            deliberating=plan.settings.deliberation is not None,
        )
        run.personas = tuple(plan.personas)
        run.deterministic = plan.is_deterministic
        return run

    to_frame = FrameMethod(judgment_columns)
    verdicts_frame = FrameMethod(verdict_columns)
    ranking_frame = FrameMethod(ranking_columns)
    differences_frame = FrameMethod(difference_columns)

    def __repr__(self) -> str:
        return run_facts(self, self.folder).text

    def _repr_html_(self) -> str:
        return run_facts(self, self.folder, self.leaderboard()).html()

    def add(self, judgment: Judgment) -> None:
        """Take a judgment in; one of a later round takes the place of the one before."""
        self._report = None
        self.computed.clear()
        super().add(judgment)

    def judgments(self) -> JudgmentFile:
        """Every judgment with its rationale and raw text, of all rounds, read from the folder as
        they are gone through or looked up.

        Raises:
            RunFolderError: the run was not written.
        """
        return JudgmentFile(self._written("judgments") / "judgments.jsonl")

    def responses(self) -> Iterator[Response]:
        """The responses that were judged, in the order of `items`, read from the folder.

        Raises:
            RunFolderError: the run was not written, or without its texts (`--no-texts`).
            InputError: the folder's file cannot be read.
        """
        return kept_responses(self._written("responses"), self.items)

    def _written(self, what: str) -> Path:
        if self.folder is None:
            raise RunFolderError(
                f"the {what} are read from the run's folder, and this run was not written to one; "
                "give out=FOLDER when scoring"
            )
        return self.folder

    def deliberation(self) -> DeliberationReport | None:
        """Return what deliberation did, to the ratings by number; None where there was none.

        Raises:
            InputError: `humans` shares no response or no dimension with the run.
        """
        if self.before is None:
            return None
        # Summary and tables ask for the same, and with people's ratings it takes seconds.
        if self._report is None or self._report[0] is not self.humans:
            # Where nobody deliberates, its statistics need not be loaded.
            from persona_panel.runs.deliberation import deliberation_of

            self._report = self.humans, deliberation_of(self, self.seed, self.humans)
        return self._report[1]

    def conclude(self, verdict: Verdict) -> None:
        """Take a response's verdict in."""
        self.computed.clear()
        self._verdicts[self._row[verdict.prompt_id, verdict.id]] = verdict

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts there are, in the order of the input."""
        return [verdict for verdict in self._verdicts if verdict is not None]

    def leaderboard(self) -> Leaderboard:
        """The systems, best first, with 95 % intervals over prompts, and over prompts and judges,
        and their differences.

        Among an entry's dimensions is each category's share of the judges, under
        `dimension:category`. Where judges with personas are compared with judges without, it is
        of the former alone; see `control_leaderboard`.
        """
        key = "leaderboard", self.random
        if key not in self.computed:
            judges, _ = self.ranking_columns()
            rows = [row for row, verdict in enumerate(self._verdicts) if verdict is not None]
            self.computed[key] = self._leaderboard(self.verdicts, rows, judges)
        board: Leaderboard = self.computed[key]
        return board

    def control_leaderboard(self) -> Leaderboard | None:
        """The systems as the judges without a persona rank them, where the panel has personas;
        None where there are no such judges."""
        _, columns = self.ranking_columns()
        if not columns:
            return None
        verdicts = [
            self.verdict_of(row, columns, statuses) for row, statuses in enumerate(self.statuses)
        ]
        return self._leaderboard(verdicts, list(range(len(self.items))), columns)

    def _leaderboard(
        self, verdicts: Sequence[Verdict], rows: Sequence[int], judges: Sequence[int]
    ) -> Leaderboard:
        """Of verdicts on the responses `rows`, by the judges in these columns."""
        values = [
            {name: summary.mean for name, summary in verdict.dimensions.items()}
            | {
                share_name(name, label): share
                for name, summary in verdict.labels.items()
                for label, share in summary.shares.items()
            }
            for verdict in verdicts
        ]
        names = list(values[0]) if values else []
        return rank_systems(
            [verdict.system for verdict in verdicts],
            [verdict.prompt_id for verdict in verdicts],
            np.array([verdict.composite for verdict in verdicts]),
            np.array([list(each.values()) for each in values]).reshape(len(values), len(names)),
            names,
            judges=self._sample(rows, judges),
            random=self.random,
            limits=composite_limits(self.rubric),
            dimension_limits=mean_limits(self.rubric, names),
            abstentions=self.abstentions(rows, judges),
        )

    def missing_ratings(self) -> MissingRatings | None:
        """Return how far missing ratings of ranked systems could move their differences; None
        where no rating is missing, where the rubric leaves unreliable ratings out, or where there
        is no composite.
        """
        key = "missing", self.random
        if key not in self.computed:
            self.computed[key] = self._missing_ratings()
        missing: MissingRatings | None = self.computed[key]
        return missing

    def _missing_ratings(self) -> MissingRatings | None:
        board, (judges, _) = self.leaderboard(), self.ranking_columns()
        verdicts = [verdict for verdict in self.verdicts if verdict.system in set(board.ranked)]
        rows = [self._row[verdict.prompt_id, verdict.id] for verdict in verdicts]
        sample = self._sample(rows, judges) if self.reliability is None else None
        if sample is None or not np.isnan(sample.terms).any():
            return None
        # Most runs lack nothing.
        from persona_panel.statistics.missing import missing_ratings

        return missing_ratings(
            sample.terms,
            [verdict.system for verdict in verdicts],
            [verdict.prompt_id for verdict in verdicts],
            board.differences,
            composite_limits(self.rubric),
            sample.factors if self.random == "prompts-and-judges" else None,
        )

    def _sample(self, rows: Sequence[int], judges: Sequence[int]) -> JudgeSample | None:
        return judge_sample(
            self.ratings[np.ix_(rows, judges)],
            [self.judges[column] for column in judges],
            self.rubric,
            self.dimensions,
            self.categories,
        )

    def strengths(self) -> Strengths | None:
        """The Bradley-Terry strengths of the systems, by the judges of the leaderboard; None where
        judges do not compare responses. Intervals are over what `random` says."""
        judges, _ = self.ranking_columns()
        prompts = {verdict.prompt_id for verdict in self.verdicts}
        return self._comparisons.strengths(prompts, judges, self.random)

    def verdict_of(
        self,
        row: int,
        columns: Sequence[int],
        statuses: Sequence[Status],
        abstained: Sequence[bool | None] | None = None,
    ) -> Verdict:
        """Return the verdict of the judges in these columns on the response in this row; statuses
        and who said that it abstains are those of all judges."""
        return aggregate(
            [
                judgment_of_row(
                    self.items[row],
                    self.judges[column],
                    self.ratings[row, column].tolist(),
                    self.rubric,
                    status=statuses[column],
                    abstained=None if abstained is None else abstained[column],
                )
                for column in columns
            ],
            self.rubric,
        )

    def prompt_rankings(self) -> dict[str, list[tuple[int | None, Verdict]]]:
        """For each prompt its responses with their ranks, best first, the unranked last."""
        by_prompt: dict[str, list[Verdict]] = {}
        for verdict in self.verdicts:
            by_prompt.setdefault(verdict.prompt_id, []).append(verdict)
        rankings = {}
        for prompt_id, verdicts in by_prompt.items():
            ranks = competition_ranks(np.array([verdict.composite for verdict in verdicts]))
            pairs = [
                (None if math.isnan(rank) else int(rank), verdict)
                for rank, verdict in zip(ranks, verdicts, strict=True)
            ]
            rankings[prompt_id] = sorted(pairs, key=lambda pair: (pair[0] is None, pair[0] or 0))
        return rankings
