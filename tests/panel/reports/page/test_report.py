"""What a page holds, without a browser: each section's figures, what fits, what is inert."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from persona_panel import (
    InputError,
    Panel,
    Response,
    Run,
    load_ratings,
    load_run,
    score_result,
)
from persona_panel.analyses.answers import answers_of, conclusion_of
from persona_panel.analyses.bias import biases
from persona_panel.analyses.bias_result import (
    bias_conclusion,
    load_audited_run,
    read_biases,
    write_biases,
)
from persona_panel.analyses.contested import by_disagreement, contested_result
from persona_panel.analyses.who_differs import who_differs_result
from persona_panel.calls.budget import CallCounts, Spending
from persona_panel.cli.report import report_at_the_end
from persona_panel.files.pages import content_source, seconds, sentence, shown
from persona_panel.files.responses import Item
from persona_panel.graphs import Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.models.config import Price
from persona_panel.reports.page.embedded import EmbeddedData, embedded
from persona_panel.reports.page.report import report_of
from persona_panel.reports.page.sections import missing_by_model, systems_result
from persona_panel.results.definitions import DEFINITIONS, definition_of
from persona_panel.results.formats.html import part, tint
from persona_panel.results.result import QUESTIONS
from persona_panel.results.shown import short_names
from persona_panel.rubrics import Usage
from persona_panel.runs.collected import judgment_of_row
from persona_panel.statistics import AnalysisOptions, agree
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.display import ends, number, p_value, signed
from persona_panel.statistics.core.table import on_composite
from persona_panel.testing import ScriptedModel
from tests.helpers.judging import JUDGES, RUBRIC

PERSONAS = {judge.persona: (judge.persona.title(), "disciplinary") for judge in JUDGES}


def small_run(scores: dict[str, list[list[int | None]]], n_judges: int = 6) -> Run:
    """Systems with a list for each prompt, of each judge's rating; None is an abstention."""
    items = [
        (f"p{n}", system, system) for system, those in scores.items() for n in range(len(those))
    ]
    judges = JUDGES[:n_judges]
    prompts = {f"p{n}": f"Prompt {n}?" for n in range(9)}
    run = Run(
        [Item(*item) for item in items],
        prompts,
        judges,
        RUBRIC,
        prices={judge.model: None for judge in judges},
        seed=0,
    )
    for system, those in scores.items():
        for n, row in enumerate(those):
            for judge, score in zip(judges, row, strict=True):
                run.add(
                    Judgment(
                        f"p{n}",
                        system,
                        system,
                        judge,
                        "abstained" if score is None else "scored",
                        scores={} if score is None else {"clarity": score},
                        abstained=score is None,
                    )
                )
    return concluded(run)


def concluded(run: Run) -> Run:
    """With the verdicts of its judgments."""
    for row, item in enumerate(run.items):
        run.conclude(
            aggregate(
                [
                    judgment_of_row(
                        item,
                        judge,
                        run.ratings[row, column].tolist(),
                        run.rubric,
                        status=run.statuses[row][column],
                    )
                    for column, judge in enumerate(run.judges)
                ],
                run.rubric,
            )
        )
    return run


