"""Refused texts that a grammar's documented narrowings excuse.

A narrowing leaves out spellings of numbers with an exponent, or, for some formats, rare texts that have the format. An
excuse is only taken where the grammar lists it: for an exponent, the plain spelling of the same value must be accepted;
for a format, the text must be accepted once the formats that are listed as narrowed are taken out of the schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from constrain.grammars.errors import ConstrainError
from constrain.grammars.languages.number import NumberConstraint, spelling_narrowings
from constrain.testing.json_values import plain_text, read_exactly

_FREE_EXPONENTS = frozenset(
    spelling_narrowings(NumberConstraint()) + spelling_narrowings(NumberConstraint(integer=True))
)
"""Narrowings that leave every exponent that is not negative, after one digit and a short fraction."""

_EXPONENT = re.compile(r"\d(?:\.(\d+))?[eE]([+-]?\d+)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


class Excuses:
    """The excuses of one grammar.

    Args:
        schema: the schema it was made of.
        grammar: the grammar.
        accepts: the engine's verdict on a whole text.
    """

    def __init__(self, schema: Any, grammar: Any, accepts: Callable[[str], bool]) -> None:
        self._schema, self._accepts = schema, accepts
        numbers = {n.reason for n in grammar.narrowings if n.keyword in ("type", "enum", "uniqueItems")}
        self._narrows_numbers = bool(numbers)
        self._takes_exponents = numbers <= _FREE_EXPONENTS
        self._formats = sorted({n.pointer for n in grammar.narrowings if n.keyword == "format"})
        self._wider: Callable[[str], bool] | None = None

    def excuse(self, text: str) -> bool:
        """Whether the refusal of a valid text is documented."""
        plain = plain_text(read_exactly(text))
        exponents = has_exponent(text)
        if exponents and self._promised(text):
            exponents = False
        if exponents and self._narrows_numbers and self._accepts(plain):
            return True
        return bool(self._formats) and self._accepts_without_formats(plain if exponents else text)

    def _promised(self, text: str) -> bool:
        found = _EXPONENT.findall(_STRING.sub("", text))
        return self._takes_exponents and all(0 <= int(e) <= 307 and len(digits) <= 17 for digits, e in found)

    def _accepts_without_formats(self, text: str) -> bool:
        import constrain
        from constrain.testing.default_vocabulary import default_vocabulary

        if self._wider is None:
            wider = json.loads(json.dumps(self._schema))
            for pointer in self._formats:
                _at(wider, pointer).pop("format", None)
            try:
                start = constrain.json_schema(wider).compile(default_vocabulary()).matcher()
            except ConstrainError:
                self._wider = lambda _: False
            else:

                def accepts(text: str) -> bool:
                    matcher = start.fork()
                    return bool(matcher.accept_bytes(text.encode()) and matcher.is_accepting)

                self._wider = accepts
        return self._wider(text)


def has_exponent(text: str) -> bool:
    """Whether a number in a JSON text is written with an exponent."""
    return _EXPONENT.search(_STRING.sub("", text)) is not None


def _at(schema: Any, pointer: str) -> dict[str, Any]:
    """The schema object at a JSON pointer; an empty one where there is none."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict) and name in schema:
            schema = schema[name]
        elif isinstance(schema, list) and name.isdigit() and int(name) < len(schema):
            schema = schema[int(name)]
        else:
            return {}
    return schema if isinstance(schema, dict) else {}
