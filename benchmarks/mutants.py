"""Whether the tests notice when the code is wrong: mutants drawn by a seed, and the share killed.

    python -m benchmarks.mutants                          200 mutants of the pure parts
    python -m benchmarks.mutants --n 20 panel/calls       some of one package

A mutant is one small change: a comparison, an arithmetic or boolean operator, a number, a
condition, a return value, a statement left out. Each is tried in a copy of the working tree by the
tests that mirror the changed file, and those that survive by the others of its package, the fastest
first, until one fails. Survivors are printed as the line before and after, at once and at the end.
Strings are left alone: most are wording.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import copy
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from benchmarks.harness import ROOT

PACKAGES = ("panel/results", "panel/statistics", "panel/calls", "graphs", "rubrics")
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file: the bytes from `start` to `end` become `text`."""

    package: str
    path: str
    line: int
    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]

    def diff(self) -> str:
        """The changed lines before and after, on one line each."""
        source = (ROOT / self.path).read_bytes()
        first = source.rfind(b"\n", 0, self.start) + 1
        last = source.find(b"\n", self.end)
        last = len(source) if last < 0 else last
        before = source[first:last].decode()
        after = (source[first : self.start] + self.text.encode() + source[self.end : last]).decode()
        return f"{self.path}:{self.line}\n  - {_one_line(before)}\n  + {_one_line(after)}"


@dataclass(frozen=True, slots=True)
class Trial:
    """The end of a mutant: `killed`, `timeout` or `survived`; `mirrored` where it was killed by the
    tests named after its file alone."""

    mutant: Mutant
    outcome: str
    seconds: float
    mirrored: bool


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", default=PACKAGES)
    parser.add_argument("--n", type=int, default=200, help="mutants (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, help="at a time (default: 2)")
    parser.add_argument(
        "--timeout", type=float, help="seconds for one mutant (default: 60 + thrice its tests' own)"
    )
    parser.add_argument("--least", type=float, default=0.9, help="share killed for exit status 0")
    options = parser.parse_args()
    packages = [package.rstrip("/") for package in options.packages]
    for package in packages:
        if not (ROOT / package).is_dir():
            parser.error(f"no such package: {package}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the tests end, too
    drawn = draw(packages, options.n, options.seed)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = [copied(Path(folder) / f"{n}") for n in range(options.jobs)]
        mirrors = {mutant: mirroring(mutant) for mutant in drawn}
        trials = tried(mirrors, copies, options.timeout, mirrored=True)
        survivors = [trial.mutant for trial in trials if trial.outcome == "survived"]
        others = {
            mutant: [test for test in tests_of(mutant.package) if test not in mirrors[mutant]]
            for mutant in survivors
        }
        trials = [trial for trial in trials if trial.mutant not in others]
        trials += tried(others, copies, options.timeout, mirrored=False)
    return report(trials, packages, options.least)


def draw(packages: Sequence[str], n: int, seed: int) -> list[Mutant]:
    """As many mutants of each package, or all it has; the same for the same seed and code."""
    random_ = random.Random(seed)
    drawn = []
    for place, package in enumerate(packages):
        share = n // len(packages) + (place < n % len(packages))
        found = [
            mutant
            for path in sorted((ROOT / package).rglob("*.py"))
            for mutant in mutants_of(path, package)
        ]
        drawn += random_.sample(found, min(share, len(found)))
    random_.shuffle(drawn)
    return drawn


def mutants_of(path: Path, package: str) -> Iterator[Mutant]:
    """Every mutant of a file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _mutable(ast.parse(source)):
        for text in _changes(node):
            assert node.end_lineno is not None and node.end_col_offset is not None
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            name = str(path.relative_to(ROOT))
            yield Mutant(package, name, node.lineno, start, end, text)


def _mutable(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """The nodes whose change can change what is computed: no annotations, no f-strings (their
    parts have no places of their own), no imports for type checkers."""
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    skipped = {"annotation", "returns", "decorator_list"}
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        if name == "__all__" or (name[:1].isupper() and not name.isupper()):
            return  # a type alias
    for field, value in ast.iter_fields(node):
        if field not in skipped:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _mutable(child)


def _changes(node: ast.expr | ast.stmt) -> Iterator[str]:
    """What may stand in a node's place."""
    changed = copy.deepcopy(node)
    if isinstance(changed, ast.Compare):
        changed.ops[0] = OPERATORS[type(changed.ops[0])]()
        yield f"({ast.unparse(changed)})"
    elif isinstance(changed, ast.BinOp | ast.BoolOp | ast.AugAssign):
        if type(changed.op) in OPERATORS and not _of_text(changed):
            changed.op = OPERATORS[type(changed.op)]()
            text = ast.unparse(changed)
            yield text if isinstance(changed, ast.AugAssign) else f"({text})"
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield str(not node.value)
        elif isinstance(node.value, int | float):
            yield f"({node.value + 1!r})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield f"({ast.unparse(node.operand)})"
    elif isinstance(changed, ast.IfExp):
        changed.test = ast.UnaryOp(ast.Not(), changed.test)
        yield f"({ast.unparse(changed)})"
    elif isinstance(node, ast.Return) and node.value and ast.unparse(node.value) != "None":
        yield "return None"
    elif (
        (
            isinstance(node, ast.Expr)
            and not isinstance(node.value, ast.Constant | ast.Yield | ast.YieldFrom)
        )
        or isinstance(node, ast.Raise)
        or (isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple))
    ):
        yield "pass"
    elif isinstance(node, ast.Break | ast.Continue):
        yield "continue" if isinstance(node, ast.Break) else "break"


def _of_text(node: ast.AST) -> bool:
    """Whether strings or types are joined: any change of that is an error at once."""
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str | None))
        for part in ast.walk(node)
    )


