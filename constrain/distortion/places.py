"""Where in a JSON text one stands, byte by byte: a JSON pointer, with `*` for array items and `~key` inside a key.

Texts that are not JSON give whatever the brackets and strings in them look like.
"""

from __future__ import annotations

import json
from collections.abc import Iterable


class JSONPlace:
    """The place after the bytes read so far."""

    def __init__(self) -> None:
        self._path: list[str] = []
        self._kinds: list[int] = []
        self._awaits_key = False  # the next string is a key
        self._string: bytearray | None = None
        self._escaped = False

    def read(self, piece: bytes) -> None:
        """Go on by some bytes."""
        for byte in piece:
            if self._string is not None:
                self._read_in_string(byte)
            elif byte == 0x22:
                self._string = bytearray()
            elif byte in b"{[":
                self._kinds.append(byte)
                self._path.append("*" if byte == 0x5B else "")
                self._awaits_key = byte == 0x7B
            elif byte in b"}]" and self._kinds:
                self._kinds.pop()
                self._path.pop()
                self._awaits_key = False
            elif byte == 0x2C and self._kinds:
                self._awaits_key = self._kinds[-1] == 0x7B

    def _read_in_string(self, byte: int) -> None:
        assert self._string is not None
        if byte == 0x22 and not self._escaped:
            if self._awaits_key:
                self._path[-1] = _name(self._string.decode("utf-8", "replace"))
                self._awaits_key = False
            self._string = None
            return
        self._escaped = byte == 0x5C and not self._escaped
        self._string.append(byte)

    def __str__(self) -> str:
        path = [*self._path[:-1], "~key"] if self._awaits_key else self._path
        return "".join("/" + part for part in path)


def _name(written: str) -> str:
    """What a name says, so that spellings of one name are one place; as it stands where it is no JSON string."""
    try:
        return str(json.loads(f'"{written}"', strict=False))
    except ValueError:
        return written


def places_of(pieces: Iterable[bytes]) -> tuple[str, ...]:
    """For each piece of a text, the place where it begins."""
    place, found = JSONPlace(), []
    for piece in pieces:
        found.append(str(place))
        place.read(piece)
    return tuple(found)
