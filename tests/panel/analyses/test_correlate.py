"""`persona-panel people correlate` as a user runs it: a panel beside humans, or why not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from persona_panel.testing import serving
from tests.helpers.command import Command, told
from tests.helpers.rating_files import made_up
from tests.helpers.results import statistics_of

NAMES = {
    "tau_b", "tau_c", "spearman", "pearson", "substituted_kappa", "human_kappa",
    "human_ceiling_tau_c", "pairwise_error", "weighted_pairwise_error", "effective_judges",
    "win_rate", "first_place", "source_mean", "alpha_added",
}  # fmt: skip


def rows_of(done_stdout: str) -> dict[tuple[str, str], dict[str, object]]:
    return {(row["statistic"], row["group"]): row for row in statistics_of(done_stdout)}


def test_json_holds_every_statistic(command: Command, tmp_path: Path) -> None:
    """The promised statistics are there, and τ_c and Pearson's r are scipy's of the two means."""
    humans = made_up(tmp_path / "human.csv")
    panel = made_up(tmp_path / "panel.csv", n_raters=3, seed=1)
    done = command("people", "correlate", "panel.csv", "--human", "human.csv", "--json")
    assert done.returncode == 0, done.stderr
    rows = rows_of(done.stdout)
    assert {statistic for statistic, _ in rows} >= NAMES
    means = np.nanmean(panel, axis=1), np.nanmean(humans, axis=1)
    tau = stats.kendalltau(*means, variant="c").statistic
    assert rows["tau_c", "all"]["value"] == pytest.approx(tau, abs=1e-12)
    assert rows["pearson", "all"]["value"] == pytest.approx(stats.pearsonr(*means).statistic)
    assert rows["tau_c", "all"]["p"] is None
    within = rows["tau_c_within_prompts", "all"]
    assert 0 < within["p"] <= 1  # type: ignore[operator]
    assert (within["df"], within["n"]) == (5, 6)


def test_that_the_interval_of_a_strong_r_is_wide_is_said_below_the_table(
    command: Command, tmp_path: Path
) -> None:
    """Of a panel that repeats people but for a point here and there, and not of one at random."""
    rng = np.random.default_rng(2)
    for name, noise in (("human", 0.0), ("near", 0.4), ("far", 7.0)):
        lines = ["item,rater,score,prompt"]
        for item in range(32):
            score = np.clip(round(item * 7 % 9 + 1 + noise * rng.normal()), 1, 9)
            lines += [f"i{item},r{rater},{score},p{item // 4}" for rater in range(2)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    for name, strong in (("near", True), ("far", False)):
        done = command("people", "correlate", f"{name}.csv", "--human", "human.csv")
        shown = " ".join(done.stdout.split())
        remark = "r within prompts beyond ±0.6. Coverage of such 95 % intervals may be 97 to 100 %"
        assert (remark in shown) is strong


def test_pairs_of_people_and_what_is_drawn(command: Command, tmp_path: Path) -> None:
    """--min-shared is of κ by substitution, 50 unless said: here pairs share 24 items at most. The
    figures of a name are drawn with people's."""
    made_up(tmp_path / "human.csv")
    made_up(tmp_path / "panel.csv", n_raters=3, seed=1)
    compared = ("people", "correlate", "panel.csv", "--human", "human.csv", "--resamples", "0")
    for options, there in (((), False), (("--min-shared", "12"), True)):
        rows = rows_of(command(*compared, *options, "--json").stdout)
        assert (rows["substituted_kappa", "all"]["value"] is not None) is there
    drawn = command(*compared, "--min-shared", "12", "--plot", "substituted_kappa=kappa.svg")
    assert drawn.returncode == 0, drawn.stderr
    assert "<svg" in (tmp_path / "kappa.svg").read_text()


def test_tables_put_humans_beside_the_panel(command: Command, tmp_path: Path) -> None:
    """--full shows figures, ceilings, losses, sources, scores and what judges add to α."""
    made_up(tmp_path / "human.csv")
    made_up(tmp_path / "panel.csv", n_raters=3, seed=1)
    done = command("people", "correlate", "panel.csv", "--human", "human.csv", "--full")
    assert done.returncode == 0, done.stderr
    for expected in (
        "Correlation with the mean human rating", "people: neither replaced", "panel",
        "weighted κ", "Losses", "By source", "the share of each score",
        "Change of people's Krippendorff α", "24 items of 24",
    ):  # fmt: skip
        assert expected in done.stdout
    assert not told(done.stderr)
    short = command(
        "people", "correlate", "panel.csv", "--human", "human.csv", "--resamples", "0",
        "--format", "markdown",
    )  # fmt: skip
    assert "A difference is claimed where its interval" in short.stdout


