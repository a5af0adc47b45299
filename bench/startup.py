"""`constrain bench startup`: what a process pays before its first mask, each figure from fresh processes.

The phases of one process: import of the engine (with all that it pulls in), set-up of the vocabulary, compile and
first mask of a first schema, the same for a second one. Loading the tokenizer's file is not counted, and not done
there. This library, which keeps kernels and vocabularies on disk, is run in an empty cache folder first ("cold": the
kernels are compiled), then again in the folder that this left ("warm"). Bytecode is kept beside the sources, as by
an installation.
"""

from __future__ import annotations

import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from constrain.bench.engines import ENGINES, Unavailable, choose, is_ours
from constrain.bench.results import Result, describe
from constrain.bench.tables import Cell, Table, duration, ranked, ratio
from constrain.bench.tokenizers import Tokenizer, load_tokenizer

PHASES = {
    "import_us": "import",
    "vocabulary_us": "vocabulary set-up",
    "first_us": "first schema: compile, first mask",
    "second_us": "second schema: compile, first mask",
    "kernels_us": "whatever kernels are left",
    "total_us": "import to first mask",
}
_FIRST = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 40}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
_SECOND = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"enum": ["new", "sale"]}}, "price": {"type": "number"}},
    "required": ["tags", "price"],
    "additionalProperties": False,
}
_IMPORT = "import time; begin = time.perf_counter(); {what}; print((time.perf_counter() - begin) * 1e6)"
_IMPORTS = {
    # The names of this library are imported when first used, so the bare import would say nothing.
    "constrain": "import constrain; constrain.json_schema; constrain.Vocabulary",
    "grid": "import grid.jsonschema, grid.models.vllm_structured",
}


def probe(name: str, tokens: str) -> dict[str, float]:
    """The phases of this process, in microseconds, apart from the import.

    Args:
        name: of the engine.
        tokens: a file from `_write_tokens`. The tokenizer itself is not loaded: its libraries would count as imported.
    """
    from constrain.bench.engines import load_engine

    content = pickle.loads(Path(tokens).read_bytes())
    rows: list[bytes | None] = content["rows"]
    eos: tuple[int, ...] = content["eos"]
    single = {token: i for i, token in enumerate(rows) if token and len(token) == 1}

    def vocabulary() -> Any:
        import constrain

        return constrain.Vocabulary.from_tokens(rows, eos_token_ids=list(eos), cache=True)

    def encode(text: str) -> list[int]:
        return [single[bytes([b])] for b in text.encode() if bytes([b]) in single]

    model = Tokenizer(content["name"], len(rows), vocabulary, encode, eos, lambda: rows)
    if name in ENGINES:
        exec(_import_of(name), {})
    begin = time.perf_counter()
    engine = load_engine(name, model)
    ready = time.perf_counter()
    first_sequence = engine.compile(_FIRST).start()
    first_sequence.mask()
    first = time.perf_counter()
    second_sequence = engine.compile(_SECOND).start()
    second_sequence.mask()
    second = time.perf_counter()
    found = {
        "vocabulary_us": (ready - begin) * 1e6,
        "first_us": (first - ready) * 1e6,
        "second_us": (second - first) * 1e6,
    }
    if hasattr(engine, "warm_up"):
        engine.warm_up()
        found["kernels_us"] = (time.perf_counter() - second) * 1e6
    return found


def _write_tokens(tokenizer: Tokenizer, path: Path) -> None:
    content = {"name": tokenizer.name, "rows": tokenizer.tokens(), "eos": tokenizer.eos}
    path.write_bytes(pickle.dumps(content))


def _import_of(name: str) -> str:
    return _IMPORTS.get(name) or "import " + ", ".join(ENGINES[name].imports)


def _python(arguments: list[str], environment: dict[str, str], limit_s: float, name: str) -> str:
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(name, f"over {limit_s:g} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise Unavailable(name, lines[-1].strip()[:300] if lines else f"exit code {done.returncode}")
    return done.stdout


def run(
    engines: Sequence[str],
    *,
    tokenizer: str,
    repeats: int = 3,
    limit_s: float = 300.0,
    advance: Callable[[str], None] = lambda _: None,
) -> Result:
    """Measure all engines, `repeats` times where nothing is kept on disk."""
    model = load_tokenizer(tokenizer)
    present, missing = choose(engines)
    result = Result("startup", describe(present, model, repeats=repeats, limit_s=limit_s))
    for unavailable in missing:
        result.skip(unavailable)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder) / "tokens"
        _write_tokens(model, tokens)
        for name in present:
            try:
                found[name] = _one(name, str(tokens), repeats, limit_s)
            except Unavailable as unavailable:
                result.skip(unavailable)
            advance(name)
    result.data = {"engines": found}
    return result


def _one(name: str, tokens: str, repeats: int, limit_s: float) -> dict[str, Any]:
    # What this process imports from must be found by the new ones too, installed or not.
    paths = os.pathsep.join(p or os.getcwd() for p in sys.path)
    base = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    base.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation keeps it, and a checkout would be compiled every time
    runs: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = base | {"CONSTRAIN_CACHE_DIR": folder, "NUMBA_CACHE_DIR": str(Path(folder) / "numba")}
        imports = []
        for _ in range(repeats):
            code = _IMPORT.format(what=_import_of(name)) if name in ENGINES else "print(0)"
            imports.append(float(_python(["-c", code], environment, limit_s, name)))
        labels = ["cold", *["warm"] * repeats] if is_ours(name) else ["warm"] * repeats
        for label in labels:
            code = (
                "import sys, json; from constrain.bench.startup import probe; print(json.dumps(probe(*sys.argv[1:])))"
            )
            output = _python(["-c", code, name, tokens], environment, limit_s, name)
            runs.setdefault(label, []).append(json.loads(output.splitlines()[-1]))
    states = {}
    for label, records in runs.items():
        state = {phase: round(statistics.median(r[phase] for r in records), 1) for phase in records[0]}
        state["import_us"] = round(statistics.median(imports), 1)
        state["total_us"] = round(state["import_us"] + state["vocabulary_us"] + state["first_us"], 1)
        states[label] = state
    return states


def tables(result: Result) -> list[Table]:
    """Each phase by engine; this library cold and warm."""
    columns: dict[str, dict[str, float]] = {}
    for name, states in result.data["engines"].items():
        for label, state in states.items():
            columns[f"{name}, {label}" if len(states) > 1 else name] = state
    peers = [c for c in columns if not is_ours(c)]
    ours = next((c for c in columns if is_ours(c) and "cold" not in c), None)
    compared = ours is not None and bool(peers)
    table = Table(
        "What a fresh process pays, median",
        ["", *columns, *(["warm vs best peer"] if compared else [])],
        note="Cold: an empty cache folder, so the kernels are compiled. Total: import, vocabulary, first schema.",
    )
    for phase, label in PHASES.items():
        values = [columns[c].get(phase) for c in columns]
        shown = [duration(v) for v in values]
        cells = list(map(Cell, shown)) if phase == "kernels_us" else ranked(values, shown)
        if compared and ours is not None:
            cells.append(ratio(columns[ours].get(phase), [columns[p].get(phase) for p in peers]))
        table.add(label, *cells)
    return [table]
