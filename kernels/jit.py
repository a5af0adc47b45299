"""The one place that owns numba's options: kernels say `@njit` and stay plain array code.

Every kernel is compiled with `nogil=True` (rows are spread over threads of our own), `error_model="numpy"` (no
division checks) and an on-disk cache. Never `parallel=True`: without OpenMP or TBB, numba's thread layer aborts the
process when two Python threads reach it.

Numba's stock disk cache has faults that matter to a library, so the cache here differs in six ways:

- A kernel's entry is tied to the content of *all* files of this folder, not only its own: a kernel compiles in the
  helpers it calls, and numba would go on using the old machine code after only the helper's file changed.
- Bounds checking (`NUMBA_BOUNDSCHECK=1`) and the optimisation level have entries of their own; numba would hand out
  the unchecked code.
- A folder is looked for in the order `NUMBA_CACHE_DIR`, `CONSTRAIN_CACHE_DIR`, `__pycache__` beside the source, the
  user's cache folder. Where none can be written (a read-only install without a home), kernels compile in memory;
  numba would raise at import.
- Every state of the sources has files of its own: a process that still runs the old code and one that runs the new
  write to the same place without mixing. Files of other states are removed an hour after they were written, by the next
  process that adds to the cache; one that misses them compiles again.
- What is read is checked to be for the types asked for: two processes that add versions of a kernel at the same moment
  give both the same number, and numba would run one with the other's arguments.
- A cache file that cannot be read or written (disk full, half a file, removed by someone) counts as a miss; numba would
  raise in the middle of the call.

The price is that an edit to any kernel recompiles all of them once. A second process may write some of them meanwhile,
see `helping.py`: a kernel that it has begun is waited for.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, overload

import numba
from numba.core import caching, ccallback, sigutils, types
from numba.core import config as _config
from numba.core.runtime import rtsys

from . import helping
from .linking import LANES, PartCompiler, WholeCompiler

config: Any = _config  # its names are made at run time, from the environment

F = TypeVar("F", bound=Callable[..., Any])


def user_cache_folder() -> Path | None:
    """The folder for this library's own files on disk: `CONSTRAIN_CACHE_DIR`, else `constrain` in the user's cache.

    None where no such place is known. The folder may not exist yet, and may not be writable.
    """
    if explicit := os.environ.get("CONSTRAIN_CACHE_DIR"):
        return Path(explicit).expanduser()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg).expanduser() / "constrain"
    try:
        return Path.home() / ".cache" / "constrain"
    except RuntimeError:  # no HOME, and no entry in the password database
        return None


@functools.lru_cache(maxsize=1)
def _folder_digest() -> str:
    """Digest of all sources of this folder and of the compiler's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _mark() -> str:
    """What the names of cache files have in common in one state of the sources."""
    return f"s{_folder_digest()[:12]}"


_CACHE_FILE = re.compile(r"\.nb[ic](\.tmp\.[0-9a-f]+)?$")
_STALE_SECONDS = 3600.0


@functools.cache
def _prune(folder: str) -> None:
    """Remove old cache files of other states of the sources, and what killed processes left; once in a process."""
    before = time.time() - _STALE_SECONDS
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            name = entry.name
            with contextlib.suppress(OSError):  # another process may be first
                if _CACHE_FILE.search(name) and (_mark() not in name or ".tmp." in name):
                    if entry.stat().st_mtime < before:
                        os.unlink(entry.path)


def _candidate_folders(source: Path) -> list[Path]:
    label = f"{source.parent.name}_{hashlib.sha256(str(source.parent).encode()).hexdigest()[:20]}"
    folders = []
    if config.CACHE_DIR:
        folders.append(Path(config.CACHE_DIR) / label)
    user = user_cache_folder()
    beside = source.parent / "__pycache__"
    if user is None:
        folders.append(beside)
    elif os.environ.get("CONSTRAIN_CACHE_DIR"):
        folders += [user / "kernels" / label, beside]
    else:
        folders += [beside, user / "kernels" / label]
    return folders


@functools.cache
def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


class _Locator(caching._CacheLocator):  # type: ignore[misc]
    """Where a kernel's cache files are, and what they depend on."""

    def __init__(self, py_func: Callable[..., Any], source: Path, folder: Path) -> None:
        self._py_file = str(source)  # numba reads this name in its warnings
        self._line = py_func.__code__.co_firstlineno
        self._folder = folder

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator | None:
        source = Path(py_file).absolute()
        if not source.is_file():
            return None
        folder = next((f for f in _candidate_folders(source) if _is_writable(f)), None)
        return None if folder is None else cls(py_func, source, folder)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> tuple[str, str]:
        return _folder_digest(), hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()

    def get_disambiguator(self) -> str:
        return f"{self._line}b{int(bool(config.BOUNDSCHECK))}o{int(config.OPT)}{_mark()}"


