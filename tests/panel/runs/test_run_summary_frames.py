"""A run as data frames of pandas, polars and pyarrow, and in short."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from persona_panel import CategoryScale, Dimension, Panel, Response, Rubric, Run, Scale, load_run
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.testing import ScriptedModel
from tests.helpers.extras import needs_extra
from tests.helpers.frames import LIBRARIES, rows_of

SCALE = Scale(min=1, max=10, low="not", high="very")
RUBRIC = Rubric(
    id="own",
    label="Own",
    question="How good?",
    dimensions=tuple(
        Dimension(id=name, label=name, definition="d", guiding_question="g?", scale=scale)
        for name, scale in (
            ("clarity", SCALE),
            ("kind", CategoryScale(values={"claim": "It claims.", "joke": "It jokes."})),
        )
    ),
)
ANN, BOB = (Judge(name, "m:one", "dimensions") for name in ("ann", "bob"))
HOSTILE = "<script>alert('x')</script>\u202e\x1b"


def a_run(systems: tuple[str, str] = ("elm", "oak")) -> Run:
    """Two systems on two prompts; on the second prompt bob refuses the second system's answer."""
    items = [Item(prompt, f"{prompt}-{s}", s) for prompt in ("p", "q") for s in systems]
    run = Run(items, {"p": "P", "q": "Q"}, [ANN, BOB], RUBRIC, prices={"m:one": None}, seed=0)
    scores = [(8.0, 6.0), (4.0, 4.0), (9.0, 7.0), (5.0, None)]
    for item, of_judges in zip(items, scores, strict=True):
        judgments = [
            Judgment(*item, judge=judge, status="refused")
            if score is None
            else Judgment(
                *item,
                judge=judge,
                status="scored",
                scores={"clarity": score},
                labels={"kind": "joke" if score > 8 else "claim"},
            )
            for judge, score in zip((ANN, BOB), of_judges, strict=True)
        ]
        for judgment in judgments:
            run.add(judgment)
        run.conclude(aggregate(judgments, RUBRIC))
    return run


def frames(run: Run, library: Any) -> list[Any]:
    made = run.to_frame, run.verdicts_frame, run.ranking_frame, run.differences_frame
    return [frame(library) for frame in made]


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_judgment_and_dimension_is_a_row_with_its_score_or_its_status(library: Any) -> None:
    """A rating is in `score` or `label`, by its dimension; one that is missing has a row, too, with
    the reason."""
    rows = rows_of(a_run().to_frame(library))
    assert len(rows) == 4 * 2 * 2
    judge = {"persona": "ann", "model": "m:one", "elicitation": "dimensions", "replicate": 1}
    assert rows[8] == {
        "prompt_id": "q",
        "id": "q-elm",
        "system": "elm",
        "judge": "ann|m:one|dimensions|1",
        **judge,
        "status": "scored",
        "dimension": "clarity",
        "score": 9.0,
        "label": None,
    }
    assert [
        (row["persona"], row["dimension"], row["score"], row["label"]) for row in rows[9:12]
    ] == [
        ("ann", "kind", None, "joke"),
        ("bob", "clarity", 7.0, None),
        ("bob", "kind", None, "claim"),
    ]
    assert [(row["id"], row["status"], row["score"], row["label"]) for row in rows[14:]] == [
        ("q-oak", "refused", None, None)
    ] * 2


@pytest.mark.parametrize("library", LIBRARIES)
def test_verdicts_are_rows_with_means_and_shares(library: Any) -> None:
    """A verdict has its composite and rank, and each dimension's mean, spread and count, or its
    majority and shares."""
    rows = rows_of(a_run().verdicts_frame(library))
    assert [(row["id"], row["composite"], row["rank"]) for row in rows] == [
        ("p-elm", 7.0, 1), ("p-oak", 4.0, 2), ("q-elm", 8.0, 1), ("q-oak", 5.0, 2)
    ]  # fmt: skip
    elm, oak = rows[2:]
    assert elm["clarity_sd"] == pytest.approx(2**0.5)
    assert (elm["kind_majority"], elm["kind:claim"], elm["kind:joke"], elm["kind_n"]) == (
        None, 0.5, 0.5, 2
    )  # fmt: skip
    assert (oak["clarity_mean"], oak["clarity_sd"], oak["clarity_n"]) == (5.0, None, 1)
    assert (oak["n_judges"], oak["kind_majority"]) == (1, "claim")


