"""Masses summed after their step: the same as those summed at once, and none where the scores were changed."""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from constrain.distortion import summarize
from tests.constrain.test_mass import packed, reference
from tests.constrain.token_grammar import TokenGrammar

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from constrain import deferred_masses  # noqa: E402
from constrain.deferred_masses import Batch, is_unchanged, keep, sum_kept  # noqa: E402
from constrain.logits_processor import ConstrainedLogitsProcessor  # noqa: E402
from tests.constrain.test_logits_processor import TWO_PROMPTS, WIDTH, loop_grammar, tiny_model  # noqa: E402


def kept(scores: Any, allowed: Any) -> Any:
    return keep(scores, packed(allowed)[None], np.zeros(1, dtype=np.bool_))


def run(
    change: Callable[[Any], object], *, record_mass: Any = True, make: Callable[[Any], Any] = lambda s: s.clone()
) -> tuple[Any, list[float]]:
    """A loop that does `change` to the scores after each step: the record, and what its masses are."""
    grammar, want = loop_grammar(), []
    processor = ConstrainedLogitsProcessor(grammar, record_mass=record_mass)
    generator = torch.Generator().manual_seed(0)
    tokens = walk(grammar)
    for i in range(len(tokens)):
        scores = make(torch.randn(1, WIDTH, generator=generator) * 3)
        want.append(reference(scores[0].double().numpy(), sorted(grammar.allowed(tokens[:i]))))
        ids = torch.tensor([[1, *tokens[:i]]])
        before = scores.clone()
        processor(ids, scores)
        assert torch.equal(scores, before)
        change(scores)
    (record,) = processor.records(torch.tensor([[1, *tokens]]))
    return record, want


def walk(grammar: TokenGrammar, steps: int = 9) -> tuple[int, ...]:
    """Tokens that the grammar allows, none of them an end."""
    tokens: tuple[int, ...] = ()
    for _ in range(steps):
        tokens = (*tokens, max(grammar.allowed(tokens)))
    return tokens


@pytest.mark.parametrize("steps", [1, 2, 3, 100])
def test_the_same_as_at_once(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constrain.mass_recorder.MOST_STEPS", steps)
    model, found = tiny_model(), []
    for how in ({"do_sample": True, "num_return_sequences": 3}, {"num_beams": 3}, {}):
        for record_mass in (True, "at once"):
            torch.manual_seed(3)
            processor = ConstrainedLogitsProcessor(loop_grammar(), record_mass=record_mass)
            output = model.generate(**TWO_PROMPTS, logits_processor=[processor], max_new_tokens=9, **how)
            found.append(processor.records(output))
            assert all(x is not None for r in found[-1] for x in r.log_z)
        assert found[-1] == found[-2]


def test_another_thread_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constrain.mass_recorder.MOST_STEPS", 4)
    threads, plain = [], deferred_masses.sum_now

    def watched(*args: Any) -> list[float]:
        threads.append(threading.current_thread() is threading.main_thread())
        return plain(*args)

    monkeypatch.setattr(deferred_masses, "sum_now", watched)
    record, want = run(lambda _: None)
    assert threads == [False] * 8 + [True]  # the ninth waits for the reader
    assert record.log_z == pytest.approx(want, abs=2e-6)


def test_scores_of_many_bytes_go_at_once_to_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constrain.mass_recorder.MOST_BYTES", 1)
    sizes: list[int] = []
    monkeypatch.setattr("constrain.mass_recorder.Batch", lambda work: sizes.append(len(work.args[0])) or Batch(work))
    record, want = run(lambda _: None)
    assert sizes == [1] * 9
    assert record.log_z == pytest.approx(want, abs=2e-6)


CHANGES: dict[str, Callable[[Any], object]] = {
    "arithmetic": lambda s: s.div_(0.7),
    "one element": lambda s: s.__setitem__((0, 3), 0.0),
    "filled again": lambda s: s.copy_(torch.randn(1, WIDTH)),
    "out": lambda s: torch.mul(torch.randn(1, WIDTH), 2.0, out=s),
    "behind torch's back": lambda s: s.data.normal_(),
    "by numpy": lambda s: s.numpy().__setitem__(slice(None), np.random.default_rng(0).standard_normal((1, WIDTH))),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("steps", [3, 100])
def test_changed_scores_have_no_mass(change: str, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constrain.mass_recorder.MOST_STEPS", steps)
    with pytest.warns(RuntimeWarning, match="record_mass='at once'") as told:
        record, want = run(CHANGES[change])
    assert len([w for w in told if "changed in place" in str(w.message)]) == 1
    assert record.log_z[0] is None
    assert record.log_weight is None
    for value, wanted in zip(record.log_z, want, strict=True):
        assert value is None or value == pytest.approx(wanted, abs=2e-6)  # never a mass of other scores
    if change in ("arithmetic", "one element", "filled again", "out"):
        assert record.log_z[1:] == pytest.approx(want[1:], abs=2e-6)  # seen at the next step; at once from there
    with pytest.raises(ValueError, match="at once"):
        summarize([record])


@pytest.mark.parametrize("change", CHANGES)
def test_at_once_does_not_mind(change: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record, want = run(CHANGES[change], record_mass="at once")
    assert record.log_z == pytest.approx(want, abs=2e-6)


def in_inference_mode(scores: Any) -> Any:
    with torch.inference_mode():
        return scores.clone()


def change_in_inference_mode(scores: Any) -> None:
    with torch.inference_mode():
        scores.zero_()


SHARED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], object]]] = {
    "inference mode": (in_inference_mode, change_in_inference_mode),
    "a slice": (lambda s: torch.stack([s, s], dim=1)[:, 0], lambda s: s.zero_()),
    "numpy's memory": (lambda s: torch.from_numpy(s.numpy().copy()), lambda s: s.data.zero_()),
    "lent to numpy": (lambda s: (s.numpy(), s)[1], lambda s: s.numpy().fill(0.0)),
    "a view of all": (lambda s: s.clone().view(1, -1), lambda s: s.zero_()),
}


