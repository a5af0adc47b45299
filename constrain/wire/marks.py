"""What strings of arguments may not hold as they are written, by the notation of a format."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from constrain.grammars.tool_formats.dialects import BareArguments, PythonArguments, TaggedArguments
from constrain.grammars.tool_formats.format import Format
from constrain.wire.texts import FOUND, search_table


def forbidden_texts(format: Format) -> tuple[str, ...]:
    """The texts that no string of an argument may hold, the tag that ends one among them."""
    dialect = format.arguments
    tags = (dialect.end_tag,) if isinstance(dialect, TaggedArguments) else ()
    return tuple(dict.fromkeys((*format.forbidden, *tags)))


def marks_of(format: Format) -> NDArray[np.int32]:
    """The automaton of what is forbidden within the strings of a value's JSON; see `search_table`."""
    texts = forbidden_texts(format)
    if isinstance(format.arguments, BareArguments):  # typed: what the text holds, the JSON holds spelled
        texts = tuple(json.dumps(text, ensure_ascii=False)[1:-1] for text in texts)
    table = search_table(text.encode() for text in texts)
    return _with(table, _NOT_PYTHON) if isinstance(format.arguments, PythonArguments) else table


def _with(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int32]:
    """The automaton of what one or the other forbids: states are pairs."""
    count = second.shape[0]
    out = np.full((first.shape[0] * count, 256), FOUND, dtype=np.int32)
    for a in range(first.shape[0]):
        for b in range(count):
            both = first[a] * count + second[b]
            out[a * count + b] = np.where((first[a] == FOUND) | (second[b] == FOUND), FOUND, both)
    return out


def _not_python() -> NDArray[np.int32]:
    r"""JSON's escapes that Python reads otherwise: `\/`, and halves of surrogate pairs."""
    plain, backslash, code, surrogate = range(4)
    table = np.zeros((4, 256), dtype=np.int32)
    table[plain, ord("\\")] = backslash
    table[backslash, ord("/")] = FOUND
    table[backslash, ord("u")] = code
    table[code, [ord("d"), ord("D")]] = surrogate
    table[surrogate, list(b"89abAB")] = FOUND
    table[surrogate, list(b"cdefCDEF")] = FOUND
    return table


_NOT_PYTHON = _not_python()