@pytest.mark.parametrize("library", LIBRARIES)
def test_systems_and_their_differences_are_rows(library: Any) -> None:
    """The frame of the ranking and that of the differences have the leaderboard's figures."""
    run = a_run()
    board = run.leaderboard()
    ranking, differences = (rows_of(frame) for frame in frames(run, library)[2:])
    # Elm has 7 and 8, oak 4 and 5. Of the second prompt only ann read both, 9 and 5: differences
    # are 3 and 4, and t is 7 with one degree of freedom.
    assert [(row["system"], row["rank"], row["composite"]) for row in ranking] == [
        ("elm", 1, 7.5), ("oak", 2, 4.5)
    ]  # fmt: skip
    assert [row["clarity_mean"] for row in ranking] == [7.5, 4.5]
    assert ranking[0]["ci_low"] == board.systems[0].composite.low
    assert (ranking[0]["kind:joke_mean"], ranking[1]["kind:joke_mean"]) == (0.25, 0.0)
    (row,) = differences
    assert (row["a"], row["b"], row["difference"], row["n_prompts"]) == ("elm", "oak", 3.5, 2)
    assert row["ci_low"] == pytest.approx(3.5 - 0.5 * math.tan(0.475 * math.pi))
    assert row["p"] == pytest.approx(1 - 2 * math.atan(7) / math.pi)
    assert row["reason"] is None


@needs_extra("test", "pandas")
@needs_extra("test", "polars")
def test_a_column_has_the_same_type_whatever_is_missing() -> None:
    """Whole numbers stay whole and texts texts where some or all are missing."""
    run = Run([Item("p", "a", "elm")], {"p": "P"}, [ANN], RUBRIC, prices={"m:one": None}, seed=0)
    nothing, something = run, a_run()
    for library in ("pandas", "polars"):
        for empty, full in zip(frames(nothing, library), frames(something, library), strict=True):
            whole = dict(zip(full.columns, map(str, full.dtypes), strict=True))
            found = dict(zip(empty.columns, map(str, empty.dtypes), strict=True))
            assert found == {name: whole[name] for name in found}
    assert str(something.verdicts_frame()["rank"].dtype) == "Int64"
    assert something.to_frame("polars")["score"].mean() == pytest.approx(43 / 7)


def test_a_run_read_back_gives_the_same_frames(tmp_path: Path) -> None:
    """`load_run` gives the frames of the run that wrote the folder."""
    batch = [
        Response(id=f"r{i}", prompt=f"Question {i // 2}?", text=f"T {i}.", system=f"s{i % 2}")
        for i in range(4)
    ]
    model = ScriptedModel(lambda request: "?" if "T 3." in str(request) else '{"good_opening": 4}')
    run = Panel("disciplinary", model, "debate-speech", elicitation="dimensions").score(
        batch, out=tmp_path / "run"
    )
    made = frames(run, "pyarrow")
    assert made[0].num_rows == 20 and made[1].num_rows == 4
    for one, other in zip(made, frames(load_run(tmp_path / "run"), "pyarrow"), strict=True):
        assert one.equals(other)


# Libraries that are not there, and types


