"""Sentences on a run that stand below any result of it: what it cost, and where it is."""

from __future__ import annotations

from collections.abc import Iterator

from persona_panel.calls.budget import Spending
from persona_panel.files.named_files import is_copy, shown_folder
from persona_panel.models.config import batched_name, cost
from persona_panel.models.embedded_weights import NOTICE
from persona_panel.results.conclusions.money import spent as spent_in_words
from persona_panel.rubrics import Usage
from persona_panel.runs.run import Run
from persona_panel.statistics.core.table import Coverage


def run_remarks(run: Run) -> list[str]:
    """Return what the run's calls cost, and its folder."""
    said = [sentence for sentence, _ in spending_sentences(run)]
    # A copy is not at its address yet: who sends it says so.
    if run.folder is not None and not is_copy(run.folder):
        said.append(f"The run is in {shown_folder(run.folder)}")
    return said


def demonstration_notice(*models: str) -> list[str]:
    """Return what is to be known of scores by the model that comes with the package, where it is
    among these."""
    return [NOTICE] if any(model.startswith("local:smollm2-135m") for model in models) else []


def counts_sentence(run: Run, coverage: Coverage) -> str:
    """Return how many judgments were scored, by how many calls."""
    calls = run.calls
    made = f"{calls.made:,} calls made"
    # Of batches, requests without an answer are no calls.
    by_batches = any(name.endswith(batched_name("")) for name in calls.spent)
    if 0 < (failed := calls.faults.total() - calls.unsent) <= calls.made and not by_batches:
        made += f" ({failed:,} of them failed)"
    if calls.unsent:
        made += f", {calls.unsent:,} failed before they were sent"
    return (
        f"{coverage.scored:,} of {coverage.expected:,} judgments scored, "
        f"{coverage.abstained:,} judged as abstentions; {made}, {calls.cached:,} answered from the "
        "cache."
    )


def spending_sentences(run: Run) -> Iterator[tuple[str, bool]]:
    """Yield what the calls cost, and what of that is not as usual: for thinking, estimated,
    reported oddly, or done by earlier runs; and whether each is a warning. First, that answers were
    taken back."""
    calls = run.calls
    if calls.taken_back:
        yield (
            f"{calls.taken_back:,} answers were taken back and asked for again, since they may be "
            "other requests': a server sent answers that no request asked for. Check the server, "
            "or the proxy before it.",
            True,
        )
    usd = [cost(run.prices.get(model), used) for model, used in calls.spent.items()]
    if (amount := spent_in_words(usd)) is not None:
        yield f"Cost of the calls: {amount}.", False
    spent = sum(calls.spent.values(), Usage())
    if spent.reasoning:
        part = f"{spent.reasoning:,} of {spent.output:,} output tokens"
        yield f"{part} were used for thinking, as far as models report it.", False
    if estimated := calls.estimated.calls:
        tokens = Spending(usage=calls.estimated.usage).tokens
        yield (
            f"The usage of {estimated:,} calls is unknown (no answer in time, or an answer that "
            f"does not report it): they count as {tokens:,} tokens, the most that they may have "
            "used.",
            True,
        )
    for model, odd in sorted(calls.odd.items()):
        yield f"{model} reported an impossible usage, the first time: {odd}.", True
    if calls.before.calls:
        made = f"{calls.before.calls:,} calls with {calls.before.tokens:,} tokens"
        yield f"Earlier runs in this folder made {made}; they count toward the caps.", False
