"""Masks on a device: are they right there, and what do they cost?

    python -m constrain.bench.device_check --out result.json

On a machine with a device, every dtype is checked bit for bit against masks made by numpy on the host, for few and many
rows and small and large vocabularies, then timed beside xgrammar (where it is installed), `torch.where` with a mask of
booleans that is ready on the device, and a plain copy of the logits, which is the limit for anything written elsewhere.
Times on the device are medians between events, with a short wait before them so that launching is not in
them; what launching takes on the host is told apart. Without a device the script says so, and checks the same kernels
with Triton's interpreter, or the torch operations where Triton is missing.

It needs torch and numpy; the table of rows needs numba as well, and is left out, with a message, where that is missing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from constrain.kernels.device import apply_rows_on_device, has_triton, uses_triton

ROWS = (1, 8, 64, 512)
VOCABULARIES = (32_000, 50_257, 128_256, 151_936, 262_144)
KINDS = {"few allowed": 0.001, "half allowed": 0.5, "most allowed": 0.995}
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_LARGEST = 1 << 27  # bytes of logits up to which a shape is checked in every way


@dataclass
class Timing:
    """Medians, in microseconds: on the device for one application, and on the host for launching it."""

    rows: int
    vocabulary: int
    dtype: str
    mask: str
    what: str
    device_us: float
    host_us: float


# ---- right? ----------------------------------------------------------------------------------------------------------


def make_logits(rows: int, width: int, dtype: torch.dtype, rng: np.random.Generator) -> torch.Tensor:
    """Random scores on the host, with zeros, infinities and NaN among them."""
    logits = torch.from_numpy(rng.standard_normal((rows, width), dtype=np.float32)).to(dtype)
    for value in (0.0, -0.0, float("inf"), float("-inf"), float("nan")):
        logits[:, torch.from_numpy(rng.integers(0, width, 3))] = value
    return logits


def make_masks(rows: int, width: int, share: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Random masks: booleans (rows, width), and the same packed, int32 (rows, words)."""
    allowed = rng.random((rows, width), dtype=np.float32) < share
    padded = np.zeros((rows, -(-width // 32) * 32), dtype=np.bool_)
    padded[:, :width] = allowed
    return allowed, np.packbits(padded, axis=1, bitorder="little").view(np.int32)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    integer = _INTEGERS[a.element_size()]
    return torch.equal(a.contiguous().view(integer), b.contiguous().view(integer))


def shapes(quick: bool) -> Iterator[tuple[int, int, torch.dtype]]:
    for dtype in DTYPES:
        for rows in (1, 5) if quick else ROWS:
            for width in (700, 1_127) if quick else VOCABULARIES:
                if dtype != torch.float64 or rows * width * 8 <= _LARGEST:
                    yield rows, width, dtype


def check_shape(rows: int, width: int, dtype: torch.dtype, device: torch.device, rng: np.random.Generator) -> list[str]:
    """What is wrong for one shape: names of the ways that gave another result than the host."""
    wrong = []
    host = make_logits(rows, width, dtype, rng)
    allowed, packed = make_masks(rows, width - 7 if width % 2 else width, 0.3, rng)  # odd widths are padded logits
    allowed = np.pad(allowed, ((0, 0), (0, width - allowed.shape[1])))
    order = rng.permutation(rows)
    expected = torch.where(torch.from_numpy(allowed[order]), host, float("-inf")).to(device)
    table = torch.from_numpy(packed).to(device)
    numbers = torch.from_numpy(order.astype(np.int32)).to(device)

    logits = host.clone().to(device)  # a copy on the host as well
    out = torch.full_like(logits, 7)
    apply_rows_on_device(logits, table, numbers, out=out)
    if not same_bits(out, expected):
        wrong.append("elsewhere")
    if not same_bits(logits, host.to(device)):
        wrong.append("elsewhere, scores kept")
    apply_rows_on_device(logits, table, numbers)
    if not same_bits(logits, expected):
        wrong.append("in place")
    if host.numel() * host.element_size() > _LARGEST:
        return wrong

    wide = torch.full((rows, 2 * width + 5), 7, dtype=dtype, device=device)
    view = wide[:, 2 : 2 + 2 * width : 2]
    view.copy_(host)
    apply_rows_on_device(view, table, numbers)
    if not same_bits(view, expected) or not bool((wide[:, 1::2] == 7).all()):
        wrong.append("strided")
    flat = torch.full((width, rows + 1), 7, dtype=dtype, device=device)
    flat[:, :rows] = host.T.to(device)
    apply_rows_on_device(flat[:, :rows].T, table, numbers)
    if not same_bits(flat[:, :rows].T, expected) or not bool((flat[:, rows] == 7).all()):
        wrong.append("transposed")
    short = host[:, : width // 2].clone().to(device)
    apply_rows_on_device(short, table, numbers)
    if not same_bits(short, expected[:, : width // 2]):
        wrong.append("narrower than the vocabulary")

    # Row 0 emptied by others, the last row over (unless it is the same), the one before it left alone.
    emptied = host.clone()
    emptied[0] = float("-inf")
    codes, after = order.astype(np.int32), expected.cpu()
    after[0] = torch.where(torch.from_numpy(allowed[order[0]]), 0.0, float("-inf")).to(dtype)
    if rows > 2:
        codes[-1], codes[-2] = -2 - codes[-1], -1
        lowest = torch.finfo(dtype).min
        over, over_end = max(-1e30, lowest), max(-1e29, lowest / 2)
        ends = torch.from_numpy(allowed[order[-1]])
        after[-1] = torch.where(ends, torch.tensor(over_end, dtype=dtype), torch.tensor(over, dtype=dtype))
        after[-2] = host[-2]
    logits = emptied.clone().to(device)
    flag = apply_rows_on_device(logits, table, torch.from_numpy(codes).to(device), out=out, repair=True)
    if not same_bits(out, after.to(device)) or flag is None or not bool(flag):
        wrong.append("with repair")
    return wrong


def check(device: torch.device, *, quick: bool = False) -> dict[str, Any]:
    """Check all shapes on a device; returns how many there were and what was wrong with which."""
    rng = np.random.default_rng(0)
    count, wrong = 0, {}
    for rows, width, dtype in shapes(quick):
        count += 1
        if found := check_shape(rows, width, dtype, device, rng):
            wrong[f"{rows} x {width} {dtype}"] = found
    return {"shapes": count, "wrong": wrong}


def check_table(device: torch.device, *, quick: bool = False) -> str:
    """Check the table of rows over many steps; says what came out."""
    try:
        from constrain.engine.device_rows import DeviceRows
    except ImportError as error:
        return f"left out: {error}"
    rng = np.random.default_rng(1)
    width, rows, steps = (500, 4, 30) if quick else (50_257, 16, 60)
    allowed, packed = make_masks(200, width, 0.3, rng)
    table = DeviceRows(packed.shape[1], device, limit_bytes=40 * packed.shape[1] * 4)
    for step in range(steps):
        chosen = rng.integers(0, 20 + 3 * step, rows)
        host = torch.from_numpy(rng.standard_normal((rows, width), dtype=np.float32))
        logits = host.clone().to(device)  # a copy on the host as well
        table.apply(logits, packed[chosen], np.zeros(rows, dtype=np.bool_))
        if not same_bits(logits.cpu(), torch.where(torch.from_numpy(allowed[chosen]), host, float("-inf"))):
            return f"WRONG at step {step}"
    return f"right: {steps} steps of {rows} rows, {table.uploaded} rows sent"


# ---- fast? -----------------------------------------------------------------------------------------------------------


def measure(call: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Median microseconds on the device between two events, and on the host for the call."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    pairs, host = [], []
    event: Any = torch.cuda.Event
    wait = getattr(torch.cuda, "_sleep", None)
    for _ in range(repeats):
        begin, end = event(enable_timing=True), event(enable_timing=True)
        if wait is not None:
            wait(300_000)  # cycles: the host is through with launching before the device begins
        begin.record()
        started = time.perf_counter()
        call()
        host.append(time.perf_counter() - started)
        end.record()
        end.synchronize()
        pairs.append(begin.elapsed_time(end))
    return statistics.median(pairs) * 1e3, statistics.median(host) * 1e6


def contenders(logits: Any, allowed: Any, packed: Any) -> dict[str, Callable[[], Any]]:
    """Ways of masking, by name. Those in place are given logits of their own."""
    out, minus = torch.empty_like(logits), torch.tensor(float("-inf"), dtype=logits.dtype, device=logits.device)
    table = torch.from_numpy(packed).to(logits.device)
    mask = torch.from_numpy(allowed).to(logits.device)
    numbers = torch.arange(len(packed), dtype=torch.int32, device=logits.device)
    mine, theirs = logits.clone(), logits.clone()
    calls: dict[str, Callable[[], Any]] = {
        "constrain, in place": lambda: apply_rows_on_device(mine, table, numbers),
        "constrain, elsewhere": lambda: apply_rows_on_device(logits, table, numbers, out=out),
        "constrain, elsewhere with repair": lambda: apply_rows_on_device(logits, table, numbers, out=out, repair=True),
        "torch.where, mask ready": lambda: torch.where(mask, logits, minus),
        "copy of the logits": lambda: out.copy_(logits),
    }
    try:
        xgrammar = importlib.import_module("xgrammar")
    except ImportError:
        return calls
    return calls | {"xgrammar, in place": lambda: xgrammar.apply_token_bitmask_inplace(theirs, table)}


def time_all(device: torch.device, *, quick: bool, notes: list[str]) -> list[Timing]:
    timings = []
    rng = np.random.default_rng(2)
    for width in VOCABULARIES[2:3] if quick else (VOCABULARIES[0], VOCABULARIES[2], VOCABULARIES[4]):
        for rows in ROWS[:2] if quick else ROWS:
            masks = {kind: make_masks(rows, width, share, rng) for kind, share in KINDS.items()}
            for dtype in DTYPES[:2]:
                logits = torch.randn(rows, width, device=device).to(dtype)
                for kind, (allowed, packed) in masks.items():
                    if dtype != DTYPES[0] and kind != "half allowed":
                        continue
                    for what, call in contenders(logits, allowed, packed).items():
                        try:
                            took = measure(call, 10 if quick else 30)
                        except Exception as error:  # a peer that does not run on this device
                            note = f"{what}: {type(error).__name__}: {error}"[:300]
                            if note not in notes:
                                notes.append(note)
                            continue
                        name = str(dtype).removeprefix("torch.")
                        timings.append(Timing(rows, width, name, kind, what, *took))
    return timings


def time_steps(device: torch.device, rows: int, width: int) -> dict[str, float]:
    """Microseconds of whole steps, from masks on the host to masked logits, the device waited for."""
    try:
        from constrain.engine.device_rows import DeviceRows
    except ImportError:
        return {}
    _, packed = make_masks(rows, width, 0.3, np.random.default_rng(3))
    logits = torch.randn(rows, width, device=device)
    over, table = np.zeros(rows, dtype=np.bool_), DeviceRows(packed.shape[1], device)
    numbers = torch.arange(rows, dtype=torch.int32, device=device)

    def whole() -> None:
        apply_rows_on_device(logits, torch.from_numpy(packed).to(device), numbers)

    result = {}
    calls = {"row numbers sent": lambda: table.apply(logits, packed, over), "masks sent": whole}
    for what, call in calls.items():
        took = []
        for _ in range(25):
            torch.cuda.synchronize()
            started = time.perf_counter()
            call()
            torch.cuda.synchronize()
            took.append(time.perf_counter() - started)
        result[what] = statistics.median(took[5:]) * 1e6
    return result


# ---- the script ------------------------------------------------------------------------------------------------------


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "torch": torch.__version__, "cuda": str(torch.version.cuda)}
    for name in ("triton", "xgrammar", "numba", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def show(timings: list[Timing]) -> None:
    print(f"{'rows':>5} {'vocabulary':>10} {'dtype':<9} {'mask':<13} {'what':<33} {'device us':>10} {'host us':>9}")
    for t in timings:
        shape = f"{t.rows:>5} {t.vocabulary:>10,} {t.dtype:<9}"
        print(f"{shape} {t.mask:<13} {t.what:<33} {t.device_us:>10.1f} {t.host_us:>9.1f}")


def without_device() -> bool:
    """Check on the host in a process of its own, since Triton decides at import whether it interprets."""
    interpreted = has_triton()
    print("with Triton's interpreter:" if interpreted else "Triton is not installed; the torch operations:", flush=True)
    command = [sys.executable, "-m", "constrain.bench.device_check", "--on-host"]
    environment = os.environ | ({"TRITON_INTERPRET": "1"} if interpreted else {})
    return subprocess.run(command, env=environment, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m constrain.bench.device_check", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", type=Path, help="file for the results, JSON")
    parser.add_argument("--quick", action="store_true", help="few and small shapes")
    parser.add_argument("--on-host", action="store_true", help="check with tensors in the memory of the host")
    options = parser.parse_args()
    if options.on_host:
        device = torch.device("cpu")
        result = check(device, quick=True)
        table = check_table(device, quick=True)
        print(f"{result['shapes']} shapes checked, wrong: {result['wrong'] or 'none'}; table of rows: {table}")
        return 1 if result["wrong"] or "WRONG" in table else 0

    report: dict[str, Any] = {"versions": versions(), "machine": platform.machine()}
    if not torch.cuda.is_available():
        print("no device was found on this machine: nothing is timed, and the kernels are checked on the host")
        right = without_device()
        report |= {"device": None, "right": right}
    else:
        device = torch.device("cuda", torch.cuda.current_device())
        report |= {"device": torch.cuda.get_device_name(device), "triton_kernel": uses_triton(device)}
        print(report["device"], report["versions"], "Triton kernel" if uses_triton(device) else "torch operations")
        report["check"] = check(device, quick=options.quick)
        report["table"] = check_table(device, quick=options.quick)
        right = not report["check"]["wrong"] and "WRONG" not in report["table"]
        report["right"] = right
        print(f"{report['check']['shapes']} shapes checked, wrong: {report['check']['wrong'] or 'none'}")
        print(f"table of rows: {report['table']}")
        notes: list[str] = []
        timings = time_all(device, quick=options.quick, notes=notes)
        show(timings)
        steps = {str(rows): time_steps(device, rows, VOCABULARIES[2]) for rows in ROWS}
        for rows, step in steps.items():
            print(f"whole step of {rows} rows, microseconds: {step}")
        print(*notes, sep="\n")
        report |= {"timings": [asdict(t) for t in timings], "steps_us": steps, "notes": notes}
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
