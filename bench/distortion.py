"""The figures of docs/distortion.md: `python -m constrain.bench.distortion` writes its pictures and numbers anew.

Everything runs on the demo's real model of 135 million parameters, on one thread, in minutes. Tables in the document
stand between marks, `<!-- begin NAME -->` and `<!-- end NAME -->`, and are replaced there; pictures go to `figures/`
beside it. The worked example needs no model.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from constrain.distortion import DFALanguage, Report, TableModel, compare, finite_language
from constrain.distortion.counts import CountFigures, count_figures
from constrain.distortion.estimate import Estimate
from constrain.distortion.laws import frozen
from constrain.distortion.study import Measured, measure
from constrain.distortion.wording import ends, number

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "distortion.md"

SWITCH: dict[str, Any] = {
    "type": "object",
    "properties": {"on": {"enum": [True, False]}},
    "required": ["on"],
    "additionalProperties": False,
}
SWITCH_PROMPT = "Turn the light on. Answer with a JSON object that has one member, on, which is true or false."

LIGHT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"const": "set_light"},
        "arguments": {
            "type": "object",
            "properties": {
                "room": {"enum": ["kitchen", "bedroom", "office"]},
                "level": {"enum": ["off", "low", "high"]},
            },
            "required": ["room", "level"],
            "additionalProperties": False,
        },
    },
    "required": ["name", "arguments"],
    "additionalProperties": False,
}
LIGHT_SYSTEM = (
    "You control the lights of a flat by calling the tool set_light. room is kitchen, bedroom or office; level is off, "
    "low or high. Answer with one JSON object and nothing else."
)
LIGHT_SHOT = ("Make the office dark.", {"name": "set_light", "arguments": {"room": "office", "level": "off"}})
LIGHT_PROMPT = "I am going to bed, but I still want to read a little."

SETTINGS = (("spaced", "declared"), ("spaced", "any"), ("none", "declared"), ("none", "any"))
SPACING = {"none": "compact", "spaced": "spaced"}


# --- the worked example


def three_letters() -> tuple[TableModel, DFALanguage]:
    """{aa, ab, bc} over {a, b, c}: two letters, each uniform, then the end."""
    third = {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}
    table: dict[str | tuple[str, ...], dict[str, float]] = {"": third, "a": third, "b": third}
    model = TableModel(table, ["a", "b", "c", "$"], default={"$": 1.0})
    return model, finite_language([[0, 0], [0, 1], [1, 2]], 3, tokens=["a", "b", "c", "$"])


# --- the real model


class Real:
    """The demo's model, its tokenizer and vocabulary."""

    def __init__(self) -> None:
        import torch

        import constrain
        from constrain.cli import models

        torch.set_num_threads(1)  # threads that wait for each other on a busy machine take ten times as long
        self.network, self.tokenizer = models.load(models.DEMO_MODEL)
        self.vocabulary = constrain.Vocabulary.from_tokenizer(
            self.tokenizer, generation_config=self.network.generation_config
        )

    def encode(self, text: str) -> list[int]:
        return [int(t) for t in self.tokenizer.encode(text, add_special_tokens=False)]

    def model(self, messages: Sequence[dict[str, str]]) -> Any:
        from constrain.distortion import HFModel

        ids = self.tokenizer.apply_chat_template(list(messages), add_generation_prompt=True, return_dict=False)
        return HFModel(self.network, ids, batch_size=64)

    def light(self, spacing: str) -> Any:
        """The model after one example of a call, written compactly or with the spaces of `json.dumps`."""
        separators = (",", ":") if spacing == "none" else (", ", ": ")
        return self.model(
            [
                {"role": "system", "content": LIGHT_SYSTEM},
                {"role": "user", "content": LIGHT_SHOT[0]},
                {"role": "assistant", "content": json.dumps(LIGHT_SHOT[1], separators=separators)},
                {"role": "user", "content": LIGHT_PROMPT},
            ]
        )

    def canonical(self, whitespace: str, order: str) -> DFALanguage:
        """The tokenizer's own encodings of all calls."""
        import constrain
        from constrain.distortion.texts import canonical_language

        grammar = constrain.json_schema(LIGHT, whitespace=whitespace, property_order=order, escapes="plain")  # type: ignore[arg-type]
        return canonical_language(
            grammar, self.encode, eos_token_ids=self.vocabulary.eos_token_ids, token_bytes=self.vocabulary.token_bytes
        )