def copied(to: Path) -> Path:
    """Copy the working tree, without what git ignores; links stay links, else the installed modules
    would be those tested."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name, follow_symlinks=False)
    compileall.compile_dir(to / "panel", quiet=1)
    read = [sys.executable, "-c", "import persona_panel; print(persona_panel.__file__)"]
    imported = subprocess.run(read, cwd=to, env=_environment(to), capture_output=True, text=True)
    if imported.stdout.strip() != str(to / "src/persona_panel/__init__.py"):
        raise SystemExit(f"not the copy is tested: {imported.stdout or imported.stderr}")
    return to


def tests_of(package: str) -> list[str]:
    """Return the test files of a package."""
    return [str(path.relative_to(ROOT)) for path in (ROOT / "tests" / package).rglob("test_*.py")]


def mirroring(mutant: Mutant) -> list[str]:
    """Return the test files named after the changed file: `test_NAME.py`, `test_NAME_TOPIC.py`."""
    path = Path(mutant.path)
    name, folder = f"test_{path.stem.removeprefix('_')}", ROOT / "tests" / path.parent
    paths = [folder / f"{name}.py", *sorted(folder.glob(f"{name}_*.py"))]
    return [str(test.relative_to(ROOT)) for test in paths if test.is_file()]


def timed(tests: Sequence[str], tree: Path) -> dict[str, float]:
    """Return the seconds of each test file in a run of them that must pass."""
    if not tests:
        return {}
    results = tree / "results.xml"
    print(f"trying {len(tests)} test files without any mutant", file=sys.stderr, flush=True)
    status, said = _pytest([f"--junitxml={results}", *tests], tree, timeout=1800)
    if status != 0:
        raise SystemExit(f"tests fail without any mutant:\n{said}")
    seconds = dict.fromkeys(tests, 0.0)
    for case in ET.parse(results).iter("testcase"):
        name = case.get("classname", "").replace(".", "/") + ".py"
        if name in seconds:
            seconds[name] += float(case.get("time", 0))
    return seconds


def tried(
    tests: Mapping[Mutant, Sequence[str]],
    copies: Sequence[Path],
    timeout: float | None,
    *,
    mirrored: bool,
) -> list[Trial]:
    """Try each mutant by its tests, the fastest first, as many at a time as there are copies."""
    seconds = timed(sorted({test for paths in tests.values() for test in paths}), copies[0])
    free: Queue[Path] = Queue()
    for tree in copies:
        free.put(tree)
    done: list[Trial] = []

    def attempt(mutant: Mutant) -> None:
        paths = sorted(tests[mutant], key=seconds.__getitem__)
        limit = timeout or 3 * sum(seconds[path] for path in paths) + 60
        tree = free.get()
        try:
            trial = tried_in(tree, mutant, paths, limit, mirrored)
        finally:
            free.put(tree)
        done.append(trial)
        print(
            f"{len(done)}/{len(tests)} {trial.outcome} in {trial.seconds:.0f} s by {len(paths)} "
            f"{'mirroring' if mirrored else 'other'} test files: {mutant.path}:{mutant.line}",
            file=sys.stderr,
            flush=True,
        )
        if trial.outcome == "survived":
            print(mutant.diff(), file=sys.stderr, flush=True)

    with ThreadPoolExecutor(len(copies)) as pool:
        try:
            for future in [pool.submit(attempt, mutant) for mutant in tests]:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # else all of them would be tried
            raise
    return done


def tried_in(
    tree: Path, mutant: Mutant, tests: Sequence[str], timeout: float, mirrored: bool
) -> Trial:
    file = tree / mutant.path
    source = file.read_bytes()
    start = time.monotonic()
    file.write_bytes(mutant.applied(source))
    try:
        status = _pytest(["-x", *tests], tree, timeout)[0] if tests else 0
    finally:
        file.write_bytes(source)
    outcome = {None: "timeout", 0: "survived"}.get(status, "killed")
    seconds = time.monotonic() - start
    return Trial(mutant, outcome, seconds, mirrored and outcome != "survived")


def _environment(tree: Path) -> dict[str, str]:
    """Import the copy's modules, and write no bytecode: a mutant of the same size and second would
    be taken for the original."""
    paths = os.pathsep.join([str(tree / "src"), str(tree)])
    return os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}


def _pytest(arguments: Sequence[str], tree: Path, timeout: float) -> tuple[int | None, str]:
    """The exit status of pytest, None where time ran out, and the end of what it printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--hypothesis-seed=0", *arguments]  # the same examples for every mutant
    with subprocess.Popen(
        command,
        cwd=tree,
        env=_environment(tree),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=timeout)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                return None, ""
            raise
    return process.returncode, said[-4000:]


def report(trials: Sequence[Trial], packages: Sequence[str], least: float) -> int:
    """The share killed by package, and the survivors. A mutant that never ends is killed."""
    for package in packages:
        own = [trial for trial in trials if trial.mutant.package == package]
        _print_share(package, own)
    killed = _print_share("all", trials)
    survivors = [trial.mutant for trial in trials if trial.outcome == "survived"]
    for mutant in sorted(survivors, key=lambda mutant: (mutant.path, mutant.line)):
        print(mutant.diff())
    return 0 if killed >= least else 1


def _print_share(name: str, trials: Sequence[Trial]) -> float:
    killed = sum(trial.outcome != "survived" for trial in trials)
    mirrored = sum(trial.mirrored for trial in trials)
    late = sum(trial.outcome == "timeout" for trial in trials)
    share = killed / len(trials) if trials else 1.0
    print(
        f"{name}: {killed} of {len(trials)} killed ({share:.0%}), {mirrored} of them by the "
        f"mirroring test files alone, {late} by the timeout"
    )
    return share


def _one_line(source: str) -> str:
    return " ".join(source.split())


if __name__ == "__main__":
    sys.exit(main())
