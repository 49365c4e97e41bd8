"""Every benchmark in one command, and one table of what they came to.

    python -m benchmarks                        all of them (an hour on two cores)
    python -m benchmarks overhead peers         some of them
    python -m benchmarks overhead --scale 0.1   a tenth of the size: a look, not a figure

Needs the extras `test` and `local`; `peers` installs two packages more, in environments of
their own. `alpha`, `faults`, `histories`, `humans`, `kills`, `rankings`, `soak` and `strengths`
take options of their own when they are run by themselves: `python -m benchmarks.soak --help`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
from importlib import import_module

from benchmarks.harness import ROOT, add_parts, environment
from benchmarks.report import Figure, Outcome, show_figures, show_rows

MEASURED = ("overhead", "peers", "memory", "layout", "startup", "tracing")
CHECKED = {
    "alpha": "alpha_bootstrap",
    "faults": "faults",
    "soak": "soak",
    "histories": "histories",
    "kills": "kills",
    "strengths": "strengths",
    "null_added_raters": "null_added_raters",
    "null_subset": "null_subset",
    "effective": "effective_judges",
    "compared_runs": "compared_runs",
    "humans": "null_humans",
    "rankings": "null_rankings",
    "annotator_test": "annotator_test",
    "compared_advantages": "compared_advantages",
    "prediction_powered": "prediction_powered",
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parts = (*MEASURED, *CHECKED)
    add_parts(parser, parts)
    parser.add_argument("--repeat", type=int, default=2, help="rounds (default: 2)")
    parser.add_argument("--concurrency", type=int, default=200, help="calls in flight")
    parser.add_argument("--scale", type=float, default=1.0, help="of the size of each part")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the stub ends, too
    # As an installer does: the first to run must not pay for all.
    packages = [str(ROOT / name) for name in ("panel", "graphs", "rubrics", "personas")]
    subprocess.run([sys.executable, "-m", "compileall", "-q", *packages], check=True)
    outcomes = {part: _run(part, options) for part in parts if part in options.parts}
    if options.json:
        print(json.dumps({part: outcome.as_json() for part, outcome in outcomes.items()}))
    else:
        _show(outcomes, options)
    figures = [figure for outcome in outcomes.values() for figure in outcome.figures]
    return 0 if all(figure.holds for figure in figures) else 1


def _run(part: str, options: argparse.Namespace) -> Outcome:
    print(f"== {part}", file=sys.stderr, flush=True)
    if part in MEASURED:
        try:
            outcome: Outcome = import_module(f"benchmarks.{part}").run(options)
        except RuntimeError as error:
            missed = Figure(f"{part}: could be measured", (0,), "1", False)
            return Outcome(figures=[missed], notes=[f"not measured: {error}"])
        return outcome
    command = [sys.executable, "-m", f"benchmarks.{CHECKED[part]}"]
    status = subprocess.run(command, cwd=ROOT, env=environment(), stdout=sys.stderr).returncode
    return Outcome(figures=[Figure(f"{part}: exit status", (status,), "0", status == 0)])


def _show(outcomes: dict[str, Outcome], options: argparse.Namespace) -> None:
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, "
        f"{options.repeat} rounds, scale {options.scale:g}"
    )
    for part, outcome in outcomes.items():
        for note in outcome.notes:
            print(f"{part}: {note}")
    if rows := [row for outcome in outcomes.values() for row in outcome.rows]:
        show_rows(rows)
    if figures := [figure for outcome in outcomes.values() for figure in outcome.figures]:
        show_figures(figures)


if __name__ == "__main__":
    sys.exit(main())
