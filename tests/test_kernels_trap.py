"""Hugging Face publishes a distribution called `kernels`; from the repository root our folder is found in its place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

USED_BY_TRANSFORMERS = [
    "CUDAProperties",
    "Device",
    "KernelizeFallback",
    "LayerRepository",
    "LocalLayerRepository",
    "Mode",
    "ROCMProperties",
    "register_kernel_mapping",
    "replace_kernel_forward_from_hub",
    "use_kernel_mapping",
    "get_kernel",
    "kernelize",
    "use_kernel_forward_from_hub",
    "use_kernelized_func",
]
"""What transformers 5.24 imports from it when a model is imported (transformers/integrations/hub_kernels.py)."""

STAND_IN = """
__version__ = "0.18.3"
class _Anything:
    def __init__(self, *args, **kwargs): pass
    def __call__(self, *args, **kwargs): return args[0] if args and isinstance(args[0], type) else self
    def __getattr__(self, name): return _Anything()
def _decorator(*names, **options): return lambda decorated: decorated
{names}
"""


def stand_in(folder: Path) -> Path:
    """A distribution `kernels` 0.18.3 in a site-packages folder of its own."""
    lines = [
        f"{name} = _decorator"
        if name.startswith("use_kernel") and name != "use_kernel_mapping"
        else f"class {name}(_Anything): pass"
        for name in USED_BY_TRANSFORMERS
    ]
    package = folder / "kernels"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STAND_IN.format(names="\n".join(lines)))
    (package / "part.py").write_text("from kernels import Mode\n")
    info = folder / "kernels-0.18.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kernels\nVersion: 0.18.3\n")
    (info / "RECORD").write_text("kernels/__init__.py,,\nkernels/part.py,,\n")
    return folder


def run(code: str, *path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def check(code: str, *path: Path) -> None:
    result = run(code, *path)
    assert result.returncode == 0, result.stderr


def test_transformers_models_import_from_the_root() -> None:
    pytest.importorskip("transformers")
    check("from transformers import LlamaForCausalLM, LlamaConfig; LlamaForCausalLM(LlamaConfig(num_hidden_layers=0))")


def test_transformers_models_import_from_the_root_with_the_other_distribution(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = stand_in(tmp_path / "site")
    check(
        "from transformers.utils.import_utils import is_kernels_available; assert is_kernels_available()\n"
        "from transformers import LlamaForCausalLM, LlamaConfig; LlamaForCausalLM(LlamaConfig(num_hidden_layers=0))\n"
        f"import kernels; assert kernels.__file__.startswith({str(folder)!r}), kernels.__file__",
        folder,
    )


def test_the_stand_in_tests_something(tmp_path: Path) -> None:
    """Without the handing over, importing a model fails: the table of transformers' checks has not changed."""
    pytest.importorskip("transformers")
    folder = stand_in(tmp_path / "site")
    shadow = tmp_path / "shadow"
    (shadow / "kernels").mkdir(parents=True)
    (shadow / "kernels" / "__init__.py").write_text("")
    code = f"import sys; sys.path.insert(0, {str(shadow)!r})\nfrom transformers import LlamaForCausalLM"
    result = run(code, folder)
    assert result.returncode != 0
    assert "cannot import name" in result.stderr


def test_plain_import_without_the_other_distribution_is_harmless() -> None:
    check(
        "import importlib.metadata as m, sys\n"
        "try: m.version('kernels')\n"
        "except m.PackageNotFoundError: pass\n"
        "else: sys.exit(0)\n"
        "before = set(sys.modules); import kernels\n"
        "assert not hasattr(kernels, '__version__')\n"
        "assert not {'numba', 'numpy'} & (set(sys.modules) - before)"
    )


def test_plain_import_hands_over_and_ours_stays_reachable(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "site")
    check(
        "import kernels, kernels.part, sys\n"
        "assert kernels.__version__ == '0.18.3' and kernels.part.Mode is kernels.Mode\n"
        "assert sys.modules['kernels'] is kernels\n"
        "import constrain.kernels as ours\n"
        f"assert ours.__file__.startswith({str(ROOT)!r}) and ours is not kernels",
        folder,
    )


def test_plain_import_hands_over_to_an_editable_install(tmp_path: Path) -> None:
    """An editable install has metadata in one place and its package in another, known to a finder of its own."""
    folder = stand_in(tmp_path / "elsewhere")
    site = tmp_path / "site"
    site.mkdir()
    (folder / "kernels-0.18.3.dist-info").rename(site / "kernels-0.18.3.dist-info")
    (site / "editable_finder.py").write_text(
        "import sys\nfrom importlib.util import spec_from_file_location\n"
        "class Finder:\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        f"        file = {str(folder / 'kernels' / '__init__.py')!r}\n"
        "        return spec_from_file_location(name, file) if name == 'kernels' else None\n"
        "sys.meta_path.append(Finder)\n"
    )
    check("import editable_finder, kernels; assert kernels.__version__ == '0.18.3'", site)
    check("import kernels; assert kernels.__version__ == '0.18.3'", site, folder)


def test_a_failing_distribution_fails_as_itself(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "site")
    (folder / "kernels" / "__init__.py").write_text("raise ImportError('no driver')")
    result = run("import kernels", folder)
    assert result.returncode != 0
    assert "no driver" in result.stderr
