"""Which engine is meant: `persona_panel.clusters.engines`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from persona_panel import ConfigurationError
from persona_panel.clusters.engines import check_engine_options, opened_engine
from persona_panel.rubrics import extensions
from persona_panel.rubrics.extensions import extension_names, load_extension
from tests.helpers.command import Command
from tests.helpers.distributions import installed
from tests.helpers.invoked import invoked


def test_an_engine_whose_package_is_absent_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray, a sentence says what to install."""
    load_extension.cache_clear()
    for name in ("engines.ray", "ray_engine", "ray_mailbox"):
        monkeypatch.delitem(sys.modules, f"persona_panel.clusters.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    needs = "the engine ray needs ray, .* pip install 'persona-panel\\[ray\\]'"
    with pytest.raises(ConfigurationError, match=needs), opened_engine("ray"):
        pass


def test_a_package_that_anothers_engine_lacks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, also where it is missed as late as the engine is opened, and without an extra
    of ours, which has none for it."""
    source = (
        "def check(address, options): pass\n"
        "def opened(address, workers, options): import no_such_package\n"
    )
    installed(tmp_path, "engines", "broken = broken_engine", "broken_engine", source)
    monkeypatch.syspath_prepend(tmp_path)
    said = "the engine broken needs no_such_package, which is not installed; install it"
    forget = (extensions._installed, extension_names, load_extension)
    for each in forget:
        each.cache_clear()
    try:
        with pytest.raises(ConfigurationError, match=f"{said}$"):
            opened_engine("broken")
    finally:
        for each in forget:
            each.cache_clear()


def test_help_names_the_engines_of_other_distributions(tmp_path: Path, command: Command) -> None:
    """Beside ours, in lines of 80 columns; an engine is imported only where it is used."""
    name = "engine-of-a-distribution-with-a-long-name"
    installed(tmp_path, "engines", f"{name} = long_engine", "long_engine", "raise ImportError\n")
    done = command("score", "--help-all", PYTHONPATH=str(tmp_path), COLUMNS="80")
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    assert f"Installed: {name}, ray." in " ".join(done.stdout.split())


def test_options_that_do_not_fit_are_refused() -> None:
    """Workers without an engine, batches with one, and an engine that there is not."""
    for options, said in (
        (("--workers", "2"), "--workers works only with --engine"),
        (("--engine", "ray", "--batch-in", "there"), "--engine calls models"),
        (("--engine-option", "num_gpus=1"), "--engine-option works only with --engine"),
        (("--engine", "spark"), "no engine is called 'spark'"),
        (("--engine", "spark", "--dry-run"), "no engine is called 'spark'"),
    ):
        done = invoked("score", "examples/responses.jsonl", "--personas", "none", *options)
        assert done.returncode == 2
        assert said in done.stderr


@pytest.mark.parametrize(
    ("spec", "option", "said"),
    [
        ("ray:", None, "expected ray or ray:ADDRESS"),
        ("ray:10.0.0.4", None, "expected HOST:PORT"),
        ("ray:10.0.0.4:0", None, "expected HOST:PORT"),
        ("ray:head:65536", None, "expected HOST:PORT"),
        ("ray:head:6379?num_gpus=1", None, "expected HOST:PORT"),
        ("ray:::1:6379", None, "expected HOST:PORT"),
        ("ray:ray://head:10001", None, "start it on a machine of the cluster"),
        ("ray", "gpus=1", "no option 'gpus'; expected num_cpus, num_gpus, resources"),
        ("ray", "num_gpus=-1", "num_gpus of the engine ray: found -1"),
        ("ray", "num_gpus=1.5", "found 1.5; expected a number of 0 or more, a whole one above 1"),
        ("ray", "num_cpus=yes", "num_cpus of the engine ray: found True"),
        ("ray", "num_cpus=.inf", "num_cpus of the engine ray: found inf"),
        ("ray", "resources=a100", "found 'a100'; expected amounts by name"),
        ("ray", "resources={a100: x}", "a100 of the engine ray: found 'x'"),
        ("ray", "resources={1: 1}", "found 1 as a name; expected text"),
        ("ray", 'resources={"": 1}', "found '' as a name; expected text"),
        ("ray", "resources={GPU: 1}", "found GPU; expected num_cpus or num_gpus"),
    ],
)
def test_what_cannot_be_right_is_refused_in_the_dry_run(
    spec: str, option: str | None, said: str
) -> None:
    """An address without a port or with what is no port, and what no worker can be given."""
    more = () if option is None else ("--engine-option", option)
    command = ("score", "examples/responses.jsonl", "--personas", "none", "--engine", spec)
    done = invoked(*command, "--dry-run", *more)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("address", ["10.0.0.4:6379", "head.cluster.local:6379", "[::1]:6379"])
def test_what_can_be_right_passes(address: str) -> None:
    """Addresses of IPv4, of names and of IPv6, and fractions of a machine."""
    options = {"num_cpus": 0, "num_gpus": 0.5, "resources": {"a100": 1}}
    check_engine_options(f"ray:{address}", options)
