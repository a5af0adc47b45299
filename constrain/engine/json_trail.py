"""What has been written since an array began whose items must differ.

A *trail* holds, for each container from that array inwards, the values that are complete (by number, equal values
alike) and the text of the scalar that is being read, escapes decoded. It is a value: equal texts have equal trails,
whatever their whitespace, the order of members or the spelling of strings. For each array whose items must differ it
also knows which of the values that matter the current item can still become; usually there are none left after a byte
or two.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple, cast

from constrain.grammars.json_schema.values import identity

_MAX_POWER = 6_000
_SIMPLE = {0x22: b'"', 0x5C: b"\\", 0x2F: b"/", 0x62: b"\b", 0x66: b"\f", 0x6E: b"\n", 0x72: b"\r", 0x74: b"\t"}
_NUMBER = re.compile(rb"(-?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?)([0-9]*))?")

AWAITED, STRING, NAME, ATOM = "awaited", "string", "name", "atom"


class Level(NamedTuple):
    """A container: the numbers of its items, or its members by name and number, and the name that is to get a value."""

    is_array: bool
    tracked: bool
    items: tuple[int, ...] = ()
    members: frozenset[tuple[str, int]] = frozenset()
    name: str | None = None


class Scalar(NamedTuple):
    """What is being read: a value that has not begun, a string or name (decoded, and a pending escape), or an atom."""

    kind: str
    text: bytes = b""
    escape: bytes = b""


class Trail(NamedTuple):
    """See the module's text. `open` has a set of numbers for each level, None where no item of it is being read."""

    levels: tuple[Level, ...]
    scalar: Scalar | None
    open: tuple[frozenset[int] | None, ...]

    @property
    def may_repeat(self) -> bool:
        """Whether some current item can still become one of the values that matter."""
        return any(self.open)


