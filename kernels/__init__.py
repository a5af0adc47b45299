"""Numba kernels: arrays in, arrays out. Imported as `constrain.kernels`.

Hugging Face publishes a distribution that is also called `kernels`, and `transformers` looks for that name. With the
repository root on `sys.path` it finds this folder first. Under that plain name this package therefore stands aside: it
hands over to the real distribution where one is installed, and otherwise is an empty module without a version, which
`transformers` takes for "not available".
"""

from __future__ import annotations

if __name__ == "kernels":
    import importlib.metadata
    import importlib.util
    import os
    import sys
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec, PathFinder

    def _specs(home: str) -> Iterator[ModuleSpec | None]:
        """Where the distribution may keep its package: beside its metadata, or where an editable install says."""
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        if os.path.abspath(home) != root:
            yield PathFinder.find_spec(__name__, [home])
        for finder in sys.meta_path:
            if finder is not PathFinder:
                yield finder.find_spec(__name__, None)
        yield PathFinder.find_spec(__name__, [p for p in sys.path if os.path.abspath(p or os.getcwd()) != root])

    def _hand_over() -> None:
        """Let the installed distribution of this name, if there is one, take the place of this module."""
        try:
            home = str(importlib.metadata.distribution(__name__).locate_file(""))
        except importlib.metadata.PackageNotFoundError:
            return
        for spec in _specs(home):
            if spec and spec.loader and spec.origin and not os.path.samefile(spec.origin, __file__):
                module = importlib.util.module_from_spec(spec)
                sys.modules[__name__] = module  # what stands here when this module's body ends is what was imported
                spec.loader.exec_module(module)
                return

    _hand_over()