class Elements(HTMLParser):
    """The elements of a page, and the attributes that could run something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.dangerous: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        for name, value in attrs:
            said = (value or "").strip().lower()
            if name.startswith("on") or name == "style" or said.startswith("javascript:"):
                self.dangerous.append(f"{tag} {name}={value}")
            if name in ("src", "href") and said[:1] != "#":
                self.dangerous.append(f"{tag} {name}={value}")


def test_a_long_name_is_cut_in_sentences_and_pictures_and_whole_as_their_title(
    tmp_path: Path,
) -> None:
    """A name of 500 characters takes 48 columns at most on the first screen, in the answer, the
    ranking and the dimensions, each with the whole as its title; an invisible character in it is
    written as in a terminal."""
    name = "sys-\u202e" + "abcdefghi-" * 50
    responses = [
        Response(id=f"{n}-{system[:3]}", prompt=f"Why {n}?", text=f"{n} {system[:3]}",
                 system=system)
        for n in range(4) for system in (name, "birch")
    ]  # fmt: skip
    run = Panel("disciplinary", ScriptedModel()).score(responses, out=tmp_path / "run")
    html = report_of(run).html
    first = html.partition('id="systems"')[0]
    whole = name.replace("\u202e", "\\u202e")
    # The page's script shows it by the same rule.
    assert data_in(html)["names"] == short_names({name, "birch"}, 48)
    assert f'<bdi title="{whole}">sys-\\u202eabcdefghi-' in first
    bare = re.sub(r'title="[^"]*"', "", first)
    assert whole not in bare and "\u202e" not in first
    assert "abcdefghi-" * 5 not in bare
    text = score_result(run).text(full=True)
    assert whole in "".join(text.split())


def test_hostile_texts_make_no_element_and_no_attribute(page: Path) -> None:
    """A parser finds two scripts and one style, no image, no handler, no style attribute, no
    address but those within the page; and no control or bidirectional mark is in the page."""
    html = page.read_text("utf-8")
    found = Elements(html)
    assert found.dangerous == []
    assert (found.names.count("script"), found.names.count("style")) == (2, 1)
    assert not {"img", "iframe", "link", "object", "embed", "base"} & set(found.names)
    without_data = re.sub(r'(?s)<script type="application/json".*?</script>', "", html)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", without_data)
    assert "49" not in re.findall(r"\\x1b\[31m (.{0,60})", without_data)[0]
    assert page.stat().st_mode & 0o077 == 0


def test_the_policy_names_what_is_in_the_page(page: Path) -> None:
    """By default nothing may load; of script and style what is inlined is allowed by its hash."""
    html = page.read_text("utf-8")
    script = part("persona_panel.reports.page", "templates", "page.js")
    style = part("persona_panel.results", "templates", "page.css")
    assert f"default-src 'none'; script-src {content_source(script)}; style-src " in html
    assert f"style-src {content_source(style)}; base-uri 'none'; form-action 'none'\"" in html
    assert html.count(f"<script>{script}</script>") == html.count(f"<style>{style}</style>") == 1
    assert "unsafe" not in html.partition(script)[0]


def test_a_large_run_has_no_analyses_on_its_page(
    hostile_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more judgments than the limit its page leaves the robustness of the ranking out."""
    limit = hostile_run.coverage.expected
    for most, there in ((limit, True), (limit - 1, False)):
        monkeypatch.setattr("persona_panel.reports.page.sections.SAYS_WHO_DIFFERS", most)
        assert ('<section id="robustness"' in report_of(hostile_run).html) == there


def test_every_section_is_there(page: Path, hostile_run: Run) -> None:
    """In the order of doubt, each beginning with its sentence, then a picture where one can be
    drawn, then closed tables; the system that declines is shown and not ranked."""
    html = page.read_text("utf-8")
    ids = re.findall(r'<section id="(\w+)"', html)
    assert ids == [
        "answer", "systems", "trust", "differences", "robustness", "contested", "method", "texts"
    ]  # fmt: skip
    nav = html.partition("</nav>")[0]
    assert re.findall(r'href="#(\w+)"', nav.partition("<ol>")[2]) == ids
    for each in ids[1:-1]:
        own = html.partition(f'<section id="{each}"')[2].partition("</section>")[0]
        assert '<p class="lede">' in own.partition("<details>")[0]
        assert ("<table" in own.partition("<details>")[0]) == (
            each in ("systems", "differences", "robustness")
        )
    assert "<details open" not in html
    assert re.search(r"shy is not ranked: \d+ of its \d+ judgments are abstentions", html)
    assert f'<td data-label="Note" class="t">{Reason.DECLINES}</td>' in html
    assert '<circle class="hollow"' in html
    for heading in (
        "Persona and system",
        "Severity",
        "Persona and response",
        "Model against model",
    ):
        assert heading in html
    assert "Axis against axis" not in html
    assert f"Seed {hostile_run.seed}." in html


def test_the_first_screen_has_the_five_answers(hostile_run: Run) -> None:
    """Each answer is there once, in the words of all other ways out: the first as a whole, of the
    others the verdict with a link to the section that begins with them, or all of it."""
    html = report_of(hostile_run).html
    first = html.partition('<section id="systems"')[0]
    for answer in answers_of(hostile_run):
        assert html.count(str(sentence(answer.sentence))) == 1
        assert str(sentence(answer.verdict)) in first
    assert '<p class="lede">' + str(sentence(answers_of(hostile_run)[0].sentence)) in first
    assert first.count("<h2>") == len(QUESTIONS) - 1 + 2
    for name in re.findall(r'href="#(\w+)">Evidence', first):
        assert f'<section id="{name}"' in html


