"""The way of masks on a device, taken here with tensors in the memory of the host.

Without more, `apply_rows_on_device` uses torch operations for them. One test runs this file once more with Triton's
interpreter, and then the same tests, against the same oracle, are about the Triton kernels.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from constrain.engine.device_rows import DeviceRows, device_rows_of  # noqa: E402
from constrain.kernels.device import apply_rows_on_device, bits_of, has_triton, over_bits, uses_triton  # noqa: E402
from constrain.logits_processor import ConstrainedLogitsProcessor  # noqa: E402
from tests.constrain.masking_oracle import DTYPES, MINUS_INFINITY, OVER, UNSIGNED, Case, cases, masked  # noqa: E402
from tests.constrain.token_grammar import TokenGrammar, TokenVocabulary  # noqa: E402

CPU = torch.device("cpu")
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
SIGNED = {2: np.int16, 4: np.int32, 8: np.int64}


def floats_of(bits: Any, dtype: str) -> Any:
    """A tensor in the memory of the bits."""
    return torch.from_numpy(bits.view(SIGNED[bits.itemsize])).view(getattr(torch, dtype))


def bits_in(tensor: Any) -> Any:
    size = tensor.element_size()
    signed = tensor.contiguous().view({2: torch.int16, 4: torch.int32, 8: torch.int64}[size]).numpy()
    return signed.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[size])


@pytest.mark.skipif(INTERPRETED, reason="this is the run inside")
@pytest.mark.skipif(not has_triton(), reason="Triton is not installed")
def test_all_of_this_file_under_tritons_interpreter() -> None:
    root = Path(__file__).resolve().parents[2]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__],
        cwd=root,
        env=os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-4000:]
    assert " passed" in result.stdout


def test_which_way_is_taken() -> None:
    assert uses_triton(CPU) == INTERPRETED
    assert not uses_triton(torch.device("mps"))
    assert uses_triton(torch.device("cuda")) == has_triton()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bits_of_scores(dtype: str) -> None:
    kind = getattr(torch, dtype)
    modulus = 1 << 8 * kind.itemsize
    assert bits_of(float("-inf"), kind) % modulus == MINUS_INFINITY[dtype]
    assert tuple(b % modulus for b in over_bits(kind)) == OVER[dtype]


@settings(max_examples=50 if INTERPRETED else 300, deadline=None)
@given(cases(negative_steps=False), st.booleans(), st.booleans())
def test_rows_equal_brute_force(case: Case, out_of_place: bool, repair: bool) -> None:
    """Every code, dtype, width and stride; what lies around the logits stays."""
    view = case.lay_out(case.bits)
    around = view.base.copy()
    logits = floats_of(view, case.dtype)
    expected, repaired = masked(case.bits, case.bitmask, case.codes, case.dtype, repair=repair)
    rows = torch.tensor(case.codes, dtype=torch.int32)
    table = torch.from_numpy(case.bitmask)
    if not out_of_place:
        flag = apply_rows_on_device(logits, table, rows, repair=repair)
        assert (view == expected).all()
        view[:] = case.bits
    else:
        target = case.lay_out(np.full_like(case.bits, 0x33))
        flag = apply_rows_on_device(logits, table, rows, out=floats_of(target, case.dtype), repair=repair)
        assert (target == expected).all()
        target[:] = case.bits
        assert (target.base == around).all()
    assert (view.base == around).all()
    assert (flag is not None and bool(flag)) == repaired
    assert (flag is not None) == repair


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 9])
def test_rows_of_several_blocks(dtype: str, rows: int) -> None:
    """Wider than what one program treats, with few rows and with many."""
    rng = np.random.default_rng(rows)
    width, words = 9001, 300  # logits narrower than the bitmask by far less than a block
    size = np.dtype(UNSIGNED[dtype]).itemsize
    bits = np.frombuffer(rng.bytes(rows * width * size), dtype=UNSIGNED[dtype]).reshape(rows, width).copy()
    bitmask = rng.integers(-(2**31), 2**31, (rows, words)).astype(np.int32)
    bits[0, :4500] = MINUS_INFINITY[dtype]
    bitmask[0, 140:] = 0  # the only scores of row 0 are cut: it is left with none
    codes = [i if i != 4 else -2 - i for i in range(rows)]
    expected, repaired = masked(bits, bitmask, codes, dtype, repair=True)
    assert repaired
    out = torch.empty(rows, width, dtype=getattr(torch, dtype))
    flag = apply_rows_on_device(
        floats_of(bits, dtype),
        torch.from_numpy(bitmask),
        torch.tensor(codes, dtype=torch.int32),
        out=out,
        repair=True,
    )
    assert bool(flag)
    assert (bits_in(out) == expected).all()


def test_a_table_with_gaps_and_rows_in_any_order() -> None:
    rng = np.random.default_rng(3)
    wide = torch.from_numpy(rng.integers(-(2**31), 2**31, (20, 7)).astype(np.int32))
    for table in (wide[::2, 1:5], wide[3:, ::2], wide.T):
        bits = rng.integers(0, 2**32, (5, 130), dtype=np.uint32)
        codes = rng.integers(0, table.shape[0], 5).tolist()
        expected, _ = masked(bits, table.numpy(), codes, "float32")
        apply_rows_on_device(floats_of(bits, "float32"), table, torch.tensor(codes, dtype=torch.int32))
        assert (bits == expected).all()


def test_what_does_not_fit_is_refused() -> None:
    logits, table, rows = torch.zeros(2, 40), torch.zeros(2, 2, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
    for wrong in ((logits.int(), table, rows), (logits, table.long(), rows), (logits, table, rows.long())):
        with pytest.raises(TypeError):
            apply_rows_on_device(*wrong)
    for wrong in ((logits[0], table, rows), (logits, table[0], rows), (logits, table, rows[:1])):
        with pytest.raises(ValueError, match="do not fit"):
            apply_rows_on_device(*wrong)
    with pytest.raises(ValueError, match="out has"):
        apply_rows_on_device(logits, table, rows, out=logits.half())
    with pytest.raises(ValueError, match="table on meta"):
        apply_rows_on_device(logits, table.to("meta"), rows)
    assert apply_rows_on_device(logits[:, :0], table, rows) is None
    assert int(apply_rows_on_device(logits[:0], table, rows[:0], repair=True)) == 0


# The table of rows


def check(table: DeviceRows, bitmask: Any, over: Any = None) -> None:
    rng = np.random.default_rng(len(bitmask))
    bits = rng.integers(0, 2**32, (len(bitmask), 32 * bitmask.shape[1] - 3), dtype=np.uint32)
    bits[rng.random(bits.shape) < 0.5] = MINUS_INFINITY["float32"]
    over = np.zeros(len(bitmask), dtype=bool) if over is None else np.array(over)
    codes = [-2 - i if over[i] else i for i in range(len(bitmask))]
    expected, repaired = masked(bits, bitmask, codes, "float32", repair=True)
    assert bool(table.apply(floats_of(bits, "float32"), bitmask, over)) == repaired
    assert (bits == expected).all()


def bitmask_of(*numbers: int, words: int = 3) -> Any:
    """Rows that differ as the numbers do."""
    rows = [np.random.default_rng(n).integers(-(2**31), 2**31, words) for n in numbers]
    return np.array(rows).astype(np.int32)


def test_only_new_rows_are_sent() -> None:
    table = DeviceRows(3, CPU)
    check(table, bitmask_of(1, 2, 1))
    assert (len(table), table.uploaded) == (2, 2)
    check(table, bitmask_of(2, 3, 1, 3), over=[False, True, True, False])
    assert (len(table), table.uploaded) == (3, 3)
    check(table, bitmask_of(1, 1, 2))
    assert table.uploaded == 3


def test_the_table_grows_to_its_bound_and_the_oldest_rows_make_room() -> None:
    table = DeviceRows(3, CPU, limit_bytes=100 * 12)
    check(table, bitmask_of(*range(60)))
    assert table.nbytes <= 64 * 12
    check(table, bitmask_of(*range(60, 100)))
    assert (len(table), table.nbytes, table.uploaded) == (100, 1200, 100)
    check(table, bitmask_of(*range(50)))  # used again, so 50 to 99 are the oldest
    check(table, bitmask_of(*range(100, 150)))
    assert (len(table), table.nbytes, table.uploaded) == (100, 1200, 150)
    check(table, bitmask_of(*range(50)))
    assert table.uploaded == 150
    check(table, bitmask_of(50))
    assert table.uploaded == 151


def test_a_step_larger_than_the_bound() -> None:
    table = DeviceRows(3, CPU, limit_bytes=5 * 12)
    check(table, bitmask_of(1, 2))
    check(table, bitmask_of(*range(30)))
    check(table, bitmask_of(*range(40)))
    check(table, bitmask_of(*range(100, 103)))
    assert table.nbytes <= 40 * 12


@settings(max_examples=8 if INTERPRETED else 40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=8), st.integers(1, 8))
def test_rows_with_equal_hashes_are_told_apart(steps: list[list[int]], limit: int) -> None:
    table = DeviceRows(3, CPU, limit_bytes=limit * 12)
    table._keys[:] = 0  # all rows have the hash 0
    for step in steps:
        check(table, bitmask_of(*step))


@settings(max_examples=8 if INTERPRETED else 40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=6), min_size=1, max_size=12), st.integers(1, 12))
def test_any_sequence_of_steps(steps: list[list[int]], limit: int) -> None:
    table = DeviceRows(5, CPU, limit_bytes=limit * 20)
    for step in steps:
        check(table, bitmask_of(*step, words=5))


def test_rows_that_differ_in_one_bit_anywhere() -> None:
    words = 300  # more than are compared at once, and a rest
    bitmask = np.zeros((words + 1, words), dtype=np.int32)
    for i in range(words):
        bitmask[i, i] = 1 << (i % 31)
    table = DeviceRows(words, CPU)
    table._keys[:] = 0
    places, new = table._find(bitmask)
    assert len(set(places.tolist())) == len(new) == words + 1


def test_a_table_shared_by_threads() -> None:
    table = DeviceRows(3, CPU, limit_bytes=4 * 12)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            rng = np.random.default_rng(seed)
            until = time.monotonic() + 0.5
            while time.monotonic() < until:
                check(table, bitmask_of(*rng.integers(0, 12, 3).tolist()))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_one_table_for_a_vocabulary() -> None:
    one, other = TokenVocabulary(70, (2,)), TokenVocabulary(80, (2,))
    assert device_rows_of(one, CPU) is device_rows_of(one, CPU)
    assert device_rows_of(one, CPU) is not device_rows_of(other, CPU)


# The processor


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [60, 45, 70, 96])
def test_the_processor_gives_the_same_bits_on_both_ways(
    dtype: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Live rows, a row that is over, a row emptied by others; logits narrower and wider than the vocabulary."""
    table = {"start": dict.fromkeys(range(5, 40), "start") | {44: "end"}, "end": {}}
    grammar = TokenGrammar(table, {"end"}, width=60)
    rng = np.random.default_rng(width)
    size = np.dtype(UNSIGNED[dtype]).itemsize
    bits = np.frombuffer(rng.bytes(4 * width * size), dtype=UNSIGNED[dtype]).reshape(4, width).copy()
    bits[3] = MINUS_INFINITY[dtype]
    scores = floats_of(bits, dtype)
    ids = torch.tensor([[7, 5], [7, 44], [7, 50], [7, 39]])
    allowed = np.zeros((4, 96), dtype=np.uint8)
    allowed[[0, 3], 5:40] = allowed[[0, 3], 44] = 1
    allowed[1:3, 2] = 1  # the end: of the row that is complete, and of one that is over
    bitmask = np.packbits(allowed, axis=1, bitorder="little").view(np.int32)
    expected, repaired = masked(bits, bitmask, [0, 1, -4, 3], dtype, repair=True)
    assert repaired
    for on_host in (True, False):
        monkeypatch.setattr("constrain.logits_processor._on_host", lambda _, answer=on_host: answer)
        processor = ConstrainedLogitsProcessor(grammar)
        processor(ids[:, :1], torch.zeros(4, width))
        before = bits.copy()
        if on_host:
            with pytest.warns(RuntimeWarning, match="the grammar was followed"):
                result = processor(ids, scores)
        else:
            result = processor(ids, scores)
            with pytest.warns(RuntimeWarning, match="the grammar was followed"):
                processor.completed(ids)
        assert result.dtype == scores.dtype
        assert (bits_in(result) == expected).all()
        assert (bits == before).all()


