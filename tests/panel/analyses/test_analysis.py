"""What a decorated function becomes: a command, a Python function, figures, a schema kept."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import click
import jsonschema
import pytest
from click.testing import CliRunner

import persona_panel
from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import (
    ANALYSES,
    Analysis,
    RunWithPeople,
    analyses_on_page,
    analysis,
)
from persona_panel.cli.analysis_command import analysis_command
from persona_panel.cli.main import command
from persona_panel.results.formats.json import schema
from persona_panel.results.result import Result
from tests.helpers.all_commands import modules_in
from tests.helpers.results import SAMPLE, concluded_in

MODULES = {name: of for name, of in modules_in(command) if of.startswith("persona_panel.analyses.")}


def sample(run: str, human: str | None = None, *, human_mapping: object = None,
           human_scale: object = None, allow_unmatched: bool = False) -> Result:  # fmt: skip
    """Look at a sample of RUN.

    Args:
        run: unread.
    """
    if run == "nothing":
        raise persona_panel.InputError([persona_panel.Fault(run, "nothing", "something")])
    return SAMPLE


MADE = Analysis(
    "sample",
    "Panel",
    "A sample",
    sample,
    [*parameters.run(), *parameters.people("People's.")],
    ("mean[alder] >= 5",),
    "RUN",
)


def run(*arguments: str) -> click.testing.Result:
    return CliRunner().invoke(analysis_command(MADE), arguments)


@pytest.mark.parametrize("name", MODULES)
def test_parameters_are_the_arguments_of_the_function(name: str) -> None:
    """Every parameter of the command is an argument of the function, and every argument without a
    value of its own a required parameter; the function has a public name."""
    import_module(MODULES[name])
    found = ANALYSES[name]
    arguments = inspect.signature(found.function).parameters
    declared = {str(one.name): one for one in found.parameters}
    extra = {"progress"} if found.n_parts else set()
    assert set(declared) == set(arguments) - extra
    for argument in arguments.values():
        is_any_number = argument.kind is inspect.Parameter.VAR_POSITIONAL
        if argument.default is inspect.Parameter.empty and not is_any_number:
            assert declared[argument.name].required
    assert getattr(persona_panel, name) is found.function
    assert "Args:" not in found.help
    assert "Exit status: 0; 2" in found.help


@pytest.mark.parametrize("name", MODULES)
def test_the_help_of_an_analysis_needs_no_array(name: str) -> None:
    """To make its command takes neither numpy nor scipy, nor what draws tables."""
    code = (
        "import importlib, sys\n"
        "import persona_panel.cli.main\n"
        "from persona_panel.analyses.analysis import ANALYSES\n"
        "from persona_panel.cli.analysis_command import analysis_command\n"
        f"importlib.import_module({MODULES[name]!r})\n"
        f"analysis_command(ANALYSES[{name!r}])\n"
        "print([one for one in ('numpy', 'scipy', 'rich', 'jinja2') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_help_names_the_examples_that_there_are() -> None:
    """One, two or three requirements stand in the help as they do in a sentence."""
    examples = ("a > 1", "b > 1", "c > 1")
    listed = ("Names", "Others are 'b > 1'. Names", "Others are 'b > 1' and 'c > 1'. Names")
    for n, said in enumerate(listed, 1):
        made = replace(MADE, requirements=examples[:n])
        printed = CliRunner().invoke(analysis_command(made), ["--help-all"]).stdout
        told = " ".join(printed.split())
        assert "What a figure has to be: 'a > 1'. Repeatable. Exit status 3" in told
        assert f"makes it 90 % and 5 %. {said} with commas" in told


def test_the_command_prints_any_result_in_any_format() -> None:
    """Its reading and what is missing on standard error, the rest as asked for."""
    done = run("runs/a")
    assert done.exit_code == 0
    assert concluded_in(done.stdout).startswith("Nothing is significant.")
    assert "people.csv: 3 items." in done.stderr
    assert "2 of 40 judgments of runs/a are missing (2 failed)" in done.stderr
    document = json.loads(run("runs/a", "--json").stdout)
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert "Differences" in run("runs/a", "--full").stdout
    assert run("runs/a", "--csv").stdout.startswith("table,system")
    both = run("runs/a", "--csv", "--format", "terminal")
    assert both.exit_code == 2
    assert "--csv and --format terminal exclude each other" in both.stderr


def test_the_command_decides_requirements(tmp_path: Path) -> None:
    """Exit status 3 where one is not met, written as JUnit; an unknown name is refused before
    anything is printed."""
    junit = tmp_path / "junit.xml"
    unmet = run("runs/a", "--require", "mean[alder] >= 5.6", "--junit", str(junit))
    assert unmet.exit_code == 3
    assert 'failures="1"' in junit.read_text()
    unknown = run("runs/a", "--require", "mean[oak] >= 5")
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "one of mean[" in unknown.stderr


def test_the_command_draws(tmp_path: Path) -> None:
    """--plot writes the main estimates, or those of a name; other kinds of files, folders that are
    not there and other names are refused."""
    for name, file in (("", tmp_path / "means.svg"), ("difference=", tmp_path / "d=e.svg")):
        assert run("runs/a", "--plot", f"{name}{file}").exit_code == 0
        assert "<svg" in file.read_text()
    unknown = run("runs/a", "--plot", f"nothing={file}")
    assert (unknown.exit_code, "called 'nothing'" in unknown.stderr) == (2, True)
    for wrong in ("means.xls", "=means.svg", str(tmp_path / "no" / "means.svg")):
        assert run("runs/a", "--plot", wrong).exit_code == 2


def test_faults_and_what_needs_another_option_are_refused() -> None:
    """A fault of the function is a line; an option of --human without it, too."""
    done = run("nothing")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "nothing: found nothing; expected something" in done.stderr
    alone = run("runs/a", "--human-scale", "1-5")
    assert alone.exit_code == 2
    assert "--human-scale works only with --human; leave it out." in alone.stderr


def test_an_analysis_may_tell_its_progress() -> None:
    """One of several parts is given what takes note of it."""
    shares: list[float] = []

    def slow(progress: object = None) -> Result:
        """Take long."""
        assert callable(progress)
        for share in (0.5, 1.0):
            progress(share)
            shares.append(share)
        return SAMPLE

    made = Analysis("slow", "Panel", "Slow", slow, [], ("mean[alder] >= 5",), "RUN", n_parts=1)
    assert CliRunner().invoke(analysis_command(made), []).exit_code == 0
    assert shares == [0.5, 1.0]


def test_the_decorator_leaves_the_function_as_it_is() -> None:
    """It is called and documented as before, and registered by its name; a section of a run's page
    is found by it, whichever modules were imported."""

    def own() -> Result:
        """Do something."""
        return SAMPLE

    def on_page(of: RunWithPeople) -> Iterator[Result]:
        yield SAMPLE

    try:
        declared = analysis(
            "Own", group="People", requirements=("x > 1",), example="RUN", on_page=on_page
        )
        assert declared(own) is own
        assert ANALYSES["own"].function is own
        assert ANALYSES["own"].help.startswith("Do something.\n\nExit status")
        sections = {one.name: one.on_page for one in analyses_on_page()}
        assert {"calibrate", "correlate", "fidelity", "own", "votes"} <= set(sections)
        assert "agree" not in sections
        assert list(sections) == sorted(sections)
        assert sections["own"] is on_page
    finally:
        ANALYSES.pop("own", None)


TOY = '''"""Count the ratings of each rater.

