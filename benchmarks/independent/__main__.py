"""One table of all that is simulated here."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.independent import (
    HEAD,
    agreement,
    claims,
    first_screen,
    intervals,
    judges,
    planning,
    rasch,
    sweeps,
    winner,
)  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.independent")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--data", type=Path, help="the folder with the public ratings")
    options = parser.parse_args()
    made = {
        "winner": lambda: winner.rows(options.runs),
        "judges": lambda: judges.rows(options.runs),
        "alike": lambda: judges.alike_rows(options.runs),
        "agreement": lambda: agreement.rows(2 * options.runs, options.data),
        "missing": lambda: judges.missing_rows(options.runs // 4),
        "intervals": lambda: intervals.rows(options.runs, options.data),
        "alpha": lambda: intervals.alpha_rows(2 * options.runs),
        "screen": lambda: first_screen.rows(options.runs // 5),
        "sweeps": lambda: sweeps.rows(options.runs // 2),
        "planning": lambda: planning.rows(2 * options.runs),
        "rasch": lambda: rasch.rows(3 * options.runs // 5),
        "claims": lambda: claims.rows(3 * options.runs // 5),
    }
    print(HEAD)
    for part in options.parts or made:
        for row in made[part]():
            print(row.text(), flush=True)


if __name__ == "__main__":
    main()
