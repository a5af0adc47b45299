"""Cases with figures known in closed form, random cases, and an enumeration that shares no code with the library."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from constrain.distortion import CallableModel, DFALanguage, TableModel, finite_language


def t1() -> tuple[TableModel, DFALanguage]:
    """The trap: the likely first token almost never ends well."""
    model = TableModel({"": {"a": 0.9, "b": 0.1}, "a": {"$": 0.01}, "b": {"$": 1.0}}, ["a", "b", "$"])
    return model, finite_language([[0], [1]], 2, tokens=["a", "b", "$"])


def t2() -> tuple[TableModel, DFALanguage]:
    """Uniform bits; the valid strings are 00000 and 1 with any four bits."""
    table: dict[str | tuple[str, ...], dict[str, float]] = {
        "".join(bits): {"0": 0.5, "1": 0.5} for n in range(5) for bits in itertools.product("01", repeat=n)
    }
    model = TableModel(table, ["0", "1", "$"], default={"$": 1.0})
    valid = [[0] * 5, *([1, *bits] for bits in itertools.product((0, 1), repeat=4))]
    return model, finite_language(valid, 2, tokens=["0", "1", "$"])


def t3() -> tuple[TableModel, DFALanguage]:
    """Three uniform ternary steps, one symbol banned at each."""
    third = {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}
    table: dict[str | tuple[str, ...], dict[str, float]] = {
        "".join(w): third for n in range(3) for w in itertools.product("abc", repeat=n)
    }
    model = TableModel(table, ["a", "b", "c", "$"], default={"$": 1.0})
    return model, finite_language(itertools.product((0, 1), (0, 2), (1, 2)), 3)


def t4(r: float = 0.5) -> tuple[TableModel, DFALanguage]:
    """An infinite regular language: an even number of a's."""
    model = TableModel({}, ["a", "$"], default={"a": r, "$": 1 - r})
    return model, DFALanguage({(0, 0): 1, (1, 0): 0}, 0, [0], 1)


T5_TOKENS = ["ab", "a", "b", "c", "$"]


def t5(sequences: tuple[tuple[int, ...], ...] = ((0,), (1, 2), (3,))) -> tuple[TableModel, DFALanguage]:
    """Two spellings of one text."""
    table: dict[str | tuple[str, ...], dict[str, float]] = {
        (): {"ab": 0.6, "a": 0.1, "c": 0.2},
        ("ab",): {"$": 1.0},
        ("a",): {"b": 0.01},
        ("a", "b"): {"$": 1.0},
        ("c",): {"$": 1.0},
    }
    return TableModel(table, T5_TOKENS), finite_language(sequences, 4, tokens=T5_TOKENS)


class Dyck:
    """Balanced brackets: ids 0 and 1, end 2. Not regular, so its states are without end."""

    eos_token_ids = (2,)

    def start(self) -> int:
        return 0

    def allowed(self, state: int) -> Any:
        return np.array([0, 2] if state == 0 else [0, 1])

    def advance(self, state: int, token: int) -> int:
        return state + (1 if token == 0 else -1)

    def key(self, state: int) -> int:
        return state

    def text(self, tokens: tuple[int, ...]) -> bytes:
        return b"".join(b"()"[t : t + 1] for t in tokens)


def t6(a: float, b: float, e: float) -> tuple[TableModel, Dyck]:
    """A memoryless model and balanced brackets."""
    return TableModel({}, ["(", ")", "$"], default={"(": a, ")": b, "$": e}), Dyck()


