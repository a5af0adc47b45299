"""`constrain bench generate`: tokens per second of a real model, without a constraint and under each engine.

One model, the same prompts, greedy decoding, one row, each way of generating in a process of its own. For this library
it is `ConstrainedLogitsProcessor`; for a peer the thinnest processor that can be put around its matcher, with the
fastest way there is to put its mask on the scores (its own where it has one, else this library's).

`WAYS` maps a kind of generation to the function that does it. A way that skips the model where the next tokens are
forced takes its place beside the processors there.
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


def _no_processor(_engine: Any, _compiled: Any) -> Any:
    return None


def _processor(engine: Any, compiled: Any) -> Any:
    import constrain

    if is_ours(engine.name):
        return constrain.ConstrainedLogitsProcessor(compiled.compiled)
    apply = getattr(engine, "apply", constrain.apply_token_bitmask)
    return PeerProcessor(compiled.start(), apply, engine.eos)


WAYS: dict[str, Callable[[Any, Any], Any]] = {"none": _no_processor, "processor": _processor}
"""Kinds of generation: each makes the logits processor of one `generate` call, from an engine and a compiled schema."""


def measure(name: str, way: str, model_name: str, max_new_tokens: int, repeats: int) -> Iterator[dict[str, Any]]:
    """In a process of its own: one record for each prompt and repetition."""
    import torch

    from constrain.cli.demo import PROMPTS, TOOLS, call_schema, system_prompt
    from constrain.cli.generate import encode
    from constrain.cli.models import load

    model, hf_tokenizer = load(model_name)
    width = int(model.get_output_embeddings().weight.shape[0])
    tokenizer = from_model(model_name, hf_tokenizer, size=width, generation_config=model.generation_config)
    engine, compiled, compile_us = None, None, 0.0
    if name != UNCONSTRAINED:
        engine = load_engine(name, tokenizer)
        begin = time.perf_counter()
        compiled = engine.compile(call_schema(TOOLS))
        compile_us = (time.perf_counter() - begin) * 1e6
    system = system_prompt(TOOLS)
    prompts = [encode(hf_tokenizer, prompt, system=system).to(model.device) for prompt in PROMPTS]
    pad = hf_tokenizer.pad_token_id if hf_tokenizer.pad_token_id is not None else tokenizer.eos[0]
    yield {"compile_us": round(compile_us, 1), "device": str(model.device), "width": width}
    for repeat in range(repeats + 1):  # the first time warms up
        for number, ids in enumerate(prompts):
            processor = WAYS[way](engine, compiled)
            timed = _Timed(processor) if processor is not None else None
            begin = time.perf_counter()
            output = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                logits_processor=[timed] if timed else [],
                max_new_tokens=max_new_tokens,
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                pad_token_id=pad,
            )
            seconds = time.perf_counter() - begin
            new = output[0, ids.shape[1] :].tolist()
            if repeat:
                text = hf_tokenizer.decode(new, skip_special_tokens=True)
                spent = [t / 1000 for t in timed.spent] if timed else []
                yield {
                    "prompt": number,
                    "tokens": len(new),
                    "seconds": round(seconds, 5),
                    "processor_us": [round(t, 2) for t in spent],
                    "text": text,
                    "valid": _is_valid(text, call_schema(TOOLS)),
                }


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
    max_new_tokens: int = 96,
    repeats: int = 3,
    limit_s: float = 600.0,
    advance: Callable[[str], None] = lambda _: None,
) -> Result:
    """Generate without a constraint, then with every engine."""
    from constrain.bench.results import BenchError

    present, missing = choose(engines)
    result = Result("generate", {})
    for unavailable in missing:
        result.skip(unavailable)
    found: dict[str, Any] = {}
    for name in [UNCONSTRAINED, *present]:
        way = "none" if name == UNCONSTRAINED else "processor"
        records: list[dict[str, Any]] = []
        try:
            records.extend(stream(measure, name, way, model, max_new_tokens, repeats, limit_s=limit_s))
        except (Unavailable, Failed, Refused, RuntimeError) as error:
            if name == UNCONSTRAINED:
                raise BenchError(f"the model {model} cannot be used: {error}") from error
            result.skip(error if isinstance(error, Unavailable) else Unavailable(name, str(error)[:300]))
        if len(records) > 1:
            found[name] = _figures(records)
        advance(name)
    result.meta = describe(present, None, model=model, max_new_tokens=max_new_tokens, repeats=repeats)
    result.data = {"engines": found}
    return result


def _figures(records: list[dict[str, Any]]) -> dict[str, Any]:
    head, runs = records[0], records[1:]
    tokens = sum(r["tokens"] for r in runs)
    seconds = sum(r["seconds"] for r in runs)
    spent = [t for r in runs for t in r["processor_us"]]
    last = {r["prompt"]: r for r in runs}
    return {
        "device": head["device"],
        "width": head["width"],
        "compile_us": head["compile_us"],
        "tokens": tokens,
        "tokens_per_s": round(tokens / seconds, 2),
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
    table = Table(f"Generation with {options['model']}, greedy, one row", ["", *names])
    constrained = [n for n in names if n != UNCONSTRAINED]

    def row(label: str, value: Callable[[str], float | None], show: Callable[[float | None], str], low: bool) -> None:
        values = [value(n) if n in constrained else None for n in names]
        cells = ranked(values, [show(value(n)) for n in names], low=low)
        table.add(label, *cells)

    row("tokens per second", lambda n: engines[n]["tokens_per_s"], figure, False)
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
    table.note = "Shares and speeds depend on the model: a larger one hides more of the processor's time."
    return [table]
