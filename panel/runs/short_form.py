"""A run in short, for a Python prompt and a notebook: how much there is of it, and who is where.
No texts."""

from __future__ import annotations

from pathlib import Path

from persona_panel.files.secrets import SECRETS
from persona_panel.runs.collected import CollectedRatings
from persona_panel.statistics.core.display import Facts, counted, ends
from persona_panel.statistics.core.ranking import Leaderboard


def run_facts(
    run: CollectedRatings, folder: Path | None, board: Leaderboard | None = None
) -> Facts:
    """Sizes, coverage and the folder; with the leaderboard, where it is given."""
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
                entry.composite,
                ends(entry.ci_low, entry.ci_high),
                entry.n_prompts,
            )
            for entry in board.systems
        ],
    )
