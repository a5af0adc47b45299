"""What `constrain.testing` needs beside the library, and the error where it is missing."""

from __future__ import annotations

import importlib.util

_NEEDED = ("hypothesis", "jsonschema")


def require() -> None:
    """Raise ImportError, naming the extra, where a package that every part of the module needs is not installed."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(
            f"constrain.testing needs {' and '.join(missing)}; install the extra: "
            "pip install 'constrain-decode[testing]'"
        )