def test_a_run_beside_human_ranks(command: Command, tmp_path: Path) -> None:
    """A run's composite meets ranks of its responses; a panel whose order is the humans' has
    τ_b = 1, and a rank of 1 is the best."""
    batch = [
        {"id": f"r{i}", "prompt": "Question?", "prompt_id": "q", "response": f"Text {i}.",
         "system": f"s{i}"}
        for i in range(4)
    ]  # fmt: skip
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in batch))
    with serving() as server:
        scored = command(
            "score", "in.jsonl", "--model", "openai:a", "--personas", "disciplinary", "--out",
            "run", "--json", OPENAI_BASE_URL=server.base_url,
        )  # fmt: skip
        assert scored.returncode == 0, scored.stderr
    verdicts = (tmp_path / "run" / "verdicts.csv").read_text().splitlines()[1:]
    ranks = [line.split(",")[:5] for line in verdicts]
    lines = [f"{rater},q/{id_},{rank}" for rater in "xy" for _, id_, _, _, rank in ranks]
    (tmp_path / "human.csv").write_text("\n".join(["rater,item,rank", *lines]) + "\n")
    done = command("people", "correlate", "run", "--human", "human.csv", "--json")
    assert done.returncode == 0, done.stderr
    assert rows_of(done.stdout)["tau_b", "openai:a"]["value"] == pytest.approx(1)
    assert command("people", "correlate", "run", "--human", "human.csv").returncode == 0


def test_no_item_in_common(command: Command, tmp_path: Path) -> None:
    """Files that share no item are refused, with an example of the names on both sides."""
    (tmp_path / "panel.csv").write_text("item,rater,score\na,r,1\nb,r,2\n")
    (tmp_path / "human.csv").write_text("item,rater,score\nx,r,1\ny,r,2\n")
    done = command("people", "correlate", "panel.csv", "--human", "human.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "human.csv: item: found only items that panel.csv does not have: 'x', 'y'" in done.stderr
    assert "'a', 'b'" in done.stderr


def test_the_faults_of_both_files(command: Command, tmp_path: Path) -> None:
    """What is wrong with either file is said at once, each with its line."""
    (tmp_path / "panel.csv").write_text("item,rater,score\na,r,?\nb,r,two\n")
    (tmp_path / "human.csv").write_text("item,rater,rank\na,r,1\nb,r,9\n")
    done = command("people", "correlate", "panel.csv", "--human", "human.csv")
    assert done.returncode == 2
    assert "panel.csv:3: score: found 'two'" in done.stderr
    assert "human.csv:3: rank: found 9" in done.stderr


def test_humans_are_needed(command: Command) -> None:
    """Without --human there is nothing to compare with."""
    done = command("people", "correlate", "panel.csv")
    assert done.returncode == 2
    assert "--human" in done.stderr


def test_squared_error_beside_a_constant_judge_and_the_items_farthest_apart(
    command: Command, tmp_path: Path
) -> None:
    """Panel 1, 4, 3 and people 2, 2, 5: errors 1, 4, 4, of which the mean is 3. People's mean is 3,
    so that the constant judge's are 1, 1, 4, of which it is 2: the panel's is 1 more. An item that
    the panel has not rated counts for neither. Of items as far apart the first in the file is the
    first, and signs are panel − people."""
    (tmp_path / "panel.csv").write_text("item,rater,score\na,j,1\nb,j,4\nc,j,3\nd,j,?\n")
    (tmp_path / "human.csv").write_text(
        "item,rater,score\na,x,1\na,y,3\nb,x,2\nb,y,2\nc,x,5\nc,y,5\nd,x,9\nd,y,9\n"
    )
    compared = ("people", "correlate", "panel.csv", "--human", "human.csv", "--resamples", "0")
    done = command(*compared, "--json")
    rows = rows_of(done.stdout)
    assert rows["squared_error", "all"]["value"] == pytest.approx(3)
    assert rows["squared_error", "all"]["n_items"] == 3
    assert rows["squared_error_difference", "all"]["value"] == pytest.approx(1)
    apart = json.loads(done.stdout)["tables"]["farthest_apart"]
    assert [(row["item"], row["difference"]) for row in apart] == [("b", 2), ("c", -2), ("a", -1)]
    full = command(*compared, "--full").stdout
    assert "smaller is better, 2 by a constant judge" in full
    assert "Items on which panel and people are farthest apart" in full


def test_ranks_beside_scores_have_no_squared_error(command: Command, tmp_path: Path) -> None:
    """Ranks are on no scale of scores, and 1 is the best: no error, and no list of items."""
    made_up(tmp_path / "panel.csv", n_raters=3, seed=1)
    ranks = "".join(f"i{item},r,{item + 1}\n" for item in range(24))
    (tmp_path / "human.csv").write_text(f"item,rater,rank\n{ranks}")
    done = command("people", "correlate", "panel.csv", "--human", "human.csv", "--json")
    assert "tau_b" in done.stdout
    assert "squared_error" not in done.stdout and "farthest_apart" not in done.stdout
