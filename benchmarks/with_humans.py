"""Whether the layout of a question, and how it is asked, change how a panel agrees with people.

    python -m benchmarks.with_humans PATH [--speeches 80] [--personas 4]

PATH is a folder with data.csv as examples/debate_speeches.py takes it. The embedded model
reads the same seeded sample in each way; τ_c with the mean human score, and its difference from
the first way's, each with a 95 % jackknife interval over topics. Goes on
where it stopped: what was read comes from the cache.
"""

from __future__ import annotations

import argparse
import ast
import csv
from pathlib import Path

import numpy as np

from persona_panel import Panel, PersonaSet, Response, load_definition
from persona_panel.personas import shipped
from persona_panel.statistics import correlation, jackknife, row_means

MODEL, RUBRIC = "local:smollm2-135m", "debate-speech"
WAYS = (
    ("expected", "shared-prefix"),
    ("expected", "persona-first"),
    ("dimensions", "shared-prefix"),
    ("yes-no", "shared-prefix"),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--speeches", type=int, default=80)
    parser.add_argument("--personas", type=int, default=4)
    options = parser.parse_args()
    csv.field_size_limit(2**30)
    with (options.path / "data.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    chosen = np.random.default_rng(0).permutation(len(rows))[: options.speeches]
    sample = [rows[place] for place in sorted(chosen)]
    humans = np.array([np.mean(ast.literal_eval(row["goodopeningspeech"])) for row in sample])
    topics = [row["topic"] for row in sample]
    personas = load_definition(shipped()["disciplinary"], PersonaSet).personas[: options.personas]
    batch = [
        Response(id=row["id"], prompt=row["topic"], text=row["text"], system=row["source"])
        for row in sample
    ]
    print(f"{len(sample)} speeches on {len(set(topics))} topics, {len(personas)} personas, {MODEL}")
    print(f"{'elicitation':<14}{'layout':<16}{'tau_c':>8}  {'95 %':<18}difference, 95 %")
    first = None
    for elicitation, layout in WAYS:
        panel = Panel(personas, MODEL, RUBRIC, elicitation=elicitation, layout=layout)
        means = row_means(panel.score(batch).ratings[:, :, 0])
        against = correlation(means, humans, "tau_c").resampled
        ends = jackknife(against, len(sample), topics, kind="correlation")
        found = correlation(means, humans, "tau_c")
        if found.reason:
            kinds = np.unique(means[~np.isnan(means)])
            print(f"{elicitation:<14}{layout:<16}undefined: {found.reason} (means: {kinds})")
            continue
        told = f"{elicitation:<14}{layout:<16}{found.value:>8.3f}"
        told += f"  {ends.low:.3f} to {ends.high:.3f}    "
        if first is None:
            first = against
        else:
            # Both without the same topics, so that what these do to both cancels.
            reference = first
            change = jackknife(
                lambda weights, one=against, other=reference: one(weights) - other(weights),
                len(sample),
                topics,
                kind="difference",
            )
            told += f"{change.low:+.3f} to {change.high:+.3f}"
        missing = int(np.isnan(means).sum())
        print(told + (f"  ({missing} speeches unrated)" if missing else ""), flush=True)


if __name__ == "__main__":
    main()
