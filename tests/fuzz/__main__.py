"""Fuzz targets, each for some minutes: `python -m tests.fuzz --minutes 10 TARGET…`.

With atheris (`pip install atheris`) the search is guided by which code an input reaches; without
it, Hypothesis draws the changes. An input that breaks the target is written into the folder of
findings, with its traceback, one for each place in the code; the search goes on. Once mended, it
belongs into tests/fuzz/corpus/TARGET, under a name that says what it was.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fuzz.targets import Target

MOST_MB = 2_048
"""What the process may take."""
SLOW_S = 20
"""What an input may take."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    given = parser.parse_args()
    # Nothing of the person who runs it is read or written.
    own = tempfile.mkdtemp(prefix="fuzz")
    os.environ |= {"PERSONA_PANEL_CACHE": f"{own}/cache", "XDG_STATE_HOME": f"{own}/state"}
    given.findings.mkdir(parents=True, exist_ok=True)
    try:
        import atheris
    except ImportError:
        from tests.fuzz.targets import TARGETS, corpus

        search = _by_hypothesis
    else:
        with atheris.instrument_imports(include=["persona_panel"]):
            from tests.fuzz.targets import TARGETS, corpus

        search = _by_atheris
    failed = False
    for name in given.targets:
        # A fork each: atheris ends its process. What is imported is instrumented once.
        sys.stdout.flush()
        if (pid := os.fork()) == 0:
            target = TARGETS[name]
            seeds = [*target.seeds(), *(path.read_bytes() for path in corpus(name))]
            search(noting(target, given.findings, name), seeds, given.minutes)
            return 0
        failed |= os.waitpid(pid, 0)[1] != 0
    return int(failed)


def noting(target: Target, findings: Path, name: str) -> Callable[[bytes], None]:
    """The target's check, which writes down what it raises, once for each place."""
    known: set[tuple[str, ...]] = set()

    def check(data: bytes) -> None:
        started = time.monotonic()
        try:
            target.check(data)
            took = time.monotonic() - started
            assert took < SLOW_S, f"it took {took:.0f} s"
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            ours = [f"{one.filename}:{one.lineno}" for one in frames if "site-packages" not in
                    one.filename and "<frozen" not in one.filename]  # fmt: skip
            place = (type(error).__name__, *ours[-1:])
            if place in known:
                return
            known.add(place)
            path = findings / f"{name}-{sha256(repr(place).encode()).hexdigest()[:12]}"
            path.write_bytes(data)
            said = "".join(traceback.format_exception(error, limit=-8))
            path.with_name(f"{path.name}.txt").write_text(said, "utf-8", "replace")
            print(f"FOUND {path}: {type(error).__name__} at {ours[-1:]}", file=sys.stderr)

    return check


def _by_atheris(check: Callable[[bytes], None], seeds: list[bytes], minutes: float) -> None:
    import atheris

    from tests.fuzz.mutations import LONGEST, changed

    def mutated(data: bytes, most: int, seed: int) -> Any:
        random = Random(seed)
        if random.random() < 0.3:
            return atheris.Mutate(data, most)
        return changed(data, random)[:most]

    folder = Path(tempfile.mkdtemp(prefix="fuzz-seeds"))
    for seed in seeds:
        (folder / sha256(seed).hexdigest()[:20]).write_bytes(seed)
    options = [
        f"-max_total_time={max(1, round(minutes * 60))}", f"-max_len={LONGEST}", "-close_fd_mask=0",
        f"-rss_limit_mb={MOST_MB}", f"-timeout={2 * SLOW_S}", "-print_final_stats=1", str(folder),
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], check, custom_mutator=mutated)
    atheris.Fuzz()


def _by_hypothesis(check: Callable[[bytes], None], seeds: list[bytes], minutes: float) -> None:
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    from tests.fuzz.mutations import changed

    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=[*HealthCheck])
    @given(st.sampled_from(seeds), st.integers(0, 2**32))
    def search(seed: bytes, number: int) -> None:
        check(changed(seed, Random(number)))

    ends = time.monotonic() + 60 * minutes
    while time.monotonic() < ends:
        search()


if __name__ == "__main__":
    sys.exit(main())
