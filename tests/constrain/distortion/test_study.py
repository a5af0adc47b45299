"""What pictures and pages are made of: sums that match the report, bounds that hold, files that stand alone."""

from __future__ import annotations

import builtins
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.distortion import DFALanguage, TableModel, finite_language, json_location
from constrain.distortion.baseline import changes
from constrain.distortion.estimate import Estimate
from constrain.distortion.localisation import Contribution
from constrain.distortion.page import page
from constrain.distortion.study import Measured, measure, value_text, values_distance
from constrain.distortion.texts import canonical_language, texts
from constrain.distortion.wording import difference, ends, estimate_text, headline, number
from tests.constrain.distortion.cases import enumerate_all, random_case, t1, t3, t4, trap_chain


def test_steps_add_up_to_the_report() -> None:
    for case in (t1(), trap_chain(3), t3()):
        m = measure("x", *case)
        assert sum(s.tax for s in m.steps) == pytest.approx(m.report.tax.value, abs=1e-12)
        assert sum(s.distortion or 0.0 for s in m.steps) == pytest.approx(m.report.kl_masked_to_exact.value, abs=1e-12)
    trap = measure("x", *t1())
    assert [s.reach for s in trap.steps] == pytest.approx([1.0, 1.0])
    assert trap.steps[0].kept == pytest.approx(1.0)
    assert trap.steps[1].kept == pytest.approx(0.01**0.9)  # the geometric mean of 0.01 and 1


