"""How often the intervals of strengths hold the true value, and of equal systems some two differ.

    python -m benchmarks.strengths                          100 simulations a cell: a look
    nice -n 15 python -m benchmarks.strengths --scale 1     1,000, as in the documentation
    python -m benchmarks.strengths --part null --prompts 5  claims alone, at 5 prompts

Four systems (eight among the nulls) are compared by `persona_panel.statistics.bradley_terry`, with
ties, by `pairwise`, both orders of every pair with an effect of the place, or by `ranking`. A
system's merit varies from prompt to prompt (standard deviation 0.7, in log-odds), and each judge
favours systems (0.4). `gaps`: a response is missing with a probability of 0.3. The true value is
that of 100,000 prompts. `covered`: of the strengths, of the probabilities of being preferred to an
average system, and of the differences, with the Monte Carlo standard error; `refused` is the share
without an interval. `null`: the share of data with a difference that is shown among equal systems.
What is outside of 93 to 97 %, or above 5 %, by more than two standard errors is marked, and the
exit status is 1 then.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from benchmarks.harness import simulation_parser
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.strengths import Strengths, WinCounts, bradley_terry

PROMPTS = (4, 5, 8, 12, 30)
SIMULATIONS = 1_000
LOWEST, HIGHEST = 0.93, 0.97
BY_PROMPT, FAVOUR, PLACE, TIES, WIDTH, MISSING = 0.7, 0.4, 0.3, 0.5, 0.7, 0.3
LARGE = 100_000


@dataclass(frozen=True, slots=True)
class Setting:
    """What is simulated; the systems' merits go from −`spread` to `spread`, in log-odds."""

    elicitation: str
    judges: int
    spread: float
    prompts: int
    gaps: bool = False
    sampled: bool = False
    systems: int = 4

    @property
    def names(self) -> list[str]:
        return [f"s{i}" for i in range(self.systems)]

    def favour(self, rng: np.random.Generator, judges: int) -> np.ndarray:
        """What each system gets more of each judge `(judges, systems)`, none of a single one."""
        drawn = rng.normal(0, FAVOUR, (judges, self.systems))
        if self.judges == 1:
            return np.zeros_like(drawn)
        # Judges that are taken as they are favour nobody together, so that equals are equal.
        return drawn if self.sampled else drawn - drawn.mean(axis=0)


