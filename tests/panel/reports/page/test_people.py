"""People beside the panel on a run's page: what `people correlate`, `people calibrate`, `people
votes` and `people fidelity` say of the same files, and what --require may name of it."""

from __future__ import annotations

import csv
import json
import re
from html import unescape
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from persona_panel import (
    Panel,
    Persona,
    Response,
    load_aligned_ratings,
    load_ratings,
    load_run,
)
from persona_panel.analyses.analysis import RunWithPeople
from persona_panel.analyses.answers import answers_of
from persona_panel.cli.main import command
from persona_panel.rubrics import ModelRequest
from persona_panel.statistics.comparison import correlate
from persona_panel.statistics.human_raters import NOT_COMPARABLE
from persona_panel.testing import ScriptedModel
from tests.helpers.results import statistics_of

N_PROMPTS = 24
SYSTEMS = ("able", "fair")
PERSONAS = [
    Persona(id=name, label=name.title(), axis="side", description=f"You are of the {name}.")
    for name in ("left", "right")
]
_TITLE = "May the panel stand in for people?"
_DIFFERENCE = "Panel and one person compared with the same other people: difference of correlations"
GROUPS = """
groups:
  left: {condition: side = left, personas: left}
  right: {condition: side = right, personas: right}
contrasts: [left - right]
"""


def quality(prompt: int, system: str) -> float:
    return 2 + (system == "able") + Random(f"{prompt}{system}").random()


def answer(request: ModelRequest) -> str:
    """The text's quality, two thirds of a point more; less by the left, and noise."""
    asked = str(request)
    prompt, system = re.findall(r"Text (\d+) of (\w+)", asked)[-1]
    left = "of the left" in asked
    drawn = Random(f"{prompt}{system}{left}")
    score = quality(int(prompt), system) + 0.7 - 0.8 * left + drawn.gauss(0, 0.5)
    return json.dumps({"good_opening": round(min(max(score, 1), 5))})


