"""What a new statistic needs to be shown, and what a wrong one does to the others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from persona_panel.statistics import (
    OF_SCORES,
    AgreementBlock,
    Ratings,
    Reason,
    Statistic,
    StatisticTable,
    agree,
    agreement_statistics,
    comparison_statistics,
    correlate,
    panel_quality,
    panel_quality_statistics,
)
from persona_panel.statistics.core.jackknife import Interval
from persona_panel.statistics.core.registry import ANY_LEVEL, LAST, Block, Registry
from tests.helpers import forked
from tests.helpers.rating_tables import HUMANS, PANEL, QUICK
from tests.helpers.results import statistics_of

SPAN = '''
"""The widest difference between two raters' ratings of an item."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from persona_panel.statistics import (
    AgreementBlock, ComparisonBlock, Statistic, agreement_statistics,
    comparison_statistics, panel_quality_statistics,
)


@agreement_statistics.register("widest_difference", "widest\\ndifference")
def widest(block: AgreementBlock) -> Iterator[Statistic]:
    widest = float(np.nanmax(np.ptp(block.ratings, axis=1)))
    yield Statistic(widest, *block.ratings.shape)


@agreement_statistics.register("raters_mean", "rater's mean")
def of_raters(block: AgreementBlock) -> Iterator[Statistic]:
    for place, ratings in enumerate(block.ratings.T):
        mean = Statistic(float(np.nanmean(ratings)), len(ratings), 1)
        yield replace(mean, by="rater", by_value=f"number {place}")


@comparison_statistics.register("mean_difference", "mean\\ndifference", side="both")
def difference(block: ComparisonBlock) -> Iterator[Statistic]:
    mean = block.panel_mean if block.side == "panel" else block.target
    yield Statistic(float(np.nanmean(mean - block.target)), len(mean), 2)


@panel_quality_statistics.register("highest_score", "highest\\nscore")
def highest(block: AgreementBlock) -> Iterator[Statistic]:
    yield block.counted(float(np.nanmax(block.ratings)))