def compared(
    rng: np.random.Generator, setting: Setting, favour: np.ndarray, prompts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Wins and ties `(prompts, judges, systems, systems)`."""
    m = setting.systems
    merit = np.linspace(-setting.spread, setting.spread, m) + rng.normal(0, BY_PROMPT, (prompts, m))
    latent = merit[:, None, :] + favour
    if setting.elicitation == "ranking":
        latent = np.round((latent + rng.gumbel(size=latent.shape)) / WIDTH)
        wins = (latent[..., :, None] > latent[..., None, :]).astype(float)
        ties = (latent[..., :, None] == latent[..., None, :]).astype(float)
    else:
        # The one of the line stands first, that of the column second.
        half = np.exp((latent[..., :, None] - latent[..., None, :] + PLACE) / 2)
        total = half + 1 / half + TIES
        drawn = rng.random(half.shape)
        first, tied = drawn < half / total, drawn > (half + 1 / half) / total
        wins = first + (~first & ~tied).swapaxes(-1, -2).astype(float)
        ties = tied + tied.swapaxes(-1, -2).astype(float)
    here = np.ones((prompts, m), dtype=bool)
    if setting.gaps:
        here = rng.random((prompts, m)) >= MISSING
    both = (here[:, :, None] & here[:, None, :])[:, None] & ~np.eye(m, dtype=bool)
    return wins * both, ties * both


def counts(wins: np.ndarray, ties: np.ndarray, axis: int) -> WinCounts:
    return WinCounts(wins.sum(axis=axis), ties.sum(axis=axis))


def simulated(rng: np.random.Generator, setting: Setting, favour: np.ndarray) -> Strengths:
    """One panel's strengths."""
    wins, ties = compared(rng, setting, favour, setting.prompts)
    if not setting.sampled:
        return bradley_terry(setting.names, counts(wins, ties, 1))
    judges = {"judge": [f"j{i}" for i in range(setting.judges)]}
    by_judge = counts(wins, ties, 0)
    return bradley_terry(setting.names, counts(wins, ties, 1), by_judge=by_judge, factors=judges)


class Truth:
    """The figures of very many prompts (and judges), of whichever systems have a strength."""

    def __init__(self, setting: Setting, favour: np.ndarray) -> None:
        rng = np.random.default_rng(1)
        m = setting.systems
        self._names = setting.names
        self._wins, self._ties = np.zeros((1, m, m)), np.zeros((1, m, m))
        whole = replace(setting, gaps=False)
        for _ in range(100):
            own = setting.favour(rng, 200) if setting.sampled else favour
            # Of many judges, few prompts: either are drawn anew each time.
            n = LARGE // 100 // (20 if setting.sampled else 1)
            wins, ties = compared(rng, whole, own, n)
            self._wins += wins.sum(axis=(0, 1))
            self._ties += ties.sum(axis=(0, 1))
        self._known: dict[tuple[str, ...], dict[str, float]] = {}

    def of(self, found: Strengths) -> dict[str, float]:
        names = tuple(sorted(one.system for one in found.systems if one.reason is None))
        if names not in self._known:
            place = [self._names.index(name) for name in names]
            wins, ties = (each[:, place][:, :, place] for each in (self._wins, self._ties))
            large = bradley_terry(names, WinCounts(wins, ties))
            self._known[names] = {name: value for name, value, *_ in figures(large)}
        return self._known[names]


def figures(found: Strengths) -> Iterator[tuple[str, float, float, float]]:
    """Every figure with the ends of its interval."""
    for one in found.systems:
        yield f"strength {one.system}", one.strength.value, *one.strength.ends
        yield f"win probability {one.system}", one.win_probability.value, *one.win_probability.ends
    for each in found.differences:
        # The same two have the same name, whichever is the stronger.
        a, b = sorted((each.a, each.b))
        ends = (each.value, *each.ends)
        if a != each.a:
            ends = (-each.value, -each.high, -each.low)
        yield f"difference {a} {b}", *ends


def coverage(setting: Setting, simulations: int) -> bool:
    """Prints the share of intervals that hold the true value; whether all are near 95 %."""
    rng = np.random.default_rng(0)
    favour = setting.favour(rng, setting.judges)
    truth = Truth(setting, favour)
    held: dict[str, list[list[bool]]] = defaultdict(list)
    expected = refused = 0
    for _ in range(simulations):
        if setting.sampled:
            favour = setting.favour(rng, setting.judges)
        found = simulated(rng, setting, favour)
        true = truth.of(found)
        expected += setting.systems
        refused += sum(not one.strength.has_interval for one in found.systems)
        here: dict[str, list[bool]] = defaultdict(list)
        for name, _, low, high in figures(found):
            if not math.isnan(low):
                here[name.rpartition(" s")[0].split(" s")[0]].append(low <= true[name] <= high)
        for kind, those in here.items():
            held[kind].append(those)
    holds = True
    for kind, panels in held.items():
        # Intervals of one panel are not independent: a panel counts as one observation.
        shares = np.array([np.mean(those) for those in panels])
        covered, error = shares.mean(), shares.std(ddof=1) / math.sqrt(len(shares))
        inside = bool(LOWEST - 2 * error <= covered <= HIGHEST + 2 * error)
        holds &= inside
        _show(setting, kind, covered, error, refused / expected, inside)
    if not held:
        _show(setting, "strength", math.nan, math.nan, 1.0, True)
    return holds


def null(setting: Setting, simulations: int) -> bool:
    """Prints how often systems that are equal are said to differ; whether in 5 % at most."""
    rng = np.random.default_rng(0)
    favour = setting.favour(rng, setting.judges)
    n = 0
    for _ in range(simulations):
        if setting.sampled:
            favour = setting.favour(rng, setting.judges)
        found = simulated(rng, setting, favour)
        n += any(one.p_adjusted < LEVEL for one in found.differences)
    share = n / simulations
    error = math.sqrt(max(share, 1 / simulations) * (1 - share) / simulations)
    inside = share <= LEVEL + 2 * error
    _show(setting, f"null, {setting.systems} systems", share, error, math.nan, inside)
    return inside


def _show(
    setting: Setting, kind: str, share: float, error: float, refused: float, inside: bool
) -> None:
    judges = f"{setting.judges:3} judges{' sampled' if setting.sampled else ''}"
    gaps, mark = " gaps" if setting.gaps else "", "" if inside else "  <- outside"
    print(
        f"{setting.prompts:3} prompts {setting.elicitation:9}{judges + gaps:19} spread "
        f"{setting.spread:3.1f} {kind:16} {share:.3f} +- {error:.3f} refused {refused:.3f}{mark}",
        flush=True,
    )


def main() -> int:
    parser = simulation_parser(__doc__, SIMULATIONS, scale=0.1)
    parser.add_argument("--part", choices=["coverage", "null"], help="one of both")
    parser.add_argument("--prompts", nargs="+", type=int, default=PROMPTS)
    options = parser.parse_args()
    n = options.simulations
    designs = [
        *product(("pairwise", "ranking"), (1, 10), (False,), (False,)),
        *product(("pairwise",), (3,), (True,), (False,)),
        *product(("pairwise", "ranking"), (10,), (False,), (True,)),
    ]
    holds = []
    for prompts, (elicitation, judges, gaps, sampled) in product(options.prompts, designs):
        setting = Setting(elicitation, judges, 0.0, prompts, gaps, sampled)
        if options.part != "null":
            holds += [coverage(replace(setting, spread=spread), n) for spread in (0.0, 1.5)]
        if options.part != "coverage":
            holds += [null(replace(setting, systems=systems), n) for systems in (4, 8)]
    print(f"{holds.count(False)} of {len(holds)} are outside", file=sys.stderr)
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
