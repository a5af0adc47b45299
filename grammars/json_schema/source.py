"""Reading what a caller calls a schema: a dict, a boolean, JSON text, or a Pydantic model.

Text is parsed with its numbers intact: integers as int, other numbers as `Decimal`, which keeps a text such as 1e-400
that a float would lose. A dict is taken as it is, without a copy; what it holds is checked where it is read, so that
parts of a schema that constrain nothing cost nothing.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation

from constrain.grammars.errors import InvalidSchemaError, ResourceLimitError
from constrain.grammars.json_schema.values import kind


def read_source(schema: object) -> dict[object, object] | bool:
    """The schema as Python containers. Raises `InvalidSchemaError` where it is no schema at all."""
    if isinstance(schema, dict | bool):
        return schema
    if isinstance(schema, str | bytes | bytearray):
        parsed = _parse(schema)
        if isinstance(parsed, dict | bool):
            return parsed
        raise InvalidSchemaError("", "", f"a schema is a JSON object or a boolean; this text holds {kind(parsed)}")
    method = getattr(schema, "model_json_schema", None)
    if callable(method):
        try:
            written = method()
        except Exception as error:
            raise InvalidSchemaError("", "", f"model_json_schema() failed: {error}") from error
        if isinstance(written, dict | bool):
            return written
        raise InvalidSchemaError("", "", f"model_json_schema() returned {kind(written)} in place of a dict")
    raise InvalidSchemaError(
        "",
        "",
        f"a schema is a dict, a boolean, JSON text or a Pydantic v2 model, not {_named(schema)}"
        + (" (for other types, pass pydantic.TypeAdapter(T).json_schema())" if isinstance(schema, type) else ""),
    )


def refuse_cycles(schema: object) -> None:
    """Raises `InvalidSchemaError` when a Python container holds itself, which no JSON text does."""
    on_path: set[int] = set()
    done: set[int] = set()
    stack: list[tuple[object, bool]] = [(schema, False)]
    while stack:
        value, leaving = stack.pop()
        if leaving:
            on_path.discard(id(value))
            done.add(id(value))
            continue
        if not isinstance(value, dict | list | tuple) or id(value) in done:
            continue
        if id(value) in on_path:
            raise InvalidSchemaError("", "", "a Python container in the schema holds itself; write recursion as $ref")
        on_path.add(id(value))
        stack.append((value, True))
        stack.extend((member, False) for member in (value.values() if isinstance(value, dict) else value))


def _parse(text: str | bytes | bytearray) -> object:
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        hint = "" if text.strip()[:1] in ("{", b"{") else "; a path must be read, and its text passed, by the caller"
        raise InvalidSchemaError("", "", f"the text is not JSON: {error.msg} at {where}{hint}") from None
    except UnicodeDecodeError as error:
        raise InvalidSchemaError("", "", f"the bytes are not UTF-8, UTF-16 or UTF-32 text: {error}") from None
    except RecursionError:
        raise ResourceLimitError(
            "", "", "the text nests too deeply for Python's JSON parser", "sys.getrecursionlimit()"
        ) from None
    except (ValueError, InvalidOperation) as error:
        if isinstance(error, InvalidSchemaError):
            raise
        raise ResourceLimitError("", "", f"a number in the text has too many digits: {error}", "digits") from None


def _refuse_constant(name: str) -> object:
    raise InvalidSchemaError("", "", f"the text is not JSON: {name} is not a JSON number")


def _named(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else kind(value)