def test_every_figure_says_how_it_is_computed(hostile_run: Run) -> None:
    """Every picture and table has what prints it, and every column of estimates or numbers, and
    every heat map, its definition with a source."""
    html = report_of(hostile_run).html
    shown = [
        systems_result(hostile_run, hostile_run.leaderboard()),
        who_differs_result(hostile_run, list("abc"), {}),
        contested_result(hostile_run),
    ]
    for result in shown:
        for table in (each for each in result.tables if each.is_shown(True)):
            if table.name in DEFINITIONS:
                continue
            for column in table.shown_columns(True):
                if column.kind in ("estimate", "number") and table.name != "alpha":
                    assert definition_of(column), (table.name, column.head)
    figures = html.partition('<section id="method"')[0]
    tables = re.findall(r"(?s)<table.*?</table>(.*?)(?=<table|</section>)", figures)
    assert len(tables) > 8
    for after in tables:
        assert "How computed?" in after or "<details><summary>Figures" in after
    for each in QUESTIONS:
        measured = [one for one in answers_of(hostile_run) if one.question == each]
        assert all(not one.is_known or one.measure in DEFINITIONS for one in measured)


def test_agreement_has_the_composite_first(page: Path, hostile_run: Run) -> None:
    """α of the judges' means over the dimensions, as `agree` has it; prompts are called by their
    words where the disagreements on them are named."""
    html = unescape(page.read_text("utf-8"))
    table = html.partition('<section id="trust"')[2].partition("</table>")[0]
    rows = [re.sub("<[^>]*>", " ", row) for row in re.findall(r"(?s)<tr>(.*?)</tr>", table)]
    first, second = (" ".join(row.split()) for row in rows[1:3])
    [whole] = on_composite(load_ratings(str(hostile_run.folder))) or ()
    [alpha] = [
        row.value
        for row in agree(whole, AnalysisOptions(intervals=False, n_permutations=0))
        if (row.statistic, row.group, row.by) == ("krippendorff_alpha", "all", None)
    ]
    assert first.startswith(f"Composite {number(alpha)} ")
    assert second.startswith("Conceptual clarity ")
    assert re.search(r'to-response" dir="auto" href="#r/\w+/\w+-\w+">What of \w+\? ', html)


def data_in(html: str) -> dict[str, Any]:
    found = re.search(r'(?s)<script type="application/json" id="data">(.*?)</script>', html)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_all_ratings_and_texts_are_in_the_page(page: Path, hostile_run: Run) -> None:
    """The data have each response's text and metadata, each judge's ratings, and its rationale and
    raw reply, of which what the rationale repeats is there once."""
    data = data_in(page.read_text("utf-8"))
    by_id = {one["id"]: one for one in data["responses"]}
    assert data["titles"]["work"].startswith("What of work? ")
    assert data["judges"][1]["name"].startswith("Moral philosopher · scriptedmodel:m0")
    for item, response in zip(hostile_run.items, hostile_run.responses(), strict=True):
        one = by_id[item.id]
        assert one["text"] == response.text
        assert one["meta"] == response.metadata
        assert data["prompts"][one["prompt"]] == response.prompt
        cells, row = one["ratings"].split(";"), hostile_run.items.index(item)
        for column in range(len(hostile_run.judges)):
            status = hostile_run.statuses[row][column]
            if status == "scored":
                expected = [
                    "" if np.isnan(v) else f"{v:g}" for v in hostile_run.ratings[row, column]
                ]
                assert cells[column] == ",".join(expected)
            else:
                assert data["statuses"][cells[column]] == status
        told = {place: words for place, _, *words in one["said"]}
        for judgment in hostile_run.judgments().of(item.prompt_id, item.id):
            words = told[hostile_run.judges.index(judgment.judge)]
            rationale, raw = [*words, None, None][:2]
            assert rationale == judgment.rationale
            if isinstance(raw, list):
                raw = raw[0] + (json.dumps(rationale)[1:-1] if raw[2] else rationale) + raw[1]
            assert (raw or "") == judgment.raw


