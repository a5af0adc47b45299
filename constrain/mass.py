"""What a generation says about its own distortion: the mass the mask kept at each step, and records of it.

At a prefix u the mask keeps the share Z_u of the model's probability. The product of the shares along an output y is
its weight w(y) = p(y) / q(y), and all that is known about distortion from samples follows from weights
(`constrain.distortion.summarize`). They come for free with every constrained generation: the scores are at hand.

A mass belongs to a prompt and a prefix, not to a row: rows are reordered, dropped and repeated between steps. So masses
are kept by both, as 64-bit hashes. Where rows with equal prompts meet different masses at one prefix, the prompts in
`input_ids` are not all that the model reads (an encoder's input, embeddings, images): then only the row that the output
stayed in answers, and where that is not known, nobody does.

This module needs neither torch nor numba.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SAME_MASS = 0.05
"""Nats that log Z of one prefix may differ between rows of one batch in low precision."""


@dataclass(frozen=True, slots=True)
class MassRecord:
    """One output of a constrained generation, with the mass its masks kept.

    Attributes:
        tokens: ids of the output, the end-of-sequence token included; nothing after it.
        log_z: for each of the tokens, log of the probability that the model gave to all allowed tokens together at
            that step, natural. None where that is not known: the model was not asked (tokens that
            `constrain.jump_generate` wrote on its own), its scores were no distribution, or they were changed before
            they were summed. Minus infinity where other processors had left no allowed token.
        completed: the text is complete under the grammar.
        truncated: no end-of-sequence token was drawn; the output was cut by a limit of tokens, a stop string or time.
        prompt: a digest of the prompt's ids, or the label given for it. Records of one prompt and grammar are draws
            from one law.
        locations: for each of the tokens, where in the JSON text it begins, as a pointer with `*` for array items and
            `~key` inside keys; None where the vocabulary does not say what tokens spell.
    """

    tokens: tuple[int, ...]
    log_z: tuple[float | None, ...]
    completed: bool
    truncated: bool
    prompt: str = ""
    locations: tuple[str, ...] | None = None

    @property
    def log_weight(self) -> float | None:
        """log w = log p - log q, the sum of `log_z`; None where a step is not known."""
        if any(x is None for x in self.log_z):
            return None
        return math.fsum(x for x in self.log_z if x is not None)

    def to_json(self) -> str:
        """One line. Minus infinity is the string "-inf", since JSON has no such number."""
        return json.dumps(
            {
                "prompt": self.prompt,
                "tokens": list(self.tokens),
                "log_z": ["-inf" if x == -math.inf else x for x in self.log_z],
                "log_weight": "-inf" if self.log_weight == -math.inf else self.log_weight,
                "completed": self.completed,
                "truncated": self.truncated,
                "locations": None if self.locations is None else list(self.locations),
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, line: str) -> MassRecord:
        """What `to_json` wrote. Raises ValueError for anything else."""
        try:
            found: dict[str, Any] = json.loads(line)
            masses = tuple(None if x is None else float(x) for x in found["log_z"])
            tokens = tuple(int(t) for t in found["tokens"])
            places = found.get("locations")
            if len(masses) != len(tokens) or any(x is not None and (math.isnan(x) or x > 0.0) for x in masses):
                raise ValueError("log_z is not one logarithm of a probability for each token")
            return cls(
                tokens,
                masses,
                bool(found["completed"]),
                bool(found["truncated"]),
                str(found.get("prompt", "")),
                None if places is None else tuple(str(p) for p in places),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"this is no record of masses: {type(error).__name__}: {error}") from None


def write_records(path: str | Path, records: Iterable[MassRecord]) -> None:
    """Append records to a file, one JSON object a line."""
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(record.to_json() + "\n" for record in records)


def read_records(path: str | Path) -> Iterator[MassRecord]:
    """The records of a file written by `write_records`; empty lines are skipped.

    Raises ValueError that names the line which is no record.
    """
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    yield MassRecord.from_json(line)
                except ValueError as error:
                    raise ValueError(f"{path}, line {number}: {error}") from None


class Ledger:
    """The masses of one generation, by prompt and prefix.

    Args:
        prompts: the bytes of each row's prompt ids.
    """

    def __init__(self, prompts: Sequence[bytes]) -> None:
        self._rows = len(prompts)
        self._classes: dict[bytes, int] = {}
        # Empty prompts are not one prompt: the model got its input elsewhere.
        self._class_of_row = [
            self._classes.setdefault(prompt, len(self._classes)) if prompt else -1 - row
            for row, prompt in enumerate(prompts)
        ]
        self._by_row: dict[int, float] = {}
        self._by_class: dict[int, float | None] = {}

    def knows(self, prompts: Iterable[bytes]) -> bool:
        """Whether all of these are prompts of this generation."""
        return all(prompt in self._classes for prompt in prompts)

    def note(self, row: int, grammar: int, output: bytes, log_z: float) -> None:
        """Keep log Z at the prefix `output` of a row; the latest call counts, as it does in decoding."""
        self._by_row[hash((row, grammar, output, "row"))] = log_z
        key = hash((self._class_of_row[row], grammar, output))
        known = self._by_class.get(key, log_z)
        self._by_class[key] = log_z if known is not None and _same(known, log_z) else None

    def masses(self, row: int, rows: int, grammar: int, prompt: bytes, outputs: Iterable[bytes]) -> list[float | None]:
        """log Z at each of these prefixes of row `row` of `rows`; None where it is not known."""
        kind = self._classes.get(prompt) if prompt else (-1 - row if rows == self._rows else None)
        found: list[float | None] = []
        for output in outputs:
            value: float | None = None
            if rows == self._rows:
                value = self._by_row.get(hash((row, grammar, output, "row")))
            if value is None and kind is not None:
                value = self._by_class.get(hash((kind, grammar, output)))
            found.append(None if value is None or math.isnan(value) else value)
        return found


def _same(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= SAME_MASS or (math.isnan(a) and math.isnan(b))


def prompt_digest(prompt: bytes) -> str:
    """A short name for prompt ids, as bytes."""
    return hashlib.blake2b(prompt, digest_size=8).hexdigest()


def labelled(records: Sequence[MassRecord], labels: Sequence[str] | None) -> list[MassRecord]:
    """The records with labels in place of digests: one label per record, or per equal share of them.

    Raises ValueError where they cannot be shared out.
    """
    if labels is None:
        return list(records)
    if not labels or len(records) % len(labels):
        raise ValueError(f"{len(records)} records cannot be shared out among {len(labels)} labels of prompts")
    return [replace(r, prompt=labels[i * len(labels) // len(records)]) for i, r in enumerate(records)]
