"""`constrain bench apply`: putting a bitmask on logits, rows by vocabulary, on the CPU and on a device that torch
sees.

Three masks, since how much is allowed decides how much is written: a handful of tokens (mid-syntax), nearly all tokens
(inside a string), every other token at random. Each contender's result is compared with that of numpy before it is
timed, and calls go through several masks by turns: the processor would learn the branches of one by heart. A plain copy
of the logits on one thread is the yardstick: what memory alone costs.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.bench.engines import Unavailable
from constrain.bench.isolated import Failed, stream
from constrain.bench.results import Result, describe
from constrain.bench.tables import Table, duration, ranked, ratio

WIDTHS = (32_000, 128_256, 262_144)
ROWS = (1, 8, 64)
_MASKS = 8
DENSITIES = ("few", "most", "half")
_NAMES = {"few": "40 tokens allowed", "most": "98 % allowed", "half": "half allowed, at random"}
Contender = Callable[[Any, Any], Any]


def masks(rows: int, width: int, density: str, seed: int = 0) -> NDArray[np.int32]:
    """A bitmask, int32, shape (rows, ceil(width / 32)), of the density named; no bit beyond the width."""
    random = np.random.default_rng(seed)
    words = (width + 31) // 32
    bits = np.zeros((rows, words * 32), dtype=bool)
    if density == "few":
        for row in bits:
            row[random.choice(width, 40, replace=False)] = True
    else:
        bits[:, :width] = random.random((rows, width)) < (0.98 if density == "most" else 0.5)
    return np.packbits(bits, axis=1, bitorder="little").view(np.int32)


def expected(logits: NDArray[np.float32], bitmask: NDArray[np.int32]) -> NDArray[np.float32]:
    """What the logits become, the plain way."""
    bits = np.unpackbits(bitmask.view(np.uint8), axis=1, bitorder="little")[:, : logits.shape[1]]
    return np.where(bits.astype(bool), logits, np.float32(-np.inf))


def _numpy_contenders() -> Iterator[tuple[str, Contender]]:
    import constrain

    yield "constrain", constrain.apply_token_bitmask


def _torch_contenders(device: str) -> Iterator[tuple[str, Contender]]:
    """On tensors. What cannot be imported is left out."""
    import torch

    import constrain

    if device != "cpu":
        yield "constrain", constrain.apply_token_bitmask
    try:
        import xgrammar

        yield "xgrammar", xgrammar.apply_token_bitmask_inplace
    except ImportError:
        pass

    def fill(logits: Any, bitmask: Any) -> None:
        shifts = torch.arange(32, dtype=torch.int32, device=logits.device)
        allowed = ((bitmask.unsqueeze(-1) >> shifts) & 1).bool().flatten(1)[:, : logits.shape[1]]
        logits.masked_fill_(~allowed, float("-inf"))

    yield "torch masked_fill_", fill


def measure(widths: Sequence[int], rows: Sequence[int], device: str, seconds: float) -> Iterator[dict[str, Any]]:
    """In a process of its own: one record for each contender, width, number of rows and density."""
    import torch

    def synchronize() -> None:
        if device != "cpu":
            torch.cuda.synchronize()

    for width in widths:
        for count in rows:
            plain = np.random.default_rng(1).standard_normal((count, width), dtype=np.float32)
            for density in DENSITIES:
                bitmasks = [masks(count, width, density, seed) for seed in range(_MASKS)]
                bitmask = bitmasks[0]
                wanted = expected(plain, bitmask)
                contenders: list[tuple[str, Any, list[Any], Contender]] = []
                if device == "cpu":
                    contenders += [(n, plain.copy(), bitmasks, f) for n, f in _numpy_contenders()]
                tensor = torch.from_numpy(plain).to(device)
                on_device = [torch.from_numpy(m).to(device) for m in bitmasks]
                contenders += [(n, tensor.clone(), on_device, f) for n, f in _torch_contenders(device)]
                for name, logits, turns, function in contenders:
                    record: dict[str, Any] = {"name": name, "width": width, "rows": count, "density": density}
                    try:
                        function(logits, turns[0])
                        synchronize()
                        result = logits if isinstance(logits, np.ndarray) else logits.cpu().numpy()
                        record["right"] = bool(np.array_equal(result, wanted))
                        timed = _times(functools.partial(_turn, function, logits, turns), synchronize, seconds)
                        yield record | timed
                    except Exception as error:
                        yield record | {"error": " ".join(f"{type(error).__name__}: {error}".split())[:200]}
                copy = _times(_copying(plain if device == "cpu" else tensor), synchronize, seconds)
                yield {"name": "copy of the logits", "width": width, "rows": count, "density": density} | copy


def _turn(function: Contender, logits: Any, turns: list[Any], k: int) -> None:
    function(logits, turns[k % _MASKS])


def _copying(logits: Any) -> Callable[[int], None]:
    """A copy of the logits; in the memory of the host by numpy, since torch would spread it over threads."""
    if isinstance(logits, np.ndarray):
        target = logits.copy()
        return lambda _: np.copyto(target, logits)
    there = logits.clone()
    return lambda _: there.copy_(logits)  # type: ignore[no-any-return]


def _times(call: Callable[[int], Any], synchronize: Callable[[], None], seconds: float) -> dict[str, Any]:
    for k in range(_MASKS):
        call(k)
    synchronize()
    spent: list[int] = []
    begin = time.perf_counter()
    while len(spent) < 5 or (time.perf_counter() - begin < seconds and len(spent) < 100_000):
        before = time.perf_counter_ns()
        call(len(spent))
        synchronize()
        spent.append(time.perf_counter_ns() - before)
    found = np.array(spent) / 1000
    return {"us": {"p50": round(float(np.median(found)), 3), "min": round(float(found.min()), 3)}, "calls": len(spent)}


def run(
    *,
    widths: Sequence[int] = WIDTHS,
    rows: Sequence[int] = ROWS,
    seconds: float = 0.2,
    limit_s: float = 120.0,
    advance: Callable[[str], None] = lambda _: None,
) -> Result:
    """Measure all contenders on the CPU, and on a GPU where torch has one.

    One thread is not enforced: each contender runs as it would inside `generate`.
    """
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        from constrain.bench.results import BenchError

        raise BenchError("torch is not installed; install the extra: pip install 'constrain-decode[bench]'")
    import torch

    names = ["constrain", *(["xgrammar"] if importlib.util.find_spec("xgrammar") else [])]
    result = Result("apply", {})
    if "xgrammar" not in names:
        result.skip(Unavailable("xgrammar", "xgrammar is not installed", "pip install 'constrain-decode[bench]'"))
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    records: dict[str, list[dict[str, Any]]] = {}
    for device in devices:
        records[device] = []
        try:
            for record in stream(measure, widths, rows, device, seconds, limit_s=limit_s):
                records[device].append(record)
                advance(f"{record['rows']} × {record['width']:,}")
        except Failed as failed:
            result.skip(Unavailable(device, f"gave up: {failed}"))
    for record in (r for found in records.values() for r in found):
        if record.get("right") is False:
            result.skip(Unavailable(record["name"], "gave logits that are not those of numpy"))
    result.meta = describe(names, threads=torch.get_num_threads())
    if "cuda" in devices:
        result.meta["device"] = torch.cuda.get_device_name()
    result.data = {"devices": records}
    return result


def tables(result: Result) -> list[Table]:
    """The median time of a call, by shape and mask; a table for each device."""
    found = []
    for device, records in result.data["devices"].items():
        names = list(dict.fromkeys(r["name"] for r in records))
        peers = [n for n in names if n not in ("constrain", "copy of the logits")]
        place = "the CPU" if device == "cpu" else result.meta.get("device", device)
        table = Table(
            f"Applying a bitmask to float32 logits on {place}, median of a call",
            ["rows × vocabulary, mask", *names, "vs best peer"],
            note="A copy of the logits is what memory alone costs.",
        )
        shapes = dict.fromkeys((r["rows"], r["width"], r["density"]) for r in records)
        for count, width, density in shapes:
            row = {r["name"]: r for r in records if (r["rows"], r["width"], r["density"]) == (count, width, density)}
            values = [row[n]["us"]["p50"] if n in row and "us" in row[n] else None for n in names]
            by_name = dict(zip(names, values, strict=True))
            contending = [v if n != "copy of the logits" else None for n, v in by_name.items()]
            cells = ranked(contending, [duration(v) for v in values])
            table.add(
                f"{count} × {width:,}, {_NAMES[density]}",
                *cells,
                ratio(by_name.get("constrain"), [by_name[p] for p in peers]),
            )
        found.append(table)
    return found
