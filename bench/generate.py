"""`constrain bench generate`: tokens per second of a real model, without a constraint and under each engine.

One model, the same prompts, greedy decoding, one row. Each engine has a process of its own, in which the ways of
generating take turns: without a constraint, then with the engine, prompt by prompt. So the share that a constraint
keeps of the speed comes from pairs of neighbouring runs, and a machine that is busy for a while slows both. Without a
constraint the model writes exactly as many tokens as it wrote with one.

For this library the ways are `ConstrainedLogitsProcessor`, and the same with `constrain.jump_generate`, which asks no
model about forced tokens; for a peer the thinnest processor that can be put around its matcher, with the fastest way
there is to put its mask on the scores (its own where it has one, else this library's).

Two kinds of work: calls of the demo's tools, and a record with long names.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from constrain.bench.engines import Refused, Unavailable, choose, is_ours, load_engine
from constrain.bench.isolated import Failed, stream
from constrain.bench.results import Result, describe
from constrain.bench.tables import Cell, Table, duration, figure, ranked
from constrain.bench.tokenizers import from_model

UNCONSTRAINED = "none"


class PeerProcessor:
    """A logits processor for one row, around an engine's sequence.

    Args:
        sequence: at its start.
        apply: puts a mask (int32, shape (1, words)) on scores (shape (1, width)) in place.
        eos: tokens that end the text; they are not given to the engine.
    """

    def __init__(self, sequence: Any, apply: Callable[[Any, Any], Any], eos: Sequence[int]) -> None:
        self.sequence, self.apply, self.eos = sequence, apply, frozenset(eos)
        self.length = -1

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if self.length >= 0:
            for token in input_ids[0, self.length :].tolist():
                if token not in self.eos and not self.sequence.accept(token):
                    raise RuntimeError(f"token {token} was in the mask, but is not accepted")
        self.length = input_ids.shape[1]
        self.sequence.mask()
        scores = scores.clone()
        self.apply(scores, self.sequence.words())
        return scores


class _Timed:
    """A logits processor that notes the time another one takes."""

    def __init__(self, processor: Any) -> None:
        self.processor, self.spent = processor, []  # type: ignore[var-annotated]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        before = time.perf_counter_ns()
        result = self.processor(input_ids, scores)
        self.spent.append(time.perf_counter_ns() - before)
        return result


def _plain(engine: Any, compiled: Any) -> dict[str, Any]:
    import constrain

    if is_ours(engine.name):
        return {"logits_processor": [_Timed(constrain.ConstrainedLogitsProcessor(compiled.compiled))]}
    apply = getattr(engine, "apply", constrain.apply_token_bitmask)
    return {"logits_processor": [_Timed(PeerProcessor(compiled.start(), apply, engine.eos))]}


def _jumping(_engine: Any, compiled: Any) -> dict[str, Any]:
    import constrain

    processor = constrain.ConstrainedLogitsProcessor(compiled.compiled)
    return {"logits_processor": [processor], "custom_generate": constrain.jump_generate}


WAYS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    UNCONSTRAINED: lambda _engine, _compiled: {},
    "processor": _plain,
    "jumping": _jumping,
}
"""Ways of generating: each makes arguments of one `generate` call, from an engine and a compiled schema."""

_LONG_NAMES = [
    "customer_identification_number",
    "preferred_contact_language",
    "date_of_last_account_review",
    "outstanding_balance_in_cents",
]
_RECORD = {
    "type": "object",
    "properties": {name: {"type": "string", "maxLength": 12} for name in _LONG_NAMES},
    "required": _LONG_NAMES,
    "additionalProperties": False,
}


def work_of(name: str) -> tuple[Any, str, list[str]]:
    """The schema, the instructions and the prompts of a kind of work."""
    from constrain.cli.demo import PROMPTS, TOOLS, call_schema, system_prompt

    if name == "tools":
        return call_schema(TOOLS), system_prompt(TOOLS), PROMPTS
    system = "You extract a customer record as one JSON object with the fields " + ", ".join(_LONG_NAMES) + "."
    return _RECORD, system, ["Customer 48213 writes in French. Last review: 3 May 2024. Balance due: 129.50."]


WORK = ("tools", "record")
"""Kinds of work: calls of three tools, a record with long names."""


def measure(name: str, model_name: str, work: str, max_new_tokens: int, repeats: int) -> Iterator[dict[str, Any]]:
    """In a process of its own: one record for each prompt, way and repetition."""
    from constrain.cli.generate import encode
    from constrain.cli.models import load

    model, hf_tokenizer = load(model_name)
    width = int(model.get_output_embeddings().weight.shape[0])
    engine, compiled, compile_us = None, None, 0.0
    schema, system, prompts = work_of(work)
    ways = [UNCONSTRAINED]
    if name != UNCONSTRAINED:
        tokenizer = from_model(model_name, hf_tokenizer, size=width, generation_config=model.generation_config)
        engine = load_engine(name, tokenizer)
        begin = time.perf_counter()
        compiled = engine.compile(schema)
        compile_us = (time.perf_counter() - begin) * 1e6
        ways = ["processor", UNCONSTRAINED, *(["jumping"] if is_ours(name) else [])]
    yield {"compile_us": round(compile_us, 1), "device": str(model.device), "width": width}
    encoded = [encode(hf_tokenizer, prompt, system=system).to(model.device) for prompt in prompts]
    lengths = [max_new_tokens] * len(encoded)
    pad = hf_tokenizer.pad_token_id if hf_tokenizer.pad_token_id is not None else model.generation_config.eos_token_id
    for repeat in range(repeats + 1):  # the first time warms up
        for number, ids in enumerate(encoded):
            for way in ways:
                arguments = WAYS[way](engine, compiled)
                limits = {"max_new_tokens": max_new_tokens}
                if way == UNCONSTRAINED:
                    limits = {"max_new_tokens": lengths[number], "min_new_tokens": lengths[number]}
                seconds, new = _generate(model, ids, pad, **limits, **arguments)
                if way == "processor":
                    lengths[number] = len(new)
                if repeat:
                    text = hf_tokenizer.decode(new, skip_special_tokens=True)
                    timed = arguments.get("logits_processor", [None])[0]
                    yield {
                        "prompt": number,
                        "way": way,
                        "repeat": repeat,
                        "tokens": len(new),
                        "seconds": round(seconds, 5),
                        "processor_us": [round(t / 1000, 2) for t in getattr(timed, "spent", [])],
                        "text": text,
                        "valid": _is_valid(text, schema),
                    }


def _generate(model: Any, ids: Any, pad: Any, **arguments: Any) -> tuple[float, list[int]]:
    import torch

    begin = time.perf_counter()
    output = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        temperature=None,
        top_p=None,
        top_k=None,
        pad_token_id=pad[0] if isinstance(pad, list) else pad,
        **arguments,
    )
    if output.is_cuda:
        output = output.cpu()  # waits for the device
    return time.perf_counter() - begin, output[0, ids.shape[1] :].tolist()


def _is_valid(text: str, schema: Any) -> bool:
    from constrain.bench.verdicts import is_valid

    try:
        return bool(is_valid(schema, json.loads(text)))
    except ValueError:
        return False


def run(
    engines: Sequence[str],
    *,
    model: str,
    work: str = "tools",
    max_new_tokens: int = 96,
    repeats: int = 3,
    limit_s: float = 600.0,
    advance: Callable[[str], None] = lambda _: None,
) -> Result:
    """Generate with every engine, and without a constraint in turns with it."""
    from constrain.bench.results import BenchError

    if work not in WORK:
        raise BenchError(f"the work is one of {', '.join(WORK)}, not {work!r}")
    present, missing = choose(engines)
    result = Result("generate", {})
    for unavailable in missing:
        result.skip(unavailable)
    found: dict[str, Any] = {}
    free: dict[str, Any] = {}
    for name in present or [UNCONSTRAINED]:
        records: list[dict[str, Any]] = []
        try:
            records.extend(stream(measure, name, model, work, max_new_tokens, repeats, limit_s=limit_s))
        except (Unavailable, Failed, Refused, RuntimeError) as error:
            result.skip(error if isinstance(error, Unavailable) else Unavailable(name, str(error)[:300]))
        for way in WAYS:
            if any(r["way"] == way for r in records[1:]):
                figures = _figures(records[0], records[1:], way)
                if way == UNCONSTRAINED:
                    free[name] = figures
                else:
                    found[name if way == "processor" else f"{name}, {way}"] = figures
        advance(name)
    if not free:
        reasons = "; ".join(entry["reason"] for entry in result.skipped)
        raise BenchError(f"the model {model} cannot be used: {reasons}")
    first = next((n for n in free if is_ours(n)), next(iter(free)))
    result.meta = describe(present, None, model=model, work=work, max_new_tokens=max_new_tokens, repeats=repeats)
    result.data = {"engines": {UNCONSTRAINED: free[first]} | found}
    return result


def _figures(head: dict[str, Any], records: list[dict[str, Any]], way: str) -> dict[str, Any]:
    runs = [r for r in records if r["way"] == way]
    speed = {(r["prompt"], r["repeat"], r["way"]): r["tokens"] / r["seconds"] for r in records}
    shares = [speed[p, k, w] / free for (p, k, w) in speed if w == way and (free := speed.get((p, k, UNCONSTRAINED)))]
    seconds = sum(r["seconds"] for r in runs)
    spent = [t for r in runs for t in r["processor_us"]]
    last = {r["prompt"]: r for r in runs}
    return {
        "device": head["device"],
        "width": head["width"],
        "compile_us": head["compile_us"] if way != UNCONSTRAINED else 0.0,
        "tokens": sum(r["tokens"] for r in runs),
        "tokens_per_s": round(statistics.median(r["tokens"] / r["seconds"] for r in runs), 2),
        "of_free": round(statistics.median(shares), 4) if shares else None,
        "token_us": round(statistics.median(r["seconds"] / r["tokens"] for r in runs) * 1e6, 1),
        "processor_us": {
            "mean": round(statistics.fmean(spent), 2),
            "p50": round(statistics.median(spent), 2),
            "max": round(max(spent), 2),
        }
        if spent
        else None,
        "processor_share": round(sum(spent) / 1e6 / seconds, 5) if spent else 0.0,
        "valid": sum(r["valid"] for r in last.values()),
        "outputs": [last[n]["text"] for n in sorted(last)],
    }


def tables(result: Result) -> list[Table]:
    """Speed and share of the time by engine."""
    engines = result.data["engines"]
    names = list(engines)
    options = result.meta["options"]
    work = f", {options['work']}" if "work" in options else ""
    table = Table(f"Generation with {options['model']}, greedy, one row{work}", ["", *names])
    constrained = [n for n in names if n != UNCONSTRAINED]

    def row(label: str, value: Callable[[str], float | None], show: Callable[[float | None], str], low: bool) -> None:
        values = [value(n) if n in constrained else None for n in names]
        cells = ranked(values, [show(value(n)) for n in names], low=low)
        table.add(label, *cells)

    row("tokens per second", lambda n: engines[n]["tokens_per_s"], figure, False)
    row(
        "of the speed without a constraint, %",
        lambda n: 100 * share if n in constrained and (share := engines[n].get("of_free")) else None,
        figure,
        False,
    )
    row("time of a token, median", lambda n: engines[n]["token_us"], duration, True)
    for label, key in (("mean", "mean"), ("median", "p50"), ("worst", "max")):
        row(
            f"processor, {label} of a step",
            lambda n, key=key: (engines[n]["processor_us"] or {}).get(key),  # type: ignore[misc]
            duration,
            True,
        )
    row("processor's share of the time, %", lambda n: 100 * engines[n]["processor_share"] or None, figure, True)
    row("compile", lambda n: engines[n]["compile_us"] or None, duration, True)
    total = max((len(e["outputs"]) for e in engines.values()), default=0)
    table.add("valid calls", *(Cell(f"{engines[n]['valid']} of {total}") for n in names))
    table.note = (
        "Medians; the speed without a constraint was measured in turns with each engine. "
        "Shares and speeds depend on the model: a larger one hides more of the processor's time."
    )
    return [table]
