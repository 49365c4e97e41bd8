"""Weights converted at first use: `persona_panel.models.embedded_weights`."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import resource
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from persona_panel.files.errors import ConfigurationError
from persona_panel.models.embedded_weights import checked, faster_copy

pytestmark = pytest.mark.skipif(
    find_spec("gguf") is None, reason="gguf is not installed: pip install 'persona-panel[local]'"
)

WEIGHTS = np.random.default_rng(0).normal(size=(64, 96)).astype(np.float32)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A file as a package would ship it, with its digest; the cache folder is empty."""
    import gguf

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "Tiny.Q4_1.gguf"
    writer = gguf.GGUFWriter(path, arch="llama")
    writer.add_uint32("general.file_type", 3)
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    form = gguf.GGMLQuantizationType.Q4_1
    writer.add_tensor("big", gguf.quants.quantize(WEIGHTS, form), raw_dtype=form)
    writer.add_tensor("norm", WEIGHTS[0])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A file's fields and its tensors' numbers."""
    import gguf

    reader = gguf.GGUFReader(path)
    numbers = {
        tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        for tensor in reader.tensors
    }
    return {name: field.contents() for name, field in reader.fields.items()}, numbers


def test_weights_move_by_half_a_step_and_nothing_else_changes(shipped: tuple[Path, str]) -> None:
    """Each weight is within half of 1/127 of the largest of its 32, what was not quantized is the
    same, and so is every field but the one that names the form."""
    found = faster_copy(*shipped)
    assert found is not None
    before, fields = read(shipped[0]), read(found)
    blocks = before[1]["big"].reshape(-1, 32)
    step = np.abs(blocks).max(axis=1, keepdims=True) / 127
    moved = np.abs(read(found)[1]["big"].reshape(-1, 32) - blocks)
    # A step is kept as a half-precision number, of 11 bits.
    assert (moved <= step * (0.5 + 127 / 2**11)).all()
    assert moved.any()
    assert (fields[1]["norm"] == WEIGHTS[0]).all()
    assert fields[0] == before[0] | {"general.file_type": 7}


def test_it_is_made_once(shipped: tuple[Path, str]) -> None:
    """The next use, and four at once, find the file of the first; where it is none of them leaves
    anything else behind but what another may be writing now."""
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: faster_copy(*shipped), range(4)))
    (path,) = found
    assert path is not None
    made = path.stat().st_mtime_ns
    assert faster_copy(*shipped) == path == checked(path, *shipped)
    assert path.stat().st_mtime_ns == made
    assert list(path.parent.iterdir()) == [path]


def test_what_a_killed_process_left_is_removed(
    shipped: tuple[Path, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An unfinished file that nobody holds goes, however young; one that is being written stays.
    That it takes a while is said once, before the copy is made."""
    folder = tmp_path / "cache" / "persona-panel" / "weights"
    folder.mkdir(parents=True)
    left, held = folder / ".1-1.tmp", folder / ".2-2.tmp"
    left.write_bytes(b"GGUF")
    with held.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert faster_copy(*shipped) is not None
        assert not left.exists()
        assert held.exists()
    assert faster_copy(*shipped) is not None
    assert caplog.messages == ["Converting the embedded model's weights once (about 10 s) ..."]


@pytest.mark.parametrize("damage", ["cut off", "changed", "removed"])
def test_a_damaged_file_is_made_anew(shipped: tuple[Path, str], damage: str) -> None:
    """A copy that was cut off, changed in one bit or removed is written again, the same."""
    path = faster_copy(*shipped)
    assert path is not None
    good = path.read_bytes()
    if damage == "removed":
        path.unlink()
    else:
        path.write_bytes(good[:-1] if damage == "cut off" else good[:-1] + bytes([good[-1] ^ 1]))
    assert checked(path, *shipped).read_bytes() == good


def test_a_damaged_file_that_cannot_be_made_anew_is_an_error(shipped: tuple[Path, str]) -> None:
    """Without a source to make it from, a damaged copy is named and not read."""
    path = faster_copy(*shipped)
    assert path is not None
    path.write_bytes(b"GGUF")
    shipped[0].write_bytes(b"another file")
    with pytest.raises(ConfigurationError, match="damaged and cannot be made anew") as caught:
        checked(path, *shipped)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("why", ["no folder", "full disk", "another file"])
def test_where_it_cannot_be_made_the_shipped_file_is_read(
    shipped: tuple[Path, str], tmp_path: Path, caplog: pytest.LogCaptureFixture, why: str
) -> None:
    """Without a folder to write to, on a full disk or of a file that is not known there is no copy
    and no part of one, and one sentence says so."""
    source, sha256 = shipped
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if why == "no folder":
        (tmp_path / "cache").write_text("")
    if why == "another file":
        source.write_bytes(source.read_bytes() + b"\0")
    with caplog.at_level(logging.WARNING):
        try:
            if why == "full disk":
                resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
            assert faster_copy(source, sha256) is None
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    said = caplog.messages[-1]
    assert said.startswith("The embedded model is read as it ships")
    assert not list(tmp_path.glob("cache/**/*.gguf")) + list(tmp_path.glob("cache/**/*.tmp"))
