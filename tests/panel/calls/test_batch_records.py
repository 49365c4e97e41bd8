"""What a batch goes through, and which answer belongs to which request."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona_panel.calls.batch_records import (
    BatchRecord,
    DamagedJournal,
    RowMatch,
    answer_usage,
    batches_in,
    dropped,
    parts_of,
    prepared,
    settled,
    submitted,
)
from persona_panel.calls.batch_rounds import BatchJournal, InUse, batches_of
from persona_panel.calls.cache import ReplyKey
from persona_panel.files.errors import RunFolderError
from persona_panel.files.outputs import BATCHES
from persona_panel.rubrics import ModelResponse, Usage

ROWS = tuple(ReplyKey("a" * 64, bytes([number]) * 32) for number in range(3))
BATCH = BatchRecord(
    "t1", "openai:m", "openai:m", "http://x/v1", None, ROWS, Usage(90, output=30, written=90), 5.0
)


@pytest.mark.parametrize(
    ("said", "used"),
    [
        (Usage(7, output=2), Usage(7, output=2)),
        # Nothing is said, or no input, which every request has: the share of the most.
        (Usage(), Usage(5, output=9)),
        (Usage(output=2), Usage(5, output=9)),
    ],
)
def test_what_a_row_took(said: Usage, used: Usage) -> None:
    """What it says, if that can be."""
    assert answer_usage(ModelResponse("7", usage=said), Usage(5, output=9)) == used


def test_a_row_is_named_by_a_digest_of_its_place_in_the_cache() -> None:
    """SHA-256 of the page and the key, by hashlib."""
    row = ReplyKey("page", b"k" * 32)
    assert row.custom_id == hashlib.sha256(b"page" + b"k" * 32).hexdigest()


def test_the_way_of_a_batch() -> None:
    """Prepared, submitted under an id, settled with what it took; its rows stay known."""
    records = [prepared(BATCH)]
    assert batches_in(records)["t1"] == BATCH
    records.append(submitted("t1", "batch_9"))
    at_provider = batches_in(records)["t1"]
    assert (at_provider.state, at_provider.id, at_provider.open) == ("submitted", "batch_9", True)
    assert at_provider.rows == ROWS
    records.append(settled("t1", 3, Usage(80, 10, 20, 0, reasoning=5), "completed"))
    done = batches_in(records)["t1"]
    assert (done.state, done.open, done.rows, done.calls) == ("settled", False, ROWS, 3)
    assert done.used == Usage(80, 10, 20, 0, reasoning=5)


@pytest.mark.parametrize(
    "records",
    [
        [submitted("t1", "b")],
        [prepared(BATCH), prepared(BATCH)],
        [prepared(BATCH), settled("t1", 1, Usage(), "completed")],
        [prepared(BATCH), dropped("t1", "why"), submitted("t1", "b")],
        [
            prepared(BATCH),
            submitted("t1", "b"),
            settled("t1", 1, Usage(), "x"),
            dropped("t1", "why"),
        ],
        [{"change": "forgotten", "token": "t1"}],
        [{"change": "prepared", "token": "t1"}],
        [{}],
    ],
)
def test_changes_that_cannot_be(records: list[dict[str, object]]) -> None:
    """A change that cannot follow those before it, or is none, is refused with its line."""
    with pytest.raises(DamagedJournal, match=f"line {len(records)}"):
        batches_in(records)


CHANGES = st.lists(
    st.sampled_from(["prepared", "submitted", "settled", "dropped"]).flatmap(
        lambda change: st.tuples(st.just(change), st.sampled_from(["t1", "t2"]))
    ),
    max_size=8,
)


@settings(max_examples=50)
@given(CHANGES)
def test_no_batch_is_submitted_or_settled_twice(changes: list[tuple[str, str]]) -> None:
    """Whatever changes come in whatever order: of those that are taken, each happens once a batch
    at most, and none but a drop before it is submitted, or after it is over."""
    made = {
        "prepared": lambda token: prepared(
            BatchRecord(token, "m", "m", "x", None, ROWS, Usage(), 0.0)
        ),
        "submitted": lambda token: submitted(token, "b"),
        "settled": lambda token: settled(token, 1, Usage(1), "completed"),
        "dropped": lambda token: dropped(token, "why"),
    }
    taken: list[dict[str, object]] = []
    for change, token in changes:
        record = made[change](token)
        try:
            batches_in([*taken, record])
        except DamagedJournal:
            continue
        taken.append(record)
    for token in ("t1", "t2"):
        own = [str(record["change"]) for record in taken if record["token"] == token]
        assert own in (
            [],
            ["prepared"],
            ["prepared", "submitted"],
            ["prepared", "dropped"],
            ["prepared", "submitted", "settled"],
            ["prepared", "submitted", "dropped"],
        )


def test_rows_in_parts() -> None:
    """Of 4, 4, 4, 9 and 1 bytes, with 8 bytes or 2 rows to a part: two, one, the one that is too
    large alone, and the last."""
    assert list(parts_of([4, 4, 4, 9, 1], 2, 8)) == [
        range(2),
        range(2, 3),
        range(3, 4),
        range(4, 5),
    ]
    assert list(parts_of([1, 1, 1], 2, 100)) == [range(2), range(2, 3)]
    assert list(parts_of([], 2, 8)) == []


@given(st.lists(st.integers(1, 20)), st.integers(1, 5), st.integers(1, 30))
def test_parts_hold_every_row_once_within_the_limits(
    sizes: list[int], most_rows: int, most_bytes: int
) -> None:
    """All rows in their order; no part above a limit but a single row; no part could take the
    first row of the next."""
    parts = list(parts_of(sizes, most_rows, most_bytes))
    assert [place for part in parts for place in part] == list(range(len(sizes)))
    for number, part in enumerate(parts):
        total = sum(sizes[place] for place in part)
        assert len(part) <= most_rows
        assert total <= most_bytes or len(part) == 1
        if number + 1 < len(parts):
            assert len(part) == most_rows or total + sizes[part.stop] > most_bytes


NAMES = [row.custom_id for row in ROWS]


@given(st.lists(st.tuples(st.sampled_from([*NAMES, "unknown", None, 7]), st.booleans())))
def test_each_row_is_answered_once(answers: list[tuple[object, bool]]) -> None:
    """Of answers in any order, with copies and strangers: the first of each row, and after faults
    the first that is none; what is missing is every row without any, in the order of the rows."""
    match = RowMatch.of(ROWS)
    places = [match.take(name, is_fault=is_fault) for name, is_fault in answers]
    seen, good = set[object](), set[object]()
    for (name, is_fault), place in zip(answers, places, strict=True):
        beats = not is_fault and name not in good
        later = "better" if beats else "again"
        known = name in NAMES
        assert place == ("unknown" if not known else later if name in seen else "first")
        seen.add(name)
        if not is_fault:
            good.add(name)
    assert match.missing == [row for row in ROWS if row.custom_id not in seen]


def test_a_journal_outlasts_its_process(tmp_path: Path) -> None:
    """What was added is there for the next process; a record that was cut off is not, and the next
    one begins on a line of its own. No one else can write it meanwhile."""
    journal = BatchJournal(tmp_path)
    journal.add(prepared(BATCH))
    with pytest.raises(InUse, match="is in use"):
        BatchJournal(tmp_path)
    journal.close()
    path = tmp_path / BATCHES
    path.write_bytes(path.read_bytes() + orjson.dumps(submitted("t1", "batch_9"))[:-3])
    again = BatchJournal(tmp_path)
    assert again.open_batches == [BATCH]
    again.add(submitted("t1", "batch_9"))
    again.close()
    assert [batch.id for batch in batches_of(tmp_path)] == ["batch_9"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_journal_that_is_none(tmp_path: Path) -> None:
    """What is no journal is refused and left as it is: batches may be open."""
    (tmp_path / BATCHES).write_bytes(b"notes\n")
    with pytest.raises(RunFolderError, match="not a journal of batches"):
        BatchJournal(tmp_path)
    assert (tmp_path / BATCHES).read_bytes() == b"notes\n"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("key_env", 5, "line 1: key_env: found 5; expected text or null"),
        ("spec", None, "line 1: spec: found null; expected text"),
        ("rows", [["page"]], "line 1: rows: found "),
        ("most", "many", "line 1: most: found 'many'; expected two numbers"),
        ("at", "now", "line 1: at: found 'now'; expected a number"),
    ],
)
def test_a_damaged_field_is_named(tmp_path: Path, field: str, value: object, said: str) -> None:
    """With the file, the line and what is there."""
    record = prepared(BATCH) | {field: value}
    (tmp_path / BATCHES).write_bytes(orjson.dumps(record) + b"\n")
    with pytest.raises(RunFolderError) as refused:
        batches_of(tmp_path)
    assert str(refused.value).startswith(str(tmp_path / BATCHES))
    assert said in str(refused.value)
