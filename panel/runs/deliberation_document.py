"""What deliberation did to a run, as summary.json holds it."""

from __future__ import annotations

from typing import Any

from persona_panel.files.documents import json_number
from persona_panel.statistics.core.arrays import Statistic
from persona_panel.statistics.deliberation import Reordering, TowardHumans
from persona_panel.statistics.revisions import BeforeAfter, Change, Conformity, Influence


def before_after_document(means: BeforeAfter) -> dict[str, Any]:
    """Means before and after, and how many ratings moved."""
    return {
        "before": json_number(means.before),
        "after": json_number(means.after),
        "change": json_number(means.change),
        "moved": means.n_moved,
        "of": means.n,
        "reason": means.reason,
    }


def change_document(change: Change) -> dict[str, Any]:
    """A statistic before and after, with the interval of its change."""
    interval = change.interval
    return {
        "before": json_number(change.before),
        "after": json_number(change.after),
        "change": json_number(change.change),
        "ci_low": None if interval is None else json_number(interval.low),
        "ci_high": None if interval is None else json_number(interval.high),
        "prompts": 0 if interval is None else interval.n_clusters,
        "responses": change.n_items,
        "reason": change.reason or (interval.reason if interval else None),
    }


def _share(estimate: Statistic, name: str) -> dict[str, Any]:
    return {name: json_number(estimate.value), "reason": estimate.reason}


def conformity_document(found: Conformity) -> dict[str, Any]:
    """How many moves went toward the peers, and away."""
    return {
        "moves": found.n_moves,
        "toward": found.n_toward,
        "away": found.n_away,
        "undefined": found.n_undefined,
    } | _share(found.share, "share")


def influence_document(found: Influence) -> dict[str, Any]:
    """Who moved whom: the net pull of each persona, and each pair's."""
    people = list(enumerate(found.personas))
    return {
        "pull": [
            {"persona": name, "of": (pull := found.pull(place)).n_items} | _share(pull, "net")
            for place, name in people
        ],
        "cells": [
            {
                "moved": moved,
                "by": by,
                "nearer": int(found.nearer[row, column]),
                "farther": int(found.farther[row, column]),
                "of": int(found.n[row, column]),
            }
            | _share(found.cell(row, column), "net")
            for row, moved in people
            for column, by in people
        ],
    }


def rankings_document(found: Reordering) -> dict[str, Any]:
    """How far the order of responses and of systems changed."""
    return {
        "pairs": found.n_pairs,
        "swapped": found.n_swapped,
        "tied": found.n_tied,
        "untied": found.n_untied,
        "tau_b": _share(found.tau_b.mean, "value"),
        "systems_tau_b": _share(found.systems_tau_b, "value"),
        "systems": [
            {
                "system": one.system,
                "before": json_number(one.before),
                "after": json_number(one.after),
                "rank_before": one.rank_before,
                "rank_after": one.rank_after,
            }
            for one in found.systems
        ],
    }


def humans_document(found: TowardHumans) -> dict[str, Any]:
    """Whether the panel came nearer to people."""
    return {
        "direction": found.direction,
        "reason": found.reason,
        "prompts": found.n_prompts,
        "tau_c": change_document(found.tau_c) | {"p_holm": json_number(found.p_tau_c)},
        "distance": change_document(found.distance) | {"p_holm": json_number(found.p_distance)},
        "spread": change_document(found.spread) | {"p_holm": json_number(found.p_spread)},
    }
