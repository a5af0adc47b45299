"""Sets of code points, as sorted disjoint ranges.

Texts hold no surrogates, so a set says nothing about them; to have one form per set without a hole in the middle of
every complement, U+D800..U+DFFF go along with U+D7FF. Union, intersection and complement keep that form. Whoever
turns a range into bytes must leave the surrogates out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LAST = 0x10FFFF
"""The largest code point."""

FIRST_SURROGATE, LAST_SURROGATE = 0xD800, 0xDFFF


class CodePoints:
    """An immutable set of code points; `ranges` holds sorted, disjoint, non-adjacent pairs (first, last)."""

    __slots__ = ("_hash", "ranges")

    def __init__(self, ranges: tuple[tuple[int, int], ...]) -> None:
        """Wrap ranges already in normal form; use `of` for others."""
        self.ranges = ranges
        self._hash = hash(ranges)

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> CodePoints:
        """The set of all members of `ranges`, in any order, overlapping or not."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(ranges):
            if first > 0xD7FF or last >= 0xD7FF:
                if FIRST_SURROGATE <= first <= LAST_SURROGATE:
                    first = LAST_SURROGATE + 1
                if 0xD7FF <= last <= LAST_SURROGATE:
                    last = LAST_SURROGATE
            if first > last:
                continue
            if merged and first <= merged[-1][1] + 1:
                if last > merged[-1][1]:
                    merged[-1] = (merged[-1][0], last)
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    @classmethod
    def single(cls, code_point: int) -> CodePoints:
        """The set of one code point; empty for a surrogate."""
        return _ASCII_SINGLES[code_point] if code_point < 128 else cls.of(((code_point, code_point),))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodePoints) and self.ranges == other.ranges

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __contains__(self, code_point: int) -> bool:
        return any(first <= code_point <= last for first, last in self.ranges)

    def __repr__(self) -> str:
        return f"CodePoints({', '.join(f'{a:04X}-{b:04X}' for a, b in self.ranges)})"

    def __or__(self, other: CodePoints) -> CodePoints:
        return CodePoints.of(self.ranges + other.ranges)

    def __le__(self, other: CodePoints) -> bool:
        """Whether all members are members of `other`."""
        theirs, j = other.ranges, 0
        for first, last in self.ranges:
            while j < len(theirs) and theirs[j][1] < first:
                j += 1
            if j == len(theirs) or first < theirs[j][0] or last > theirs[j][1]:
                return False
        return True

    def __invert__(self) -> CodePoints:
        gaps, at = [], 0
        for first, last in self.ranges:
            if first > at:
                gaps.append((at, first - 1))
            at = last + 1
        if at <= LAST:
            gaps.append((at, LAST))
        return CodePoints(tuple(gaps))

    def __and__(self, other: CodePoints) -> CodePoints:
        mine, theirs, i, j, out = self.ranges, other.ranges, 0, 0, []
        while i < len(mine) and j < len(theirs):
            first, last = max(mine[i][0], theirs[j][0]), min(mine[i][1], theirs[j][1])
            if first <= last:
                out.append((first, last))
            if mine[i][1] < theirs[j][1]:
                i += 1
            else:
                j += 1
        return CodePoints(tuple(out))


_ASCII_SINGLES = tuple(CodePoints(((c, c),)) for c in range(128))

EVERY = CodePoints(((0, LAST),))
NONE = CodePoints(())
DIGIT = CodePoints(((0x30, 0x39),))
WORD = CodePoints(((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)))
SPACE = CodePoints.of(
    [
        (0x09, 0x0D),
        (0x20, 0x20),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)
NOT_DIGIT, NOT_WORD, NOT_SPACE = ~DIGIT, ~WORD, ~SPACE
DOT = ~CodePoints.of([(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)])


def least_bytes(ranges: Sequence[tuple[int, int]]) -> int:
    """Length in UTF-8 of the shortest member of sorted ranges that are not empty."""
    first = ranges[0][0]
    return 1 if first < 0x80 else 2 if first < 0x800 else 3 if first < 0x10000 else 4
