"""`persona-panel agree` as a user runs it: a process, files, tables, JSON, exit statuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import krippendorff
import pytest

from persona_panel.results.conclusions.wording import WITHOUT_PEOPLE
from persona_panel.testing import serving
from tests.helpers.command import told
from tests.helpers.rating_files import made_up
from tests.helpers.results import statistics_of

Command = Callable[..., CompletedProcess[str]]

NAMES = {
    "krippendorff_alpha", "kendall_w", "kendall_w_ties", "mean_tau_b", "mean_spearman",
    "fleiss_kappa", "cohen_kappa_quadratic", "cohen_kappa_linear", "cohen_kappa_none", "icc1",
    "icc2", "icc2k", "effective_judges",
}  # fmt: skip


def test_json_has_every_statistic(command: Command, tmp_path: Path) -> None:
    """Every promised statistic is there, and α is the krippendorff package's on the same
    ratings."""
    scores = made_up(tmp_path / "in.csv")
    done = command("agree", "in.csv", "--json")
    assert done.returncode == 0, done.stderr
    rows = statistics_of(done.stdout)
    assert {row["statistic"] for row in rows} >= NAMES
    (alpha,) = (row for row in rows if row["statistic"] == "krippendorff_alpha")
    expected = krippendorff.alpha(scores.T, level_of_measurement="ordinal")
    assert alpha["value"] == pytest.approx(expected, abs=1e-12)
    assert alpha["low"] < alpha["value"] < alpha["high"]
    assert (alpha["group"], alpha["dimension"]) == ("all", "all")
    assert alpha["p"] is None


def test_some_of_the_raters(command: Command, tmp_path: Path) -> None:
    """--raters takes the ratings of these alone, --map group=… their groups from a column; a name
    that is none's is answered by the nearest."""
    scores = made_up(tmp_path / "in.csv")
    head, *lines = (tmp_path / "in.csv").read_text().splitlines()
    lines = [f"{line},{'some' if ',r0,' in line else 'others'}" for line in lines]
    (tmp_path / "in.csv").write_text("\n".join([f"{head},team", *lines]))
    some = ("agree", "in.csv", "--raters", "r0,r2,r3", "--map", "group=team", "--json")
    rows = statistics_of(command(*some).stdout)
    alphas = {row["group"]: row for row in rows if row["statistic"] == "krippendorff_alpha"}
    for group, columns in {"others": [2, 3], "all": [0, 2, 3]}.items():
        expected = krippendorff.alpha(scores[:, columns].T, level_of_measurement="ordinal")
        assert alphas[group]["value"] == pytest.approx(expected, abs=1e-12)
        assert alphas[group]["n_raters"] == len(columns)
    unknown = command("agree", "in.csv", "--raters", "r0,r22")
    assert unknown.returncode == 2
    assert "found 'r22'; expected the name of a rater (did you mean" in unknown.stderr


def test_pairs_who_share_enough(command: Command, tmp_path: Path) -> None:
    """--min-shared leaves pairs who share fewer items out of the mean κ, which is then that of the
    pair who share all but one item; without any pair there is none."""
    lines = ["item,rater,score"]
    for rater, scores in {"a": "123451", "b": "124451", "c": "3215", "d": "55"}.items():
        lines += [f"{item},{rater},{score}" for item, score in enumerate(scores)]
    (tmp_path / "in.csv").write_text("\n".join(lines))
    rows = {}
    for least in ("2", "5", "7"):
        done = command("agree", "in.csv", "--min-shared", least, "--json")
        found = statistics_of(done.stdout)
        (rows[least],) = (r for r in found if r["statistic"] == "cohen_kappa_quadratic")
    # Of a and b: Σ(difference)² 1; by chance Σ over all 36 pairs of values / 6.
    a, b = [1, 2, 3, 4, 5, 1], [1, 2, 4, 4, 5, 1]
    chance = sum((x - y) ** 2 for x in a for y in b) / 6
    assert rows["5"]["value"] == pytest.approx(1 - 1 / chance)
    assert (rows["2"]["value"] != rows["5"]["value"], rows["7"]["value"]) == (True, None)


