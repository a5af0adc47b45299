"""`constrain bench apply --record-mass`: what it costs a decoding step to keep the mass that its mask left.

The same processor without recording, with sums taken at once, and with sums left to another thread, called in turns as
`generate` calls it: each time with a copy of the scores, and with other work in between, which stands for the model's.
The state allows nearly all tokens (inside a string) or few. Of each way: the median time of a call on the clock, its
mean in this thread's processor time (which holds what happens once in many steps, and not what the machine's other work
takes), and the processor time of the whole process, other threads included. Beside them stand the parts: the
kernels of the mask and of the mass, a bare sum of the row, which no way to normalise scores can do without, and torch's
softmax, which sampling takes of the same row in any case.

Where the demo's model is at hand (`CONSTRAIN_SMOLLM2_DIR`, or converted before), its tokens per second in `generate`
follow, the three ways in turns.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
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
WAYS: dict[str, Any] = {"without": False, "at once": "at once", "deferred": True}
"""Ways to record, by what `record_mass` is given."""


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


def _ways(
    processors: dict[str, Any], ids: Any, scores: Any, seconds: float
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Microseconds of calls in turns, and of processor time of all threads for a call."""
    between = np.zeros(1 << 17)
    walls: dict[str, list[int]] = {name: [] for name in processors}
    threads: dict[str, list[int]] = {name: [] for name in processors}
    begin, turns = time.perf_counter(), 0
    while turns < 40 or (time.perf_counter() - begin < seconds * len(processors) and turns < 20_000):
        turns += 1
        for name, processor in processors.items():
            np.add(between, 1.0, out=between)
            copy = scores.clone()
            before, of_thread = time.perf_counter_ns(), time.thread_time_ns()
            processor(ids, copy)
            threads[name].append(time.thread_time_ns() - of_thread)
            walls[name].append(time.perf_counter_ns() - before)
    found = {}
    for name, times in walls.items():
        found[name] = {f"p{q}": round(float(np.percentile(times, q)) / 1000, 3) for q in (10, 50, 90)}
        found[name]["mean"] = round(float(np.mean(threads[name])) / 1000, 3)
    totals: dict[str, list[float]] = {name: [] for name in processors}
    for _ in range(6):
        for name, processor in processors.items():
            begun = time.process_time_ns()
            for _ in range(96):
                processor(ids, scores.clone())
            if processor is not processors["without"]:
                processor.records(ids)  # what is left is summed
            totals[name].append((time.process_time_ns() - begun) / 96 / 1000)
    return found, {name: round(float(np.median(times)), 3) for name, times in totals.items()}


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
                processors = {
                    name: constrain.ConstrainedLogitsProcessor(compiled, record_mass=way) for name, way in WAYS.items()
                }
                for processor in processors.values():
                    for length in range(1, ids.shape[1]):
                        processor(ids[:, :length], scores.clone())
                masked = processors["without"](ids, scores)
                before = scores.numpy()
                words = allocate_token_bitmask(count, width)
                matcher = compiled.matcher()
                for token in tokens:
                    matcher.accept_token(token)
                for row in range(count):
                    matcher.fill_next_token_bitmask(words, row)
                target, skip, out = torch.empty_like(scores), np.zeros(count, dtype=np.bool_), np.empty(count)
                calls, totals = _ways(processors, ids, scores, seconds)
                parts = _interleaved(
                    {
                        "mask": lambda s=scores, w=words, t=target: apply_on_host(s, w, None, t),  # type: ignore[misc]
                        "mass": lambda x=before, w=words, k=skip, o=out: log_masses(x, w, k, 0, k.size, o),  # type: ignore[misc]
                        "bare sum": lambda s=scores: s.sum(),  # type: ignore[misc]
                        "softmax": lambda s=scores: torch.softmax(s, dim=-1),  # type: ignore[misc]
                    },
                    seconds,
                )
                found = torch.log_softmax(scores.double(), dim=-1)
                wanted = found.masked_fill(masked == -torch.inf, -torch.inf).logsumexp(dim=-1).numpy()
                worst = float(np.abs(out - wanted).max())
                yield {
                    "width": width,
                    "rows": count,
                    "place": place,
                    "us": calls | parts,
                    "cpu_us": totals,
                    "error": worst,
                }


