"""Files as people and their spreadsheets write them are read as what they are, or refused."""

from __future__ import annotations

import csv
import io
from math import isnan, nan
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona_panel import InputError, Ratings, load_aligned_ratings, load_ratings
from persona_panel.files.aligned_ratings import align_ratings
from persona_panel.files.outputs import DECIMAL, DecimalSign, csv_for_user
from persona_panel.rubrics.rubric import MOST_SCORE

_NAMES = st.lists(st.sampled_from([f"n{i}" for i in range(9)]), min_size=2, max_size=5, unique=True)
_SCORES = st.none() | st.integers(0, 1000) | st.sampled_from([0.5, 2.25, -1.5, 1234.5])


@st.composite
def _tables(draw: st.DrawFn) -> tuple[list[str], list[str], list[list[float | int | None]]]:
    items, raters = draw(_NAMES), draw(_NAMES)
    rows = [[draw(_SCORES) for _ in raters] for _ in items]
    # A column without a number, or none at all, has no ratings.
    rows[0] = [1.5 for _ in raters]
    return items, raters, rows


def _cell(value: float | int | None, *, comma: bool, pad: str, gap: str) -> str:
    if value is None:
        return gap
    return f"{pad}{str(value).replace('.', ',') if comma else value}{pad}"


@settings(deadline=None)
@given(
    _tables(),
    st.booleans(),
    st.sampled_from([",", ";", "\t"]),
    st.booleans(),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["", " ", "\u00a0"]),
    st.sampled_from(["", "?", "n/a"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_a_table_in_any_form_is_read_back(
    table: tuple[list[str], list[str], list[list[float | int | None]]],
    wide: bool,
    delimiter: str,
    comma: bool,
    encoding: str,
    pad: str,
    gap: str,
    end: str,
) -> None:
    """Long or wide, with any separator, decimal sign, encoding, padding, gap and line end, the
    scores are those that were written."""
    items, raters, rows = table
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end)

    def cell(value: float | int | None) -> str:
        return _cell(value, comma=comma, pad=pad, gap=gap)

    if wide:
        writer.writerow([f"item{pad}", *(f"{name}{pad}" for name in raters)])
        writer.writerows(
            [f"{item}{pad}", *map(cell, row)] for item, row in zip(items, rows, strict=True)
        )
    else:
        writer.writerow([f"{pad}item", f"rater{pad}", "score"])
        writer.writerows(
            [f"{pad}{item}", f"{rater}{pad}", cell(value)]
            for item, row in zip(items, rows, strict=True)
            for rater, value in zip(raters, row, strict=True)
        )
    with TemporaryDirectory() as folder:
        path = Path(folder, "people.csv")
        path.write_bytes(file.getvalue().encode(encoding))
        found = load_ratings(path)
    assert (found.items, found.raters) == (tuple(items), tuple(raters))
    expected = [[nan if value is None else value for value in row] for row in rows]
    np.testing.assert_array_equal(found.scores[:, :, 0], expected)
    assert found.origin is not None
    said = found.origin.reading
    named = f"wide, one column a rater: {', '.join(raters[:5])}{', …' * (len(raters) > 5)}"
    assert (named in said) == wide
    assert ("decimal commas" in said) == comma
    assert ("semicolons" in said) == (delimiter == ";")
    n_missing = sum(isnan(value) for row in expected for value in row)
    assert said.endswith(f"{len(items) * len(raters) - n_missing} ratings, {n_missing} missing.")


def _read(folder: Path, content: str, **options: object) -> Ratings:
    path = folder / "people.csv"
    path.write_text(content, "utf-8")
    return load_ratings(path, **options)  # type: ignore[arg-type]


LONG = "item,rater,score\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (f"{LONG}a,x,5\nb,x,\"1,234\"\n", "csv:3: score: found '1,234', which may be"),
        (f'{LONG}a,x,"1,234"\n', "--decimal comma for 1.234, or --decimal point for 1234"),
        (f'{LONG}a,x,"1,234"\nb,x,"2,345"\n', "which may be 1.234 or 1234"),
        (f'{LONG}a,x,"3,5"\nb,x,4.5\n', "'3,5', but '4.5' on line 3"),
        (f'{LONG}a,x,"1,234.5"\n', "without signs between thousands"),
        (f"{LONG}a,x,80%\n", "without a percent sign"),
        (f"{LONG}a,x,03.05.2024\n", "may have made a date of it"),
        (f"{LONG}a,x,5-Mar\n", "may have made a date of it"),
        (f"{LONG}a,x ,3\na, x,4\n", "'a' rated again, first on line 2 (4, first 3)"),
        ("item,ann,bob\na,3,4\na,2,5\n", "'a' again, first on line 2"),
        ("item,text,ann,bob\na,long,3,4\n", "no number in the column 'text'"),
        ("item,annotator,value\na,1,4\n", "use --map rater="),
        ("item,ann\na,3\n", "expected 'rater'"),
    ],
)  # fmt: skip
def test_what_could_be_read_in_two_ways_is_refused(content: str, told: str, tmp_path: Path) -> None:
    """Signs between thousands, mixed signs, dates, percentages, ratings that contradict each other
    and columns that are no raters' are named with what would do."""
    with pytest.raises(InputError) as caught:
        _read(tmp_path, content)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("decimal", "expected", "said"),
    [("comma", [1.234, 5], "decimal commas"), ("point", [1234, 5], "commas between thousands")],
)
def test_the_user_says_what_a_comma_is(
    decimal: DecimalSign, expected: list[float], said: str, tmp_path: Path
) -> None:
    """Where it could be either; how it was read is said."""
    found = _read(tmp_path, f'{LONG}a,x,"1,234"\nb,x,5\n', decimal=decimal)
    assert found.scores.ravel().tolist() == expected
    assert found.origin is not None
    assert said in found.origin.reading