def test_the_level_of_measurement(command: Command, tmp_path: Path) -> None:
    """--level is that of α, and said in its note."""
    scores = made_up(tmp_path / "in.csv")
    for level in ("nominal", "interval"):
        rows = statistics_of(command("agree", "in.csv", "--json", "--level", level).stdout)
        (alpha,) = (row for row in rows if row["statistic"] == "krippendorff_alpha")
        expected = krippendorff.alpha(scores.T, level_of_measurement=level)
        assert alpha["value"] == pytest.approx(expected, abs=1e-12)
        assert alpha["note"] == level


def test_what_is_not_asked_for_is_not_computed(command: Command, tmp_path: Path) -> None:
    """--no-intervals leaves the values without intervals, --resamples 0 without p-values, and at
    --level nominal there is nothing that needs an order."""
    made_up(tmp_path / "in.csv")
    quick = "--no-intervals", "--resamples", "0", "--level", "nominal"
    rows = statistics_of(command("agree", "in.csv", "--json", *quick).stdout)
    assert rows
    assert all(row["low"] is row["p"] is None for row in rows)
    names = {row["statistic"] for row in rows}
    assert {"krippendorff_alpha", "fleiss_kappa", "cohen_kappa_none"} <= names
    ordered = ("icc", "tau", "linear", "quadratic", "spearman", "kendall", "reliability")
    assert not [name for name in names if any(part in name for part in ordered)]


def test_what_intervals_are_over(command: Command, tmp_path: Path) -> None:
    """Over prompts and raters the intervals are wider, which rows and table say; four raters are
    too few for that, and the table says so."""
    made_up(tmp_path / "five.csv", n_raters=5)
    found = []
    for random in ("prompts", "prompts-and-judges"):
        rows = statistics_of(command("agree", "five.csv", "--json", "--random", random).stdout)
        (alpha,) = (row for row in rows if row["statistic"] == "krippendorff_alpha")
        assert alpha["over"] == ("prompts" if random == "prompts" else "prompts and raters")
        found.append(alpha["high"] - alpha["low"])
    assert found[0] < found[1]
    made_up(tmp_path / "four.csv")
    told = command("agree", "four.csv", "--random", "prompts-and-judges", "--full").stdout
    assert ": an interval over judges, too, needs at least five judges." in " ".join(told.split())
    assert (
        "over prompts and raters"
        in command("agree", "five.csv", "--random", "prompts-and-judges", "--full").stdout
    )


def test_by_source_and_prompt(command: Command, tmp_path: Path) -> None:
    """Each source or prompt has a row of its own, which names it."""
    made_up(tmp_path / "in.csv")
    for by, part in (("source", "s3"), ("prompt", "p2")):
        rows = statistics_of(command("agree", "in.csv", "--json", "--by", by).stdout)
        assert ("all", by, part) in {(row["group"], row["by"], row["by_value"]) for row in rows}
    done = command("agree", "in.csv", "--by", "group")
    assert done.returncode == 0


def test_by_any_column(command: Command, tmp_path: Path) -> None:
    """A column with one value for each item or each rater is gone by, and tested: in the
    conclusion, in tables and in rows of their own; any other is refused."""
    made_up(tmp_path / "in.csv")
    head, *lines = (tmp_path / "in.csv").read_text().splitlines()
    with_columns = [f"{head},topic,age,mood"]
    for n, line in enumerate(lines):
        item, rater = line.split(",")[:2]
        topic = "work" if int(item[1:]) % 4 < 2 else "home"
        with_columns.append(f"{line},{topic},{'old' if rater in ('r0', 'r1') else 'young'},m{n}")
    (tmp_path / "in.csv").write_text("\n".join(with_columns) + "\n")
    quick = "--resamples", "0"
    told = command("agree", "in.csv", "--by", "topic", "--full", *quick, COLUMNS="80").stdout
    assert "By topic: above the mean of the others" in told
    # Of twelve items α has no interval.
    assert "α differs by topic cannot be tested: fewer than five prompts" in " ".join(told.split())
    rows = statistics_of(command("agree", "in.csv", "--by", "age", *quick, "--json").stdout)
    assert {(row["by"], row["by_value"]) for row in rows} >= {
        ("age", "old"), ("age", "young"), ("age, less the mean of the others", "old")
    }  # fmt: skip
    cut = [line.replace(",work,", ",,") for line in with_columns]
    (tmp_path / "cut.csv").write_text("\n".join(cut) + "\n")
    assert "items have no value of 'topic'" in command("agree", "cut.csv", "--by", "topic").stderr
    empty = [line.replace(",home,", ",,") for line in cut]
    (tmp_path / "empty.csv").write_text("\n".join(empty) + "\n")
    assert command("agree", "empty.csv", "--by", "topic").returncode == 2
    refused = command("agree", "in.csv", "--by", "mood")
    assert refused.returncode == 2
    assert "several values of 'mood' for an item and for a rater" in refused.stderr