def trap_chain(length: int, p_a: float = 0.5, end_after_a: float = 0.1) -> tuple[CallableModel, DFALanguage]:
    """`length` independent copies of a trap one after the other; ids a 0, b 1, go on 2, end 3, anything else 4."""

    def row(prefix: tuple[int, ...]) -> np.ndarray:
        copies, inside = divmod(len(prefix), 2)
        p = np.zeros(5)
        if copies == length:
            p[3] = 1.0
        elif not inside:
            p[0], p[1] = p_a, 1 - p_a
        elif prefix[-1] == 0:
            p[2], p[4] = end_after_a, 1 - end_after_a
        else:
            p[2] = 1.0
        with np.errstate(divide="ignore"):
            return np.log(p)

    edges: dict[tuple[Any, int], Any] = {}
    for i in range(length):
        edges[(2 * i, 0)] = edges[(2 * i, 1)] = 2 * i + 1
        edges[(2 * i + 1, 2)] = 2 * i + 2
    return CallableModel(row, 5), DFALanguage(edges, 0, [2 * length], 3)


@dataclass
class Truth:
    """Figures by definition, from a list of all finished sequences."""

    z: float
    finished: float
    kl_masked_to_exact: float
    kl_exact_to_masked: float
    tv: float
    chi2: float
    tax: float
    dead: float
    truncated: float
    floor: float
    sequences: dict[tuple[int, ...], tuple[float, float]]


def enumerate_all(model: Any, language: Any, max_tokens: int | None = None) -> Truth:
    """Every finished sequence with its p and q, by plain recursion."""
    found: dict[tuple[int, ...], tuple[float, float]] = {}
    lost = {"dead": 0.0, "cut": 0.0, "floor": 1.0}

    def visit(prefix: tuple[int, ...], state: Any, p: float, q: float) -> None:
        row = np.exp(model.log_probs([prefix])[0])
        ids = [int(t) for t in language.allowed(state) if row[int(t)] > 0]
        mass = sum(row[t] for t in ids)
        if not ids:
            lost["dead"] += q
            return
        lost["floor"] = min(lost["floor"], mass)
        for t in ids:
            longer, p_next, q_next = (*prefix, t), p * row[t], q * row[t] / mass
            if t in language.eos_token_ids:
                found[longer] = (p_next, q_next)
            elif max_tokens is not None and len(longer) >= max_tokens:
                lost["cut"] += q_next
            else:
                visit(longer, language.advance(state, t), p_next, q_next)

    visit((), language.start(), 1.0, 1.0)
    z, done = sum(p for p, _ in found.values()), sum(q for _, q in found.values())
    pairs = [(p / z, q / done) for p, q in found.values()] if found else []
    return Truth(
        z,
        done,
        math.fsum(q * math.log(q / p) for p, q in pairs),
        math.fsum(p * math.log(p / q) for p, q in pairs),
        0.5 * math.fsum(abs(p - q) for p, q in pairs),
        math.fsum(p * p / q for p, q in pairs) - 1.0 if pairs else 0.0,
        math.fsum(q * math.log(q / (p * z)) for p, q in pairs),
        lost["dead"],
        lost["cut"],
        lost["floor"],
        found,
    )


def random_case(
    rng: np.random.Generator, *, dead_ends: bool = False, layers: int | None = None
) -> tuple[Any, DFALanguage]:
    """A random model with a memory of one token and a random automaton; with `layers`, one of finitely many words."""
    letters = int(rng.integers(2, 4))
    width, eos, states = letters + 2, letters, int(rng.integers(2, 5))
    while True:
        edges: dict[tuple[Any, int], Any] = {}
        accepting: list[Any] = []
        for layer in range(layers or 1):
            for s in range(states):
                for t in range(letters):
                    if rng.random() < 0.6:
                        to = int(rng.integers(states))
                        if layers is None:
                            edges[s, t] = to
                        elif layer + 1 < layers:
                            edges[(layer, s), t] = (layer + 1, to)
                if rng.random() < 0.4:
                    accepting.append(s if layers is None else (layer, s))
        try:
            language = DFALanguage(edges, 0 if layers is None else (0, 0), accepting, eos, trim=not dead_ends)
        except ValueError:
            continue
        break
    logits = rng.normal(size=(letters + 1, width)) * rng.choice([0.5, 2.0, 4.0])
    rows = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    def row(prefix: tuple[int, ...]) -> np.ndarray:
        return rows[prefix[-1] if prefix else letters]

    return CallableModel(row, width, memory=1), language
