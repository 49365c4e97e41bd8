"""Runs at addresses: `persona_panel.runs.output`, `persona_panel.files.named_files`."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import fsspec
import pytest

from persona_panel import (
    Caps,
    InputError,
    ModelConfig,
    Panel,
    PanelError,
    Response,
    RunFolderError,
    RunOutput,
    RunStopped,
    load_run,
)  # fmt: skip
from persona_panel.analyses.contested import contested
from persona_panel.analyses.inputs import run_of
from persona_panel.analyses.votes import votes
from persona_panel.cli.failures import local_runs
from persona_panel.cli.main import command as main
from persona_panel.files.named_files import RemoteFolder, copied_run, shown_folder
from persona_panel.graphs import Judgment
from persona_panel.runs.output import written_here
from persona_panel.testing import ScriptedServer, serving
from tests.helpers.invoked import invoked

MEMORY = fsspec.filesystem("memory")
RESPONSES = [
    Response(id=f"r{n}", prompt=f"Why {n // 2}?", text=f"Text {n}.", system=f"s{n % 2}")
    for n in range(8)
]
JUDGMENTS = 5 * len(RESPONSES)


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One of an empty folder; what a run leaves on this machine is below tmp_path."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    yield f"memory:/{tmp_path}/run"
    if MEMORY.exists(str(tmp_path)):
        MEMORY.rm(str(tmp_path), recursive=True)


def names(address: str) -> set[str]:
    return {Path(one).name for one in MEMORY.ls(address.removeprefix("memory:/"), detail=False)}


def panel_of(server: ScriptedServer) -> Panel:
    model = ModelConfig(model="openai:stub", base_url=server.base_url)
    return Panel("disciplinary", model, "debate-speech")


def refusing(*given: object, **more: object) -> None:
    raise OSError("the bucket is full")


def left(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "home" / "persona-panel" / "runs").glob("*/run"))


def test_a_command_writes_reads_and_continues_a_run_at_an_address(
    address: str, tmp_path: Path
) -> None:
    """`score` leaves the files of a run there and names it; `agree` and `report` read it, the
    latter's page is sent; the same command calls no model again, also where this machine has no
    copy; a dry run says what is there and sends nothing."""
    texts, panel = tmp_path / "texts.jsonl", tmp_path / "panel.yaml"
    rows = [
        {"id": one.id, "prompt": one.prompt, "response": one.text, "system": one.system}
        for one in RESPONSES
    ]
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving() as server:
        panel.write_text(
            "personas: disciplinary\nrubric: debate-speech\nmodels:\n"
            f"  - {{model: 'openai:stub', base_url: '{server.base_url}'}}\n"
        )
        command = ("score", texts, "--panel", panel, "--out", address, "--max-calls", "1000")
        dry = invoked(*command, "--dry-run")
        assert dry.returncode == 0 and not MEMORY.exists(address)
        done = invoked(*command, "--no-report")
        assert done.returncode == 0, done.stderr
        # It is not there before it has been sent.
        told = f"Sending the run to {address}.\nThe run is in {address}\n"
        assert done.stderr.endswith(told) and address not in done.stdout
        assert names(address) == {
            "run.json", "responses.jsonl", "judgments.jsonl", "verdicts.csv", "summary.json",
            "spent.json",
        }  # fmt: skip
        assert load_run(address).coverage.scored == JUDGMENTS
        agreed = invoked("agree", address, "--no-intervals")
        assert agreed.returncode == 0 and "The 5 judges" in agreed.stdout
        reported = invoked("report", address)
        assert reported.returncode == 0 and f"Page: {address}/report.html" in reported.stdout
        assert "report.html" in names(address)
        held = invoked(*command, "--dry-run")
        assert f"{JUDGMENTS} of {JUDGMENTS}" in held.stdout + held.stderr
        invoked(*command, "--no-report")
        assert len(server.calls) == JUDGMENTS
    starts = json.loads(MEMORY.cat(f"{address}/run.json"))["starts"]
    assert len(starts) == 2


def test_what_was_stopped_is_sent_and_its_spending_counts(address: str, tmp_path: Path) -> None:
    """A run that a cap has stopped is there with its judgments; the next one into it counts what
    it has spent, and one whose panel differs is refused."""
    with serving() as server:
        panel = panel_of(server)
        panel.score(RESPONSES, out=address, caps=Caps(calls=10))
        assert load_run(address).coverage.scored == 10
        again = panel.score(RESPONSES, out=address, caps=Caps(calls=15))
        assert (again.calls.made, len(server.calls)) == (5, 15)
        other = Panel("disciplinary", panel.plan.models[0].config, "scrub")
        with pytest.raises(RunFolderError, match="contains another run"):
            other.score(RESPONSES, out=address)


def test_a_run_that_could_not_be_sent_goes_on_from_this_machine(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing can be sent at the end, the folder stays and the error names it; the same call
    sends all of it without calling a model."""
    with serving() as server:
        panel = panel_of(server)
        with monkeypatch.context() as patched, pytest.raises(RunStopped, match="full") as stopped:
            patched.setattr(type(MEMORY), "put_file", refusing)
            panel.score(RESPONSES, out=address)
        [folder] = left(tmp_path)
        assert f"it is kept in {folder.parent}," in str(stopped.value)
        assert not MEMORY.find(address)
        # As where the machine lost power.
        (folder.parent / "original.json").write_bytes(b"")
        run = panel.score(RESPONSES, out=address)
        assert (run.calls.cached, len(server.calls)) == (JUDGMENTS, JUDGMENTS)
    assert load_run(address).coverage.scored == JUDGMENTS