def test_other_numbers_decide_what_a_comma_is(tmp_path: Path) -> None:
    """Of spreadsheets with semicolons, too; a decimal point that the user says contradicts them."""
    content = "item;rater;score\na;x;1,234\nb;x;3,5\nc;x;-,5\nd;x;2,5E-05\n"
    assert _read(tmp_path, content).scores.ravel().tolist() == [1.234, 3.5, -0.5, 2.5e-5]
    with pytest.raises(InputError, match="csv:3: score: found '3,5'; expected a decimal point"):
        _read(tmp_path, content, decimal="point")


@given(
    st.lists(st.floats(-MOST_SCORE, MOST_SCORE), min_size=1, max_size=6),
    st.sampled_from(["comma", "point"]),
)
def test_written_numbers_are_read_back(scores: list[float], decimal: DecimalSign) -> None:
    """By us to the last digit, and by pandas, which reads decimal commas as a spreadsheet does;
    names that look like numbers stay as they are."""
    rows = [(f"{n}.5", "a;b,c", score) for n, score in enumerate(scores)]
    token = DECIMAL.set(decimal)
    try:
        written = csv_for_user([("item", "rater", "score"), *rows])
    finally:
        DECIMAL.reset(token)
    with TemporaryDirectory() as folder:
        path = Path(folder, "people.csv")
        path.write_bytes(written)
        found = load_ratings(path, decimal=decimal)
    assert (found.items, found.raters) == (tuple(row[0] for row in rows), ("a;b,c",))
    assert found.scores.ravel().tolist() == scores
    signs = {"sep": ";", "decimal": ","} if decimal == "comma" else {}
    table = pd.read_csv(io.BytesIO(written), dtype={"item": str}, **signs)
    assert table["item"].tolist() == [*found.items]
    np.testing.assert_allclose(table["score"].astype(float), scores, rtol=1e-14)


def test_a_rating_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    """The same line again changes nothing, and is said."""
    found = _read(tmp_path, f"{LONG}a,x,3\na,y,4\na,x,3\n")
    assert found.scores[:, :, 0].tolist() == [[3.0, 4.0]]
    assert found.origin is not None
    assert "1 there twice, with the same value, counted once" in found.origin.reading


def test_without_a_column_of_items_it_is_said_what_items_are(tmp_path: Path) -> None:
    """A file by question and version has none that could be meant by `item`."""
    path = tmp_path / "people.csv"
    path.write_text("question,version,rater,score\np0,ash,ann,4\n")
    with pytest.raises(InputError, match="'item', the id of what was rated ") as caught:
        load_ratings(path)
    assert caught.value.faults[0].expected.endswith("; or use --map item=COLUMN")