def test_a_library_that_is_not_installed_is_named_with_what_to_install() -> None:
    """Without pandas the package works, and a frame says to install it or to name another
    library."""
    code = (
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'pandas':\n"
        "            raise ModuleNotFoundError('none here', name=name)\n"
        "sys.meta_path.insert(0, Without())\n"
        "from persona_panel.results.frames import frame_of\n"
        "print(frame_of([], 'pyarrow').num_rows)\n"
        "frame_of([], 'pandas')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "0\n", done.stderr
    assert "pip install pandas, or ask for library='polars' or 'pyarrow'" in done.stderr


def test_an_unknown_library_is_refused() -> None:
    """What is no library of data frames that is known is refused with those that are."""
    unknown: Any = "excel"
    with pytest.raises(ValueError, match=r"one of pandas, polars, pyarrow, found 'excel'"):
        a_run().to_frame(unknown)


@needs_extra("test", "polars")
def test_a_type_checker_sees_what_a_users_code_gets(tmp_path: Path) -> None:
    """mypy knows the class of each library's frame and refuses a name that is none; a table is
    taken where responses are, and a list of numbers is not; it knows every figure, and refuses
    what no figure has."""
    script = tmp_path / "users.py"
    script.write_text(
        "from persona_panel import Panel, Ratings, RatingsPlots, Run, RunPlots, Sweep\n"
        "def look(run: Run, ratings: Ratings, sweep: Sweep, panel: Panel) -> None:\n"
        "    reveal_type(run.to_frame('polars'))\n"
        "    reveal_type(sweep.cells_frame('polars'))\n"
        "    reveal_type(run.differences_frame('polars'))\n"
        "    run.ranking_frame('excel')\n"
        "    panel.score([{'id': 'a'}])\n"
        "    panel.score(run.to_frame('polars'))\n"
        "    panel.score([1])\n"
        "def draw(run: Run, ratings: Ratings, sweep: Sweep) -> None:\n"
        "    figures = RunPlots(run).systems('clarity'), RatingsPlots(ratings).agreement(), "
        "sweep.plot.deltas()\n"
        "    reveal_type(figures[0])\n"
        "    reveal_type(figures)\n"
        "    figures[0].savefig('systems.pdf')\n"
        "    caption: str = figures[0].caption\n"
        "    RunPlots(run).systems(columns=3)\n"
        "    RunPlots(run).histogram()\n"
    )
    done = subprocess.run(
        # As the project's own check: what that has read of the packages is not read again.
        [sys.executable, "-m", "mypy", "--explicit-package-bases", str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    own = [line.split(":", 1)[1] for line in done.stdout.splitlines() if "users.py:" in line]
    said = {int(line.split(":")[0]): line for line in reversed(own)}
    assert set(said) == {3, 4, 5, 6, 9, 12, 13, 16, 17}, done.stdout
    assert all("polars" in said[n] and "DataFrame" in said[n] for n in (3, 4, 5)), own
    assert "call-overload" in said[6] and "arg-type" in said[9]
    assert "PaperFigure" in said[12] and said[13].count("PaperFigure") == 3
    assert "arg-type" in said[16] and "attr-defined" in said[17]


# In short


def test_a_run_in_short_says_how_much_there_is_and_how_much_is_missing() -> None:
    """At a Python prompt a run is one line; its judgments that are missing are counted."""
    assert repr(a_run()) == (
        "<Run: 4 responses, 2 judges, 2 dimensions, 7 of 8 judgments scored, 1 refused>"
    )


def test_a_notebook_shows_the_leaderboard() -> None:
    """The HTML has a row a system with its composite and the interval: 7 and 8 on a scale of 1 to
    10 are a share of 0.722, and Student's reach of 12.706 · 0.5 in Wilson's form gives 2.38 to
    9.76."""
    shown = a_run()._repr_html_()
    assert "<td>1</td><td>elm</td><td>7.50</td><td>2.38 to 9.76</td><td>2</td>" in shown
    assert shown.index("elm") < shown.index("oak")


def test_markup_in_a_name_is_text_in_a_notebook() -> None:
    """A system called `<script>` comes out escaped, and so do control characters and those that
    reverse the writing."""
    shown = a_run((HOSTILE, "oak"))._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "\u202e" not in shown and "\x1b" not in shown and "\\u202e" in shown
