"""Token budgets: when few tokens are left, a mask keeps only those after which the end is still within reach.

The *way out* of a position is one text that completes it. It is made byte by byte, and each byte is chosen by the
position alone: the first, in a fixed order, that is a token of the vocabulary and lowers the distance to the end. So
the way out after any beginning of a way out is the rest of it. What a position *needs* is the fewest tokens that spell
its way out. After the first token of such a spelling the need is one less; hence, where the need is within the budget,
some token stays allowed, and the output is complete in time whatever is chosen among the allowed ones.

The need bounds the fewest tokens from above: another completion, longer in bytes, may take fewer tokens. Where there
are many groups, only the nearest ones are spelled with tokens, and the others count by bytes.

A mask is left alone unless some allowed token leads too far. To find out, the tokens are grouped by where they lead
(`constrain.kernels.ends`), and only then is there anything to measure: a few groups for a position, once.
"""

from __future__ import annotations

import math
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from constrain.engine.distance import Measure, name_slack, next_name_bytes
from constrain.engine.markers import MARKER
from constrain.kernels import memory as m
from constrain.kernels.batch import TRACKED
from constrain.kernels.ends import GROUP_WIDTH, NAME_BITS, TOO_MANY, token_ends
from constrain.kernels.intern import POS_WIDTH, new_position
from constrain.kernels.layout import KEY, RAW

if TYPE_CHECKING:
    from constrain.engine.automaton import Automaton

_MOST_GROUPS = 1 << 16
_FEW = 256  # tokens up to which each is a case of its own
_ONE_BY_ONE = 32  # tokens that are tried alone where their group as a whole is in doubt
_SPELLED = 24  # groups whose ways out are spelled with tokens for one mask, the nearest ones
_LONGEST_PIECE = 48  # bytes of the longest token that a way out is cut into
_LONGEST_WAY = 20_000  # bytes of the longest way out that is spelled with tokens; longer ones count by bytes
_KEPT = 16  # positions whose groups are kept
_UNIQUE_SLACK = 64
_NEAREST_FIRST = (*b'"}]:,', *(b for b in range(0x21, 256) if b not in b'"}]:,'), *range(0x21))