def switch(real: Real, samples: int = 2000) -> tuple[Measured, Report]:
    """Every tokenisation of the two objects: exact, and estimated from draws alone."""
    import constrain

    model = real.model([{"role": "user", "content": SWITCH_PROMPT}])
    compiled = constrain.json_schema(SWITCH, whitespace="none").compile(real.vocabulary)
    exact = measure("all tokenisations", model, compiled, "exact", budget=20_000, batch_size=64)
    sampled = compare(model, compiled, "sampling", budget=0, samples=samples, seed=1, batch_size=64)
    return exact, sampled


def choices(real: Real) -> dict[tuple[str, str, str], Measured]:
    """By (spacing of the example in the prompt, whitespace, order): the tool call, exactly."""
    found = {}
    for example in ("spaced", "none"):
        model = real.light(example)
        for whitespace, order in SETTINGS:
            name = f"{SPACING[whitespace]}, {order} order"
            language = real.canonical(whitespace, order)
            found[example, whitespace, order] = measure(name, model, language, "exact", budget=20_000, batch_size=64)
    return found


def sampler_laws(real: Real, draws: int = 4000) -> dict[str, tuple[CountFigures, float]]:
    """Each sampler's law of one output against p* on the tool call (any order), and sequences begun for one output."""
    from constrain.distortion import Trie
    from constrain.distortion import samplers as s

    trie = Trie(real.light("none"), real.canonical("none", "any"), batch_size=64).run(20_000)
    model, language, exact, _ = frozen(trie)
    makers: dict[str, tuple[Callable[[], s.Sampler], int]] = {
        "masking": (lambda: s.Masking(model, language, 2), draws),
        "rejection": (lambda: s.Rejection(model, language, 3), draws // 8),
        "CARS": (lambda: s.CARS(model, language, 4), draws),
        "ASAp, its first 4,000": (lambda: s.ASAp(model, language, 5), draws),
        "importance resampling, 8": (lambda: s.ImportanceResampling(model, language, 6, candidates=8), draws // 2),
        "importance resampling, 32": (
            lambda: s.ImportanceResampling(model, language, 7, candidates=32),
            draws // 4,
        ),
        "independence MH, 32 steps": (lambda: s.IndependenceMH(model, language, 8, steps=32), draws // 4),
        "SMC, 32 particles": (lambda: s.SMC(model, language, 9, particles=32), draws // 8),
        "AWRS, 32 particles": (lambda: s.AWRS(model, language, 10, particles=32), draws // 8),
    }
    found = {}
    for name, (make, n) in makers.items():
        sampler = make()
        law = count_figures([x.tokens for x in sampler.draw_many(n)], exact)
        found[name] = (law, sampler.attempts / n)
    return found


# --- tables


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _exact(estimate: Estimate) -> float:
    assert estimate.value is not None
    return estimate.value


def switch_table(exact: Measured, sampled: Report) -> str:
    """Exact figures, and the intervals that draws alone give."""
    rows = []
    for name, label in (
        ("log_z", "log Z"),
        ("kl_masked_to_exact", "distortion, KL(q‖p*)"),
        ("kl_exact_to_masked", "KL(p*‖q)"),
        ("tv", "total variation"),
        ("ess_fraction", "effective share, ESS/n"),
    ):
        estimate = sampled.figures()[name]
        point = "refused" if estimate.value is None else number(estimate.value)
        rows.append(
            [
                label,
                f"{_exact(exact.report.figures()[name]):.4f}".replace("-", "−"),
                point,
                ends(estimate.low, estimate.high),
                estimate.kind,
            ]
        )
    return _table(["", "exact", "from draws", "interval", "kind"], rows)


def choices_table(found: dict[tuple[str, str, str], Measured]) -> str:
    """Unavoidable price, distortion and their sum by setting."""
    rows = []
    for (example, _, _), m in found.items():
        r = m.report
        rows.append(
            [
                f"{m.name}, example {SPACING[example]}",
                f"{r.forward_passes}",
                *(f"{_exact(e):.3f}" for e in (r.unavoidable, r.kl_masked_to_exact, r.tax, r.tv)),
            ]
        )
    return _table(["grammar", "prefixes", "−log Z", "distortion", "KL(q‖p)", "TV"], rows)


def sampler_table(found: dict[str, tuple[CountFigures, float]]) -> str:
    """Distances beside their floors."""
    rows = [
        [
            name,
            f"{law.n:,}",
            f"{law.tv:.3f}",
            f"{law.tv_floor:.3f} ({law.tv_floor_high:.3f})",
            "**differs**" if law.tv_differs else "not told apart",
            f"{attempts:,.1f}",
        ]
        for name, (law, attempts) in found.items()
    ]
    return _table(["sampler", "draws", "TV from p*", "of exact draws (95%)", "", "sequences per output"], rows)


# --- pictures


def letters_picture() -> Any:
    """p, q and p* of the three strings."""
    from constrain.distortion.pictures import DISTORTION, PRICE, pyplot

    plt = pyplot()
    figure, axes = plt.subplots(figsize=(6.4, 2.9))
    names = ["aa", "ab", "bc"]
    laws = [
        ("p, the model alone", [1 / 9] * 3, "#b9bec5"),
        ("p*, given validity", [1 / 3] * 3, PRICE),
        ("q, masked", [1 / 4, 1 / 4, 1 / 2], DISTORTION),
    ]
    for i, (label, heights, colour) in enumerate(laws):
        at = [x + 0.27 * (i - 1) for x in range(3)]
        axes.bar(at, heights, width=0.25, color=colour, label=label)
        for x, h, text in zip(at, heights, _fractions(label), strict=True):
            axes.text(x, h + 0.008, text, ha="center", fontsize=9.5, color="#33383d")
    axes.set_xticks(range(3), names)
    axes.set_ylim(0, 0.58)
    axes.set_ylabel("probability")
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper left")
    axes.set_title("Masking gives bc half of the draws")
    return figure


def _fractions(label: str) -> list[str]:
    return ["1/4", "1/4", "1/2"] if label.startswith("q") else ["1/3"] * 3 if label.startswith("p*") else ["1/9"] * 3


def choices_picture(found: dict[tuple[str, str, str], Measured]) -> Any:
    """Stacked bars: what validity costs, and what masking adds."""
    from constrain.distortion.pictures import DISTORTION, PRICE, pyplot

    plt = pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(10.4, 2.9), sharey=True, sharex=True)
    for axes, example in zip(panels, ("spaced", "none"), strict=True):
        rows = [m for (e, _, _), m in found.items() if e == example][::-1]
        price = [_exact(m.report.unavoidable) for m in rows]
        bent = [_exact(m.report.kl_masked_to_exact) for m in rows]
        axes.barh(range(len(rows)), price, color=PRICE, height=0.62, label="unavoidable, −log Z")
        axes.barh(range(len(rows)), bent, left=price, color=DISTORTION, height=0.62, label="distortion, KL(q‖p*)")
        for i, (a, b) in enumerate(zip(price, bent, strict=True)):
            axes.text(
                a + b, i, f"  {a:.1f} + {b:.3f}" if b < 0.1 else f"  {a:.1f} + {b:.2f}", va="center", fontsize=9.5
            )
        axes.set_yticks(range(len(rows)), [m.name for m in rows])
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.set_title(f"Example in the prompt: {SPACING[example]}", fontsize=11)
        axes.set_xlabel("nats")
    panels[0].set_xlim(0, 1.3 * max(_exact(m.report.tax) for m in found.values()))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    figure.subplots_adjust(wspace=0.06)
    return figure


def samplers_picture(found: dict[str, tuple[CountFigures, float]]) -> Any:
    """Distances, with the floor of chance behind them."""
    from constrain.distortion.pictures import DISTORTION, PRICE, pyplot

    plt = pyplot()
    names = list(found)[::-1]
    figure, axes = plt.subplots(figsize=(8.2, 0.9 + 0.34 * len(names)))
    for i, name in enumerate(names):
        law, attempts = found[name]
        axes.barh(
            [i],
            [law.tv_floor_high],
            color="#dfe3e7",
            height=0.8,
            label="what exact draws show, 95%" if i == 0 else None,
        )
        axes.plot([law.tv], [i], "o", color=DISTORTION if law.tv_differs else PRICE, markersize=8, zorder=5)
        axes.text(
            max(law.tv, law.tv_floor_high) + 0.012, i, f"{attempts:,.1f} sequences per output", va="center", fontsize=9
        )
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlim(0, 1.45 * max(law.tv for law, _ in found.values()))
    axes.set_xlabel("total variation from p*")
    axes.legend(loc="lower right")
    axes.set_title("How far each sampler's output is from p*")
    return figure


# --- writing


def replaced(document: str, tables: dict[str, str]) -> str:
    """The document with the tables between their marks. Raises ValueError for a mark that it lacks."""
    for name, table in tables.items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if not pattern.search(document):
            raise ValueError(f"the document has no place for {name!r}")
        document = pattern.sub(lambda m, t=table: f"{m[1]}{t}\n{m[2]}", document)  # type: ignore[misc]
    return document


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, draw, write."""
    parser = argparse.ArgumentParser(prog="python -m constrain.bench.distortion", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--document", type=Path, default=DOCUMENT, help="the page whose tables and pictures are written"
    )
    parser.add_argument("--only", default="", help="parts with commas between: " + ", ".join(PARTS))
    options = parser.parse_args(arguments)
    chosen = [name for name in PARTS if not options.only or name in options.only.split(",")]
    if not chosen:
        parser.error(f"--only takes {', '.join(PARTS)}")
    if not options.document.is_file():
        parser.error(
            f"there is no page {options.document}; name one with --document (in a checkout: docs/distortion.md)"
        )
    folder = options.document.parent / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    real = Real() if chosen != ["letters"] else None
    for name in chosen:
        begun, cpu = time.perf_counter(), time.thread_time()
        tables, drawn = PARTS[name](real)
        from constrain.distortion.pictures import rendered

        for file, figure in drawn.items():
            (folder / f"{file}.svg").write_bytes(rendered(figure, "svg"))
        text = options.document.read_text(encoding="utf-8")
        options.document.write_text(replaced(text, tables), encoding="utf-8")
        print(f"{name}: {time.perf_counter() - begun:.0f} s, {time.thread_time() - cpu:.0f} s of one core", flush=True)


def _letters(_: Any) -> tuple[dict[str, str], dict[str, Any]]:
    report = compare(*three_letters())
    rows = [
        ["−log Z, unavoidable", "log 3", f"{_exact(report.unavoidable):.4f}"],
        ["E_q[−log w], mask's whole price", "½ log(81/8)", f"{_exact(report.tax):.4f}"],
        ["KL(q‖p*), distortion", "½ log(9/8)", f"{_exact(report.kl_masked_to_exact):.4f}"],
        ["KL(p*‖q)", "⅓ log(32/27)", f"{_exact(report.kl_exact_to_masked):.4f}"],
        ["total variation", "1/6", f"{_exact(report.tv):.4f}"],
        ["ESS/n", "9/10", f"{_exact(report.ess_fraction):.4f}"],
    ]
    return {"letters": _table(["figure", "by hand", "`compare`"], rows)}, {"letters": letters_picture()}


def _switch(real: Any) -> tuple[dict[str, str], dict[str, Any]]:
    from constrain.distortion import pictures

    exact, sampled = switch(real)
    passes = exact.report.forward_passes
    split = exact.report.spellings
    assert split is not None
    words = (
        f"{passes:,} prefixes, {len(exact.values)} values: {number(split.kl_tokens)} nats of distortion, of which "
        f"{number(split.kl_texts)} are about what is said and {number(split.kl_within)} about how it is cut."
    )
    return (
        {"switch": switch_table(exact, sampled), "switch-words": words},
        {"switch-budget": pictures.budget([exact]), "switch-text": pictures.text(exact.examples)},
    )


def _choices(real: Any) -> tuple[dict[str, str], dict[str, Any]]:
    found = choices(real)
    return {"choices": choices_table(found)}, {"choices": choices_picture(found)}


def _samplers(real: Any) -> tuple[dict[str, str], dict[str, Any]]:
    found = sampler_laws(real)
    return {"samplers": sampler_table(found)}, {"samplers": samplers_picture(found)}


def _reasoning(real: Any) -> tuple[dict[str, str], dict[str, Any]]:
    from constrain.bench import reasoning

    return {"reasoning": _table(reasoning.HEAD, reasoning.rows(reasoning.measure(real)))}, {}


PARTS: dict[str, Callable[[Any], tuple[dict[str, str], dict[str, Any]]]] = {
    "letters": _letters,
    "choices": _choices,
    "samplers": _samplers,
    "switch": _switch,
    "reasoning": _reasoning,
}
"""Parts of the page, the cheap ones first."""


if __name__ == "__main__":
    main()
