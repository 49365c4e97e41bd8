"""Numbers in words, and objects in short, by hand."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

import pytest

from persona_panel.statistics.core.display import (
    Facts,
    clock,
    counted,
    counted_beside,
    digits_apart,
    ends,
    general,
    interval_end,
    number,
    p_value,
    percent,
    signed,
    small_number,
)


@pytest.mark.parametrize(
    ("written", "arguments", "text"),
    [
        (number, (1.005,), "1.01"), (number, (-1.237, 1), "−1.2"), (number, (-0.001,), "0.00"),
        (number, (None,), "–"), (number, (nan,), "–"), (number, (2, 0), "2"),
        (small_number, (0.0042,), "0.0042"), (small_number, (-0.0996,), "−0.100"),
        (small_number, (0.1,), "0.10"), (small_number, (12.0,), "12.00"),
        (small_number, (0.0,), "0.00"), (small_number, (1e-10,), "0.00"),
        (small_number, (None,), "–"), (small_number, (0.0123, 3), "0.012"),
        (small_number, (0.0096, 3), "0.0096"),
        (clock, (0.2,), "0:01"), (clock, (59.5,), "1:00"), (clock, (61,), "1:01"),
        (clock, (3599,), "59:59"), (clock, (3600,), "1:00:00"), (clock, (7325,), "2:02:05"),
        (general, (1234567.0,), "1.23457e+06"), (general, (0.1234567,), "0.123457"),
        (general, (-2.0,), "−2"), (general, (-0.0,), "0"), (general, (1.2345, 3), "1.23"),
        (signed, (0.5,), "+0.50"), (signed, (-0.5,), "−0.50"), (signed, (0.004,), "0.00"),
        (signed, (None,), "–"), (signed, (0.05, 1), "+0.1"), (signed, (1, 0), "+1"),
        (ends, (0.1, 0.25), "0.10 to 0.25"), (ends, (None, 1.0), "–"), (ends, (1.0, None), "–"),
        (ends, (nan, 1.0), "–"), (ends, (1.0, nan), "–"),
        (ends, (0.0, 4.998, 2, (0, 5)), "0.00 to 4.998"), (ends, (1.0, 2.0, 1), "1.0 to 2.0"),
        (interval_end, (0.0004,), "0.0004"), (interval_end, (0.0,), "0.00"),
        (interval_end, (1.004, 2, (1.0,)), "1.004"), (interval_end, (1.006, 2, (1.0,)), "1.01"),
        (digits_apart, (1.0, 2, (1.0,)), 2), (digits_apart, (1.00006, 2, (1.0, 3.0)), 5),
        (p_value, (0.0009,), "< 0.001"), (p_value, (0.001,), "0.001"),
        (p_value, (0.0456,), "0.046"),
        (p_value, (1.0,), "1"), (p_value, (None,), "–"), (p_value, (nan,), "–"),
        (counted, (1, "item"), "1 item"), (counted, (0, "item"), "0 items"),
        (counted, (1234, "item"), "1,234 items"),
        (counted_beside, (2, 0, "judge"), "2 judges"),
        (counted_beside, (1, 1000, "judge"), "1 judge with a persona and 1,000 without"),
        (percent, (0.956,), "96 %"), (percent, (1,), "100 %"),
    ],
)  # fmt: skip
def test_numbers_in_words(
    written: Callable[..., Any], arguments: tuple[Any, ...], text: Any
) -> None:
    """To as many digits as are asked for, with more where an end would be shown as 0 or as the end
    of a scale and is not; a true minus; a dash for none."""
    assert written(*arguments) == text


def test_facts_are_on_one_line_and_in_a_table_of_twenty_rows() -> None:
    """Sixty letters of a name are shown, an ellipsis among them; what cannot be printed is
    escaped, and in HTML all markup; floats have two decimals."""
    facts = Facts(
        "A<b>", ["x" * 60, "y" * 61, "\x1b[31m"], ["n", "v"], [[n, n / 3] for n in range(22)]
    )
    assert facts.text == f"<A<b>: {'x' * 60}, {'y' * 59}…, \\x1b[31m>"
    html = facts.html()
    assert "<strong>A&lt;b&gt;</strong>" in html and "<b>" not in html
    assert html.count("<tr>") == 21 and "<td>1</td><td>0.33</td>" in html
    assert "<p>and 2 more</p>" in html
    fewer = Facts("A", ["one"], ["n"], [[None]] * 20).html()
    assert "more" not in fewer and fewer.count("<td>–</td>") == 20
    assert Facts("A", ["one"]).html() == "<div><strong>A</strong>: one</div>"
