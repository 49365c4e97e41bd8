"""Runs at addresses of a server that speaks S3 as Amazon's does, and is none of ours.

Not in CI: s3fs takes one version of botocore, and pip would go back through boto3's, of which there
is a new one each day.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from persona_panel import (
    Panel,
    Response,
    RunFolderError,
    RunOutput,
    RunStopped,
    load_responses,
    load_run,
)
from persona_panel.runs.output import written_here
from persona_panel.testing import ScriptedModel

_ABSENT = "pip install 'moto[s3]' flask flask-cors s3fs"
moto_server = pytest.importorskip("moto.server", reason=_ABSENT)
s3fs = pytest.importorskip("s3fs", reason=_ABSENT)

TEXTS = [Response(id=f"r{n}", prompt="Why?", text=f"Text {n}.", system="s") for n in range(4)]
RUN = "s3://bucket/runs/a"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    started = moto_server.ThreadedMotoServer(port=0, verbose=False)
    started.start()
    yield "http://{}:{}".format(*started.get_host_and_port())
    started.stop()


@pytest.fixture
def bucket(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[s3fs.core.S3FileSystem]:
    """An empty one, by another client than the product's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    s3fs.S3FileSystem.clear_instance_cache()
    client = s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True)
    client.mkdir("bucket")
    yield client
    if client.exists("bucket"):
        client.rm("bucket", recursive=True)


def scored(out: str | RunOutput = RUN, rubric: str = "debate-speech") -> int:
    """How many calls it makes to score texts there."""
    model = ScriptedModel()
    Panel("disciplinary", model, rubric).score(TEXTS, out=out)
    return len(model.requests)


def test_a_run_is_written_read_and_continued(bucket: s3fs.S3FileSystem) -> None:
    """Its files are there and no others; the same call makes no call to a model; another panel is
    refused, or with `overwrite` takes its place; a bucket is not made by the way."""
    assert scored() == 20
    names = {Path(one).name for one in bucket.find("bucket")}
    assert names == {
        "run.json", "responses.jsonl", "judgments.jsonl", "verdicts.csv", "summary.json",
        "spent.json",
    }  # fmt: skip
    assert load_run(RUN).coverage.scored == 20
    assert scored() == 0
    with pytest.raises(RunFolderError, match=f"^{RUN} contains another run"):
        scored(rubric="scrub")
    scored(RunOutput(RUN, overwrite=True), "scrub")
    assert len(load_run(RUN).dimensions) == 5
    with pytest.raises(RunFolderError, match="The specified bucket does not exist"):
        scored("s3://another/run")


def test_a_run_that_cannot_be_sent_is_sent_by_the_same_call(bucket: s3fs.S3FileSystem) -> None:
    """Its bucket is gone when it ends, and is there again later."""
    with (
        pytest.raises(RunStopped, match="bucket does not exist"),
        written_here(RunOutput(RUN)) as here,
    ):
        Panel("disciplinary", ScriptedModel(), "debate-speech").score(TEXTS, out=here)
        bucket.rmdir("bucket")
    bucket.mkdir("bucket")
    assert scored() == 0
    assert load_run(RUN).coverage.scored == 20


def test_a_run_of_another_machine_is_not_replaced(bucket: s3fs.S3FileSystem) -> None:
    """What another client has written since is seen, although listings are kept."""
    scored()
    with (
        pytest.raises(RunStopped, match="written by another run"),
        written_here(RunOutput(RUN)) as here,
    ):
        (here.folder / "run.json").write_text("{}")
        bucket.pipe("bucket/runs/a/run.json", b'{"starts": []}')
    assert bucket.cat("bucket/runs/a/run.json") == b'{"starts": []}'


def test_responses_are_read(bucket: s3fs.S3FileSystem) -> None:
    """A file at an address."""
    bucket.pipe("bucket/texts/a.jsonl", b'{"prompt": "p", "response": "r", "system": "s"}')
    assert [one.text for one in load_responses("s3://bucket/texts/a.jsonl")] == ["r"]