class Values:
    """Numbers of JSON values; equal ones have the same."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._identities: list[Hashable] = []
        self.parts: list[tuple[str, object]] = []
        self._python: dict[int, object] = {}

    def _number(self, kind: str, content: Hashable) -> int:
        found = self._numbers.get((kind, content))
        if found is None:
            found = self._numbers[kind, content] = len(self.parts)
            self.parts.append((kind, content))
            self._identities.append(self._make_identity(kind, content))
        return found

    def identity(self, number: int) -> Hashable:
        """What `values.identity` makes of the value."""
        return self._identities[number]

    def _make_identity(self, kind: str, content: Any) -> Hashable:
        if kind == "string":
            return content.decode("utf-8", "surrogatepass")
        if kind == "constant":
            return identity({b"null": None, b"true": True, b"false": False}[content])
        if kind == "array":
            return ("array", tuple(self._identities[v] for v in content))
        if kind == "object":
            return ("object", frozenset((name, self._identities[v]) for name, v in content))
        negative, digits, power = content
        if power > _MAX_POWER or power < -_MAX_POWER:
            return ("number", content)  # no listed value is that large or small
        whole = int(decimal.Decimal(digits or "0")) * (-1 if negative else 1)
        return ("number", Fraction(whole) * Fraction(10) ** power)

    def value(self, number: int) -> object:
        """The exact value in Python."""
        found = self._python.get(number, self)
        if found is self:
            found = self._python[number] = self._make_value(*self.parts[number])
        return found

    def plain_text(self, number: int) -> bytes:
        """The value's text, as plain as can be; of a container only how it begins."""
        kind, content = cast(tuple[str, Any], self.parts[number])
        if kind == "string":
            return b'"' + cast(bytes, content) + b'"'
        if kind == "constant":
            return cast(bytes, content)
        if kind != "number":
            return b"[" if kind == "array" else b"{"
        negative, digits, power = cast(Decimal, content)
        if power >= 0:
            text = digits + "0" * power if digits else "0"
        else:
            digits = digits.rjust(1 - power, "0")
            text = f"{digits[:power]}.{digits[power:]}"
        return (b"-" if negative else b"") + text.encode()

    def _make_value(self, kind: str, content: Any) -> object:
        if kind == "string":
            return content.decode("utf-8", "surrogatepass")
        if kind == "constant":
            return {b"null": None, b"true": True, b"false": False}[content]
        if kind == "array":
            return [self.value(v) for v in content]
        if kind == "object":
            return {name: self.value(v) for name, v in content}
        negative, digits, power = content
        number = Fraction(int(decimal.Decimal(digits or "0")) * (-1 if negative else 1)) * Fraction(10) ** power
        return number.numerator if number.denominator == 1 else number

    def string(self, text: bytes) -> int:
        """The number of a string, given in UTF-8."""
        return self._number("string", text)

    def atom(self, text: bytes) -> int:
        """The number of a number, true, false or null by its text."""
        if text in (b"true", b"false", b"null"):
            return self._number("constant", text)
        return self._number("number", number_value(text))

    def array(self, items: tuple[int, ...]) -> int:
        """The number of an array of numbered values."""
        return self._number("array", items)

    def object_of(self, members: frozenset[tuple[str, int]]) -> int:
        """The number of an object of named, numbered values."""
        return self._number("object", members)

    def of(self, value: object) -> int:
        """The number of an exact value in Python."""
        if isinstance(value, str):
            return self.string(value.encode("utf-8", "surrogatepass"))
        if isinstance(value, list):
            return self.array(tuple(map(self.of, value)))
        if isinstance(value, dict):
            return self.object_of(frozenset((name, self.of(member)) for name, member in value.items()))
        if value is None or isinstance(value, bool):
            return self._number("constant", {None: b"null", True: b"true", False: b"false"}[value])
        assert isinstance(value, int | Fraction)
        return self._number("number", _normal(Fraction(value)))

    def complete(self, level: Level) -> int:
        """The number of a container that ends."""
        return self.array(level.items) if level.is_array else self.object_of(level.members)

    # ---- beginnings --------------------------------------------------------------------------------------------------

    def begins(self, value: int, levels: tuple[Level, ...], at: int, scalar: Scalar | None) -> bool:
        """Whether a value can begin with what the levels from `at` on and the scalar have of it."""
        kind, content = self.parts[value]
        if at == len(levels):
            assert scalar is not None
            if scalar.kind == AWAITED:
                return True
            if scalar.kind == STRING:
                return kind == "string" and content.startswith(scalar.text)  # type: ignore[attr-defined]
            if kind == "constant":
                return content.startswith(scalar.text)  # type: ignore[attr-defined]
            return kind == "number" and not scalar.text.isalpha() and _may_become(scalar.text, content)  # type: ignore[arg-type]
        level = levels[at]
        last = at == len(levels) - 1
        inside = not last or (scalar is not None and scalar.kind != NAME)
        if level.is_array:
            if kind != "array":
                return False
            items: tuple[int, ...] = content  # type: ignore[assignment]
            n = len(level.items)
            if items[:n] != level.items:
                return False
            return not inside or (n < len(items) and self.begins(items[n], levels, at + 1, scalar))
        if kind != "object":
            return False
        members: frozenset[tuple[str, int]] = content  # type: ignore[assignment]
        if not level.members <= members:
            return False
        left = members - level.members
        if level.name is not None:
            found = [v for name, v in left if name == level.name]
            return bool(found) and (not inside or self.begins(found[0], levels, at + 1, scalar))
        if last and scalar is not None:
            return any(name.encode("utf-8", "surrogatepass").startswith(scalar.text) for name, _ in left)
        return True

    def following(self, value: int, levels: tuple[Level, ...], at: int, scalar: Scalar) -> Iterable[int]:
        """The bytes of content that can come next in the string or name being read of a value that begins so."""
        kind, content = self.parts[value]
        if at == len(levels):
            if kind == "string":
                yield from content[len(scalar.text) : len(scalar.text) + 1]  # type: ignore[index]
            return
        level = levels[at]
        if level.is_array:
            yield from self.following(content[len(level.items)], levels, at + 1, scalar)  # type: ignore[index]
            return
        members: frozenset[tuple[str, int]] = content  # type: ignore[assignment]
        if level.name is not None:
            for name, v in members:
                if name == level.name:
                    yield from self.following(v, levels, at + 1, scalar)
            return
        for name, _ in members - level.members:
            text = name.encode("utf-8", "surrogatepass")
            if text.startswith(scalar.text):
                yield from text[len(scalar.text) : len(scalar.text) + 1]