def test_what_has_no_room_is_left_out_and_said(hostile_run: Run) -> None:
    """With room for some of the texts the ratings of all responses are there, the texts of some,
    and the replies to the most contested first; with less, the ratings of the most contested
    alone; what is there fits, and what is not is said."""
    personas = {judge.persona: (judge.persona, "") for judge in hostile_run.judges}
    order = by_disagreement(hostile_run)
    whole = embedded(hostile_run, personas, order, titles={})
    assert whole.left_out == []
    assert (whole.n_texts, whole.n_replies) == (12, 12)

    def within(room: int) -> EmbeddedData:
        return embedded(hostile_run, personas, order, room, titles={})

    few = within(1000)
    assert (few.n_texts, few.n_replies) == (0, 0)
    assert 0 < few.n_listed < 12
    listed = [one["row"] for one in json.loads(few.json)["responses"]]
    assert listed == order[: few.n_listed]
    assert few.left_out[0] == (
        f"Not in this page: ratings of {12 - few.n_listed} of 12 responses: they are in "
        "judgments.jsonl."
    )
    room = len(whole.json) * 2 // 3
    some = within(room)
    # The texts are full of signs that are escaped.
    assert room / 2 < len(some.json) <= room
    assert some.n_listed == 12
    assert 0 < (some.n_replies or 0) < 12
    with_replies = [one for one in json.loads(some.json)["responses"] if "said" in one]
    rows = [one["row"] for one in with_replies]
    assert set(rows) == set(order[: len(rows)])
    assert some.left_out[-1].endswith("those to the most contested are here.")


def test_a_run_without_a_folder_or_texts_has_a_page(hostile_run: Run, tmp_path: Path) -> None:
    """Ratings are shown, and that texts and replies are not there; a run that lacks everything says
    that nothing can be concluded."""
    bare = small_run({"a": [[7, 8, 6, 7, 8, 7]] * 3, "b": [[4, 5, 3, 5, 4, 4]] * 3})
    html = report_of(bare).html
    assert "rationales and raw replies: the run was not written to a folder" in html
    assert "the texts of responses: the run&#39;s folder has none" in html
    nothing = small_run({"a": [[None] * 6]})
    assert "None of 6 judgments was scored" in report_of(nothing).html


@pytest.mark.parametrize(
    ("scores", "n_judges", "said"),
    [
        ({"a": [[7] * 6, [5] * 6], "b": [[5] * 6, [7] * 6]}, 6, "No system is significantly ahead"),
        ({"a": [[7] * 6, [5] * 6]}, 6, "no other system with a composite to compare it with"),
        ({"a": [[7, 6, 7]] * 2, "b": [[5, 4, 4]] * 2}, 3, "All judges are of one model"),
        ({"a": [[7]] * 2, "b": [[5]] * 2}, 1, "no dimension is rated by two judges"),
        ({"a": [[7] * 6], "b": [[5] * 6]}, 6, "No difference between systems can be tested"),
        (
            {"a": [[7] * 6, [5] * 6], "b": [[None] * 4 + [7] * 2] * 2},
            6,
            "b is not ranked: 8 of its",
        ),
    ],
    ids=["tie", "one system", "one model", "one judge", "one prompt", "declines"],
)
def test_the_page_says_what_the_answers_say(
    scores: dict[str, list[list[int | None]]], n_judges: int, said: str
) -> None:
    """Its sentences are those of the run's conclusion, whatever is the matter with the run."""
    run = small_run(scores, n_judges)
    html = report_of(run).html
    told = unescape(html).replace("\u00a0", " ")
    assert said in told
    conclusion = conclusion_of(run)
    for answer, text in zip(answers_of(run), conclusion, strict=False):
        assert answer.text == text
        assert str(sentence(answer.sentence)) in html
    for text in conclusion[len(QUESTIONS) :]:
        assert str(sentence(text)) in html
    # A persona's departure on one system alone is its severity: a table of dashes.
    there = len(scores) > 1 and n_judges > 1
    assert ("<caption>Persona and system</caption>" in html) == there