def test_a_caution_on_alpha_stands_below_tables_and_beside_requirements(
    command: Command, tmp_path: Path
) -> None:
    """Of work 4 of 48 ratings are off the end, as many as one of 12 prompts has; of home most are.
    With --by it names the stratum, and a requirement on that alone is not met for it, in the
    terminal, in JUnit and in Markdown."""
    lines = ["item,rater,score,prompt,topic"]
    for n in range(48):
        for place, rater in enumerate("ab"):
            score = (
                (5 if n not in (0, 2) else 2 + place)
                if n < 24
                else 1 + (n + place * (n % 3 == 0)) % 5
            )
            topic = "work" if n < 24 else "home"
            lines.append(f"i{n},{rater},{score},p{n // 2},{topic}")
    (tmp_path / "in.csv").write_text("\n".join(lines))
    caution = "too few ratings differ from the highest, or from the lowest, that were given. "
    coverage = (
        "Coverage of such 95 % intervals may be 78 to 93 %: those that miss often lie below the "
        "true value."
    )
    by_topic = "agree", "in.csv", "--by", "topic", "--resamples", "0"
    assert f"work, all: {caution}{coverage}" in " ".join(command(*by_topic).stdout.split())
    for topic, has in (("work", True), ("home", False)):
        done = command(
            *by_topic, "--require", f"krippendorff_alpha[topic, {topic}] >= 0.9",
            "--junit", f"{topic}.xml", "--markdown", f"{topic}.md",
        )  # fmt: skip
        for text in (
            done.stdout + done.stderr, (tmp_path / f"{topic}.xml").read_text(),
            (tmp_path / f"{topic}.md").read_text(),
        ):  # fmt: skip
            assert (f"decides nothing, as {caution}" in " ".join(text.split())) is has


def test_tables_say_what_a_panel_is_worth(command: Command, tmp_path: Path) -> None:
    """--full shows agreement, reliability by number of judges, where variance comes from,
    α without each rater and the smallest subset that ranks as all do; no escape codes."""
    made_up(tmp_path / "in.csv")
    done = command("agree", "in.csv", "--full")
    assert done.returncode == 0, done.stderr
    for expected in (
        "Agreement", "Krippendorff", "Spearman-Brown", "Variance components", "without a rater",
        "effective", "Smallest subset reproducing the full panel's ranking", "24 items, 4 raters",
    ):  # fmt: skip
        assert expected in done.stdout
    assert f"Effective number of raters: {WITHOUT_PEOPLE.format('rater')}" in " ".join(
        done.stdout.split()
    )
    assert "\x1b" not in done.stdout
    assert not told(done.stderr)


def test_a_narrow_terminal_cuts_no_number(command: Command, tmp_path: Path) -> None:
    """At 60 columns tables are parted, and every interval of α is still whole."""
    made_up(tmp_path / "in.csv")
    rows = statistics_of(command("agree", "in.csv", "--json").stdout)
    narrow = command("agree", "in.csv", "--full", COLUMNS="60").stdout
    assert max(map(len, narrow.splitlines())) <= 60
    for row in rows:
        if row["statistic"] in NAMES and row["low"] is not None:
            whole = f"[{row['low']:.2f}, {row['high']:.2f}]".replace("-0.00", "0.00")
            assert whole.replace("-", "−") in narrow