def feed_string(scalar: Scalar, byte: int) -> Scalar:
    """A string or name with one more byte, which does not end it."""
    if not scalar.escape:
        if byte == 0x5C:
            return scalar._replace(escape=b"\\")
        return scalar._replace(text=scalar.text + bytes((byte,)))
    escape = scalar.escape + bytes((byte,))
    if len(escape) == 2 and byte in _SIMPLE:
        return scalar._replace(text=scalar.text + _SIMPLE[byte], escape=b"")
    if len(escape) == 6:
        unit = int(escape[2:], 16)
        if not 0xD800 <= unit <= 0xDBFF:
            return scalar._replace(text=scalar.text + chr(unit).encode("utf-8", "surrogatepass"), escape=b"")
    if len(escape) == 12:
        point = 0x10000 + ((int(escape[2:6], 16) - 0xD800) << 10) + (int(escape[8:], 16) - 0xDC00)
        return scalar._replace(text=scalar.text + chr(point).encode(), escape=b"")
    return scalar._replace(escape=escape.lower())


def with_open(
    values: Values,
    before: Trail | None,
    levels: tuple[Level, ...],
    scalar: Scalar | None,
    matter: Callable[[int], Iterable[int]],
) -> Trail:
    """The trail of these levels and scalar; `matter(k)` tells which values matter to an item of level k that begins."""
    out: list[frozenset[int] | None] = []
    last = len(levels) - 1
    for k, level in enumerate(levels):
        reading = k < last or (scalar is not None and scalar.kind != NAME)
        if not level.tracked or not reading:
            out.append(None)
            continue
        known = before.open[k] if before is not None and k < len(before.open) else None
        candidates = matter(k) if known is None else known
        out.append(frozenset(v for v in candidates if values.begins(v, levels, k + 1, scalar)))
    return Trail(levels, scalar, tuple(out))


# ---- numbers ---------------------------------------------------------------------------------------------------------

Decimal = tuple[bool, str, int]
"""Sign, significant digits without zeros at either end, and the power of ten of the last one; zero has no digits."""


def _split(text: bytes) -> tuple[bool, str, int]:
    """Sign, digits and power of ten of a number's text or of its beginning."""
    match = _NUMBER.fullmatch(text)
    assert match is not None
    sign, whole, fraction, exponent_sign, exponent = match.groups()
    fraction = fraction or b""
    power = int(exponent) if exponent else 0
    if exponent_sign == b"-":
        power = -power
    return sign == b"-", (whole + fraction).decode(), power - len(fraction)


def number_value(text: bytes) -> Decimal:
    """The value of a number's text, exactly; that of its beginning, read as far as it goes."""
    negative, digits, power = _split(text)
    digits = digits.lstrip("0")
    short = digits.rstrip("0")
    if not short:
        return False, "", 0
    return negative, short, power + len(digits) - len(short)


def _normal(value: Fraction) -> Decimal:
    places = 0
    while value.denominator != 1:
        value *= 10
        places += 1
    digits = f"{decimal.Decimal(abs(value.numerator)):f}"  # `str` refuses very long integers
    short = digits.rstrip("0")
    return (value < 0, short, len(digits) - len(short) - places) if short else (False, "", 0)


def _may_become(text: bytes, value: Decimal) -> bool:
    """Whether the text of a number with this value can begin so; True where that is not evident."""
    negative, digits, _ = value
    minus, begun, _ = _split(text)
    if minus != negative and digits:
        return False
    begun = begun.lstrip("0")
    return all(d == "0" for d in begun[len(digits) :]) and digits.startswith(begun[: len(digits)])
