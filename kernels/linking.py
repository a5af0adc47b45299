"""Kernels that only other kernels call are not made into machine code of their own.

Numba finishes every function by itself: links in all that it calls, optimises the whole, makes machine code of it. A
function at the end of a chain of ten calls is then optimised ten times and emitted ten times, and nine of these are
never run. Here a function that other kernels call becomes a *part*: its code as numba makes it from the source, and no
more. A kernel that Python calls (a *whole*) links the parts that it needs, directly or not, each once, and is optimised
with them. That halves the time to compile them all; the machine code is as quick as before. A function that is called
both ways is compiled both ways.

Most of the rest is Python's, and much of that is to find out thousands of times over which of the many meanings of `+`
is that of two int64. The answers for plain numbers and pointers are remembered, here when types are inferred and in
`lowering.py` when code is written; `passes.py` leaves out what a kernel does not need.

All use what numba documents (`pipeline_class`) together with classes that it does not, so the ends where they meet are
kept small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary

from .lowering import PLAIN
from .passes import PlainCompiler as Compiler

LANES: set[Callable[..., Any]] = set()
"""Parts that are optimised by themselves before they are linked."""


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function that is only linked into others."""

    def __init__(self, *args: Any, lanes: bool = False) -> None:
        super().__init__(*args)
        self._lanes = lanes
        self.environments: dict[str, Any] = {}

    @property
    def codegen(self) -> Any:
        """Takes the function's environment, which cannot be stored yet: there is no machine code to store it in."""
        return _Environments(self._codegen, self.environments)

    def _optimize_functions(self, ll_module: Any) -> None:
        if self._lanes:  # see `jit.njit`
            super()._optimize_functions(ll_module)
        else:
            ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._final_module.verify()
        self._finalized = True

    def own_module(self) -> Any:
        """The code of this part alone, to be linked into any number of others."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """The code with all that it needs, for functions that numba compiles in its own way."""
        module = self.own_module().clone()
        for library in _needed(self):
            module.link_in(_module_of(library), preserve=True)
        return module

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        self._ensure_finalized()
        return 0


class _Environments:
    """Stands in for a code generator that is asked for nothing but to set an environment."""

    def __init__(self, codegen: Any, found: dict[str, Any]) -> None:
        self._codegen, self._found = codegen, found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, env_name: str, env: Any) -> None:
        self._found[env_name] = env


class _Whole(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function that can be run, with all parts that it needs."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout  # the whole is optimised at the end

    def finalize(self) -> None:
        self._raise_if_finalized()
        needed = _needed(self)
        for library in needed:
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(_module_of(library), preserve=True)
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()
        for library in needed:
            for name, env in getattr(library, "environments", {}).items():
                if self._codegen._engine.is_symbol_defined(name):
                    self._codegen.set_env(name, env)


def _needed(library: Any) -> list[Any]:
    """All that is to be linked into a library, each before what it needs itself: code that nothing linked so far calls
    is left out by the linker."""
    order: list[Any] = []
    seen: set[Any] = set()

    def visit(libraries: Iterable[Any]) -> None:
        for each in libraries:
            if each not in seen:
                seen.add(each)
                if isinstance(each, _Part):
                    visit(each._linking_libraries)
                order.append(each)

    visit(library._linking_libraries)
    order.reverse()
    return order


def _module_of(library: Any) -> Any:
    return library.own_module() if isinstance(library, _Part) else library._get_module_for_linking()


class _Typing:
    """Numba's typing context, with a memory of what operations on plain values are."""

    known: dict[tuple[Any, tuple[Any, ...]], Any] = {}  # noqa: RUF012 - shared on purpose

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        resolve = self._context.resolve_function_type
        if kws or isinstance(func, types.Dispatcher) or not all(isinstance(a, PLAIN) for a in args):
            return resolve(func, args, kws)
        key = func, tuple(args)
        found = self.known.get(key)
        if found is None:
            found = resolve(func, args, kws)
            if found is not None:
                self.known[key] = found
        return found


class PartCompiler(Compiler):  # type: ignore[misc]
    """Compiles a part."""

    def __init__(self, typingctx: Any, *args: Any) -> None:
        super().__init__(typingctx, *args)
        self.state.typingctx = _Typing(typingctx)

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__, lanes=func in LANES)
        return super().compile_extra(func)


class WholeCompiler(Compiler):  # type: ignore[misc]
    """Compiles what Python calls, or other kernels by address."""

    def __init__(self, typingctx: Any, *args: Any) -> None:
        super().__init__(typingctx, *args)
        self.state.typingctx = _Typing(typingctx)

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        library = _Whole(self.state.targetctx.codegen(), func.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        return super().compile_extra(func)
