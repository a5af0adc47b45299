"""`constrain bench apply --record-mass`: what it costs a decoding step to keep the mass that its mask left.

The same processor with and without `record_mass`, called in turns in one thread, on a state that allows nearly all
tokens (inside a string) and on one that allows few. Beside them stand the parts: the kernel of the mask, that of the
mass, a bare sum of the row, which no way to normalise scores can do without, and torch's softmax, which sampling takes
of the same row in any case.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from constrain.bench.isolated import Failed, stream
from constrain.bench.results import BenchError, Result, describe
from constrain.bench.tables import Table, duration, figure

WIDTHS = (49_152, 131_072)
ROWS = (1, 8)
PLACES = {"few": ("at the start of an object, few allowed", ""), "most": ("inside a string, most allowed", '{"a": "b')}
_PARTS = ("mask", "mass", "bare sum", "softmax")


def _vocabulary(width: int) -> Any:
    import constrain

    rng = np.random.default_rng(0)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz ", dtype=np.uint8)
    tokens: dict[bytes, None] = dict.fromkeys(bytes([b]) for b in range(256))
    while len(tokens) < width - 1:
        tokens[rng.choice(letters, rng.integers(2, 9)).tobytes()] = None
    return constrain.Vocabulary.from_tokens([*tokens, None], eos_token_ids=len(tokens))


def _interleaved(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, dict[str, float]]:
    """Microseconds of this thread for each call, the calls in turns so that load falls on all alike."""
    spent: dict[str, list[int]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    begin, turns = time.perf_counter(), 0
    while turns < 30 or (time.perf_counter() - begin < seconds * len(calls) and turns < 20_000):
        turns += 1
        for name, call in calls.items():
            before = time.thread_time_ns()
            call()
            spent[name].append(time.thread_time_ns() - before)
    return {
        name: {f"p{q}": round(float(np.percentile(times, q)) / 1000, 3) for q in (10, 50, 90)}
        for name, times in spent.items()
    }


def measure(widths: Sequence[int], rows: Sequence[int], seconds: float) -> Iterator[dict[str, Any]]:
    """In a process of its own: one record for each width, number of rows and place."""
    import torch

    import constrain
    from constrain.engine.bitmask import allocate_token_bitmask, apply_on_host
    from constrain.kernels.mass import log_masses

    torch.set_num_threads(1)
    os.environ["CONSTRAIN_THREADS"] = "1"  # only this thread's time is read
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    for width in widths:
        vocabulary = _vocabulary(width)
        compiled = constrain.json_schema(schema).compile(vocabulary)
        for count in rows:
            rng = np.random.default_rng(1)
            scores = torch.from_numpy(rng.standard_normal((count, width), dtype=np.float32) * 3)
            for place, (_, text) in PLACES.items():
                tokens = list(text.encode())  # ids of single bytes are the bytes
                ids = torch.tensor([[0, *tokens]] * count)
                plain = constrain.ConstrainedLogitsProcessor(compiled)
                recording = constrain.ConstrainedLogitsProcessor(compiled, record_mass=True)
                for processor in (plain, recording):
                    for length in range(1, ids.shape[1]):
                        processor(ids[:, :length], scores)
                masked = plain(ids, scores)
                before = scores.numpy()
                words = allocate_token_bitmask(count, width)
                matcher = compiled.matcher()
                for token in tokens:
                    matcher.accept_token(token)
                for row in range(count):
                    matcher.fill_next_token_bitmask(words, row)
                target, skip, out = torch.empty_like(scores), np.zeros(count, dtype=np.bool_), np.empty(count)
                times = _interleaved(
                    {
                        "without": lambda p=plain, i=ids, s=scores: p(i, s),  # type: ignore[misc]
                        "with": lambda p=recording, i=ids, s=scores: p(i, s),  # type: ignore[misc]
                        "mask": lambda s=scores, w=words, t=target: apply_on_host(s, w, None, t),  # type: ignore[misc]
                        "mass": lambda x=before, w=words, k=skip, n=count, o=out: log_masses(x, w, k, 0, n, o),  # type: ignore[misc]
                        "bare sum": lambda s=scores: s.sum(),  # type: ignore[misc]
                        "softmax": lambda s=scores: torch.softmax(s, dim=-1),  # type: ignore[misc]
                    },
                    seconds,
                )
                found = torch.log_softmax(scores.double(), dim=-1)
                wanted = found.masked_fill(masked == -torch.inf, -torch.inf).logsumexp(dim=-1).numpy()
                worst = float(np.abs(out - wanted).max())
                yield {"width": width, "rows": count, "place": place, "us": times, "error": worst}


def run(
    *,
    widths: Sequence[int] = WIDTHS,
    rows: Sequence[int] = ROWS,
    seconds: float = 0.3,
    limit_s: float = 600.0,
    advance: Callable[[str], None] = lambda _: None,
) -> Result:
    """Measure on the CPU, in one thread."""
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        raise BenchError("torch is not installed; install the extra: pip install 'constrain-decode[bench]'")
    if min(widths) < 1024:
        raise BenchError("recording masses is measured from 1,024 logits up")
    result = Result("mass", describe(["constrain"], threads=1))
    records = []
    try:
        for record in stream(measure, widths, rows, seconds, limit_s=limit_s):
            records.append(record)
            advance(f"{record['rows']} × {record['width']:,}")
    except Failed as failed:
        raise BenchError(f"gave up: {failed}") from None
    result.data = {"records": records}
    return result


def tables(result: Result) -> list[Table]:
    """The median of a call with and without recording, and of its parts."""
    table = Table(
        "Keeping the mass of each mask, median of a call in one thread",
        ["rows × vocabulary, place", "processor", "recording", "more", "more, %", *_PARTS, "error"],
        note="A bare sum is the least that any normalisation of a row costs; a softmax follows in sampling anyway. "
        "Errors are in nats, against float64.",
    )
    for r in result.data["records"]:
        us = {name: times["p50"] for name, times in r["us"].items()}
        more = us["with"] - us["without"]
        table.add(
            f"{r['rows']} × {r['width']:,}, {PLACES[r['place']][0]}",
            duration(us["without"]),
            duration(us["with"]),
            duration(max(more, 0.0)),
            figure(100 * more / us["without"]),
            *(duration(us[part]) for part in _PARTS),
            f"{r['error']:.1g}",
        )
    return [table]