def written(path: Path, columns: list[str], rows: list[list[object]]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A run of two personas on 48 texts to 24 prompts; ten people, five of each side, who rated 40
    of them, the left lower; their attributes, and the groups."""
    folder = tmp_path_factory.mktemp("people")
    responses = [
        Response(
            id=f"r{p}-{system}",
            prompt=f"Why {p}?",
            text=f"Text {p} of {system}.",
            system=system,
        )
        for p in range(N_PROMPTS)
        for system in SYSTEMS
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERSONA_PANEL_CACHE", str(folder / "cache"))
        panel = Panel(PERSONAS, ScriptedModel(answer), "debate-speech")
        panel.score(responses, out=folder / "run")
    drawn = Random(5)
    rows: list[list[object]] = [
        [f"r{p}-{system}", f"h{h}", min(max(round(mean - (h < 5) + drawn.gauss(0, 0.6)), 1), 5)]
        for p in range(20)
        for system in SYSTEMS
        for mean in [quality(p, system) + 0.5]
        for h in range(10)
    ]
    (folder / "groups.yaml").write_text(GROUPS)
    return {
        "run": str(folder / "run"),
        "human": written(folder / "people.csv", ["item", "rater", "score"], rows),
        "raters": written(
            folder / "raters.csv",
            ["rater", "side"],
            [[f"h{h}", "left" if h < 5 else "right"] for h in range(10)],
        ),
        "groups": str(folder / "groups.yaml"),
    }


def run(*args: str) -> Result:
    return CliRunner().invoke(command, args)


def cells(html: str, heading: str, caption: str = "") -> list[str]:
    """The rows of the first closed table below a section's heading, or of that whose caption begins
    so, without markup."""
    below = html.rpartition(f">{heading}</h2>")[2].partition("</section>")[0]
    closed = (part for part in below.split("<details>")[1:] if f"<caption>{caption}" in part)
    table = next(closed, "").partition("<tbody>")[2].partition("</tbody>")[0]
    rows = [re.sub(r"<svg.*?</svg>", " ", row, flags=re.S) for row in table.split("</tr>")]
    return [" ".join(re.sub("<[^>]*>", " ", row).split()) for row in rows if row.strip()]


def test_the_page_has_what_the_commands_say(files: dict[str, str], tmp_path: Path) -> None:
    """ω and ρ of the panel and of each judge are those of `people correlate`, corrected means those
    of `people calibrate`, votes those of `people votes`, and verdicts those of `people fidelity`;
    without groups there are no verdicts."""
    both = files["run"], "--human", files["human"]
    groups = "--raters", files["raters"], "--groups", files["groups"]
    out = tmp_path / "page.html"
    done = run("report", *both, *groups, "--epsilon", "0.2", "--out", str(out))
    assert done.exit_code == 0, done.output
    html = unescape(out.read_text("utf-8")).replace("\u00a0", " ")
    quick = "--resamples", "0"
    rows = statistics_of(
        run("people", "correlate", *both, "--epsilon", "0.2", "--json", *quick).stdout
    )
    lines = cells(html, _TITLE, "Alternative annotator test")
    for rater, name in {
        None: "all", "left|scriptedmodel:scripted|dimensions|1": "Left",
        "right|scriptedmodel:scripted|dimensions|1": "Right",
    }.items():  # fmt: skip
        rate, advantage = (
            next(r for r in rows if (r["by_value"], r["statistic"]) == (rater, f"alt_test_{what}"))
            for what in ("winning_rate", "advantage")
        )
        [line] = [line for line in lines if line.startswith(name)]
        ends = f"[{advantage['low']:.2f}, {advantage['high']:.2f}]"
        assert f" {rate['value']:.3f} " in line
        assert f" {advantage['value']:.3f} {ends}" in line
    corrected = json.loads(run("people", "calibrate", *both, "--json").stdout)
    lines = cells(html, "Systems", "Means over prompts, corrected by people's ratings")
    for row, line in zip(corrected["tables"]["rows"], lines, strict=True):
        assert line.startswith(f"{row['system']} {row['panel']:.2f}")
        of = row["corrected"]
        assert f"{of['value']:.2f} [{of['low']:.2f}, {of['high']:.2f}]" in line
        assert line.endswith(f"{row['n_human']}/{row['n_items']}")
    votes = json.loads(run("people", "votes", *both, "--json").stdout)
    [source] = votes["tables"]["sources"]
    [line] = cells(html, "Do personas add anything over a plain judge?")
    ends = f"[{source['votes']['low']:.2f}, {source['votes']['high']:.2f}]"
    assert line.startswith(f"personas {source['votes']['value']:.2f} {ends}")
    assert "Effective number of votes of 2 judges: Good opening speech" in html
    contrasts = json.loads(run("people", "fidelity", *both, *groups, "--json").stdout)["tables"]
    [contrast] = contrasts["contrasts"]
    [line] = cells(html, "Do personas differ as people do?")
    ratio = contrast["ratio"]
    ends = f"[{ratio['low']:.2f}, {ratio['high']:.2f}]"
    assert f"{ratio['value']:.3f} {ends} {contrast['verdict']}" in line
    assert run("report", *both, "--out", str(out)).exit_code == 0
    assert "Do personas differ as people do?" not in out.read_text("utf-8")


def test_the_answer_is_that_of_people(files: dict[str, str], tmp_path: Path) -> None:
    """The panel has able ahead of fair; people rated the same texts and see no difference: the page
    begins with people's answer, beside which stands the panel's own, and says it nowhere in other
    words; the ranking has both means. The page that was there is replaced, which is said."""
    drawn = Random(8)
    rows: list[list[object]] = [
        [f"r{p}-{system}", f"h{h}", drawn.randint(1, 5)]
        for p in range(N_PROMPTS)
        for system in SYSTEMS
        for h in range(3)
    ]
    alike = written(tmp_path / "alike.csv", ["item", "rater", "score"], rows)
    out = tmp_path / "page.html"
    done = run("report", files["run"], "--human", alike, "--out", str(out))
    assert done.exit_code == 0
    assert "replaces" not in done.stderr
    html = unescape(out.read_text("utf-8")).replace("\u00a0", " ")
    first = html.partition('<section id="systems"')[0]
    loaded, people = load_run(files["run"]), load_ratings(alike)
    answers = answers_of(loaded, RunWithPeople.of(loaded, people))
    assert "By the panel alone, able is first." in answers[0].sentence
    for answer in answers:
        # What is missing is said on the first screen, too.
        n = 1 if answer.is_known or answer.limits else 2
        assert html.count(answer.sentence) == n
    assert answers[0].sentence in first
    assert "is ahead of" not in html and "lead of able" not in html
    assert "3 people rated 48 responses." in first
    picture = first.partition("<tbody>")[2].partition("</tbody>")[0]
    assert picture.count('<path class="theirs"') == picture.count('class="dot"') == 2
    done = run("report", files["run"], "--human", files["human"], "--out", str(out))
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == f"Page: {out}"


def test_a_panel_of_two_models_is_tested_once(tmp_path: Path) -> None:
    """The panel has one row of the annotator test, that of all its judges, and each judge one; the
    page says which correlations are not comparable, and has the
    difference that is."""
    responses = [
        Response(
            id=f"r{p}-{system}", prompt=f"Why {p}?", text=f"Text {p} of {system}.", system=system
        )
        for p in range(15)
        for system in SYSTEMS
    ]
    models = [ScriptedModel(answer, model=name) for name in ("m1", "m2")]
    Panel(PERSONAS[:1], models, "debate-speech").score(responses, out=tmp_path / "run")
    drawn = Random(5)
    rows: list[list[object]] = [
        [f"r{p}-{system}", f"h{h}", min(max(round(quality(p, system) + drawn.gauss(0, 0.8)), 1), 5)]
        for p in range(15)
        for system in SYSTEMS
        for h in range(3)
    ]
    human = written(tmp_path / "people.csv", ["item", "rater", "score"], rows)
    out = tmp_path / "page.html"
    assert run("report", str(tmp_path / "run"), "--human", human, "--out", str(out)).exit_code == 0
    html = unescape(out.read_text("utf-8")).replace("\u00a0", " ")
    panel, *judges = cells(html, _TITLE, "Alternative annotator test")
    assert panel.startswith("all")
    names = [f"scriptedmodel:{name}" for name in ("m1", "m2")]
    assert [line.split()[:3] for line in judges] == [["Left", "·", name] for name in names]
    assert NOT_COMPARABLE in html
    for where in ("over all items", "within prompts"):
        # People first, then each model, then the whole panel.
        lines = cells(html, _TITLE, f"Correlation with the mean human rating, {where}")
        assert [line.split()[0] for line in lines] == ["people", *names, "all"]
    sides = load_aligned_ratings(tmp_path / "run", human)
    for basis, where, line_of in (
        ("", "over all items: panel − human", "all"),
        ("_within_prompts", "within prompts", "panel − human"),
    ):
        [found] = [
            row
            for row in correlate(*sides, only={f"human_difference_tau_b{basis}"})
            if (row.group, row.by_value) == ("all", "panel − human")
        ]
        lines = cells(html, _TITLE, f"{_DIFFERENCE}, {where}")
        [line] = [one for one in lines if one.startswith(line_of)]
        assert line.startswith(f"{line_of} {found.value:.3f}")


def test_every_figure_of_people_can_be_required(files: dict[str, str], tmp_path: Path) -> None:
    """The requirements of `people correlate`, `people calibrate` and `people fidelity` stand beside
    those of the run; what is not met ends with exit status 3, and says what was found."""
    given = [files["run"], "--human", files["human"], "--out", str(tmp_path / "page.html")]
    given += ["--raters", files["raters"], "--groups", files["groups"]]
    of_run = ["composite[able] >= 2", "omega >= 0.5", "rho >= 0.5", "tau_b >= 0.2"]
    of_people = ["corrected[able] >= 3", "corrected_difference[able, fair] > 0.5"]
    verdicts = ["fidelity[left-right] != caricature", "fidelity_ratio[left-right] < 2"]
    requirements = [*of_run, *of_people, *verdicts]
    done = run("report", *given, *(f"--require={one}" for one in requirements))
    assert done.exit_code == 0, done.output
    assert "8 of 8 requirements met" in done.stderr
    done = run("report", *given, "--require", "rho >= 0.8", "--require", "corrected[able] >= 3.45")
    assert done.exit_code == 3
    told = " ".join(done.stderr.split())
    assert re.search(r"rho >= 0.8 is not met: 0\.\d+ \(95 % interval over prompts 0\.\d+ to", told)
    assert re.search(r"corrected\[able\] >= 3.45 is not met: 3\.\d+ \(95 % interval", told)


def test_a_required_statistic_of_correlate_is_computed(
    files: dict[str, str], tmp_path: Path
) -> None:
    """One that the page does not show has the figure of `people correlate`; a name that there is
    not ends with status 2 before a page is written."""
    both, out = (files["run"], "--human", files["human"]), tmp_path / "page.html"
    rows = statistics_of(run("people", "correlate", *both, "--json", "--resamples", "0").stdout)
    [low] = [row["low"] for row in rows if row["statistic"] == "tau_c" and not row["by"]]
    for bound, status in ((low - 1e-6, 0), (low + 1e-6, 3)):
        done = run("report", *both, "--out", str(out), "--require", f"tau_c >= {bound:.9f}")
        assert done.exit_code == status, done.output
    out.unlink()
    done = run("report", *both, "--out", str(out), "--require", "tau_d > 0")
    assert done.exit_code == 2
    assert "the figure 'tau_d'" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--epsilon", "0.1"), "--epsilon works only with --human"),
        (("--human", "HUMAN", "--raters", "RATERS"), "--raters and --groups are given together"),
        (("--human", "HUMAN", "--selected", "HUMAN"), "inclusion_probability"),
    ],
)
def test_options_that_say_nothing_are_refused(
    options: tuple[str, ...], said: str, files: dict[str, str]
) -> None:
    """Options on people without people, one of two files that belong together, and a selection
    without probabilities."""
    given = [files.get(one.lower(), one) for one in options]
    done = run("report", files["run"], *given)
    assert done.exit_code == 2
    assert said in done.stderr
