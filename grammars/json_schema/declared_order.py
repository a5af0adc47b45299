"""The order in which a schema declares the members of an object.

An object may be described in many places: its own `properties`, those of an `allOf` or of what a `$ref` leads to, of
each branch of an `anyOf`. A name is declared where it first comes up when these places are read as they are written,
each part of a conjunction and each branch at its place among the keywords. What only tests the value (`if`, `not`) is
read after everything else. So one order holds for all alternatives of an object, and those that are followed side by
side agree on it; of alternatives that write the same names in different orders the first one counts.

Objects that `enum` and `const` give as a whole declare their members in the order in which they are written there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from constrain.grammars.json_schema.ir import Subschema


def declared_names(subschemas: Sequence[Subschema], signed: Iterable[int]) -> tuple[str, ...]:
    """The names of members that some subschemas, and all they apply in place, declare; each once, in order.

    Args:
        subschemas: those of a document that was loaded with `declared_order`.
        signed: what holds for one value: indices i, or ~i for "not i". Of several that do not contain each other, that
            comes first to which the schema, read from its root, comes first.
    """
    holding = sorted(i for i in signed if i >= 0)
    inner = {part for i in holding for part in subschemas[i].in_place()}
    names: dict[str, None] = {}
    read: set[int] = set()
    tested = sorted((~i for i in signed if i < 0), reverse=True)
    stack = [*tested, *(i for i in reversed(holding) if i not in inner)]  # the last is read first
    while stack:
        at = stack.pop()
        if at < 0:  # what subschema ~at itself names
            s = subschemas[~at]
            names.update(dict.fromkeys(s.properties))
            for value in s.values or ():
                if isinstance(value, dict):
                    names.update(dict.fromkeys(value))
        elif at not in read:
            read.add(at)
            s = subschemas[at]
            others = [part for part in s.in_place() if part not in s.written]
            stack += reversed([*s.written[: s.names_at], ~at, *s.written[s.names_at :], *others])
    return tuple(names)
