"""Reasoning inside the JSON against reasoning before it, on the demo's real model.

The same question is asked in two ways. *Inside*: one JSON object with a string for the reasoning and the answer after
it, all of it masked. *Before*: the model writes its reasoning freely, up to a limit of tokens, and then an object with
the answer alone is masked. Free tokens keep all of the mass, so in both ways the weight of a draw is the
product of the masses of its masked steps, and the same estimators apply to both.

Weights as uneven as these allow no point estimate of the distortion. A lower bound takes only what holds at every
number of draws: KL(q || p*) = log Z + E[-log w], where log Z is at least log mean(w) - log(1 / alpha) with
probability 1 - alpha (Markov: the mean of w, whose expectation is Z, seldom exceeds it many times), and a mean of
numbers at least 0 is at least the mean of what is left of them when they are cut at a number set beforehand, which a
betting interval bounds.

Draws are sampled at temperature 1 by `generate` with `record_mass=True`, so this is also an example of its records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from constrain.distortion.betting import betting_interval
from constrain.distortion.records import RecordsReport, summarize
from constrain.mass import MassRecord

QUESTION = "Anna has 3 apples. She buys 2 more and eats 1. How many apples does she have now?"
ANSWERS = list(range(10))
INSIDE = (
    "Think step by step. Reply with one JSON object and nothing else. It has two members: reasoning, a string, and "
    "answer, a number from 0 to 9."
)
BEFORE = "Think step by step."
THEN = "Reply with one JSON object and nothing else. It has one member: answer, a number from 0 to 9."
LENGTH = 160
"""Characters that the reasoning inside may have."""
FREE = 60
"""Tokens that free reasoning may have."""
CUT = 100.0
"""Nats at which -log w is cut for the lower bound."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask, and what its draws say.

    Attributes:
        name: for the table.
        report: from the records of all draws.
        records: those.
    """

    name: str
    report: RecordsReport
    records: tuple[MassRecord, ...]

    @property
    def log_weights(self) -> Any:
        """log w of the draws that ended, float64."""
        found = [r.log_weight for r in self.records if not r.truncated]
        return np.array(found, dtype=np.float64)

    def least_distortion(self, alpha: float = 0.05) -> float:
        """What KL(q || p*) is at least, with probability 1 - alpha at least; q is the law of the draws that end."""
        logs = self.log_weights
        mean = float(np.logaddexp.reduce(logs)) - math.log(len(self.records))  # what is cut has no weight
        price, _ = betting_interval(np.minimum(-logs, CUT), CUT, alpha / 2)
        return max(price + mean - math.log(2 / alpha), 0.0)


def schema(reasoning: int | None) -> dict[str, Any]:
    """The object that is asked for; `reasoning` is the most characters of its reasoning, None for none at all."""
    members: dict[str, Any] = {} if reasoning is None else {"reasoning": {"type": "string", "maxLength": reasoning}}
    members["answer"] = {"enum": ANSWERS}
    return {"type": "object", "properties": members, "required": [*members], "additionalProperties": False}


def _sampled(real: Any, prompts: list[list[int]], processors: list[Any], limit: int, copies: int = 1) -> Any:
    import torch

    network, width = real.network, max(map(len, prompts))
    pad = real.tokenizer.pad_token_id
    ids = torch.tensor([[pad] * (width - len(p)) + p for p in prompts])
    seen = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    return network.generate(
        input_ids=ids, attention_mask=seen, logits_processor=processors, max_new_tokens=limit, do_sample=True,
        temperature=1.0, top_p=1.0, top_k=0, num_return_sequences=copies, pad_token_id=pad,
    )  # fmt: skip


def _masked(
    real: Any, prompts: list[list[int]], reasoning: int | None, limit: int, copies: int, escapes: Any = "any"
) -> list[MassRecord]:
    import constrain

    grammar = constrain.json_schema(schema(reasoning), whitespace="spaced", property_order="declared", escapes=escapes)
    processor = constrain.ConstrainedLogitsProcessor(grammar.compile(real.vocabulary), record_mass=True)
    output = _sampled(real, prompts, [processor], limit, copies)
    return processor.records(output, labels=["one question"])


def _chat(real: Any, messages: Sequence[dict[str, str]]) -> list[int]:
    found = real.tokenizer.apply_chat_template(list(messages), add_generation_prompt=True, return_dict=False)
    return [int(t) for t in found]


def inside(real: Any, draws: int, batch: int, escapes: str) -> Way:
    """Reasoning in a string of the object; `escapes` as for `constrain.json_schema`."""
    import torch

    torch.manual_seed(0)
    prompt = _chat(real, [{"role": "user", "content": f"{QUESTION} {INSIDE}"}])
    records: list[MassRecord] = []
    while len(records) < draws:
        records += _masked(real, [prompt], LENGTH, LENGTH // 2 + 40, min(batch, draws - len(records)), escapes)
    name = f"inside, up to {LENGTH} characters" + (", no needless escapes" if escapes == "plain" else "")
    return Way(name, summarize(records), tuple(records))


def before(real: Any, draws: int, batch: int) -> Way:
    """Free reasoning, then the object."""
    import torch

    torch.manual_seed(0)
    asked: list[dict[str, str]] = [{"role": "user", "content": f"{QUESTION} {BEFORE}"}]
    prompt = _chat(real, asked)
    records: list[MassRecord] = []
    while len(records) < draws:
        free = _sampled(real, [prompt], [], FREE, min(batch, draws - len(records)))[:, len(prompt) :]
        thoughts = real.tokenizer.batch_decode(free, skip_special_tokens=True)
        prompts = [
            _chat(real, [*asked, {"role": "assistant", "content": t}, {"role": "user", "content": THEN}])
            for t in thoughts
        ]
        records += _masked(real, prompts, None, 40, 1)
    return Way(f"before, up to {FREE} tokens", summarize(records), tuple(records))


def measure(real: Any, draws: int = 64, batch: int = 64) -> list[Way]:
    """All ways: `draws` of each, `batch` at a time."""
    return [
        inside(real, draws, batch, "any"),
        inside(real, draws, batch, "plain"),
        before(real, draws, batch),
    ]


def rows(ways: Sequence[Way]) -> list[list[str]]:
    """A row of the table for each way."""
    from constrain.distortion.wording import number

    found = []
    for way in ways:
        kl, logs = way.report.kl_masked_to_exact, way.log_weights
        tokens = float(np.mean([len(r.tokens) for r in way.records]))
        found.append(
            [
                way.name,
                f"{len(way.records)}",
                f"{tokens:.0f}",
                f"{-logs.mean():.1f} ± {logs.std(ddof=1) / len(logs) ** 0.5:.1f}",
                f"{logs.std(ddof=1):.1f}",
                "refused" if kl.value is None else number(kl.value),
                number(way.least_distortion()),
            ]
        )
    return found


HEAD = ["reasoning", "draws", "masked tokens", "price, E[−log w]", "its sd", "distortion", "at least (95%)"]
