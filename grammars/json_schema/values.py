"""Exact JSON values: what a schema's numbers, `enum` members and names become before anything compares them.

A JSON number is a decimal text with an exact value, so it becomes an int or, where it is not integral, a `Fraction`;
a Python float stands for the shortest decimal that reads back as it, which is the text JSON writers print. Equality is
JSON's: 1 and 1.0 are the same value, true and 1 are not, member order means nothing. Python's `==` gets `True == 1`
wrong at any depth, hence `identity`, a hashable stand-in that compares as JSON does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn

from constrain.grammars.json_schema.ir import ARRAY, BOOLEAN, NULL, NUMBER, OBJECT, STRING

MAX_DIGITS = 5_000
"""Numbers with more digits before or after the decimal point are refused: written out they fill the memory."""
MAX_VALUE_DEPTH = 200
"""How deep arrays and objects may nest inside one `enum` or `const` value."""


class ValueProblem(Exception):
    """A value that cannot be taken exactly. `limit` names the limit that was reached, "" when it is not JSON at all."""

    def __init__(self, reason: str, limit: str = "") -> None:
        super().__init__(reason)
        self.reason, self.limit = reason, limit


def is_number(value: object) -> bool:
    """Whether a value read from JSON or written in Python is a number. Booleans are not."""
    return isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool)


def kind(value: object) -> str:
    """What a value is, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if is_number(value):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list | tuple):
        return "a list"
    return "an object" if isinstance(value, dict) else type(value).__name__


def exact_number(value: object) -> int | Fraction:
    """The exact value of a number; integral ones as int. Raises `ValueProblem` for NaN, infinities and non-numbers."""
    if type(value) is int:
        if value.bit_length() > MAX_DIGITS * 4:
            raise ValueProblem(f"a number of more than {MAX_DIGITS} digits", f"MAX_DIGITS = {MAX_DIGITS}")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueProblem(f"{value!r} is not a JSON number")
        exact = Fraction(float.__repr__(value))
    elif isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueProblem(f"{value} is not a JSON number")
        exponent = value.as_tuple().exponent
        if abs(value.adjusted()) > MAX_DIGITS or abs(int(exponent)) > MAX_DIGITS:
            raise ValueProblem(f"a number of more than {MAX_DIGITS} digits", f"MAX_DIGITS = {MAX_DIGITS}")
        exact = Fraction(value)
    elif isinstance(value, Fraction):
        exact = value
    elif isinstance(value, int) and not isinstance(value, bool):
        return exact_number(int(value))
    else:
        _not_json(value)
    return exact.numerator if exact.denominator == 1 else exact


def exact_text(value: str) -> str:
    """`value` as a plain str. Raises `ValueProblem` where it holds a lone surrogate, which UTF-8 cannot write."""
    text = value if type(value) is str else str.__str__(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueProblem(f"{text!a} holds a lone surrogate, which is not Unicode text") from None
    return text


def exact_value(value: object, depth: int = 0) -> object:
    """A deep copy of a JSON value with exact numbers: None, bool, int, Fraction, str, list, dict."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return exact_text(value)
    if is_number(value):
        return exact_number(value)
    if depth > MAX_VALUE_DEPTH:
        raise ValueProblem(
            f"a value nested more than {MAX_VALUE_DEPTH} levels deep", f"MAX_VALUE_DEPTH = {MAX_VALUE_DEPTH}"
        )
    if isinstance(value, list | tuple):
        return [exact_value(item, depth + 1) for item in value]
    if isinstance(value, dict):
        members = {}
        for name, member in value.items():
            if not isinstance(name, str):
                raise ValueProblem(f"the name {name!r} of a member is not a string")
            members[exact_text(name)] = exact_value(member, depth + 1)
        return members
    return _not_json(value)


def identity(value: object) -> Hashable:
    """A key that two exact values share when and only when they are equal as JSON values."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ("object", frozenset((name, identity(member)) for name, member in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(identity, value)))
    if value is None or isinstance(value, bool):
        return ("constant", str(value))
    return ("number", value)  # equal int and Fraction hash alike


_ATOMS: dict[type, int] = {type(None): NULL, bool: BOOLEAN, str: STRING, list: ARRAY, dict: OBJECT}


def atoms_of(values: list[object]) -> int:
    """Mask of the type atoms that occur in a list of exact values; every number counts as both kinds of number."""
    mask = 0
    atom: Callable[[type, int], int] = _ATOMS.get
    for value in values:
        mask |= atom(type(value), NUMBER)
    return mask


def _not_json(value: object) -> NoReturn:
    raise ValueProblem(f"{type(value).__name__} objects are not JSON values")