'''
SHIPPED = {
    one.name
    for registry in (agreement_statistics, comparison_statistics, panel_quality_statistics)
    for one in registry
    if one.order < LAST
}
"""What is at each level is known of these; a further one need not say its order."""

ROOT = str(Path(__file__).parents[4])
RUN = "from persona_panel.cli.main import main; main()"


def run(tmp_path: Path, code: str, *arguments: str, **env: str) -> str:
    """What the command prints on standard output, in a process of its own."""
    return finished(tmp_path, code, *arguments, **env).stdout


def finished(
    tmp_path: Path, code: str, *arguments: str, **env: str
) -> subprocess.CompletedProcess[str]:
    """The command, once it has ended well."""
    surroundings = os.environ | {"COLUMNS": "200"} | env
    done = forked.run([sys.executable, "-c", code, *arguments], tmp_path, surroundings)
    assert done.returncode == 0, done.stderr
    return done


def printed_by(code: str) -> str:
    """What code prints in a process that has imported nothing yet."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def installed(tmp_path: Path, module: str, source: str) -> Mapping[str, str]:
    """A package with one module that is an entry point, as an installer would leave it."""
    site = tmp_path / "site"
    (site / f"{module}-1.0.dist-info").mkdir(parents=True)
    (site / f"{module}.py").write_text(source)
    info = site / f"{module}-1.0.dist-info"
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[persona_panel.statistics]\n{module} = {module}\n")
    return {"PYTHONPATH": f"{site}:{ROOT}"}


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Two files of ratings of the same items, without gaps."""
    for name, seed in (("in.csv", 2), ("human.csv", 3)):
        scores = np.random.default_rng(seed).integers(1, 6, size=(12, 3)).tolist()
        lines = [
            f"i{item},r{rater},{score},p{item // 4}"
            for item, row in enumerate(scores)
            for rater, score in enumerate(row)
        ]
        (tmp_path / name).write_text("\n".join(["item,rater,score,prompt", *lines]) + "\n")
    return tmp_path


def test_a_statistic_is_one_file_in_a_folder(ratings: Path) -> None:
    """A file put beside the others is all that it takes to be among the rows and in the tables."""
    folder = ratings / "more"
    folder.mkdir()
    (folder / "widest.py").write_text(SPAN)
    package = "persona_panel.statistics.registered"
    code = f"import {package} as folder; folder.__path__.append('more'); {RUN}"
    rows = statistics_of(run(ratings, code, "agree", "in.csv", "--json"))
    (row,) = (row for row in rows if row["statistic"] == "widest_difference")
    assert row["value"] >= 1
    table = run(ratings, code, "agree", "in.csv", "--full")
    assert "widest" in table
    assert "number 2" in table


def test_a_statistic_of_another_package(ratings: Path) -> None:
    """A package that names its module as an entry point adds to every command, and to each of
    its tables; ours come first."""
    env = installed(ratings, "wide", SPAN)
    printed = run(ratings, RUN, "agree", "in.csv", "--json", **env)
    rows = statistics_of(printed)
    names = list(dict.fromkeys(row["statistic"] for row in rows))
    assert names.index("widest_difference") > names.index("perfect_agreement")
    assert names.index("highest_score") > names.index("alpha_without")
    by_rater = [row["by_value"] for row in rows if row["statistic"] == "raters_mean"]
    assert by_rater == ["number 0", "number 1", "number 2"]
    table = run(ratings, RUN, "agree", "in.csv", "--full", **env)
    for heading in ("widest", "rater's mean", "Further figures of panel quality", "highest"):
        assert heading in table
    compared = run(
        ratings, RUN, "people", "correlate", "in.csv", "--human", "human.csv", "--full", **env
    )
    assert "Further comparisons with people" in compared
    rows = statistics_of(
        run(ratings, RUN, "people", "correlate", "in.csv", "--human", "human.csv", "--json", **env)
    )
    groups = [row["group"] for row in rows if row["statistic"] == "mean_difference"]
    assert groups == ["humans", "all"]


def test_a_package_that_cannot_be_loaded(ratings: Path) -> None:
    """Another package's fault is said, with its name, and the statistics of this one stand."""
    env = installed(ratings, "broken", "import no_such_module\n")
    done = finished(ratings, RUN, "agree", "in.csv", **env)
    assert "broken" in done.stderr
    assert "No module named 'no_such_module'" in done.stderr
    assert "Krippendorff" in done.stdout


def test_a_statistic_that_fails_does_so_alone() -> None:
    """It is undefined, with its error in the note; what comes after it stands."""
    registry: Registry[AgreementBlock] = Registry(
        "persona_panel.statistics.registered", StatisticTable("Some")
    )

    @registry.register("faulty", "faulty", order=1)
    def divides_by_zero(block: AgreementBlock) -> Iterator[Statistic]:
        yield Statistic(1.0, 1, 1)
        yield Statistic(1 / (block.sign - 1), 1, 1, by="half", by_value="second")

    @registry.register("faulty_interval", "faulty\ninterval", order=2)
    def cannot_be_resampled(block: AgreementBlock) -> Iterator[Statistic]:
        yield Statistic(1.0, 1, 1, resampled=lambda weights: weights[:, 99])

    @registry.register("sound", "sound", order=3)
    def sound(block: AgreementBlock) -> Iterator[Statistic]:
        yield Statistic(2.0, 3, 4)

    block = AgreementBlock(
        ratings=np.ones((20, 2)), sign=1, prompts=None, clusters=[*range(20)], options=QUICK,
        controls=np.empty((20, 0)), raters=("a", "b"),
    )  # fmt: skip
    first, second, last = next(registry.rows_of_all([(block, "all", "all")]))
    assert isnan(first.value)
    assert (first.reason, first.note) == (Reason.ERROR, "ZeroDivisionError: division by zero")
    assert second.reason is Reason.ERROR
    assert "IndexError" in second.note
    assert (last.statistic, last.value, last.n_items, last.n_raters) == ("sound", 2.0, 3, 4)


@pytest.mark.parametrize("prompts", [None, ["p", "p", "q"]])
def test_what_a_statistic_needs(prompts: list[Hashable] | None) -> None:
    """A statistic that needs prompts is computed where there are prompts, and nowhere else."""
    registry: Registry[AgreementBlock] = Registry(
        "persona_panel.statistics.registered", StatisticTable("Some")
    )

    @registry.register("of_prompts", "of prompts", needs=("prompts",))
    def of_prompts(block: AgreementBlock) -> Iterator[Statistic]:
        yield block.counted(float(len(set(block.prompts or ()))))

    block = AgreementBlock(
        ratings=np.ones((3, 2)), sign=1, prompts=prompts, clusters=[0, 1, 2], options=QUICK,
        controls=np.empty((3, 0)), raters=("a", "b"),
    )  # fmt: skip
    assert [row.value for row in next(registry.rows_of_all([(block, "all", "all")]))] == (
        [2.0] if prompts else []
    )


def test_a_block_knows_the_scale_of_its_ratings() -> None:
    """The ends of the dimension's scale, whichever values occur; of categories the codes there are,
    of a composite over scales that differ 0 and 1, of all dimensions together the one that all are
    on; None where it is not known."""
    seen: dict[str, tuple[float, float] | None] = {}

    @agreement_statistics.register("seen_scale", "seen", of=OF_SCORES, levels=ANY_LEVEL)
    def looked_at(block: AgreementBlock) -> Iterator[Statistic]:
        seen[name_of.get(len(block.categories), block.of)] = block.scale
        yield Statistic.undefined(Reason.NO_PAIRS)

    name_of = {3: "kinds"}
    scores = np.random.default_rng(0).integers(1, 3, (8, 3, 2)).astype(float)
    given = Ratings(
        scores, tuple("abcdefgh"), tuple("xyz"), ("clear", "sound"), ("all",) * 3,
        scales={"clear": (1, 7), "sound": (1, 7)},
    )  # fmt: skip
    only = ["seen_scale"]
    try:
        agree(given, QUICK, only=only)
        assert seen == {"dimension": (1, 7), "composite": (1, 7)}
        agree(given, QUICK, by="group", only=only)
        assert seen["dimension"] == (1, 7)
        mixed = {"clear": (1.0, 7.0), "sound": (0.0, 10.0)}
        agree(replace(given, scales=mixed), QUICK, only=only)
        assert seen["composite"] == (0, 1)
        agree(replace(given, scales={}), QUICK, only=only)
        assert (seen["dimension"], seen["composite"]) == (None, None)
        agree(replace(given, categories={"sound": ("no", "so-so", "yes")}), QUICK, only=only)
        assert seen["kinds"] == (0, 2)
    finally:
        del agreement_statistics._statistics["seen_scale"]


def test_a_table_shows_every_group_unless_it_says_otherwise() -> None:
    """A table of which nothing but the heading is said has a column for each statistic, and
    figures of each group of raters."""
    table = StatisticTable("Mine")
    assert (table.columns, table.all_raters_only) == ("statistic", False)


def test_what_cannot_be_registered() -> None:
    """A name that is taken, a level or a need that there is not are refused, each named."""
    with pytest.raises(
        ValueError,
        match=r"'icc2' of .* has the name of 'icc2' of persona_panel\.statistics\.registered",
    ):
        agreement_statistics.register("icc2", "again")(lambda block: [])
    with pytest.raises(
        ValueError, match="controls, categories, incomplete_rankings, found 'prompt'"
    ):
        agreement_statistics.register("new", "new", needs=("prompt",))
    for name in ("Bad Name", "bad-name", "_bad", "bad__name", ""):
        with pytest.raises(ValueError, match="expected lower-case letters and digits"):
            agreement_statistics.register(name, "new")
    with pytest.raises(ValueError, match="found 'metric'"):
        agreement_statistics.register("new", "new", levels=("metric",))  # type: ignore[arg-type]


def test_a_name_that_ships_is_refused_when_it_is_registered() -> None:
    """Though its module was not imported yet; both are named, and the shipped one stands."""
    code = """
from persona_panel.statistics import agree, agreement_statistics
from tests.helpers.rating_tables import PANEL, QUICK
try:
    agreement_statistics.register("fleiss_kappa", "mine")(lambda block: [])
except ValueError as refused:
    print(refused)
print({row.statistic for row in agree(PANEL, QUICK, only={"fleiss_kappa"})})
"""
    assert printed_by(code).splitlines() == [
        "the statistic 'fleiss_kappa' of __main__ has the name of 'fleiss_kappa' of "
        "persona_panel.statistics.registered.agreement, which would be hidden",
        "{'fleiss_kappa'}",
    ]


def test_threads_that_are_the_first_to_ask() -> None:
    """Eight begin at once where nothing is imported: each listing has all statistics, and whoever
    asks for some has them whole."""
    code = """
import sys
from threading import Barrier, Thread
from persona_panel.statistics import agree, agreement_statistics
from tests.helpers.rating_tables import PANEL, QUICK
sys.setswitchinterval(1e-5)
barrier, listed, computed = Barrier(8), [], []
def listing():
    barrier.wait()
    listed.append([each.name for each in agreement_statistics])
def computing():
    barrier.wait()
    rows = agree(PANEL, QUICK, only={"icc1", "kendall_w"})
    computed.append([(row.statistic, str(row.value)) for row in rows])
threads = [Thread(target=each) for each in [listing, computing] * 4]
for each in threads: each.start()
for each in threads: each.join()
every = [each.name for each in agreement_statistics]
barrier = Barrier(1)
computing()
print(listed == [every] * 4, computed == computed[-1:] * 5, {"icc1", "kendall_w"} <= {*every})
"""
    assert printed_by(code) == "True True True\n"


def test_a_module_is_imported_when_one_of_its_names_is_asked_for() -> None:
    """α, which a run's answers need, imports none of the folder; κ no more than those up to its
    own."""
    code = """
import sys
from persona_panel.statistics import agree
from tests.helpers.rating_tables import PANEL, QUICK
for name in ("krippendorff_alpha", "fleiss_kappa"):
    agree(PANEL, QUICK, only={name})
    print(sorted(each for each in sys.modules if ".statistics.registered." in each))
"""
    assert printed_by(code).splitlines() == [
        "[]", "['persona_panel.statistics.registered.agreement']",
    ]  # fmt: skip


def test_no_statistic_hides_another() -> None:
    """One column has one statistic: a second one with the same summary, or with the same heading in
    a table whose lines both have, is refused with the names of both; where only one is of the
    panel they have different lines."""
    registry: Registry[AgreementBlock] = Registry(
        "persona_panel.statistics.registered", StatisticTable("Some")
    )

    def nothing(block: AgreementBlock) -> list[Statistic]:
        return []

    registry.register("one", "points", summary="within one", side="humans")(nothing)
    with pytest.raises(ValueError, match=r"'two' of .* has the summary 'within one' of 'one' of "):
        registry.register("two", "other points", summary="within one")(nothing)
    with pytest.raises(ValueError, match=r"'two' .* heading 'points' in the table 'Some' of 'one'"):
        registry.register("two", "points", side="both")(nothing)
    registry.register("two", "points")(nothing)
    registry.register("three", "points", table=StatisticTable("Others"))(nothing)
    assert [(one.name, one.summary) for one in registry] == [
        ("one", "within one"), ("three", ""), ("two", ""),
    ]  # fmt: skip


def test_at_the_nominal_level_only_what_suits_it() -> None:
    """Ratings that are categories have no means, ranks or distances, in any of the results."""
    nominal = replace(QUICK, level="nominal")
    # Further ones may be registered for categories; those that need an order are not there.
    suited = {
        "krippendorff_alpha", "cohen_kappa_none", "fleiss_kappa", "perfect_agreement",
        "alpha_without", "alpha_added",
    }  # fmt: skip
    for compute in (
        lambda options: agree(HUMANS, options),
        lambda options: panel_quality(HUMANS, options),
        lambda options: correlate(PANEL, HUMANS, options),
    ):
        ordered = {row.statistic for row in compute(QUICK)}
        found = {row.statistic for row in compute(nominal)}
        assert found & SHIPPED == ordered & suited


def test_every_statistic_can_be_shown() -> None:
    """Headings have words, and statistics come by their order."""
    for registry in (agreement_statistics, comparison_statistics, panel_quality_statistics):
        found = [*registry]
        assert found
        assert [one.order for one in found] == sorted(one.order for one in found)
        for one in found:
            assert one.heading.strip()
            assert isinstance(one.table, StatisticTable)


def test_a_registry_without_statistics_is_done_at_once() -> None:
    """The share that is done is 1, though there was no step."""
    registry: Registry[AgreementBlock] = Registry(
        "persona_panel.statistics.registered", StatisticTable("T")
    )
    shares: list[float] = []
    assert list(registry.rows_of_all([], shares.append)) == []
    assert shares == [1.0]


def test_a_row_has_the_interval_that_came_with_its_value() -> None:
    """With at most one degree of freedom less than clusters; none that does not hold the value."""
    registry: Registry[AgreementBlock] = Registry(
        "persona_panel.statistics.registered", StatisticTable("T")
    )

    @registry.register("with_intervals", "with intervals")
    def with_intervals(block: AgreementBlock) -> Iterator[Statistic]:
        for low, df in ((0.0, 9.0), (0.0, 3.5), (1.0, 3.5), (1.1, 3.5)):
            interval = Interval(low, 2.0, degrees_of_freedom=df, n_clusters=6)
            yield Statistic(1.0, 6, 2, by="n", by_value=f"{low} {df}", ci=interval)

    block = AgreementBlock(
        ratings=np.ones((6, 2)), sign=1, prompts=None, clusters=[*range(6)], options=QUICK,
        controls=np.empty((6, 0)), raters=("a", "b"),
    )  # fmt: skip
    rows = next(registry.rows_of_all([(block, "all", "all")]))
    assert [(row.ci_df, row.n_clusters, row.ci_reason) for row in rows[:3]] == [
        (5.0, 6, None), (3.5, 6, None), (3.5, 6, None),
    ]  # fmt: skip
    assert isnan(rows[3].ci_low) and isnan(rows[3].ci_df)
    assert (rows[3].ci_reason, rows[3].n_clusters) == (Reason.NOT_HELD, None)


def test_results_that_can_be_resampled_are_those_of_the_whole() -> None:
    """Not of a part, nor a value alone, nor of what raises an error, nor of tables of all raters;
    a statistic has no note, no place in the short table and the last place unless it says so."""
    registry: Registry[Block] = Registry("persona_panel.statistics.core", StatisticTable("T"))
    whole = Statistic(1.0, 2, 2).with_weights(lambda weights: weights[:, 0])

    def results(block: Block) -> Iterator[Statistic]:
        yield from (replace(whole, by="rater", by_value="a"), Statistic(2.0, 2, 2), whole)

    def broken(block: Block) -> Iterator[Statistic]:
        raise ZeroDivisionError

    registry.register("mine", "mine")(results)
    registry.register("broken", "broken")(broken)
    of_all = StatisticTable("U", all_raters_only=True)
    registry.register("of_all", "of all", table=of_all, order=1)(results)
    block = Block(prompts=None, clusters=[0, 1], options=QUICK, controls=np.empty((2, 0)))
    assert list(registry.results(block)) == [("mine", whole)]
    first, _, mine = registry
    assert (first.name, mine.order, mine.show_note, mine.summary) == ("of_all", LAST, False, "")
    assert registry.in_summary() == {}