def cache_of(py_func: Callable[..., Any]) -> tuple[Path | None, bool]:
    """The folder with the cache files of a kernel, None where none can be written; and whether it has any of them."""
    source = Path(py_func.__code__.co_filename)
    place = _Locator.from_function(py_func, str(source))
    if place is None:
        return None, False
    pattern = f"{source.stem}.{py_func.__qualname__}-{place.get_disambiguator()}.*.nbi"
    return place._folder, any(place._folder.glob(pattern))


saving = threading.Lock()
"""Held while cache files are written: a process that ends itself does so at another time."""


class _Impl(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes: Any = (_Locator,)


class _Cache(caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _Impl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._load(sig, target_context)
        if found is None and helping.has_written(self._py_func):
            found = self._load(sig, target_context)
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            # All that code on disk asks of the context. numba makes it ready to compile, which imports seventy modules.
            rtsys.initialize(target_context)
            found = self._load_overload(sig, target_context)
        except Exception:  # a damaged pickle may raise almost anything
            return None
        wanted = sigutils.normalize_signature(sig)[0]
        return found if found is None or tuple(found.signature.args) == tuple(wanted) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        with saving:
            _prune(self._cache_path)
            try:
                super().save_overload(sig, data)
            except Exception:  # a damaged index is read again on saving
                try:
                    self.flush()
                    super().save_overload(sig, data)
                except Exception:
                    self.disable()


def _called_by_kernels(compiled: Any, make_part: Callable[[], Any]) -> None:
    """Have other kernels call a part of their own (see `linking.py`), and pass every integer as int64.

    Left alone, numba compiles a function anew for each constant and each width of integer it is called with.
    """
    part = functools.cache(make_part)

    def template(args: Any, kws: Any) -> Any:
        return part().get_call_template(tuple(map(_widen, args)), {name: _widen(arg) for name, arg in kws.items()})

    def overload_of(sig: Any) -> Any:
        return part().get_overload(sig)

    compiled.get_call_template = template
    compiled.get_overload = overload_of


def _widen(arg: Any) -> Any:
    arg = types.unliteral(arg)
    return types.int64 if isinstance(arg, types.Integer | types.Boolean) else arg


@overload
def njit(function: F, /) -> F: ...


@overload
def njit(
    *,
    inline: Literal["never", "always"] = "never",
    nogil: bool = True,
    fastmath: frozenset[str] = frozenset(),
    lanes: bool = False,
) -> Callable[[F], F]: ...


def njit(
    function: F | None = None,
    /,
    *,
    inline: Literal["never", "always"] = "never",
    nogil: bool = True,
    fastmath: frozenset[str] = frozenset(),
    lanes: bool = False,
) -> F | Callable[[F], F]:
    """Compile a kernel on its first call; use as `@njit` or `@njit(inline="always")`.

    `inline="always"` pastes the function into its callers before type inference, for small helpers of hot loops.
    `nogil=False` keeps the interpreter's lock while it runs, for what must not run beside other Python threads.
    `fastmath` names the liberties that LLVM may take with this function's floating-point arithmetic, by default none:
    a sum in a loop needs "reassoc" to become vector instructions.
    `lanes` says that loops over a constant number of elements are to become vector instructions where other kernels
    call this one: it is optimised before it is linked. Otherwise LLVM writes such a loop out, element by element.
    """

    def wrap(py_func: F) -> F:
        if lanes:
            LANES.add(py_func)
        options = {"nogil": nogil, "error_model": "numpy", "inline": inline, "fastmath": set(fastmath)}
        compiled: Any = numba.njit(pipeline_class=WholeCompiler, no_cfunc_wrapper=True, **options)(py_func)
        if hasattr(compiled, "enable_caching"):  # absent under NUMBA_DISABLE_JIT=1

            def part() -> Any:
                bare = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
                return numba.njit(pipeline_class=PartCompiler, **bare, **options)(py_func)

            _called_by_kernels(compiled, part)
            try:
                compiled._cache = _Cache(compiled.py_func)
            except RuntimeError:  # no folder can be written: compile in memory
                compiled._cache = caching.NullCache()
        return cast(F, compiled)

    return wrap if function is None else wrap(function)


def entry_point(kernel: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """A kernel compiled for some types of arguments, to be called without a look at what it is called with."""
    kernel.compile(arguments)
    compiled: Callable[..., Any] = kernel.overloads[arguments].entry_point
    return compiled


def callback(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel that other kernels call by address, so that its code is not compiled into each of them.

    The result has an `address`.
    """

    def wrap(py_func: Callable[..., Any]) -> Any:
        options = {"nogil": True, "error_model": "numpy"}
        sig = sigutils.normalize_signature(signature)
        compiled = ccallback.CFunc(py_func, sig, locals={}, options=options, pipeline_class=WholeCompiler)
        try:
            compiled._cache = _Cache(py_func)
        except RuntimeError:  # no folder can be written: compile in memory
            compiled._cache = caching.NullCache()
        compiled.compile()
        return compiled

    return wrap