class Budget:
    """What the positions of one automaton need. Not safe for concurrent use; the automaton's owner holds a lock."""

    def __init__(self, automaton: Automaton) -> None:
        self._a: Automaton = weakref.proxy(automaton)  # which owns this
        terminals = automaton.terminals
        self._tracks = automaton.shapes.tracks
        self._measure = Measure(self._a)
        self._single = [b for b in _NEAREST_FIRST if b in terminals.single_bytes]
        # JSON is spelled with the bytes that there are; in a regular expression any byte may be wanted.
        self._by_bytes = automaton.start_mode != RAW or len(self._single) == 256
        self._longest = min(terminals.longest, _LONGEST_PIECE)
        self._distances: dict[int, float] = {}
        self._next: dict[int, int] = {}
        self._needs: dict[int, float] = {}
        self._worst: dict[int | tuple[int, ...], float] = {}  # the most that is needed after any allowed token
        self._groups: OrderedDict[int, tuple[list[tuple[int, float]], NDArray[np.int32]]] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Bytes in use, roughly."""
        small = len(self._distances) + len(self._next) + len(self._needs) + len(self._worst)
        return 150 * small + sum(32 * len(reps) + of.nbytes for reps, of in self._groups.values())

    def _keep_up(self) -> bool:
        """Forget what was measured before arrays came up whose items must differ; whether there was anything."""
        if self._tracks == self._a.shapes.tracks:
            return False
        self._tracks = self._a.shapes.tracks
        for memo in (self._distances, self._next, self._needs, self._worst, self._groups):
            memo.clear()  # type: ignore[attr-defined]
        return True

    # ---- the way out -------------------------------------------------------------------------------------------------

    def distance(self, position: int) -> float:
        """Bytes of a short completion; 0 where the text is complete."""
        found = self._distances.get(position)
        if found is None:
            found = 0 if self._a.may_end(position) else self._a.distance(position, self._measure)
            self._distances[position] = found
        return found

    def bound(self, position: int) -> float:
        """Tokens that are enough, without spelling anything where that can be avoided."""
        return self.distance(position) if self._by_bytes else self.need(position)

    def way_out(self, position: int) -> bytes | None:
        """The bytes of the way out; None where none of the vocabulary's single bytes leads nearer to the end."""
        out = bytearray()
        while not self._a.may_end(position):
            packed = self._next.get(position)
            if packed is None:
                packed = self._next[position] = self._choose(position)
            if packed < 0:
                return None
            out.append(packed & 0xFF)
            position = packed >> 8
        return bytes(out)

    def _choose(self, position: int) -> int:
        """The next byte of the way out, the position after it above that; -1 where there is none."""
        target = self._a.next_to_end(position)
        if target is not None:
            for byte in self._single:
                if self._a.accept_byte(position, byte) == target:
                    return target << 8 | byte
        here = self.distance(position)
        only = self._a.only_byte(position)
        if only <= MARKER:  # within a marker, which is one token, bytes need not be tokens
            to = self._a.accept_byte(position, only)
            return to << 8 | only
        candidates = [*self._single, MARKER]
        if position < TRACKED and (hints := next_name_bytes(self._a, position)):
            candidates = [b for b in hints if b in candidates] + candidates
        for byte in candidates:
            to = self._a.accept_byte(position, byte)
            if to >= 0 and self.distance(to) < here:
                return to << 8 | byte
        return -1

    def need(self, position: int) -> float:
        """Tokens that complete the text, an end-of-sequence id not counted; infinite where none are known to."""
        found = self._needs.get(position)
        if found is None:
            distance = self.distance(position)
            if distance == 0 or (distance > _LONGEST_WAY and self._by_bytes):
                found = distance
            else:
                way = self.way_out(position)
                found = math.inf if way is None else self._pieces(way)[0]
            self._needs[position] = found
        return found

    def _pieces(self, text: bytes) -> tuple[float, bytes]:
        """The fewest tokens that spell a text, and the first of them; the longest one among equals."""
        tokens, count = self._a.terminals.spelled, len(text)
        fewest = [math.inf] * count + [0.0]
        size = 0
        for at in range(count - 1, -1, -1):
            size = 0
            for length in range(1, min(self._longest, count - at) + 1):
                if fewest[at + length] + 1 <= fewest[at] and text[at : at + length] in tokens:
                    fewest[at], size = fewest[at + length] + 1, length
        return fewest[0], text[:size]

    # ---- masks -------------------------------------------------------------------------------------------------------

    def restrict(self, position: int, room: int, row: NDArray[np.int32]) -> bool:
        """Take out of a mask the tokens after which the end is out of reach; whether any was taken out.

        Args:
            position: whose mask it is.
            room: tokens that may still come, the next one included, an end-of-sequence id not counted.
            row: its mask, int32 (words,), changed in place.

        Where the end is out of reach already, the tokens that lead nearest to it stay.
        """
        self._keep_up()
        limit = room - 1
        if room > 0 and self._worst.get(self._nameless(position), math.inf) <= limit:
            return False
        bits = np.unpackbits(row.view(np.uint8), bitorder="little").view(np.bool_)
        ends = bits.copy()
        self._clear_ends(bits)
        ends &= ~bits  # the end-of-sequence ids that are allowed
        keep = ends
        if room > 0:
            chosen = self._within(position, limit, bits)
            if self._keep_up():  # what is ahead became known on the way
                chosen = self._within(position, limit, bits)
            if chosen is None:
                return False
            keep |= chosen
        row[:] = np.packbits(keep, bitorder="little").view(np.int32)
        return True

    def _nameless(self, position: int) -> int | tuple[int, ...]:
        """A position, or what it has in common with those that differ in the text of a new member's name alone."""
        if position >= TRACKED:
            return position
        at = position * POS_WIDTH
        stack, mode, q, x, n = self._a.store.tables[m.POS][at : at + 5].tolist()
        return (stack, q, x, n >> 24) if mode == KEY and n >> 60 and n & NAME_BITS else position

    def _clear_ends(self, bits: NDArray[np.bool_]) -> None:
        bits[self._a.terminals.fixed[m.EOS]] = False

    def _within(self, position: int, limit: int, bits: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Those of the tokens after which at most `limit` are needed; None for all of them."""
        a = self._a
        groups, group_of = self._groups_of(position, bits)
        worst = max((self.bound(p) + slack for p, slack in groups), default=0.0)
        named = self._nameless(position)
        if named != position:
            worst += max((slack for _, slack in groups), default=0.0)
        self._worst[named] = worst
        if worst <= limit:
            return None
        keep = np.zeros(bits.size, dtype=np.bool_)
        needs = np.full(len(groups) + 1, math.inf)  # of no group: infinite
        spelled = 0
        for bound, g in sorted((self.bound(to) + slack, g) for g, (to, slack) in enumerate(groups)):
            needs[g] = bound
            to, slack = groups[g]
            if bound > limit and spelled < _SPELLED and bound - slack <= limit * self._longest:
                spelled += 1
                needs[g] = self.need(to) + slack
        of = group_of[: bits.size]
        keep[: of.size] = (needs <= limit)[of]  # group -1 is the last one
        keep &= bits
        doubtful = [g for g, (_, slack) in enumerate(groups) if slack >= _UNIQUE_SLACK and needs[g] > limit]
        if doubtful:
            for token in np.flatnonzero(np.isin(of, doubtful) & bits[: of.size])[:_ONE_BY_ONE].tolist():
                after = a.accept_token(position, token)
                keep[token] = after >= 0 and self._reaches(after, limit)
        self._add_way_out(position, limit, bits, keep)
        if not keep.any() and not a.may_end(position):
            nearest = needs[of]
            nearest[~bits[: of.size]] = math.inf
            keep[: of.size] = bits[: of.size] & (nearest == nearest.min())
        return None if keep.sum() == bits.sum() else keep

    def _reaches(self, position: int, limit: int) -> bool:
        return self.bound(position) <= limit or self.need(position) <= limit

    def _add_way_out(self, position: int, limit: int, bits: NDArray[np.bool_], keep: NDArray[np.bool_]) -> None:
        """Keep the first token of the way out, where that is short enough."""
        if self._a.may_end(position) or self.need(position) > limit + 1:
            return
        way = self.way_out(position)
        if way is not None and len(way) <= _LONGEST_WAY:
            token = self._a.terminals.spelled[self._pieces(way)[1]]
            keep[token] = bits[token]

    def _groups_of(self, position: int, bits: NDArray[np.bool_]) -> tuple[list[tuple[int, float]], NDArray[np.int32]]:
        """For each group of tokens a position, and the bytes by which others of the group may need more; then the
        groups by token.

        Where there are too many groups, all tokens are one of which nothing is known.
        """
        found = self._groups.get(position)
        if found is None:
            found = self._groups[position] = self._group(position, bits)
            while len(self._groups) > _KEPT:
                self._groups.popitem(last=False)
        else:
            self._groups.move_to_end(position)
        return found

    def _group(self, position: int, bits: NDArray[np.bool_]) -> tuple[list[tuple[int, float]], NDArray[np.int32]]:
        a = self._a
        tokens = np.flatnonzero(bits)
        group_of = np.full(max(bits.size, a.terminals.size), -1, dtype=np.int32)
        if len(tokens) <= _FEW:
            reps: dict[int, int] = {}
            for token in tokens.tolist():
                after = a.accept_token(position, token)
                group_of[token] = reps.setdefault(after, len(reps))
            return [(to, 0.0) for to in reps], group_of
        start = position if position < TRACKED else a.unique.twin(position)  # type: ignore[union-attr]
        groups = self._walk(start, group_of)
        if groups is None:
            group_of[:] = 0
            return [(position, math.inf)], group_of
        used, first = np.unique(np.where(bits, group_of[: bits.size], -1), return_index=True)
        out: list[tuple[int, float]] = [(position, math.inf)] * len(groups)
        words: dict[tuple[int, int], tuple[int, float]] = {}  # of words that are alike but for their text, one
        for g, token in zip(used.tolist(), first.tolist(), strict=True):
            if g < 0:
                continue
            if a.shapes.tracks:
                out[g] = a.accept_token(position, token), float(_UNIQUE_SLACK)
                continue
            stack, mode, q, x, n, stands_in = groups[g]
            if mode == RAW and n and (alike := words.get((stack, q))) is not None:
                out[g] = alike
                continue
            to = int(new_position(a.address, stack, mode, q, x, n))
            while to < 0:
                a.store.grow(m.POS)
                to = int(new_position(a.address, stack, mode, q, x, n))
            out[g] = to, name_slack(a, stack, mode, n) if stands_in else 0.0
            if mode == RAW and n and a.around is not None and (most := a.around.word_bound(to)) is not None:
                words[stack, q] = out[g] = to, most - self.distance(to)
        unused = set(range(len(groups))) - set(used.tolist())
        for g in unused:
            out[g] = position, 0.0
        return out, group_of

    def _walk(self, position: int, group_of: NDArray[np.int32]) -> list[list[int]] | None:
        most = 1024
        stands_in = np.zeros(self._a.terminals.longest + 2, dtype=np.uint8)
        while most <= _MOST_GROUPS:
            groups = np.zeros((most, GROUP_WIDTH), dtype=np.int64)
            table = np.zeros(2 * most, dtype=np.int32)

            def walk(address: int, table: Any = table, groups: Any = groups) -> int:
                table[:] = 0
                group_of[:] = -1
                return int(token_ends(address, position, group_of, groups, table, stands_in))

            count = self._a.call(walk)
            if count != TOO_MANY:
                return groups[:count].tolist()  # type: ignore[no-any-return]
            most *= 8
        return None
