"""What a run has brought: ratings with the reason of every gap, verdicts, rankings.

Filled judgment by judgment while the panel judges, or from a folder (`persona_panel.runs.load`);
holds no texts. Files are written from it by `persona_panel.runs.folder`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from persona_panel.calls.budget import CallCounts
from persona_panel.files.errors import RunFolderError
from persona_panel.files.responses import Batch, Item
from persona_panel.graphs import Judge, Judgment, Response, Verdict
from persona_panel.graphs.aggregate import aggregate
from persona_panel.graphs.records import controls_among
from persona_panel.models.config import Price
from persona_panel.personas import Persona
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.rubrics import Rubric
from persona_panel.runs.collected import (
    CollectedRatings,
    judge_sample,
    judgment_of_row,
)
from persona_panel.runs.judgment_lines import JudgmentFile
from persona_panel.runs.kept import kept_responses
from persona_panel.runs.scale_limits import composite_limits, mean_limits
from persona_panel.runs.summary import (
    difference_columns,
    judgment_columns,
    ranking_columns,
    run_facts,
    verdict_columns,
)
from persona_panel.statistics.core.arrays import Random
from persona_panel.statistics.core.display import COMPOSITE, FrameMethod
from persona_panel.statistics.core.ranking import (
    Leaderboard,
    competition_ranks,
    rank_systems,
)

if TYPE_CHECKING:
    from persona_panel.runs.deliberation import DeliberationReport
    from persona_panel.statistics.core.strengths import Strengths
    from persona_panel.statistics.core.table import Ratings


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
        return run

    to_frame = FrameMethod(judgment_columns)
    """Every judgment; see `persona_panel.runs.summary.judgment_columns`."""
    verdicts_frame = FrameMethod(verdict_columns)
    """The verdicts; see `persona_panel.runs.summary.verdict_columns`."""
    ranking_frame = FrameMethod(ranking_columns)
    """The leaderboard; see `persona_panel.runs.summary.ranking_columns`."""
    differences_frame = FrameMethod(difference_columns)
    """Its differences; see `persona_panel.runs.summary.difference_columns`."""

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
        """What deliberation did, to the ratings by number; None where there was none.

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
            controls = controls_among(self.judges)
            judges = [column for column, judge in enumerate(self.judges) if judge not in controls]
            rows = [row for row, verdict in enumerate(self._verdicts) if verdict is not None]
            self.computed[key] = self._leaderboard(self.verdicts, rows, judges)
        board: Leaderboard = self.computed[key]
        return board

    def control_leaderboard(self) -> Leaderboard | None:
        """The systems as the judges without a persona rank them, where the panel has personas;
        None where there are no such judges."""
        controls = controls_among(self.judges)
        columns = [column for column, judge in enumerate(self.judges) if judge in controls]
        if not columns:
            return None
        verdicts = [
            aggregate(
                [
                    judgment_of_row(
                        item,
                        self.judges[column],
                        row[column].tolist(),
                        self.rubric,
                        status=statuses[column],
                    )
                    for column in columns
                ],
                self.rubric,
            )
            for item, row, statuses in zip(self.items, self.ratings, self.statuses, strict=True)
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
        sample = judge_sample(
            self.ratings[np.ix_(rows, judges)],
            [self.judges[column] for column in judges],
            self.rubric,
            self.dimensions,
            self.categories,
        )
        return rank_systems(
            [verdict.system for verdict in verdicts],
            [verdict.prompt_id for verdict in verdicts],
            np.array([verdict.composite for verdict in verdicts]),
            np.array([list(each.values()) for each in values]).reshape(len(values), len(names)),
            names,
            judges=sample,
            random=self.random,
            limits=composite_limits(self.rubric),
            dimension_limits=mean_limits(self.rubric, names),
            abstentions=self.abstentions(rows, judges),
        )

    def strengths(self) -> Strengths | None:
        """The Bradley-Terry strengths of the systems, by the judges of the leaderboard; None where
        judges do not compare responses. Intervals are over what `random` says."""
        controls = controls_among(self.judges)
        judges = [column for column, judge in enumerate(self.judges) if judge not in controls]
        prompts = {verdict.prompt_id for verdict in self.verdicts}
        return self._comparisons.strengths(prompts, judges, self.random)

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


def share_name(dimension: str, category: str) -> str:
    """What the share of a category is called in tables; no dimension's id has a colon."""
    return f"{dimension}:{category}"


def composite_name(rubric: Rubric) -> str:
    """What composites are called in tables beside people's ratings: where they are the share of a
    category, as that share is."""
    share = None if rubric.composite is None else rubric.composite.share_of
    return COMPOSITE if share is None else share_name(share.dimension, share.value)
