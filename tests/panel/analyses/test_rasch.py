"""The command `rasch`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from persona_panel import InputError, rasch
from persona_panel.cli.main import command

HEAD = "item,rater,score,prompt,source\n"


def written(path: Path, rows: list[tuple[object, ...]]) -> str:
    path.write_text(HEAD + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return str(path)


def ratings(path: Path, *, odd: bool = False) -> str:
    """Twelve prompts, systems a and b a point apart, judges j0 (severe) to j5; `odd`: the last
    rates at random."""
    rng, rows = np.random.default_rng(3), []
    for prompt in range(12):
        level = rng.normal()
        for system, above in (("a", 1.2), ("b", 0.0)):
            for judge in range(6):
                score = 3 + level + above + 0.5 * (judge - 2) + rng.normal()
                if odd and judge == 5:
                    score = rng.choice([1, 5])
                rated = int(np.clip(round(score), 1, 5))
                rows.append((f"{prompt}{system}", f"j{judge}", rated, f"p{prompt}", system))
    return written(path, rows)


def test_the_best_system_is_named_first(tmp_path: Path) -> None:
    found = rasch(ratings(tmp_path / "r.csv"))
    assert found.conclusion[0].startswith(
        "With the severity of raters taken out: a is significantly ahead: "
    )
    assert " logits above b " in found.conclusion[0]
    assert found.conclusion[1] == "Plain means rank the systems in the same order."
    assert found.conclusion[2].startswith("The most severe rater, j0, is ")
    assert found.conclusion[3].startswith("All 6 raters rate as the model expects")


def test_a_judge_who_rates_at_random_is_named(tmp_path: Path) -> None:
    found = rasch(ratings(tmp_path / "r.csv", odd=True))
    assert "j5 (unpredictable)" in found.conclusion[3]
    fits = {row["judge"]: row["fit"] for row in found["judges"].rows}
    assert [name for name, fit in fits.items() if fit == "unpredictable"] == ["j5"]


def test_means_that_judges_severity_has_turned(tmp_path: Path) -> None:
    """a is better by every judge, but mostly read by the severe one."""
    rows: list[tuple[object, ...]] = []
    for prompt in range(10):
        for system, score in (("a", 4), ("b", 3 + (prompt % 3 == 0))):
            if prompt < 3 or system == "b":
                rows.append((f"{prompt}{system}", "lenient", score + 2, f"p{prompt}", system))
            if prompt < 3 or system == "a":
                rows.append((f"{prompt}{system}", "severe", score - 1, f"p{prompt}", system))
    found = rasch(written(tmp_path / "r.csv", rows))
    assert found["systems"].rows[0]["system"] == "a"
    assert found.conclusion[1] == "Plain means rank 2 of 2 systems otherwise: b; a."


def test_the_short_answer_and_all_of_it(tmp_path: Path) -> None:
    file = ratings(tmp_path / "r.csv")
    short = CliRunner().invoke(command, ["rasch", file])
    assert short.exit_code == 0
    assert len(short.stdout.splitlines()) <= 24
    full = CliRunner().invoke(command, ["rasch", file, "--full"]).stdout
    for title in ("Systems", "Raters", "Prompts", "Differences of systems", "Thresholds"):
        assert title in full
    document = json.loads(CliRunner().invoke(command, ["rasch", file, "--json"]).stdout)
    assert [row["judge"] for row in document["tables"]["judges"]] == [
        "j0", "j1", "j2", "j3", "j4", "j5"
    ]  # fmt: skip
    met = CliRunner().invoke(command, ["rasch", file, "--require", "logits_difference[a, b] > 0"])
    assert met.exit_code == 0
    unmet = CliRunner().invoke(command, ["rasch", file, "--require", "infit[j0] > 3"])
    assert unmet.exit_code == 3


def test_items_without_systems(tmp_path: Path) -> None:
    text = Path(ratings(tmp_path / "r.csv")).read_text()
    plain = tmp_path / "items.csv"
    plain.write_text("\n".join(",".join(line.split(",")[:3]) for line in text.splitlines()))
    found = rasch(str(plain))
    assert found.conclusion[0].startswith("With the severity of raters taken out, items lie at ")
    assert len(found["items"].rows) == 24


def test_unlinked_systems_are_refused_by_name(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [
        (f"{prompt}{system}", f"judge-{system}", 1 + prompt % 3, f"p{prompt}", system)
        for prompt in range(6)
        for system in "ab"
    ]
    with pytest.raises(InputError, match=r"2 subsets of systems that no ratings link \(a; b\)"):
        rasch(written(tmp_path / "r.csv", rows))
    with pytest.raises(InputError, match="systems that no ratings by the same judges link"):
        rasch(written(tmp_path / "r.csv", rows), model="ordinal")


def test_a_system_beyond_the_thresholds_is_remarked_on(tmp_path: Path) -> None:
    """Where most ratings of a system are the highest, the remark gives the coverage; where all
    are, there is no interval."""
    rows: list[tuple[object, ...]] = [
        (f"{prompt}{system}", f"j{judge}", value, f"p{prompt}", system)
        for prompt in range(8)
        for judge in range(3)
        for system, value in (
            ("a", 5 - (prompt + judge == 0)), ("b", 1 + (prompt + judge) % 5), ("c", 5),
        )
    ]  # fmt: skip
    result = rasch(written(tmp_path / "r.csv", rows))
    [remark] = [each for each in result.remarks if " beyond the outermost" in each]
    assert remark.startswith("More than a logit beyond the outermost thresholds: a. In simulations")
    measures = {row["system"]: row["measure"] for row in result["systems"].rows}
    assert np.isnan(measures["c"].low)
    assert measures["c"].reason == "all its ratings are at one end of the scale"
    assert measures["b"].low < measures["b"].value < measures["b"].high


def test_a_system_near_the_outermost_threshold_is_not_remarked_on(tmp_path: Path) -> None:
    """Half of the ratings of a system are the highest, which puts it at the threshold, where
    intervals cover."""
    rows: list[tuple[object, ...]] = [
        (f"{prompt}{system}", f"j{judge}", value, f"p{prompt}", system)
        for prompt in range(8)
        for judge in range(3)
        for system, value in (
            ("a", 5 - (prompt + judge) % 2), ("b", 1 + (prompt + judge) % 5),
        )
    ]  # fmt: skip
    result = rasch(written(tmp_path / "r.csv", rows))
    last = result["thresholds"].rows[-1]["location"].value
    assert 0 < result["systems"].rows[0]["measure"].value - last < 1
    assert not [each for each in result.remarks if " beyond the outermost" in each]


def test_the_ordinal_mixed_model(tmp_path: Path) -> None:
    """a is 1.2 better than b, where judges' severities have an SD of 0.85 and prompts of 1."""
    file = ratings(tmp_path / "r.csv")
    found = rasch(file, model="ordinal")
    assert found.conclusion[0].startswith(
        "With raters and prompts as random effects: a is significantly ahead: "
    )
    assert found.conclusion[1] == "Plain means rank the systems in the same order."
    sds = {row["effect"]: row["sd"] for row in found["effects"].rows}
    assert found.conclusion[2] == (
        f"Standard deviation of the effects, in logits: raters {sds['rater']:.2f}, prompts "
        f"{sds['prompt']:.2f}."
    )
    [difference] = [row["difference"] for row in found["differences"].rows]
    assert difference.value == pytest.approx(
        found["systems"].rows[0]["log_odds"].value - found["systems"].rows[1]["log_odds"].value
    )
    full = CliRunner().invoke(command, ["rasch", file, "--model", "ordinal", "--full"]).stdout
    for title in ("Systems", "Random effects, in logits", "Thresholds"):
        assert title in full


def test_an_ordinal_model_needs_systems(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [(f"i{n}", "j0", n % 5, "p", "a") for n in range(10)]
    with pytest.raises(InputError, match="fewer than two systems or two prompts") as caught:
        rasch(written(tmp_path / "r.csv", rows), model="ordinal")
    assert "an ordinal mixed model" in str(caught.value)
