"""The Triton kernels of `kernels.device`, in a file of their own because they need Triton to be written down at all.

Scores are integers here; what they mean is the caller's business. A program treats one block of one row. There are no
branches on what was read: a block with nothing to do has all its loads and stores masked out, which costs nothing.
"""

import triton
import triton.language as tl


@triton.jit
def write_rows(  # type: ignore[no-untyped-def]
    x,
    y,
    table,
    rows,
    found,
    width,
    words,
    x_row,
    x_step,
    y_row,
    y_step,
    table_row,
    CUT: tl.constexpr,
    OVER_SET: tl.constexpr,
    OVER_CLEAR: tl.constexpr,
    IN_PLACE: tl.constexpr,
    REPAIR: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Mask the scores `x` into `y`; with `REPAIR`, set `found[i]` where row i is left with a score or is not masked."""
    i = tl.program_id(1).to(tl.int64)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < width
    code = tl.load(rows + i + tl.zeros((BLOCK,), tl.int32))
    row = tl.where(code < -1, -2 - code, tl.maximum(code, 0)).to(tl.int64)
    word = tl.load(table + row * table_row + (columns >> 5), mask=inside & ((columns >> 5) < words), other=0)
    bit = ((word >> (columns & 31)) & 1) == 1
    x_at = x + i * x_row + columns.to(tl.int64) * x_step
    y_at = y + i * y_row + columns.to(tl.int64) * y_step
    dtype: tl.constexpr = y.dtype.element_ty
    over = tl.where(bit, tl.full((BLOCK,), OVER_SET, dtype), tl.full((BLOCK,), OVER_CLEAR, dtype))
    cut = tl.full((BLOCK,), CUT, dtype)
    keeps = inside & ((bit & (code >= 0)) | (code == -1))
    if IN_PLACE and not REPAIR:  # noqa: SIM108
        score = cut  # not needed: what stays is not written
    else:
        score = tl.where(keeps, tl.load(x_at, mask=keeps, other=0), cut)
    if REPAIR:
        left = ((score != cut) & inside) | (code < 0)
        tl.atomic_or(found + i, 1, mask=tl.max(left.to(tl.int32), axis=0) == 1)
    new = tl.where(code < -1, over, score)
    if IN_PLACE:
        tl.store(y_at, new, mask=inside & (keeps == 0))
    else:
        tl.store(y_at, new, mask=inside)


@triton.jit
def repair_rows(  # type: ignore[no-untyped-def]
    y, table, rows, found, count, width, words, y_row, y_step, table_row, BLOCK: tl.constexpr
):
    """Give the allowed tokens of a row that was left without a score the score 0, and note it in `found[count]`."""
    i = tl.program_id(1).to(tl.int64)
    empty = tl.load(found + i + tl.zeros((BLOCK,), tl.int32)) == 0
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = empty & (columns < width)
    row = tl.maximum(tl.load(rows + i), 0).to(tl.int64)
    word = tl.load(table + row * table_row + (columns >> 5), mask=here & ((columns >> 5) < words), other=0)
    bit = here & (((word >> (columns & 31)) & 1) == 1)
    tl.atomic_or(found + count, 1, mask=tl.max(bit.to(tl.int32), axis=0) == 1)
    y_at = y + i * y_row + columns.to(tl.int64) * y_step
    tl.store(y_at, tl.zeros((BLOCK,), y.dtype.element_ty), mask=bit)