What `fidelity` has here stands here, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis
from persona_panel.analyses.analysis import RunWithPeople
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics.core.estimate import Estimate


def _on_page(of: RunWithPeople) -> Iterator[Result]:
    yield counts_result({"ann": 3})


@analysis(
    "Ratings by rater",
    parameters.ratings("ratings"),
    group="Panel",
    example="RATINGS",
    requirements=("ratings[ann] >= 5",),
    on_page=_on_page,
)
def counts(ratings: object, *, mapping: object = None) -> Result:
    """Count the ratings of each rater of RATINGS."""
    from persona_panel.files.ratings import load_ratings

    read = load_ratings(ratings)
    return counts_result({rater: len(read.items) for rater in read.raters})


def counts_result(counts: dict[str, int]) -> Result:
    column = Column("ratings", "estimate", "ratings", digits=0, figure="ratings",
                    definition="the number of items that the rater rated")
    rows = [{"rater": name, "ratings": Estimate(n)} for name, n in counts.items()]
    table = Table("counts", (Key("rater", "rater"),), (column,), rows, "Ratings by rater")
    return Result("counts", ["Raters are counted."], (table,))
'''
WITH_TOY = """
import json, runpy, sys
from pathlib import Path
from click.testing import CliRunner
from persona_panel.cli.main import command
from tests.stub import STUB, stub_with_analyses

text = stub_with_analyses(STUB.read_text("utf-8"))
STUB.unlink()
STUB.write_text(text)
import persona_panel
from persona_panel.analyses.analysis import analyses_on_page
from persona_panel.results.definitions import definitions_of

Path("r.csv").write_text("item,rater,score\\n1,ann,3\\n2,ann,4\\n1,bob,5\\n")
run = lambda *words: CliRunner().invoke(command, words)
with_analyses = runpy.run_path(sys.argv[1])["with_analyses"]
[section] = [each for each in analyses_on_page() if each.name == "counts"]
[result] = section.on_page(None)
print(json.dumps({
    "listed": "  counts      Count the ratings of each rater.\\n" in run("--help").output,
    "printed": run("counts", "r.csv", "--json").output.count('"rater"'),
    "gate": run("counts", "r.csv", "--require", "ratings[ann] >= 3").exit_code,
    "function": persona_panel.counts("r.csv").conclusion,
    "reference": "::: persona_panel.counts\\n" in with_analyses("<!-- analyses -->"),
    "title": section.title,
    "definitions": definitions_of(result.tables[0], True),
}))
"""


def test_a_new_analysis_is_one_file(tmp_path: Path) -> None:
    """With a module more there are its command, in the list of help too, its figures for
    requirements, its function in Python and on the page of the reference, its section of a run's
    page and the definition of its column."""
    package, root = Path(persona_panel.__file__).parent, Path(__file__).parents[3]
    copy = tmp_path / "persona_panel"
    (copy / "analyses").mkdir(parents=True)
    for folder in (package, package / "analyses"):
        for entry in folder.iterdir():
            to = copy / entry.relative_to(package)
            if not to.exists():
                to.symlink_to(entry.resolve())
    (copy / "analyses" / "counts.py").write_text(TOY, "utf-8")
    (copy / "__init__.pyi").unlink()
    (copy / "__init__.pyi").write_bytes((package / "__init__.pyi").read_bytes())
    (tmp_path / "tests").symlink_to(root / "tests")
    script = tmp_path / "new_analysis.py"
    script.write_text(WITH_TOY, "utf-8")
    done = subprocess.run(
        [sys.executable, script, root / "docs/settings.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "listed": True,
        "printed": 2,
        "gate": 3,
        "function": ["Raters are counted."],
        "reference": True,
        "title": "Ratings by rater",
        "definitions": [["ratings", "the number of items that the rater rated"]],
    }
