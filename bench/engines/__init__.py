"""The engines that can be measured, by name. One file has one engine; it is imported when the engine is set up."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from constrain.bench.engines.base import (
    Batch,
    BitSequence,
    Compiled,
    Engine,
    LoopBatch,
    Refused,
    Sequence,
    Unavailable,
    WordSequence,
    cores,
    mask_words,
)
from constrain.bench.tokenizers import Tokenizer

__all__ = [
    "DEFAULT",
    "ENGINES",
    "Batch",
    "BitSequence",
    "Compiled",
    "Engine",
    "Entry",
    "LoopBatch",
    "Refused",
    "Sequence",
    "Unavailable",
    "WordSequence",
    "choose",
    "cores",
    "is_ours",
    "load_engine",
    "mask_words",
]


@dataclass(frozen=True)
class Entry:
    """How an engine is found.

    Attributes:
        factory: `module:function` below this package; takes a `Tokenizer`.
        imports: the modules that it needs, the one that stands for its import time first.
        distributions: what provides them, the one whose version counts first.
        note: a few words on its settings.
    """

    factory: str
    imports: tuple[str, ...]
    distributions: tuple[str, ...]
    note: str = ""


ENGINES: dict[str, Entry] = {
    "constrain": Entry("ours:ConstrainEngine", ("constrain",), ("constrain-decode",)),
    "constrain-core": Entry(
        "ours:ConstrainCoreEngine", ("constrain",), ("constrain-decode",), "refuses the costlier keywords"
    ),
    "xgrammar": Entry("xgrammar:strict", ("xgrammar",), ("xgrammar",), "strict mode, json.dumps spacing"),
    "xgrammar-loose": Entry("xgrammar:loose", ("xgrammar",), ("xgrammar",), "non-strict, any whitespace"),
    "llguidance": Entry("llguidance:LlguidanceEngine", ("llguidance",), ("llguidance",)),
    "grid": Entry("grid:GridEngine", ("grid", "grid_core"), ("grid-guardrail[kernel]", "grid_core"), "default mode"),
    "outlines-core": Entry("outlines_core:OutlinesCoreEngine", ("outlines_core",), ("outlines-core",)),
    "lm-format-enforcer": Entry(
        "lm_format_enforcer:LmFormatEnforcerEngine",
        ("lmformatenforcer", "torch"),
        ("lm-format-enforcer", "torch"),
        "core only, bitmasks",
    ),
}
"""Engines by the name that the command line takes."""

DEFAULT = tuple(name for name in ENGINES if name != "constrain-core")
"""The engines that are measured when none is named."""


def is_ours(name: str) -> bool:
    """Whether an engine is this library rather than a peer."""
    return name.startswith("constrain")


def version(name: str) -> str:
    """The version of an engine's distribution; "" where it is not installed or not known."""
    if is_ours(name):
        import constrain

        return constrain.__version__
    entry = ENGINES.get(name)
    if entry is None:
        return ""
    try:
        return importlib.metadata.version(entry.distributions[0].partition("[")[0])
    except importlib.metadata.PackageNotFoundError:
        return ""


def check_installed(name: str) -> None:
    """Raises `Unavailable` where something that the engine imports is missing."""
    entry = ENGINES.get(name)
    for module in entry.imports if entry else ():
        if importlib.util.find_spec(module) is None:
            raise Unavailable(name, f"{module} is not installed", "pip install 'constrain-decode[bench]'")


def load_engine(name: str, tokenizer: Tokenizer) -> Engine:
    """Set up an engine by its name in `ENGINES`, or by `module:factory` for one defined elsewhere.

    Raises:
        ValueError: there is no such engine.
        Unavailable: it is not installed, or cannot take the tokenizer.
    """
    check_named(name)
    entry = ENGINES.get(name)
    if entry is None:
        module, _, attribute = name.partition(":")
        engine: Engine = getattr(importlib.import_module(module), attribute)(tokenizer)
        return engine
    check_installed(name)
    module, _, attribute = entry.factory.partition(":")
    try:
        factory: Any = getattr(importlib.import_module(f"constrain.bench.engines.{module}"), attribute)
    except ImportError as error:
        raise Unavailable(name, f"cannot be imported: {error}") from error
    try:
        engine = factory(tokenizer)
    except Exception as error:
        if is_ours(name):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise Unavailable(name, f"does not take the tokenizer {tokenizer.name}: {reason}") from error
    return engine


def check_named(name: str) -> None:
    """Raises ValueError where there is no engine of that name."""
    if name not in ENGINES and ":" not in name:
        raise ValueError(f"unknown engine {name!r}; there are {', '.join(ENGINES)}, or module:factory")


def choose(names: Iterable[str]) -> tuple[list[str], list[Unavailable]]:
    """The engines of these names that are installed, and the others with the reason. Raises ValueError as above."""
    found, missing = [], []
    for name in dict.fromkeys(names):
        check_named(name)
        try:
            check_installed(name)
            found.append(name)
        except Unavailable as unavailable:
            missing.append(unavailable)
    return found, missing