def test_each_dimension_has_both_intervals(hostile_run: Run) -> None:
    """A dimension's interval over prompts is the leaderboard's; that over prompts and judges is no
    narrower, and differs for some; a system that declines has neither."""
    board = hostile_run.leaderboard()
    result = systems_result(hostile_run, board)
    assert [row["system"] for row in result["systems"].rows] == ["able", "fair", "shy"]
    of = {(row["dimension"], row["system"]): row for row in result["dimensions"].rows}
    wider = 0
    for dimension in hostile_run.rubric.numeric:
        for entry in board.systems:
            mean, wide = (of[dimension.id, entry.system][name] for name in ("mean", "with_judges"))
            low, high = entry.dimensions[dimension.id].ends
            if entry.declines:
                assert np.isnan([mean.low, wide.low]).all()
                continue
            assert (mean.low, mean.high) == pytest.approx((low, high))
            assert wide.low <= mean.low
            wider += wide.high > mean.high
    assert wider > 0
    assert np.isnan(result["systems"].rows[2]["rank"].value)


def test_missing_judgments_are_counted_by_model(hostile_run: Run) -> None:
    """Refused ones are of both models, and add up to what is missing; the first line says how many
    there are."""
    found = missing_by_model(hostile_run)
    missing = sum(n for _, n, _ in found)
    assert 0 < missing == sum(hostile_run.coverage.missing.values())
    assert sum(of for _, _, of in found) == 120
    html = report_of(hostile_run).html
    assert f"{120 - missing} of 120 judgments ({missing} unparsed)" in html
    assert "Missing judgments by model" in html


def test_systems_say_of_how_many_judgments_are_missing(hostile_run: Run) -> None:
    """In the table of systems, next to how many are."""
    html = report_of(hostile_run).html.partition('<section id="trust"')[0]
    told = [int(n) for n in re.findall(r'data-label="missing">\d+/(\d+)<', html)]
    assert told == [40, 40, 40]


def test_people_stand_beside_the_panel(hostile_run: Run, tmp_path: Path) -> None:
    """With people's ratings of the same responses their correlation with the panel is shown; of
    others they are refused."""
    ratings = tmp_path / "people.csv"
    lines = [
        f"{item.prompt_id}/{item.id},{who},{5 + 3 * (item.system == 'able') + n}"
        for n, who in enumerate(("ann", "bob"))
        for item in hostile_run.items
    ]
    ratings.write_text("item,rater,score\n" + "\n".join(lines))
    html = report_of(hostile_run, load_ratings(ratings)).html
    assert "2 people rated 12 responses." in html
    assert '<section id="people"' in html
    assert "Correlation with the mean human rating, within prompts" in html
    ratings.write_text("item,rater,score\nelse,ann,3\n")
    with pytest.raises(InputError, match="item"):
        report_of(hostile_run, load_ratings(ratings))


def test_an_audit_of_bias_stands_on_the_page(hostile_run: Run, tmp_path: Path) -> None:
    """Its conclusion and each bias with its intervals, the panel's before the judges'; once the run
    has other judgments, that it is of those before."""
    folder = tmp_path / "run"
    shutil.copytree(hostile_run.folder or "", folder)
    audited = load_audited_run(folder)
    rows = biases(audited.ratings, audited.scales, audited.lengths)
    write_biases(rows, folder)
    html = report_of(load_run(folder)).html
    found = unescape(html.partition('<section id="bias"')[2]).replace("\u00a0", " ")
    for said in bias_conclusion(rows):
        assert said.split(":")[0] in found
    assert "of other judgments" not in found
    [share] = [
        row
        for row in rows
        if (row.statistic, row.group, row.dimension) == ("mode_share", "all", "all")
    ]
    panel, judges = found.rpartition("<caption>Judges")[::2]
    assert f"{share.value:.3f}" in panel
    lenient = sorted(
        (row for row in rows if (row.statistic, row.dimension) == ("leniency", "all")),
        key=lambda row: -abs(row.value),
    )
    places = [judges.find(f"[{number(row.ci_low)}, {number(row.ci_high)}]") for row in lenient]
    assert places == sorted(places) and -1 not in places
    assert len(places) == len(audited.ratings.raters)
    with (folder / "judgments.jsonl").open("ab") as file:
        file.write(b"\n")
    outdated = read_biases(folder)
    assert outdated is not None and "of other judgments" in outdated.conclusion[0]