# The compiler


@pytest.mark.skipif(not has_triton() or INTERPRETED, reason="needs Triton, and its compiler rather than interpreter")
@pytest.mark.parametrize("integer", ["i16", "i32", "i64"])
def test_the_kernels_compile_for_a_gpu(integer: str, tmp_path: Path) -> None:
    """Triton's compiler needs no device; its cache is not to be used."""
    script = """
import sys
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from constrain.kernels.device_triton import repair_rows, write_rows

pointer = "*" + sys.argv[1]
for kernel in (write_rows, repair_rows):
    for in_place in (True, False):
        fixed = dict(CUT=-1024, OVER_SET=-5, OVER_CLEAR=-6, IN_PLACE=in_place, REPAIR=not in_place, BLOCK=1024)
        fixed = {name: value for name, value in fixed.items() if name in kernel.arg_names}
        types = dict.fromkeys(kernel.arg_names, "i32") | dict.fromkeys(fixed, "constexpr")
        types |= {name: pointer for name in ("x", "y") if name in types}
        types |= dict.fromkeys(("table", "rows", "found"), "*i32")
        constants = {(kernel.arg_names.index(name),): value for name, value in fixed.items()}
        made = compile(ASTSource(kernel, types, constants), target=GPUTarget("cuda", 80, 32))
        assert ".visible .entry" in made.asm["ptx"]
"""
    root = Path(__file__).resolve().parents[2]
    result = subprocess.run(
        [sys.executable, "-c", script, integer],
        cwd=root,
        env=os.environ | {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-4000:]
