"""A bitmask applied to logits in the memory of the host."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import constrain
from constrain.engine import bitmask as module
from constrain.engine.worker_threads import spread, thread_count
from constrain.kernels.apply import any_allowed
from tests.constrain.masking_oracle import DTYPES, UNSIGNED, Case, cases, is_allowed, masked


def as_floats(bits: Any, dtype: str, kind: str) -> Any:
    """Numpy or torch floats in the memory of `bits`."""
    if kind == "numpy":
        return bits.view(dtype)
    torch = pytest.importorskip("torch")
    signed = {2: np.int16, 4: np.int32, 8: np.int64}[bits.itemsize]
    return torch.from_numpy(bits.view(signed)).view(getattr(torch, dtype))


def kind_of(case: Case) -> str:
    return "torch" if case.dtype == "bfloat16" else "numpy"


def base_of(view: Any) -> Any:
    return view.base if view.base is not None else view


@settings(max_examples=300, deadline=None)
@given(cases(), st.booleans())
def test_rows_equal_brute_force(case: Case, out_of_place: bool) -> None:
    """Every code, dtype, width and stride; what lies around the logits stays."""
    pytest.importorskip("torch")
    from constrain.kernels.device import over_bits

    view = case.lay_out(case.bits)
    before = base_of(view).copy()
    signed = {2: np.int16, 4: np.int32, 8: np.int64}[view.itemsize]
    floats = view.view(case.dtype) if case.dtype != "bfloat16" else None
    if floats is None:
        if case.column_step < 0:
            return  # torch has no such tensors, numpy no such dtype
        floats = as_floats(view, case.dtype, "torch")
    expected, _ = masked(case.bits, case.bitmask, case.codes, case.dtype)
    target = floats
    if out_of_place:
        written = np.full(case.bits.shape, 0x77, dtype=case.bits.dtype)
        target = as_floats(written, case.dtype, kind_of(case))
    found = np.full(len(case.codes), 9, dtype=np.uint8)
    import torch

    codes = np.array(case.codes, dtype=np.int32)
    over = over_bits(getattr(torch, case.dtype))
    module.apply_on_host(floats, case.bitmask, codes, target, over=over, found=found)
    assert found.tolist() == [
        int(code < 0 or bool((row != masked(row[None], case.bitmask[:1] * 0, [0], case.dtype)[0][0]).any()))
        for code, row in zip(case.codes, expected, strict=True)
    ]
    if out_of_place:
        assert (written == expected).all()
        assert (base_of(view) == before).all()
    else:
        assert (view == expected).all()
        view[:] = case.bits
        assert (base_of(view) == before).all()
    assert view.view(signed).shape == case.bits.shape


@settings(max_examples=150, deadline=None)
@given(cases(negative_steps=False), st.sampled_from(["numpy", "torch"]), st.booleans(), st.data())
def test_the_public_function_equals_brute_force(case: Case, kind: str, one_mask: bool, data: st.DataObject) -> None:
    if case.dtype == "bfloat16":
        kind = "torch"
    rows = len(case.bits)
    rng = np.random.default_rng(len(case.bitmask))
    bitmask = case.bitmask[:1] if one_mask else rng.choice(case.bitmask, rows)
    indices = data.draw(st.one_of(st.none(), st.lists(st.integers(0, rows - 1), unique=True)))
    codes = [(0 if one_mask else i) if indices is None or i in indices else -1 for i in range(rows)]
    expected, _ = masked(case.bits, bitmask, codes, case.dtype)
    view = case.lay_out(case.bits)
    floats = as_floats(view, case.dtype, kind)
    given_mask = bitmask.view(np.uint32) if data.draw(st.booleans()) else bitmask
    if kind == "torch":
        torch = pytest.importorskip("torch")
        given_mask = torch.from_numpy(given_mask)
    assert constrain.apply_token_bitmask(floats, given_mask, indices=indices) is floats
    assert (view == expected).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_row_without_a_row_dimension(dtype: str) -> None:
    bits = np.arange(70, dtype=UNSIGNED[dtype])
    bitmask = np.array([0b1010, -1], dtype=np.int32)  # the last six tokens are beyond it
    expected, _ = masked(bits[None], bitmask[None], [0], dtype)
    floats = as_floats(bits, dtype, "torch" if dtype == "bfloat16" else "numpy")
    constrain.apply_token_bitmask(floats, bitmask)
    assert (bits == expected[0]).all()


def test_bfloat16_of_packages_that_add_it_to_numpy() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.arange(70, dtype=np.uint16)[None].repeat(2, axis=0)
    bitmask = np.array([[5, -1, 1], [0, 3, -1]], dtype=np.int32)
    expected, _ = masked(bits, bitmask, [0, 1], "bfloat16")
    constrain.apply_token_bitmask(bits.view(ml_dtypes.bfloat16), bitmask)
    assert (bits == expected).all()


def test_written_elsewhere_and_the_rows_left_out_are_copied() -> None:
    logits = np.arange(64, dtype=np.float32).reshape(2, 32)
    out = np.full_like(logits, 7)
    assert constrain.apply_token_bitmask(logits, np.array([[3], [3]], dtype=np.int32), indices=[1], out=out) is out
    assert (logits == np.arange(64).reshape(2, 32)).all()
    assert (out[0] == logits[0]).all()
    assert out[1].tolist() == [32, 33] + [-np.inf] * 30


def test_masks_in_any_memory_layout() -> None:
    rng = np.random.default_rng(0)
    bitmask = rng.integers(-(2**31), 2**31, (6, 12)).astype(np.int32)
    for view in (bitmask[::2, ::3], bitmask[::-2, 2:6], np.asfortranarray(bitmask)[:3, :4], bitmask[:3, 3::-1]):
        logits = rng.normal(size=(3, 128)).astype(np.float32)
        expected, _ = masked(logits.view(np.uint32), view.copy(), [0, 1, 2], "float32")
        constrain.apply_token_bitmask(logits, view)
        assert (logits.view(np.uint32) == expected).all()


def test_nothing_to_do() -> None:
    for shape in ((0, 40), (3, 0)):
        logits = np.empty(shape, dtype=np.float32)
        assert constrain.apply_token_bitmask(logits, np.zeros((1, 2), dtype=np.int32)) is logits


@pytest.mark.parametrize(
    ("logits", "bitmask", "error"),
    [
        (np.zeros((2, 40), np.float32), np.zeros((3, 2), np.int32), ValueError),
        (np.zeros((1, 1, 40), np.float32), np.zeros((1, 2), np.int32), ValueError),
        (np.zeros((2, 40), np.int32), np.zeros((2, 2), np.int32), TypeError),
        (np.zeros((2, 40), ">f4"), np.zeros((2, 2), np.int32), TypeError),
        (np.zeros((2, 40), np.float32), np.zeros((2, 2), np.int64), TypeError),
        (np.broadcast_to(np.zeros(40, np.float32), (2, 40)), np.zeros((2, 2), np.int32), ValueError),
    ],
    ids=["rows", "dimensions", "integers", "byte order", "int64 bitmask", "read-only"],
)
def test_what_does_not_fit_is_refused(logits: Any, bitmask: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        constrain.apply_token_bitmask(logits, bitmask)


def test_tensors_that_repeat_themselves_are_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="share one place"):
        constrain.apply_token_bitmask(torch.zeros(40).expand(2, 40), np.zeros((2, 2), np.int32))
    with pytest.raises(ValueError, match="out has the kind"):
        constrain.apply_token_bitmask(np.zeros((1, 40)), np.zeros((1, 2), np.int32), out=np.zeros((1, 41)))
    with pytest.raises(TypeError, match="Listing"):
        constrain.apply_token_bitmask(Listing(), np.zeros((1, 2), np.int32))


class Listing(list[float]):
    """A list that calls itself an array."""

    ndim, shape, dtype = 1, (0,), "float32"


@settings(max_examples=100, deadline=None)
@given(cases(), st.integers(1, 260))
def test_whether_a_row_allows_anything(case: Case, width: int) -> None:
    found = np.empty(len(case.bitmask), dtype=np.bool_)
    any_allowed(case.bitmask, width, found)
    assert found.tolist() == [any(is_allowed(row, t) for t in range(width)) for row in case.bitmask]


# Threads


@pytest.mark.parametrize("threads", ["1", "3"])
def test_many_rows_over_threads(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSTRAIN_THREADS", threads)
    monkeypatch.setattr(module, "_PART_BYTES", 1000)
    rng = np.random.default_rng(1)
    for rows in (1, 2, 3, 17):
        logits = rng.normal(size=(rows, 700)).astype(np.float32)
        bitmask = rng.integers(-(2**31), 2**31, (rows, 22)).astype(np.int32)
        found = np.full(rows, 9, dtype=np.uint8)
        bitmask[rows // 2] = 0
        expected, _ = masked(logits.view(np.uint32), bitmask, range(rows), "float32")
        module.apply_on_host(logits, bitmask, np.arange(rows, dtype=np.int32), logits, found=found)
        assert (logits.view(np.uint32) == expected).all()
        assert found.tolist() == [int(i != rows // 2) for i in range(rows)]


@given(st.integers(1, 40), st.integers(1, 50))
@settings(max_examples=40, deadline=None)
def test_parts_cover_everything_once(count: int, parts: int) -> None:
    seen: list[int] = []
    lock = threading.Lock()

    def work(first: int, stop: int) -> None:
        with lock:
            seen.extend(range(first, stop))

    spread(work, count, parts)
    assert sorted(seen) == list(range(count))


def test_an_error_in_a_thread_is_raised() -> None:
    def work(first: int, _stop: int) -> None:
        if first:
            raise KeyError(first)

    with pytest.raises(KeyError):
        spread(work, 4, 4)


def _in_child() -> None:
    spread(lambda _first, _stop: None, 4, 4)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
def test_a_forked_child_has_threads_of_its_own() -> None:
    _in_child()
    child = multiprocessing.get_context("fork").Process(target=_in_child)
    child.start()
    child.join(20)
    alive = child.is_alive()
    child.kill()
    assert not alive
    assert child.exitcode == 0


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5"])
def test_a_number_of_threads_that_is_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSTRAIN_THREADS", text)
    with pytest.raises(ValueError, match="CONSTRAIN_THREADS"):
        thread_count()