def test_the_command_writes_the_page_of_a_folder(
    command: Callable[..., subprocess.CompletedProcess[str]], hostile_run: Run, tmp_path: Path
) -> None:
    """The page of a run read from its folder is that of the run itself, in another place where
    that is said; a folder without a run is refused."""
    out = tmp_path / "page.html"
    done = command("report", hostile_run.folder, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    expected = replace(score_result(load_run(hostile_run.folder or "")), page=str(out))
    rest = "--full has the rest, --json every figure."
    text = expected.text().replace(rest, "The page has the rest.")
    assert done.stdout.split() == text.split()
    assert done.stdout.splitlines()[-1] == f"Page: {out}"
    assert "Can the panel be trusted?" in done.stdout
    assert out.read_text("utf-8") == report_of(load_run(hostile_run.folder or "")).html
    assert command("report", tmp_path).returncode == 2


def test_a_large_run_says_how_to_write_its_page(
    hostile_run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At a run's end with more judgments than the page is written for unasked, none is written, and
    the command that does is named; a run that has no folder has nowhere to write it."""
    assert hostile_run.folder is not None
    page = hostile_run.folder / "report.html"
    page.unlink(missing_ok=True)
    monkeypatch.setattr("persona_panel.reports.page.AUTOMATIC", 119)
    report_at_the_end(hostile_run)
    assert f"`persona-panel report {hostile_run.folder}` writes it." in capsys.readouterr().err
    assert not page.exists()
    monkeypatch.setattr("persona_panel.reports.page.AUTOMATIC", 120)
    report_at_the_end(hostile_run)
    assert page.exists()
    report_at_the_end(small_run({"a": [[7] * 6]}))


def test_wording_of_figures() -> None:
    """Minus signs, dashes for what is undefined, no sign on a zero, controls and marks of direction
    spelled out while joiners of emoji stay, figures held to their signs."""
    nan = float("nan")
    assert (signed(-0.5, 1), signed(0.04, 1), signed(-0.04, 1), signed(nan)) == (
        "−0.5", "0.0", "0.0", "–",
    )  # fmt: skip
    assert ends(-1, 2.5) == "−1.00 to 2.50"
    assert ends(nan, 2) == "–"
    assert (p_value(0.0004), p_value(0.0412), p_value(nan)) == ("< 0.001", "0.041", "–")
    assert (seconds(3.21), seconds(125), seconds(7300)) == ("3.2 s", "2 min 5 s", "2 h 1 min")
    assert shown("a\u202eb\x1b\u200bc\n") == "a\\u202eb\\x1b\\u200bc\n"
    assert shown("👩\u200d🔬") == "👩\u200d🔬"
    assert sentence("a 95 % b, p < 0.05") == "a 95\u00a0% b, p\u00a0&lt;\u00a00.05"
    assert sentence("`score` of <b>") == "<code>score</code> of &lt;b&gt;"


def test_tints_repeat_the_sign_and_the_size() -> None:
    """From a third of the largest on a deeper tint, green above and purple below; none for what is
    shown as 0.00 or not there."""
    assert [tint(value, 3.0) for value in (0.5, 1.5, 3.0, -3.0)] == ["p1", "p2", "p3", "n3"]
    assert [tint(value, 3.0) for value in (0.004, float("nan"), 0.0)] == ["", "", ""]


def test_a_run_that_was_started_again_has_cost_what_it_cost() -> None:
    """The page tells calls and dollars over all starts: the last one made no call, the one before
    ten, of a model whose price is known."""
    run = small_run({"able": [[5]]}, 1)
    model = run.judges[0].model
    run.prices = {model: Price(input=1e6, output=0)}
    run.calls = CallCounts(cached=10, before=Spending(10, {model: Usage(input=3)}))
    html = " ".join(report_of(run).html.split())
    assert "10 calls in all starts of the run, in the last one 0; 10 from the cache; $3.00" in html
    assert "$3.00." in html.partition('<section id="answer"')[0]
    assert "no cost" not in html


def test_names_from_right_to_left_keep_what_stands_around_them_in_its_place() -> None:
    """In a sentence they are set apart, with a number of their own, without the figures behind."""
    said = str(sentence("النظام الأول 1 is ahead of نظام-2: 0.40."))
    assert said == "<bdi>النظام الأول 1</bdi> is ahead of <bdi>نظام-2</bdi>: 0.40."
    assert str(sentence("الأول 0.40")) == "<bdi>الأول</bdi> 0.40"