def test_columns_of_raters_are_named(tmp_path: Path) -> None:
    """In a wide file with other columns `raters` says which are theirs, and the rest is said."""
    content = "item,text,ann,bob\na,long,3,4\nb,long,5,\n"
    found = _read(tmp_path, content, mapping={"raters": "ann,bob"})
    assert (found.raters, found.scores[1, 0, 0]) == (("ann", "bob"), 5)
    assert found.origin is not None
    assert "columns left out: text" in found.origin.reading


def test_labels_may_be_wide(tmp_path: Path) -> None:
    """Columns that share their few labels are raters of categories."""
    found = _read(tmp_path, "item,ann,bob\na,useful,invalid\nb,invalid,Useful\n")
    assert found.categories == {"all": ("useful", "invalid")}
    assert found.scores[:, :, 0].tolist() == [[0, 1], [1, 0]]


def test_two_scales_in_one_column_are_pointed_out(tmp_path: Path) -> None:
    """Raters who never leave the lower half of what others mostly use are named; a strict rater on
    the same scale is not."""
    rows = [
        f"i{n},{name},{value}"
        for n in range(20)
        for name, value in (("a", 1 + n % 5), ("b", 10 + 4 * n), ("c", 5 + 5 * n))
    ]
    found = _read(tmp_path, LONG + "\n".join(rows) + "\n")
    assert found.origin is not None
    [remark] = found.origin.remarks
    assert "1 rater ('a') never went above 5, and 2 raters ('b', 'c') went up to 100" in remark
    # From 1 to 5 beside 1 to 10, where nobody gave a 9 or 10.
    halves = [
        f"i{n},{name},{v}" for n in range(12) for name, v in (("a", 2 + n % 4), ("b", 5 + n % 4))
    ]
    found = _read(tmp_path, LONG + "\n".join(halves) + "\n")
    assert found.origin is not None
    assert "('a') never went above 5, and 1 rater ('b') went up to 8" in found.origin.remarks[0]
    strict = [f"i{n},{name},{1 + n % top}" for n in range(20) for name, top in (("a", 3), ("b", 5))]
    found = _read(tmp_path, LONG + "\n".join(strict) + "\n")
    assert found.origin is not None
    assert found.origin.remarks == ()


def test_raters_who_differ_in_case_alone_are_pointed_out(tmp_path: Path) -> None:
    """They count as two, which is said."""
    found = _read(tmp_path, f"{LONG}a,Ann,3\na,ann,4\n")
    assert found.origin is not None
    assert "differ in case or spaces alone" in found.origin.remarks[0]


@pytest.mark.parametrize("scale", [(1, 5), {"all": (1, 5)}])
def test_what_lies_off_a_given_scale_is_listed(tmp_path: Path, scale: object) -> None:
    """All values at once, with line, item and rater; more than twenty are counted."""
    with pytest.raises(InputError) as caught:
        _read(tmp_path, f"{LONG}a,x,80\nb,x,3\nb,y,0\n", scale=scale)
    assert [(one.line, one.actual) for one in caught.value.faults] == [
        (2, "80 by 'x' of 'a'"),
        (4, "0 by 'y' of 'b'"),
    ]
    rows = "".join(f"i{n},x,9\n" for n in range(30))
    with pytest.raises(InputError) as caught:
        _read(tmp_path, LONG + rows, scale=scale)
    assert len(caught.value.faults) == 21
    assert "30 ratings off the scale in all" in str(caught.value)


@pytest.mark.parametrize("scale", [(5, 1), {"depth": (1, 5)}])
def test_a_scale_that_is_none_is_refused(tmp_path: Path, scale: object) -> None:
    """One that ends below its beginning, and one of a dimension that is not there."""
    with pytest.raises(InputError):
        _read(tmp_path, f"{LONG}a,x,3\n", scale=scale)


def _sides(folder: Path, names: list[str]) -> tuple[Path, Path]:
    panel, people = folder / "panel.csv", folder / "people.csv"
    panel.write_text(LONG + "".join(f"p {n},judge,3\n" for n in range(10)))
    people.write_text(LONG + "".join(f"{name},ada,3\n" for name in names))
    return panel, people


