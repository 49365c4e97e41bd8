"""Writes figures.json: means and intervals of ppi-python for drawn ratings, with the weight given.

pip install ppi-python
python tests/panel/statistics/ppi/make_figures.py
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

rng = np.random.default_rng(11)
cases = []
for rated, others, agreement in ((12, 60, 0.9), (30, 170, 0.6), (100, 400, 0.8)):
    truth = rng.normal(5, 1.5, rated + others)
    panel = np.round(7 + agreement * (truth - 5) + rng.normal(0, 1, rated + others), 2)
    human = np.round(truth[:rated], 2)
    sides = human, panel[:rated], panel[rated:]
    figures = {}
    # None: the weight that it chooses.
    for weight in (0.0, 1.0, None):
        value = float(np.squeeze(ppi_mean_pointestimate(*sides, lam=weight)))
        low, high = (float(np.squeeze(x)) for x in ppi_mean_ci(*sides, alpha=0.05, lam=weight))
        figures["chosen" if weight is None else f"{weight:g}"] = [value, low, high]
    cases.append({"human": human.tolist(), "panel": panel.tolist(), "figures": figures})
found = {"ppi-python": version("ppi-python"), "cases": cases}
Path(__file__).with_name("figures.json").write_text(json.dumps(found) + "\n", "utf-8")
