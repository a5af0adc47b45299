"""`constrain bench`: the benchmarks' own commands.

The benchmarks stand above this library, which never imports them; here alone, where a command line asks for them, they
are looked up by name.
"""

from __future__ import annotations

import importlib

import typer


def commands() -> typer.Typer:
    """The sub-commands. Nothing is measured, and no engine imported, before one of them runs."""
    found: typer.Typer = importlib.import_module("constrain.bench.app").app
    return found