def test_few_items_in_common_are_refused(tmp_path: Path) -> None:
    """Below 80 % with the share and the first names, unless it is allowed; from 80 % on the others
    are counted in `origin.match`; spaces that do not break are spaces."""
    names = [f"p\u00a0{n}" for n in range(7)] + ["x", "y", "z"]
    files = _sides(tmp_path, names)
    with pytest.raises(InputError) as caught:
        load_aligned_ratings(*files)
    told = str(caught.value)
    assert "3 of the 10 items that people rated under names that" in told
    assert "'x', 'y', 'z'; 70.0 % match" in told
    _, people = load_aligned_ratings(*files, allow_unmatched=True)
    assert people.origin is not None
    assert people.origin.match is not None
    assert people.origin.match.unmatched == ("x", "y", "z")
    _, people = load_aligned_ratings(*_sides(tmp_path, [*names[:7], "p 7", "x", "y"][:10]))
    assert people.origin is not None
    assert people.origin.match is not None
    assert people.origin.match.share == 0.8


def test_a_rater_twice_but_for_spaces_is_named(tmp_path: Path) -> None:
    """Two columns whose names differ in spaces are one fault of the header, not one of each row."""
    with pytest.raises(InputError) as refused:
        _read(tmp_path, "item;ann;ann \na;3;4\nb;5;1\n")
    [fault] = refused.value.faults
    assert (fault.field, fault.actual) == ("ann", "2 columns of this name")


def test_a_rater_without_a_rating_is_named(tmp_path: Path) -> None:
    """An empty column of a wide file is counted as a rater, and told."""
    found = _read(tmp_path, "item;ann;bob;cy\na;3;4;\nb;5;1;\n")
    assert found.origin is not None
    assert found.origin.remarks == ("There is no rating by 'cy'.",)


def test_a_column_of_text_is_refused_with_the_option(tmp_path: Path) -> None:
    """The remedy for a column that holds no ratings names the option that leaves it out."""
    with pytest.raises(InputError, match="--map raters=ANN,BOB"):
        _read(tmp_path, "item;ann;bob;note\na;3;4;good\nb;5;1;poor\n")


def test_a_wide_file_may_have_a_line_for_each_dimension(tmp_path: Path) -> None:
    """An item then has several lines; two on one dimension are refused."""
    content = "item,dimension,ann,bob\na,depth,1,2\na,style,3,4\nb,depth,5,1\nb,style,2,3\n"
    ratings = _read(tmp_path, content)
    assert (ratings.items, ratings.raters) == (("a", "b"), ("ann", "bob"))
    assert ratings.dimensions == ("depth", "style")
    assert ratings.scores.tolist() == [[[1, 3], [2, 4]], [[5, 2], [1, 3]]]
    with pytest.raises(InputError, match="'a' again, first on line 2"):
        _read(tmp_path, content.replace("b,depth", "a,depth"))


def test_items_that_nobody_rated_need_no_match(tmp_path: Path) -> None:
    """A line that has gaps alone says nothing of what people rated."""
    panel = _read(tmp_path, LONG + "a,x,1\nb,x,2\n")
    humans = _read(tmp_path, "item,ann,bob\na,1,2\nb,2,3\nc,,\nd,?,\ne,,NA\n")
    _, theirs = align_ratings(panel, humans, "panel.csv", "people.csv")
    assert theirs.origin is not None
    assert theirs.origin.match is not None
    assert (theirs.origin.match.n_rated, theirs.origin.match.unmatched) == (2, ())


def test_a_rating_of_the_whole_off_the_scale_has_its_line(tmp_path: Path) -> None:
    """Also where it is compared with the composite of the panel's dimensions."""
    lines = "item,rater,dimension,score\na,x,depth,1\na,x,style,3\nb,x,depth,2\nb,x,style,4\n"
    panel = _read(tmp_path, lines, scale=(1, 10))
    humans = _read(tmp_path, LONG + "a,ann,1\nb,ann,80\n")
    with pytest.raises(InputError) as caught:
        align_ratings(panel, humans, "panel.csv", "people.csv")
    [fault] = caught.value.faults
    assert (fault.line, fault.actual) == (3, "80 by 'ann' of 'b'")