def test_steps_of_draws_below_a_trie() -> None:
    """Of an endless language at r = 1/2: step t is reached unless the draw ended, and only even steps may end."""
    m = measure("x", *t4(), "sampling", budget=3, batch_size=1, samples=20_000, seed=1)
    for t, step in enumerate(m.steps[:8]):
        assert step.reach == pytest.approx(0.5 ** ((t + 1) // 2), abs=0.02)
        assert step.kept == pytest.approx(1.0 if t % 2 == 0 else 0.5, abs=1e-12)
    assert [n for n, _ in m.history][-1] == 3


def test_probabilities_that_no_float_holds_are_placed() -> None:
    """b 400 times, each time at 1e-3: its p is exp(-2786); it distorts the first token."""
    table = {(): {"a": 1 - 1e-13, "b": 1e-13}, ("a",): {"$": 0.5}}
    model = TableModel(table, ["a", "b", "$"], default={"b": 1e-3, "$": 0.999})
    m = measure("x", model, finite_language([[0], [1] * 400], 2))
    assert m.report.contributions[0].prefix == ()
    want = 1e-13 * (399 * math.log(1000) - math.log(0.999 / 0.5) - 1)  # q log(q / p*) of b, and of a, which lost 1e-13
    assert m.report.contributions[0].distortion == pytest.approx(want, abs=1e-12)
    assert all(0.0 <= c.distortion < 1e-12 for c in m.report.contributions[1:])


def test_nothing_expanded_is_no_error() -> None:
    m = measure("x", *t4(), "sampling", budget=0, samples=100)
    assert m.steps[0].reach == pytest.approx(1.0)


def test_history_shrinks_to_the_truth() -> None:
    model, language = trap_chain(4)
    truth = enumerate_all(model, language)
    m = measure("x", model, language, budget=10_000, batch_size=4)
    widths = [c.z[1] - c.z[0] for _, c in m.history]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 1e-9
    for _, c in m.history:
        assert c.z[0] <= truth.z <= c.z[1]
        assert c.tv[0] <= truth.tv <= c.tv[1]


def test_examples_are_the_likeliest_texts() -> None:
    m = measure("x", *t1(), examples=1)
    by_label = {e.label: e for e in m.examples}
    masked, exact = by_label["likely under the mask"], by_label["likely in the model"]
    assert ([t.text for t in masked.tokens], masked.q, masked.p) == (
        ["a", "<end>"],
        pytest.approx(0.9),
        pytest.approx(0.009),
    )
    assert masked.p_valid == pytest.approx(0.009 / 0.109)
    assert ([t.text for t in exact.tokens], exact.q) == (["b", "<end>"], pytest.approx(0.1))
    assert [t.kept for t in masked.tokens] == pytest.approx([1.0, 0.01])
    assert [t.distortion for t in masked.tokens] == pytest.approx([m.report.kl_masked_to_exact.value, 0.0], abs=1e-12)


def test_a_text_is_written_where_none_is_finished() -> None:
    m = measure("x", *trap_chain(20), "trie", budget=4, batch_size=1)
    assert m.examples[0].label == "greedy"
    assert len(m.examples[0].tokens) == 41
    cut = measure("x", *trap_chain(200), "trie", budget=4, batch_size=1)
    assert (cut.examples[0].label, cut.examples[0].q) == ("greedy, cut", None)


def test_values_of_spellings_are_one() -> None:
    assert value_text(b'{"b": 1.0,"a":"\\u0061"}') == value_text(b'{ "a":"a", "b":1.0}')
    assert value_text(b"not JSON") == "not JSON"


@pytest.mark.parametrize("budget", [3, 6, 1000])
def test_bounds_on_what_is_said_hold(budget: int) -> None:
    rng = np.random.default_rng(5)
    tried = 0
    while tried < 20:
        a, b = random_case(rng, layers=3), random_case(rng, layers=3)
        laws = []
        for model, language in (a, b):
            truth = enumerate_all(model, language)
            laws.append({language.text(y): q for y, (_, q) in truth.sequences.items()})
            laws[-1][b"lost"] = 1.0 - sum(laws[-1].values())
        if max(law[b"lost"] for law in laws) > 1e-12:
            continue
        tried += 1
        apart = 0.5 * sum(abs(laws[0].get(k, 0.0) - laws[1].get(k, 0.0)) for k in {*laws[0], *laws[1]})
        measured = [measure("x", *case, "trie", budget=budget, batch_size=1) for case in (a, b)]
        low, high = values_distance(*measured)
        assert low - 1e-9 <= apart <= high + 1e-9
        if budget == 1000:
            assert high - low < 1e-9


# texts of a grammar


def test_texts_are_those_that_are_valid() -> None:
    grammar = constrain.regex("(a|b){1,2}c?")
    want = {x + y + c for x in "ab" for y in ("", "a", "b") for c in ("", "c")}
    found = texts(grammar)
    assert len(found) == len(set(found))
    assert {t.decode() for t in found} == want
    with pytest.raises(ValueError, match="more than 100 texts"):
        texts(constrain.regex("[a-z]{2}"), limit=100)
    with pytest.raises(ValueError, match="more than 50 texts"):
        texts(constrain.regex("a+"), limit=50)


def test_the_tokenizers_own_encodings_are_a_language() -> None:
    tokens: list[bytes | None] = [b"a", b"b", b"ab", None]

    def encode(text: str) -> list[int]:
        out = []
        while text:
            out.append(2 if text.startswith("ab") else "ab".index(text[0]))
            text = text[2 if out[-1] == 2 else 1 :]
        return out

    language = canonical_language(constrain.regex("ab|ba|b"), encode, eos_token_ids=3, token_bytes=tokens)
    model = TableModel({}, ["a", "b", "ab", "$"], default={"a": 0.25, "b": 0.25, "ab": 0.25, "$": 0.25})
    assert set(enumerate_all(model, language).sequences) == {(2, 3), (1, 0, 3), (1, 3)}
    with pytest.raises(ValueError, match="does not spell"):
        canonical_language(constrain.regex("ab"), lambda _: [0], eos_token_ids=3, token_bytes=tokens)


def test_spellings_of_a_name_are_one_place() -> None:
    def at(text: str) -> str:
        return json_location(Contribution((), text.encode(), 1.0, 0.0, 0.0))

    assert at('{"on":') == at('{"\\u006fn":') == "/on"
    assert at('{"\\u00') == "/~key"


# words


def test_numbers_in_words() -> None:
    assert [number(x) for x in (0.0, -1e-15, 1.23456, -2.5, math.inf, -math.inf)] == [
        "0", "0", "1.235", "−2.5", "∞", "−∞",
    ]  # fmt: skip
    assert ends(0.0, math.inf) == "[0, ∞)"
    assert ends(1.00001, 1.00002) == "[1.00001, 1.00002]"
    assert estimate_text(Estimate.exact(2.0)) == "2"
    assert estimate_text(Estimate.certified(1.0, 2.0)) == "[1, 2] certain"
    assert difference(Estimate.certified(1.0, 2.0), Estimate.certified(5.0, 6.0)) == (3.0, 5.0)
    assert difference(Estimate.certified(1.0, math.inf), Estimate.certified(5.0, 6.0)) == (-math.inf, 5.0)
    assert headline(measure("x", *t1())).startswith("distortion 1.928; unavoidable price 2.216")


# pictures and pages


def spelled() -> Measured:
    language = DFALanguage({(0, 0): 1, (0, 1): 2, (1, 2): 3, (2, 2): 3}, 0, [3], 3, tokens=["<a&b>", '"', "x", ""])
    model = TableModel({}, ["a", "b", "x", "$"], default={"a": 0.4, "b": 0.1, "x": 0.3, "$": 0.1})
    return measure("<x>", model, language)


def test_the_page_stands_alone() -> None:
    several = [spelled(), measure("trap", *t1()), measure("endless", *t4(), "sampling", budget=5, samples=200)]
    for measured in (several[:1], several):
        text = page(measured, {"prompt": "<script>"})
        assert "<script" not in text
        assert "&lt;a&amp;b&gt;" in text
        assert not re.search(r'(?:src|href)="(?!#)', text)
        assert not re.search(r"@import|url\((?!#)", text)
        ids = re.findall(r'\bid="([^"]*)"', text)
        assert len(ids) == len(set(ids))
        for used in re.findall(r'href="#([^"]*)"', text):
            assert used in ids


def without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", missing)


def test_without_matplotlib_the_page_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from constrain.distortion import pictures

    without_matplotlib(monkeypatch)
    assert "constrain-decode[plots]" in page([spelled()], {})
    with pytest.raises(pictures.MissingPlots, match=r"constrain-decode\[plots\]"):
        pictures.write([spelled()], tmp_path, "svg")


@pytest.mark.parametrize("form", ["svg", "png"])
def test_pictures_are_written(tmp_path: Path, form: str) -> None:
    pytest.importorskip("matplotlib")
    from constrain.distortion import pictures

    measured = [spelled(), measure("endless", *t4(), "trie", budget=9, batch_size=1)]
    found = pictures.write(measured, tmp_path / "new", form)
    assert [p.name for p in found] == [f"distortion-{n}.{form}" for n in ("steps", "text", "budget")]
    start = b"<?xml" if form == "svg" else b"\x89PNG"
    assert all(p.read_bytes().startswith(start) for p in found)
    again = pictures.write(measured, tmp_path / "again", form)
    if form == "svg":
        assert [p.read_bytes() for p in found] == [p.read_bytes() for p in again]


# against a baseline


def document(**figures: tuple[float | None, float | None]) -> dict[str, Any]:
    every = {
        "kl_masked_to_exact": (1.0, 1.0),
        "tv": (0.5, 0.5),
        "kl_exact_to_masked": (1.0, 1.0),
        "unavoidable": (2.0, 2.0),
    }
    shown = {name: {"low": low, "high": high} for name, (low, high) in (every | figures).items()}
    return {
        "format": 1, "model": "m", "prompt": "p", "temperature": 1.0, "max_tokens": None,
        "measurements": [{"name": "constrain", "report": {"figures": shown}}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((1.0, 1.0), (1.0, 1.0), "no worse"),
        ((1.0, 1.0), (1.04, 1.04), "no worse"),
        ((1.0, 1.0), (1.06, 1.06), "worse"),
        ((1.0, 1.0), (0.9, 0.9), "better"),
        ((1.0, 1.2), (1.1, 1.3), "unknown"),
        ((1.0, 1.2), (1.26, None), "worse"),
        ((1.0, None), (5.0, None), "unknown"),
        ((1.0, None), (0.1, 0.2), "better"),
    ],
)
def test_verdicts(before: Any, after: Any, verdict: str) -> None:
    found = changes(document(kl_masked_to_exact=before), document(kl_masked_to_exact=after), 0.05)
    assert {c.figure: c.verdict for c in found}["KL(q || p*), the distortion"] == verdict
    assert [c.verdict for c in found].count("no worse") >= 3


def test_other_baselines_are_none() -> None:
    new = document()
    with pytest.raises(ValueError, match="another prompt"):
        changes(document() | {"prompt": "q"}, new, 0.0)
    with pytest.raises(ValueError, match="not a file of this version"):
        changes({}, new, 0.0)
    with pytest.raises(ValueError, match="the baseline has other"):
        changes(document() | {"measurements": [{"name": "other", "report": {"figures": {}}}]}, new, 0.0)
    json.dumps(new)


def test_finite_languages_have_texts_of_their_ids() -> None:
    model = TableModel({}, ["a", "$"], default={"a": 0.5, "$": 0.5})
    m = measure("x", model, finite_language([[0], [0, 0]], 1))
    assert m.values == {"0": pytest.approx((0.5, 0.25)), "0 0": pytest.approx((0.5, 0.125))}
