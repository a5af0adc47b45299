"""`email` and `idn-email`: the mailbox of RFC 5321, and of RFC 6531 with Unicode in it.

A local part is a dot-atom or a quoted string of at most 64 octets; after the @ stands a host name or an address in
brackets. Display names, comments and folding white space belong to messages (RFC 5322), not here.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from ..languages.base import LengthSet
from ..regex import lengths as length_sets
from ..regex.classes import LAST
from .addresses import IPV4, IPV6
from .machine import Arranged, LanguageMachine, Layout, Machine, Move, between, on, ranges_of

ADDRESS_LITERAL = rf"(?:{IPV4}|[Ii][Pp][Vv]6:{IPV6})\]"
"""Pattern of what follows `[` in an address literal."""

MAX_LOCAL_PART = 64
_TOGETHER = 16  # characters of an atom whose steps are found at once: there are tokens of so many

_ATOM = ranges_of("!#$%&'*+-/=?^_`{|}~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ATOM_PARTS = [(0x40, 0x40, 0)], [(first, last, 1) for first, last in _ATOM], [(0x2E, 0x2E, 2)]
_ATOM_LAYOUTS = [Layout(chain.from_iterable(_ATOM_PARTS[: count + 1])) for count in range(3)]
"""Inside a dot-atom: the @, one more character where there is room, a dot where there is room for two."""
_QUOTED = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E))
_WIDE = ((0x80, 0x7FF, 2), (0x800, 0xFFFF, 3), (0x10000, LAST, 4))

EmailKey = tuple[str, Any]
"""A stage, and the octets so far of a local part or the state of a part of the domain."""


class Email(Machine[EmailKey]):
    """Mailboxes whose domain is a word of `host`, or an address that `literal` accepts after `[`."""

    start = ("start", 0)

    def __init__(self, host: Machine[Any], literal: LanguageMachine, unicode: bool) -> None:
        self._host, self._literal, self._unicode = host, literal, unicode
        self._domain = length_sets.union(
            host.lengths(host.start), length_sets.add(length_sets.ONE_ONLY, literal.lengths(literal.start))
        )

    def _part(self, stage: str) -> Machine[Any] | None:
        return self._host if stage == "host" else self._literal if stage == "literal" else None

    def arranged(self, state: EmailKey) -> Arranged[EmailKey] | None:
        stage, value = state
        part = self._part(stage)
        if part is not None:
            found = part.arranged(value)
            return None if found is None else (found[0], [(stage, after) for after in found[1]])
        if stage != "atom" or self._unicode:
            return None
        left = MAX_LOCAL_PART - value
        targets: list[EmailKey] = [("domain", 0)]
        if left:
            targets.append(("atom", value + 1))
        if left >= 2:
            targets.append(("dot", value + 1))
        return _ATOM_LAYOUTS[len(targets) - 1], targets

    def alike(self, state: EmailKey) -> list[EmailKey]:
        stage, value = state
        part = self._part(stage)
        if part is not None:
            return [(stage, other) for other in part.alike(value)]
        if stage != "atom" or self._unicode:
            return []
        return [("atom", octets) for octets in range(value + 1, min(value + _TOGETHER, MAX_LOCAL_PART + 1))]

    def moves(self, state: EmailKey) -> list[Move[EmailKey]]:
        stage, value = state
        part = self._part(stage)
        if part is not None:
            return [(first, last, (stage, after)) for first, last, after in part.moves(value)]
        if stage == "domain":
            starts: list[Move[EmailKey]] = [(a, b, ("host", s)) for a, b, s in self._host.moves(self._host.start)]
            return starts + on("[", ("literal", self._literal.start))
        if stage == "quoted end":
            return on("@", ("domain", 0))
        left = MAX_LOCAL_PART - value
        if stage == "escaped":
            return [(0x21, 0x7E, ("quoted", value + 1))]
        if stage == "quoted":
            moves = on('"', ("quoted end", 0))
            if left >= 2:
                moves += [(first, last, ("quoted", value + 1)) for first, last in _QUOTED]
            if left >= 3:
                moves += on("\\", ("escaped", value + 1))
            return moves + self._wide("quoted", value, left - 1)
        moves = []
        if left:
            moves = [(first, last, ("atom", value + 1)) for first, last in _ATOM]
            moves += self._wide("atom", value, left)
        if stage == "start":
            moves += on('"', ("quoted", 1))
        if stage == "atom":
            moves += on("@", ("domain", 0))
            if left >= 2:
                moves += on(".", ("dot", value + 1))
        return moves

    def _wide(self, stage: str, octets: int, left: int) -> list[Move[EmailKey]]:
        """The steps under characters beyond ASCII, of which `left` octets fit."""
        if not self._unicode:
            return []
        return [(first, last, (stage, octets + size)) for first, last, size in _WIDE if size <= left]

    def accepts(self, state: EmailKey) -> bool:
        part = self._part(state[0])
        return part is not None and part.accepts(state[1])

    def shortest(self, state: EmailKey) -> int:
        stage, value = state
        part = self._part(stage)
        if part is not None:
            return part.shortest(value)
        local = {"start": 1, "atom": 0, "dot": 1, "quoted": 1, "escaped": 2, "quoted end": 0, "domain": -1}[stage]
        return local + 1 + min(self._host.shortest(self._host.start), 1 + self._literal.shortest(self._literal.start))

    def lengths(self, state: EmailKey) -> LengthSet:
        stage, value = state
        part = self._part(stage)
        if part is not None:
            return part.lengths(value)
        if stage == "domain":
            return self._domain
        left = MAX_LOCAL_PART - value
        if stage == "quoted end":
            local = length_sets.ZERO_ONLY
        else:
            local = between({"atom": 0, "escaped": 2}.get(stage, 1), left)
        return length_sets.add(length_sets.shift(local, 1), self._domain)