def test_a_run_of_the_panel(command: Command, tmp_path: Path) -> None:
    """What `score` wrote, `agree` reads: models are groups, variance is split by persona and
    model, and the rows are those of the rubric's dimensions."""
    batch = [
        {"id": f"r{i}", "prompt": f"Question {i // 2}?", "response": f"Text {i}.",
         "system": ("alder", "birch")[i % 2]}
        for i in range(6)
    ]  # fmt: skip
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in batch))
    with serving() as server:
        models = ("--model", "openai:a", "--model", "openai:b", "--personas", "disciplinary")
        scored = command(
            "score", "in.jsonl", *models, "--out", "run", OPENAI_BASE_URL=server.base_url
        )
        assert scored.returncode == 0, scored.stderr
    done = command("agree", "run", "--json")
    assert done.returncode == 0, done.stderr
    rows = statistics_of(done.stdout)
    assert {"openai:a", "openai:b", "all"} == {row["group"] for row in rows}
    components = {row["by_value"] for row in rows if row["by"] == "component"}
    pairs = {"item:persona", "item:model", "persona:model"}
    assert components == {"item", "persona", "model", "residual", *pairs}
    # Inside one model judges differ by their persona alone.
    alone = {row["group"] for row in rows if row["statistic"] == "reliability"}
    assert alone == {"openai:a", "openai:b"}
    alphas = [row for row in rows if row["statistic"] == "krippendorff_alpha"]
    assert [row["n_raters"] for row in alphas[:3]] == [5, 5, 10]
    assert {row["dimension"] for row in alphas[:3]} == {"composite"}
    assert [row["n_raters"] for row in alphas[3:]] == [5] * 5 + [5] * 5 + [10] * 5
    table = command("agree", "run", "--full")
    assert table.returncode == 0
    assert "Spearman-Brown" not in table.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("item,rater,score\na,r,1\na,r,2\na,s,3\n", "in.csv:3: item: found 'a' rated again"),
        ("item,rater,score\na,r,one\na,s,3\n", "in.csv:2: score: found 'one'"),
        ("item,rater,score\na,r,1\nb,r,3\n", "found ratings by 'r' only; expected 2 raters"),
        ("item,rater,score\na,r,inf\na,s,3\n", "in.csv:2: score: found an infinite value"),
        ("item,rater,rank\na,r,1\nb,r,3\na,s,1\n", "in.csv:3: rank: found 3"),
        ("item,judge,score\na,r,1\n", "in.csv:1: rater: found no such field"),
    ],
)
def test_bad_input_is_refused_with_its_line(
    command: Command, tmp_path: Path, content: str, said: str
) -> None:
    """Each kind of bad input ends with status 2 and its line, and nothing on standard output."""
    (tmp_path / "in.csv").write_text(content)
    done = command("agree", "in.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_by_what_is_not_there(command: Command, tmp_path: Path) -> None:
    """Ratings without sources cannot be taken apart by them."""
    (tmp_path / "in.csv").write_text("item,rater,score\na,r,1\na,s,3\n")
    done = command("agree", "in.csv", "--by", "source")
    assert done.returncode == 2
    assert "in.csv: found no sources; expected a column 'source'" in done.stderr


def test_what_is_undefined_says_why(command: Command, tmp_path: Path) -> None:
    """Constant raters give null and the reason in JSON, the reason in tables, and no warning."""
    lines = [f"i{item},r{rater},3" for item in range(4) for rater in range(3)]
    (tmp_path / "in.csv").write_text("\n".join(["item,rater,score", *lines]) + "\n")
    done = command("agree", "in.csv", "--json")
    assert (done.returncode, told(done.stderr)) == (0, [])
    rows = {row["statistic"]: row for row in statistics_of(done.stdout)}
    assert rows["krippendorff_alpha"]["value"] is None
    assert rows["krippendorff_alpha"]["reason"] == "one-value domain"
    table = command("agree", "in.csv")
    assert (table.returncode, told(table.stderr)) == (0, [])
    assert "one-value" in table.stdout