@pytest.mark.parametrize("kind", SHARED)
def test_memory_that_others_may_write_is_summed_at_once(kind: str) -> None:
    make, change = SHARED[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record, want = run(change, make=make)
    assert record.log_z == pytest.approx(want, abs=2e-6)


def test_scores_that_are_changed_while_they_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, allowed = torch.randn(1, 4096), np.arange(4096) % 3 == 0
    step, plain = kept(scores, allowed), deferred_masses.sum_now
    assert step is not None
    assert is_unchanged(step)

    def slow(*args: Any) -> list[float]:
        scores[0, 7] += 1.0
        return plain(*args)

    monkeypatch.setattr(deferred_masses, "sum_now", slow)
    assert sum_kept(step) is None


def test_every_refill_of_a_buffer_is_seen() -> None:
    """Behind torch's back, for widths of any kind and numbers widened from 16 bits."""
    for width in (1, 5, 63, 64, 65, 1000, 49152):
        for seed in range(30):
            generator = torch.Generator().manual_seed(seed)
            scores = torch.randn(2, width, generator=generator).bfloat16().float()
            other = torch.randn(2, width, generator=generator).bfloat16().float()
            step = keep(scores, np.zeros((2, 1), dtype=np.int32), np.zeros(2, dtype=np.bool_))
            assert step is not None
            assert is_unchanged(step)
            scores.data.copy_(other)
            assert not is_unchanged(step)


def test_what_was_seen_once_is_minded_in_the_next_generation() -> None:
    grammar = loop_grammar()
    processor = ConstrainedLogitsProcessor(grammar, record_mass=True)
    tokens = walk(grammar, 2)
    first, second = torch.randn(2, 1, WIDTH)
    first, second = first.clone(), second.clone()
    processor(torch.tensor([[1]]), first)
    first.zero_()
    with pytest.warns(RuntimeWarning, match="changed in place"):
        processor(torch.tensor([[1, *tokens[:1]]]), second)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(2):
            scores = torch.randn(1, WIDTH)
            processor(torch.tensor([[2, *tokens[:i]]]), scores)
            scores.zero_()
        (record,) = processor.records(torch.tensor([[2, *tokens]]))
    assert None not in record.log_z


def test_a_forked_child_sums_what_its_parent_had_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    done: list[int] = []

    def work() -> None:
        if threading.current_thread() is not threading.main_thread():
            never.wait(10)
        done.append(1)

    batch = Batch(work)
    pid = os.getpid()
    monkeypatch.setattr("constrain.deferred_masses.os.getpid", lambda: pid + 1)
    batch.wait()  # would hang: in a child the thread is gone
    assert done == [1]
    never.set()


def test_errors_of_the_thread_are_raised() -> None:
    def fails() -> None:
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        Batch(fails).wait()


def test_rows_that_are_over_have_no_mass() -> None:
    skip = np.array([False, True])
    step = keep(torch.zeros(2, 64), np.full((2, 2), -1, dtype=np.int32), skip)
    assert step is not None
    values = sum_kept(step)
    assert values is not None
    assert values[0] == 0.0
    assert math.isnan(values[1])


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="record_mass is"):
        ConstrainedLogitsProcessor(loop_grammar(), record_mass="later")  # type: ignore[arg-type]