def test_a_first_sending_that_is_cut_off_goes_on(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the connection breaks after three files, run.json is not among them, and the same call
    goes on and sends all."""
    put = type(MEMORY).put_file
    sent: list[str] = []

    def cut_off(self: object, file: str, to: str, **more: object) -> None:
        if len(sent) == 3:
            raise OSError("the connection is gone")
        sent.append(to)
        put(self, file, to, **more)

    with serving() as server:
        panel = panel_of(server)
        with monkeypatch.context() as patched, pytest.raises(RunStopped, match="is gone"):
            patched.setattr(type(MEMORY), "put_file", cut_off)
            panel.score(RESPONSES, out=address)
        assert len(names(address)) == 3 and "run.json" not in names(address)
        panel.score(RESPONSES, out=address)
        assert len(server.calls) == JUDGMENTS
    assert load_run(address).coverage.scored == JUDGMENTS


def test_a_run_that_was_sent_as_its_process_was_killed_goes_on(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all is there and this machine has not noted it, the same call is not refused."""
    put = type(MEMORY).put_file

    def killed(self: object, file: str, to: str, **more: object) -> None:
        put(self, file, to, **more)
        if to.endswith("run.json"):
            patched.setattr(type(MEMORY), "pipe_file", refusing)
            raise OSError("the machine is gone")

    with serving() as server:
        panel = panel_of(server)
        with monkeypatch.context() as patched, pytest.raises(RunStopped, match="is gone"):
            patched.setattr(type(MEMORY), "put_file", killed)
            panel.score(RESPONSES, out=address)
        assert load_run(address).coverage.scored == JUDGMENTS
        panel.score(RESPONSES, out=address)
        assert len(server.calls) == JUDGMENTS
    assert ".persona-panel-sender" not in names(address)
    assert len(json.loads(MEMORY.cat(f"{address}/run.json"))["starts"]) == 2


def test_a_dry_run_and_overwriting_keep_an_interrupted_run(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dry run reads the run that is kept here, or what is at the address, and leaves this machine
    as it was; --overwrite begins in the folder that is kept, which is there until it is sent."""
    home, output = tmp_path / "home", RunOutput(address)
    with serving() as server:
        panel = panel_of(server)
        with monkeypatch.context() as patched, pytest.raises(RunStopped):
            patched.setattr(type(MEMORY), "put_file", refusing)
            panel.score(RESPONSES, out=address)
        before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
        for overwrite in (False, True):
            with written_here(RunOutput(address, overwrite=overwrite), dry=True) as here:
                assert len((here.folder / "judgments.jsonl").read_text().splitlines()) == JUDGMENTS
            assert not here.folder.parent.exists()
        assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before
        [kept] = left(tmp_path)
        with written_here(RunOutput(address, overwrite=True)) as here:
            assert here.folder == kept and (kept / "judgments.jsonl").exists()
        assert not home.exists() or not left(tmp_path)
        with written_here(output, dry=True) as here:
            assert (here.folder / "run.json").exists()
        assert not left(tmp_path)


def test_a_run_in_place_of_another_is_sent_whole_or_not_at_all(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where sending breaks off, what is at the address is no run, and no mixture of two; the same
    call goes on without calling a model, and nothing of the other run is left."""
    remove = type(MEMORY).rm_file

    def cut_off(self: object, path: str) -> None:
        if path.endswith("report.html"):
            raise OSError("the connection is gone")
        remove(self, path)

    with serving() as server:
        panel = panel_of(server)
        Panel("disciplinary", panel.plan.models[0].config, "scrub").score(RESPONSES, out=address)
        MEMORY.pipe_file(f"{address.removeprefix('memory:/')}/report.html", b"of the other")
        n, output = len(server.calls), RunOutput(address, overwrite=True)
        with monkeypatch.context() as patched, pytest.raises(RunStopped, match="is gone"):
            patched.setattr(type(MEMORY), "rm_file", cut_off)
            panel.score(RESPONSES, out=output)
        with pytest.raises(PanelError, match="found no such file"):
            load_run(address)
        run = panel.score(RESPONSES, out=output)
        assert len(server.calls) == n + JUDGMENTS
    assert load_run(address).dimensions == run.dimensions
    assert "report.html" not in names(address)


def test_what_is_there_stays_a_run_where_nothing_can_be_written_any_more(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that has expired while a run went on does not cost the run that is there."""
    with serving() as server:
        panel = panel_of(server)
        panel.score(RESPONSES, out=address, caps=Caps(calls=10))
        with pytest.raises(RunStopped, match="full"), written_here(RunOutput(address)) as here:
            (here.folder / "run.json").write_text("{}")
            monkeypatch.setattr(type(MEMORY), "pipe_file", refusing)
    assert load_run(address).coverage.scored == 10


def test_a_key_that_may_not_remove_files_is_enough(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is written, continued and replaced with it, but where a file of the one before would
    be left: that is told with its name, and that run stays."""

    def denied(*given: object, **more: object) -> None:
        raise PermissionError("Access Denied")

    with serving() as server, monkeypatch.context() as patched:
        for name in ("rm", "rm_file", "_rm"):
            patched.setattr(type(MEMORY), name, denied)
        panel = panel_of(server)
        panel.score(RESPONSES, out=address, caps=Caps(calls=10))
        panel.score(RESPONSES, out=address, caps=Caps(calls=15))
        other = Panel("disciplinary", panel.plan.models[0].config, "scrub")
        other.score(RESPONSES, out=RunOutput(address, overwrite=True))
        assert load_run(address).coverage.scored == JUDGMENTS
        MEMORY.pipe_file(f"{address.removeprefix('memory:/')}/report.html", b"of the other")
        with pytest.raises(RunStopped, match=r"Access Denied.*has no report\.html .*is kept in"):
            panel.score(RESPONSES, out=RunOutput(address, overwrite=True))
        assert len(load_run(address).dimensions) == 5


def test_a_signal_while_a_run_is_sent(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends the sending, with where the run is; the same call sends it."""

    def interrupted(*given: object, **more: object) -> None:
        raise KeyboardInterrupt

    with serving() as server:
        panel = panel_of(server)
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as stopped:
            patched.setattr(type(MEMORY), "put_file", interrupted)
            panel.score(RESPONSES, out=address)
        [kept] = left(tmp_path)
        told = f"has not all been sent to {address}; it is kept in {kept.parent}, and the same"
        assert told in str(stopped.value)
        panel.score(RESPONSES, out=address)
        assert len(server.calls) == JUDGMENTS
    assert load_run(address).coverage.scored == JUDGMENTS


def test_a_place_here_that_cannot_be_written_is_told_as_such(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, with the variable that sets another, and no model is called."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with serving() as server:
        with pytest.raises(RunFolderError, match=r"Not a directory.*set XDG_CACHE_HOME"):
            panel_of(server).score(RESPONSES, out=address)
        assert not server.calls


def test_a_full_disk_here_is_not_taken_for_one_there(address: str, tmp_path: Path) -> None:
    """The folder of this machine is named, and what to do."""

    def full(judgment: Judgment) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with serving() as server, pytest.raises(RunStopped) as stopped:
        panel_of(server).score(RESPONSES, out=address, on_judgment=full)
    here = tmp_path / "home" / "persona-panel" / "runs"
    assert str(stopped.value).startswith(f"{here}/")
    assert f"{address} is kept until it is sent) cannot be written (No" in str(stopped.value)
    assert "make room, then run the same command again" in str(stopped.value)


def test_what_is_sent_of_a_copy(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has changed is sent, run.json last; what is gone from a run that is written is removed,
    but nothing where the whole copy has vanished, nor by a command that reads."""
    for name in ("a.csv", "b.csv", "run.json"):
        MEMORY.pipe_file(f"{address.removeprefix('memory:/')}/{name}", b"{}")
    put = type(MEMORY).put_file
    sent: list[str] = []

    def noted(self: object, file: str, to: str, **more: object) -> None:
        sent.append(Path(to).name)
        put(self, file, to, **more)

    monkeypatch.setattr(type(MEMORY), "put_file", noted)
    read = copied_run(address)
    assert read is not None
    (read.path / "a.csv").unlink()
    (read.path / "report.html").touch()
    read.send()
    assert sent == ["report.html"]
    with written_here(RunOutput(address)) as here:
        (here.folder / "b.csv").unlink()
        for name in ("run.json", "summary.json"):
            (here.folder / name).write_text("{ }")
    assert sent[1:] == ["summary.json", "run.json"]
    whole = {"a.csv", "report.html", "summary.json", "run.json"}
    assert names(address) == whole
    # As where a kill came between the last file and the note that all are sent.
    (read.path / "run.json").write_text("{  }")
    MEMORY.pipe_file(f"{address.removeprefix('memory:/')}/run.json", b"{  }")
    read.refuse_another()
    shutil.rmtree(read.path)
    read.send(whole=True)
    assert names(address) == whole


def test_passwords_and_tokens_are_not_shown(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those in an address, however short, are neither in messages nor in names on this machine; the
    name of a container, which stands where a user's does, is shown."""
    secret = f"{address}?token=pw1&version=2"
    with serving() as server:
        panel = panel_of(server)
        with monkeypatch.context() as patched, pytest.raises(RunStopped) as stopped:
            patched.setattr(type(MEMORY), "put_file", refusing)
            panel.score(RESPONSES[:2], out=secret)
        assert f"{address}?token=[secret]&version=2" in str(stopped.value)
        assert left(tmp_path) and "pw1" not in "".join(map(str, (tmp_path / "home").rglob("*")))
        panel.score(RESPONSES[:2], out=secret.replace("pw1", "pw2"))
        assert len(server.calls) == 10
        copy = copied_run(secret.replace("pw1", "pw2"))
        assert copy is not None and shown_folder(copy.path).endswith("token=[secret]&version=2")
        assert "pw2" not in str(copy.path)
        with pytest.raises(PanelError) as refused:
            panel.score(RESPONSES, out="acme://bob:pw@box/run")
        assert "acme://bob:[secret]@box/run" in str(refused.value)
        with pytest.raises(PanelError, match="acme://container1@account/run"):
            panel.score(RESPONSES, out="acme://container1@account/run")


def test_nothing_is_left_of_a_run_that_wrote_nothing(address: str, tmp_path: Path) -> None:
    """One that ends before it has a run.json leaves no folder here and no file there."""
    with written_here(RunOutput(address)) as here:
        here.folder.mkdir()
        (here.folder / "judgments.jsonl").touch()
    assert not [*(tmp_path / "home" / "persona-panel" / "runs").iterdir()]
    assert not MEMORY.find(address)


def test_two_machines_do_not_mix_their_runs(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was not sent is not sent over one that another machine has written meanwhile, nor
    is one that goes on to its end; and of two runs of one machine at the same time, the second is
    refused."""
    with serving() as server:
        panel = panel_of(server)
        with monkeypatch.context() as patched, pytest.raises(RunStopped):
            patched.setattr(type(MEMORY), "put_file", refusing)
            panel.score(RESPONSES, out=address)
        here = left(tmp_path)
        with monkeypatch.context() as patched:
            patched.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
            panel.score(RESPONSES, out=address)
        with pytest.raises(RunFolderError, match=f"This one is kept in {here[0].parent};"):
            panel.score(RESPONSES, out=address)
        shutil.rmtree(here[0])
        with (
            pytest.raises(RunStopped, match="written by another run since"),
            written_here(RunOutput(address)) as second,
        ):
            (second.folder / "run.json").write_text("{}")
            with monkeypatch.context() as patched:
                patched.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
                panel.score(RESPONSES, out=address)
    assert len(json.loads(MEMORY.cat(f"{address}/run.json"))["starts"]) == 2
    shutil.rmtree(here[0])
    at = RunOutput(address)
    refused = pytest.raises(RunFolderError, match=f"another run is writing to {address};")
    with written_here(RunOutput(address, overwrite=True)), refused, written_here(at):
        pass


def test_a_run_is_not_mixed_with_one_that_is_being_sent(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two machines whose runs end at the same time, the second sends nothing, also where the
    first was killed meanwhile, until that goes on; and a third does not begin."""
    put = type(MEMORY).put_file
    sent: list[str] = []

    def killed(self: object, file: str, to: str, **more: object) -> None:
        if len(sent) == 2:
            patched.setattr(type(MEMORY), "pipe_file", refusing)
            raise OSError("the machine is gone")
        sent.append(to)
        put(self, file, to, **more)

    with serving() as server:
        panel = panel_of(server)
        with (
            pytest.raises(RunStopped, match="as another run is being sent to"),
            written_here(RunOutput(address)) as second,
        ):
            panel.score(RESPONSES, out=second)
            with monkeypatch.context() as patched, pytest.raises(RunStopped, match="is gone"):
                patched.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
                patched.setattr(type(MEMORY), "put_file", killed)
                panel.score(RESPONSES, out=address)
        assert len(names(address) - {".persona-panel-sender"}) == 2
        with pytest.raises(RunFolderError, match="another run is being sent"):
            panel.score(RESPONSES, out=address)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
        panel.score(RESPONSES, out=address)
    assert load_run(address).coverage.scored == JUDGMENTS and len(names(address)) == 6
    place = address.removeprefix("memory:/")
    MEMORY.pipe_file(f"{place}/.persona-panel-sender", b"a third")
    for _ in range(2):
        with pytest.raises(RunFolderError, match="another run is being sent"):
            panel.score(RESPONSES, out=address)
        MEMORY.pipe_file(f"{place}/run.json", b"")


def test_of_two_that_begin_to_send_at_once_the_first_ends(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sees before its next file that another claims the address, and leaves the claim."""
    put, sender = type(MEMORY).put_file, f"{address.removeprefix('memory:/')}/.persona-panel-sender"

    def claimed(self: object, file: str, to: str, **more: object) -> None:
        put(self, file, to, **more)
        MEMORY.pipe_file(sender, b"another")

    with serving() as server, monkeypatch.context() as patched:
        patched.setattr(type(MEMORY), "put_file", claimed)
        with pytest.raises(RunStopped, match="as another run is being sent"):
            panel_of(server).score(RESPONSES[:2], out=address)
    assert len(names(address)) == 2 and MEMORY.cat_file(sender) == b"another"


def test_a_run_that_was_sent_before_the_claim_stays(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another machine sends its whole run between the last look at the address and the claim,
    that run is left as it is."""
    pipe, place = type(MEMORY).pipe_file, address.removeprefix("memory:/")

    def late(self: object, to: str, content: bytes, **more: object) -> None:
        if content and to.endswith(".persona-panel-sender"):
            pipe(self, f"{place}/run.json", b"another's")
        pipe(self, to, content, **more)

    with serving() as server, monkeypatch.context() as patched:
        patched.setattr(type(MEMORY), "pipe_file", late)
        with pytest.raises(RunStopped, match="was written by another run"):
            panel_of(server).score(RESPONSES[:2], out=address)
    assert names(address) == {"run.json"}
    assert MEMORY.cat_file(f"{place}/run.json") == b"another's"


@pytest.mark.parametrize(
    ("address_", "said"),
    [
        ("acme://bucket/run", "Protocol not known: acme"),
        (
            "memory://elsewhere/texts.csv.gz",
            "found the address of a file; expected that of a run's",
        ),
        ("memory://elsewhere/texts", "not the folder of a run, and not empty (it contains a.txt)"),
    ],
)
def test_what_is_no_place_for_a_run_is_told_before_a_call(
    address: str, address_: str, said: str
) -> None:
    """An address that nobody knows, a file's, and a folder with other files are refused."""
    MEMORY.pipe_file("/elsewhere/texts/a.txt", b"")
    with serving() as server:
        with pytest.raises(PanelError) as refused:
            panel_of(server).score(RESPONSES, out=address_)
        assert said in str(refused.value)
        assert not server.calls


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("memory://", "memory://"),
        ("file:///", "file:///"),
        ("FILE:///runs/Large//", "file:///runs/Large"),
    ],
)
def test_how_an_address_is_shown(given: str, shown: str) -> None:
    """With its slashes, a scheme in small letters, and none at its end."""
    assert RemoteFolder(given).address == shown


@pytest.mark.parametrize("out", ["s3:/bucket/run", Path("s3://bucket/run")])
def test_one_slash_makes_no_folder(
    out: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused with the address that is meant, by commands too."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PanelError, match="expected s3://bucket/run"), written_here(RunOutput(out)):
        pass
    Path("texts.jsonl").write_text('{"prompt": "p", "response": "r", "system": "s"}')
    done = invoked("score", "texts.jsonl", "--model", "openai:stub", "--out", str(out), "--dry-run")
    assert done.returncode == 2 and "expected s3://bucket/run" in done.stderr
    assert not Path("s3:").exists()


@pytest.mark.parametrize(
    ("called", "name"), [("sweep", "like"), ("plan", "source"), ("plan", "human")]
)
def test_options_that_name_a_run_take_an_address(address: str, called: str, name: str) -> None:
    """--like, --from and --human are read in a copy, as arguments are; what is to be written is
    not."""
    MEMORY.pipe_file(f"{address.removeprefix('memory:/')}/run.json", b"{}")
    given = {name: address, "out": address}
    command = main.get_command(click.Context(main), called)  # type: ignore[attr-defined]
    with local_runs(click.Context(command), given):
        assert Path(given[name], "run.json").is_file()
        assert given["out"] == address


@pytest.mark.parametrize(
    "command",
    [
        ("score", "texts.jsonl", "--model", "openai:stub", "--batch", "--out", "memory://a/run"),
        ("batch", "status", "memory://a/run"),
        ("batch", "cancel", "memory://a/run"),
    ],
)
def test_batches_are_refused_at_an_address(command: tuple[str, ...]) -> None:
    """Their journal is to be in a folder of this machine; nothing is looked for at the address."""
    done = invoked(*command)
    assert done.returncode == 2
    said = "The journal of batches, which are paid for, belongs in a folder of this machine"
    assert said in done.stderr


def test_analyses_take_a_run_at_an_address(address: str, tmp_path: Path) -> None:
    """In Python as in the command: an address is read as the folder of this machine is, and one
    where no run is refused by its name."""
    with serving() as server:
        panel_of(server).score(RESPONSES, out=tmp_path / "here")
        panel_of(server).score(RESPONSES, out=address)
    for analysis in (contested, votes):
        there, here = analysis(address), analysis(tmp_path / "here")
        assert repr(there.tables) == repr(here.tables)
        assert there.source == address
        with pytest.raises(InputError, match=f"{address}-not: found no folder of a run"):
            analysis(f"{address}-not")
    run = run_of(address)
    assert run is not None and run.coverage.scored == JUDGMENTS
