"""Classes of the vocabulary that a set of characters holds as a whole, or none of."""

from __future__ import annotations

import functools

from hypothesis import example, given, settings
from hypothesis import strategies as st

from constrain.engine.class_loops import kinds_within
from constrain.grammars.regex.classes import DOT, EVERY, LAST, NONE, NOT_SPACE, SPACE, WORD, CodePoints
from constrain.kernels.classes import CLASS_BY_FIRST, CLASS_BY_SECOND, NO_CLASS


@functools.cache
def _ranges_by_class() -> list[list[tuple[int, int]]]:
    """By class the runs of code points that have a byte of it, found by encoding every one."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(NO_CLASS + 1)]
    for code in range(LAST + 1):
        if 0xD800 <= code <= 0xDFFF:
            continue
        data = chr(code).encode()
        classes = {int(CLASS_BY_FIRST[data[0]])}
        if len(data) > 1 and CLASS_BY_SECOND[data[0], data[1]] >= 0:
            classes.add(int(CLASS_BY_SECOND[data[0], data[1]]))
        for number in classes:
            runs = found[number]
            if runs and runs[-1][1] == code - 1:
                runs[-1] = (runs[-1][0], code)
            else:
                runs.append((code, code))
    return found


_POINTS = st.one_of(
    st.integers(0, LAST),
    st.sampled_from([0x20, 0x7F, 0x80, 0xA0, 0xBF, 0x7FF, 0x800, 0x167F, 0x1680, 0x2028, 0x203F, 0x2040, 0x3000]),
    st.sampled_from([0x303F, 0x3040, 0xD7FF, 0xE000, 0xFEBF, 0xFEFF, 0xFFFF, 0x10000, 0x40000, 0x100000, LAST]),
)


@settings(deadline=None)
@given(st.lists(st.tuples(_POINTS, _POINTS).map(lambda pair: (min(pair), max(pair))), max_size=6))
@example([*DOT.ranges])
@example([*SPACE.ranges])
@example([*NOT_SPACE.ranges])
@example([*WORD.ranges])
@example([*EVERY.ranges])
@example([*NONE.ranges])
def test_classes_within_a_set(ranges: list[tuple[int, int]]) -> None:
    members = CodePoints.of(ranges)
    inside, outside = kinds_within(members)
    split = {int(CLASS_BY_FIRST[lead]) for lead in range(256) if (CLASS_BY_SECOND[lead] >= 0).any()}
    for number, runs in enumerate(_ranges_by_class()[:NO_CLASS]):
        everything = CodePoints.of(runs)
        common = everything & members
        assert (outside >> number & 1) == (not common)
        whole = bool(common) if number in split else common == everything
        assert (inside >> number & 1) == whole
    assert inside >> NO_CLASS == outside >> NO_CLASS == 0
