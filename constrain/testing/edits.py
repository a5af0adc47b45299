"""Values one edit away from a value, and texts one edit away from JSON.

An edit changes one part: a member is dropped, renamed, added or exchanged, an item dropped, doubled, swapped or added,
a number moved over a bound, a string made longer, shorter or different by a character, a value given another type.
Whether the result is invalid is for a validator to say.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from constrain.testing import format_samples
from constrain.testing.choices import Choices
from constrain.testing.json_values import is_number, paths, plain_text, replaced
from constrain.testing.random_values import NAMES, random_scalar, random_value

_OTHER_TYPES: tuple[Any, ...] = (None, True, 0, 1.5, "", "a", [], {}, [None], {"a": None})


def edited(value: Any, choices: Choices, schema: Any = None) -> Any:
    """A value that differs from `value` in one part. `schema` lends the numbers and formats it mentions."""
    path, part = choices.pick(list(paths(value)))
    return replaced(value, path, _edited_part(part, choices, schema))


def _edited_part(part: Any, choices: Choices, schema: Any) -> Any:
    if choices.chance(0.15):
        return choices.pick(_OTHER_TYPES)
    if isinstance(part, dict):
        return _edited_object(part, choices)
    if isinstance(part, list):
        return _edited_array(part, choices)
    if isinstance(part, str):
        return _edited_string(part, choices, schema)
    if is_number(part):
        return _edited_number(part, choices, schema)
    return choices.pick([v for v in (None, True, False, 0, "null") if v is not part])


def _edited_object(part: dict[str, Any], choices: Choices) -> dict[str, Any]:
    absent = [name for name in NAMES if name not in part]
    kind = choices.integer(0, 3)
    if not part or kind == 0:
        return {**part, choices.pick(absent): random_value(choices, 1)}
    name = choices.pick(list(part))
    if kind == 1:
        return {n: m for n, m in part.items() if n != name}
    if kind == 2:
        fresh = [n for n in (*absent, name + "a", name[:-1], name.upper()) if n not in part]
        new = choices.pick(fresh)
        return {new if n == name else n: m for n, m in part.items()}
    return {**part, name: choices.pick(list(part.values())) if choices.chance(0.5) else random_scalar(choices)}


def _edited_array(part: list[Any], choices: Choices) -> list[Any]:
    kind = choices.integer(0, 4)
    if not part or kind == 0:
        return [*part, random_value(choices, 1)]
    at = choices.integer(0, len(part) - 1)
    if kind == 1:
        return part[:at] + part[at + 1 :]
    if kind == 2:
        return [*part, part[at]]
    if kind == 3:
        return [part[at], *part[:at], *part[at + 1 :]]
    return [*part[:at], random_scalar(choices), *part[at + 1 :]]


def _edited_string(part: str, choices: Choices, schema: Any) -> str:
    formats = [name for name in _mentioned(schema, "format") if isinstance(name, str)]
    if formats and choices.chance(0.3):
        near = format_samples.near_miss(choices.pick(formats), choices)
        if near is not None:
            return near
    lengths = [n for k in ("minLength", "maxLength") for n in _mentioned(schema, k) if isinstance(n, int) and n < 2000]
    if lengths and choices.chance(0.4):
        length = max(0, choices.pick(lengths) + choices.integer(-1, 1))
        return (part * (length // len(part) + 1) if part else "a" * length)[:length]
    kind = choices.integer(0, 4)
    char = choices.pick('aZ0 é😀"\\\n.-/x')
    at = choices.integer(0, len(part))
    if kind == 0 or not part:
        return part + char
    if kind == 1:
        return part[:at] + char + part[at:]
    at = min(at, len(part) - 1)
    if kind == 2:
        return part[:at] + part[at + 1 :]
    if kind == 3:
        return part[:at] + char + part[at + 1 :]
    return part.swapcase()


def _edited_number(part: Any, choices: Choices, schema: Any) -> Any:
    part = float(part) if isinstance(part, Decimal) else part
    words = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
    bounds = [n for word in words for n in _mentioned(schema, word) if is_number(n)]
    if bounds and choices.chance(0.5):
        return choices.pick(bounds) + choices.pick((-1, 0, 1, 0.5, -0.5, 0.25))
    kind = choices.integer(0, 4)
    if kind < 2:
        return part + choices.pick((1, -1))
    if kind == 2:
        return part + choices.pick((0.5, -0.5, 0.01))
    if kind == 3:
        return -part
    return str(part)


def _mentioned(schema: Any, keyword: str) -> list[Any]:
    """All values of a keyword anywhere in a schema."""
    found = []
    stack = [schema]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if keyword in part:
                found.append(part[keyword])
            stack += part.values()
        elif isinstance(part, list):
            stack += part
    return found


def broken_text(value: Any, choices: Choices) -> str:
    """A text that is not JSON, or writes a name twice, made from the text of a value by one edit."""
    text = plain_text(value)
    kind = choices.integer(0, 6)
    if kind == 0 and isinstance(value, dict) and value:
        name = choices.pick(list(value))
        member = plain_text({name: value[name]})[1:-1]
        if name and choices.chance(0.5):  # the same name in another spelling
            escaped = "".join(f"\\u{u:04x}" for u in _code_units(name))
            member = f'"{escaped}":{plain_text(value[name])}'
        return text[:-1] + "," + member + "}"
    if kind == 1:
        return text + choices.pick((",", "}", "]", " x", '"', "//"))
    if kind == 2:
        return choices.pick(("[", "{", ",", ":", "+", "0x", "\ufeff", "'")) + text
    if kind == 3 and text[-1] in "]}":
        return text[:-1] + "," + text[-1]
    if kind == 4 and text[0] in '"[{':
        return text[: choices.integer(0, len(text) - 1)]
    if kind == 5 and text[0] == '"':
        return text[:-1] + choices.pick(("\\", "\n", "\\x41", "\\ud800", "\t", "\\u12")) + '"'
    if kind == 6 and is_number(value):
        return choices.pick(("0" + text.lstrip("-"), text + ".", text + "e", "+" + text.lstrip("-"), "." + text))
    return choices.pick(("", " ", "nul", "True", "NaN", "-", "{", "[", '"', "Infinity", "{a:1}", "[1 2]", "'a'"))


def _code_units(text: str) -> list[int]:
    data = text.encode("utf-16-be")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