def generate(turns: int, tokens: int) -> Iterator[dict[str, Any]]:
    """In a process of its own: tokens per second of the demo's model in `generate`, a free string under each way."""
    import torch

    import constrain
    from constrain.cli import models

    torch.set_num_threads(1)  # the other cores are for the thread that sums
    network, tokenizer = models.load(models.DEMO_MODEL)
    vocabulary = constrain.Vocabulary.from_tokenizer(tokenizer, generation_config=network.generation_config)
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 10_000}}, "required": ["a"]}
    compiled = constrain.json_schema(schema).compile(vocabulary)  # no end within the tokens
    inputs = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Tell me about rain."}], add_generation_prompt=True, return_dict=True,
        return_tensors="pt",
    )  # fmt: skip
    for turn in range(turns + 1):
        speeds = {}
        for name, way in WAYS.items():
            processor = constrain.ConstrainedLogitsProcessor(compiled, record_mass=way)
            torch.manual_seed(turn)
            begun, cpu = time.perf_counter(), time.process_time()
            output = network.generate(
                **inputs, logits_processor=[processor], do_sample=True, top_k=0, max_new_tokens=tokens
            )
            if way:
                processor.records(output)
            speeds[name] = {
                "tokens_per_second": tokens / (time.perf_counter() - begun),
                "cpu_ms_per_token": 1000 * (time.process_time() - cpu) / tokens,
            }
        if turn:  # the first warms up
            yield speeds


def run(
    *,
    widths: Sequence[int] = WIDTHS,
    rows: Sequence[int] = ROWS,
    seconds: float = 0.3,
    turns: int = 4,
    limit_s: float = 600.0,
    advance: Callable[[str], None] = lambda _: None,
) -> Result:
    """Measure on the CPU: calls, and `generate` `turns` times each way (0 for not at all), the model in one thread."""
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
    speeds: list[dict[str, Any]] = []
    if turns and _has_demo_model():
        advance("generate")
        try:
            speeds = list(stream(generate, turns, 64, limit_s=limit_s))
        except Failed as failed:
            raise BenchError(f"gave up: {failed}") from None
    result.data = {"records": records, "generate": speeds}
    return result


def _has_demo_model() -> bool:
    """Whether the demo's model can be loaded without a download."""
    from constrain.cli import models

    converted = models.cache_folder() / "models" / models.DEMO_MODEL / "converted" / "config.json"
    return importlib.util.find_spec("transformers") is not None and (
        converted.exists() or "CONSTRAIN_SMOLLM2_DIR" in os.environ
    )


def tables(result: Result) -> list[Table]:
    """A call under each way, and its parts; tokens per second where they were measured."""
    calls = Table(
        "Keeping the mass of each mask: a call of the processor",
        ["rows × vocabulary, place", *WAYS, "median, more", "mean, more", "CPU, at once, more", "CPU, deferred, more"],
        note="Medians; more is what deferred sums add to the median on the clock, and to the mean of this thread's "
        "processor time, which holds the handing over. CPU is the processor time that recording adds in all threads, "
        "per call.",
    )
    parts = Table(
        "Its parts, median in one thread",
        ["rows × vocabulary, place", *_PARTS, "error"],
        note="A bare sum is the least that any normalisation of a row costs; a softmax follows in sampling anyway. "
        "Errors are in nats, against float64.",
    )
    for r in result.data["records"]:
        us, label = r["us"], f"{r['rows']} × {r['width']:,}, {PLACES[r['place']][0]}"
        more = {q: 100 * (us["deferred"][q] - us["without"][q]) / us["without"][q] for q in ("p50", "mean")}
        calls.add(
            label,
            *(duration(us[way]["p50"]) for way in WAYS),
            f"{more['p50']:.1f} %",
            f"{more['mean']:.1f} %",
            *(duration(max(r["cpu_us"][way] - r["cpu_us"]["without"], 0.0)) for way in ("at once", "deferred")),
        )
        parts.add(label, *(duration(us[part]["p50"]) for part in _PARTS), f"{r['error']:.1g}")
    found = [calls, parts]
    if speeds := result.data.get("generate"):
        table = Table(
            f"Tokens per second in generate, {len(speeds)} runs in turns",
            ["way", "tokens/s, median", "of those without, median of pairs", "CPU ms/token, median"],
        )
        for way in WAYS:
            pairs = [s[way]["tokens_per_second"] / s["without"]["tokens_per_second"] for s in speeds]
            table.add(
                way,
                figure(statistics.median(s[way]["tokens_per_second"] for s in speeds)),
                f"{100 * statistics.median(pairs):.1f} %",
                figure(statistics.median(s[way]["cpu_ms_per_token"] for s in speeds)),
            )
        found.append(table)
    return found
