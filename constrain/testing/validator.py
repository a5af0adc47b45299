"""One independent verdict on a value, from the most trustworthy validator that is installed.

jsonschema-rs with formats asserted passes all but one required test per draft of the official suite, and its decimal
arithmetic is exact, so it is preferred, except for patterns with `\\b`, which it reads in the Unicode way. Python's
`jsonschema` is the alternative, with its known faults put right: patterns by Python's `re`, binary `multipleOf`, the
empty pattern in `patternProperties`, equality of numbers and booleans, formats that pass unread. What neither can
decide raises `CannotJudge`; nothing is guessed.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

import jsonschema

from constrain.testing.ecma_regex import Untranslatable, compile_ecma
from constrain.testing.format_checks import CHECKS, FORMATS_SINCE
from constrain.testing.json_values import exact, identity, is_number, spellable, type_of

try:
    import jsonschema_rs
except ImportError:  # the extra is complete without it
    jsonschema_rs = None  # type: ignore[assignment]

Backend = Literal["jsonschema-rs", "jsonschema"]

BACKENDS: tuple[Backend, ...] = ("jsonschema-rs", "jsonschema") if jsonschema_rs is not None else ("jsonschema",)
"""The validators that are installed, the preferred one first."""

_DRAFTS = {
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}
_CLASSES = {
    4: jsonschema.Draft4Validator,
    6: jsonschema.Draft6Validator,
    7: jsonschema.Draft7Validator,
    2019: jsonschema.Draft201909Validator,
    2020: jsonschema.Draft202012Validator,
}
_CLASS_NAMES = {
    4: "Draft4Validator",
    6: "Draft6Validator",
    7: "Draft7Validator",
    2019: "Draft201909Validator",
    2020: "Draft202012Validator",
}


class CannotJudge(Exception):
    """No installed validator can be trusted to decide this schema or value."""


def draft_of(schema: Any) -> int:
    """The draft of a schema: 4, 6, 7, 2019 or 2020. Without a known `$schema` it is 2020."""
    named = schema.get("$schema") if isinstance(schema, dict) else None
    return _DRAFTS.get(named.rstrip("#"), 2020) if isinstance(named, str) else 2020


class Validator:
    """A schema, ready to judge values.

    Args:
        schema: the schema, as Python containers.
        backend: the validator to use; by default jsonschema-rs where it is installed and can build the schema, else
            `jsonschema`.

    Attributes:
        backend: the validator in use.

    Raises:
        CannotJudge: the validator cannot build the schema.

    Example:
        >>> Validator({"multipleOf": 0.01}).is_valid(4.35)
        True
    """

    backend: Backend

    def __init__(self, schema: Any, *, backend: Backend | None = None) -> None:
        self.schema = schema
        self._by_spelling = draft_of(schema) == 4  # there 1.0 is no integer
        self._is_valid: Callable[[Any], bool]
        problems = []
        for name in (backend,) if backend else BACKENDS:
            try:
                self._is_valid, self._errors = (_build_rust if name == "jsonschema-rs" else _build_pure)(schema)
            except CannotJudge as problem:
                problems.append(f"{name}: {problem}")
                continue
            self.backend = name
            return
        raise CannotJudge("; ".join(problems))

    def is_valid(self, instance: Any) -> bool:
        """Whether a value (numbers as int, float or `Decimal`) is valid. Raises `CannotJudge`."""
        try:
            return bool(self._is_valid(instance if self._by_spelling else _whole(instance)))
        except CannotJudge:
            raise
        except Exception as error:  # of a validator: a reference without a target, a lone surrogate, a regex too long
            raise CannotJudge(f"{self.backend}: {type(error).__name__}: {error}") from error

    def faults(self, instance: Any) -> list[tuple[str, str]]:
        """Why a value is invalid: JSON pointers into the schema, with messages. Empty when it is valid."""
        try:
            return list(self._errors(instance if self._by_spelling else _whole(instance)))
        except Exception as error:
            raise CannotJudge(f"{self.backend}: {type(error).__name__}: {error}") from error


def is_valid(schema: Any, instance: Any) -> bool:
    """Whether a value is valid under a schema. Raises `CannotJudge` where no validator can be trusted with it."""
    return Validator(schema).is_valid(instance)


def _whole(value: Any) -> Any:
    """The value with large integral decimals as integers: jsonschema-rs compares them with bounds as floats."""
    if isinstance(value, Decimal):
        large = value.is_finite() and _EXACT < abs(value) < Decimal(10) ** 400
        return int(value) if large and value == value.to_integral_value() else value
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {name: _whole(member) for name, member in value.items()}
    return value


_EXACT = 1 << 53
"""Integers up to here are exact as floats."""


def _pointer(path: Any) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


# --- jsonschema-rs

_WORD_BOUNDARY = re.compile(r"\\[bB]")


def _patterns(schema: Any) -> Iterator[str]:
    """All patterns in a schema, and what looks like one."""
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), dict):
            yield from schema["patternProperties"]
        for part in schema.values():
            yield from _patterns(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _patterns(part)


def _decimals(value: Any) -> Any:
    """The value with every float as the decimal that its `repr` writes: as floats, 1e300 and 10**300 would differ."""
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else value
    if isinstance(value, list):
        return [_decimals(item) for item in value]
    if isinstance(value, dict):
        return {name: _decimals(member) for name, member in value.items()}
    return value


@lru_cache(maxsize=1)
def _reads_decimals() -> bool:
    """Whether this jsonschema-rs takes `Decimal` in schemas and values."""
    try:
        validator = jsonschema_rs.validator_for({"maximum": Decimal("1E+300")})
        return bool(validator.is_valid(Decimal("1E+300"))) and not validator.is_valid(10**300 + 1)
    except Exception:
        return False


@lru_cache(maxsize=32)
def _format_of_2020(name: str) -> Callable[[str], bool]:
    check: Callable[[str], bool] = jsonschema_rs.validator_for({"format": name}, validate_formats=True).is_valid
    return check


def _build_rust(schema: Any) -> tuple[Callable[[Any], bool], Callable[[Any], Iterator[tuple[str, str]]]]:
    if jsonschema_rs is None:
        raise CannotJudge("jsonschema-rs is not installed")
    draft = draft_of(schema)
    if any(_WORD_BOUNDARY.search(pattern) for pattern in _patterns(schema)):
        raise CannotJudge("jsonschema-rs takes letters of all scripts for word characters at \\b")
    # It knows a format only from the draft on that defines it.
    newer = {name: _format_of_2020(name) for name, since in FORMATS_SINCE.items() if since > draft}
    build = getattr(jsonschema_rs, _CLASS_NAMES[draft])
    read = _decimals if _reads_decimals() else _as_it_is
    try:
        schema = read(schema)
        validator = (
            build(schema, validate_formats=True, formats=newer) if newer else build(schema, validate_formats=True)
        )
    except Exception as error:
        raise CannotJudge(f"cannot build the schema: {str(error).splitlines()[0]}") from error

    def errors(instance: Any) -> Iterator[tuple[str, str]]:
        for error in validator.iter_errors(read(instance)):
            yield _pointer(error.schema_path), error.message

    def is_valid(instance: Any) -> bool:
        return bool(validator.is_valid(read(instance)))

    return is_valid, errors


def _as_it_is(value: Any) -> Any:
    return value


# --- jsonschema, put right


def _build_pure(schema: Any) -> tuple[Callable[[Any], bool], Callable[[Any], Iterator[tuple[str, str]]]]:
    draft = draft_of(schema)
    if _mentions(schema, ("unevaluatedProperties", "unevaluatedItems")) and _mentions(
        schema, ("patternProperties", "$dynamicRef", "$recursiveRef")
    ):
        raise CannotJudge("jsonschema finds unevaluated members by Python's re")
    if draft == 2019 and _mentions(schema, ("unevaluatedProperties",)) and _mentions(schema, ("additionalProperties",)):
        raise CannotJudge("jsonschema misreads unevaluatedProperties beside additionalProperties in 2019-09")
    if isinstance(schema, dict):
        # By its `$schema`, a reference to the root would be followed with the class that has the faults.
        schema = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
    validator = _pure_class(draft)(schema, format_checker=_PURE_FORMATS)

    def is_valid(instance: Any) -> bool:
        if not spellable(instance):
            raise CannotJudge("a lone surrogate or an infinite number")
        return bool(validator.is_valid(instance))

    def errors(instance: Any) -> Iterator[tuple[str, str]]:
        for error in validator.iter_errors(instance):
            yield _pointer(error.absolute_schema_path), error.message

    return is_valid, errors


def _mentions(schema: Any, keywords: tuple[str, ...]) -> bool:
    if isinstance(schema, dict):
        return any(name in schema for name in keywords) or any(_mentions(v, keywords) for v in schema.values())
    return isinstance(schema, list) and any(_mentions(item, keywords) for item in schema)


def _fault(message: str) -> Iterator[Any]:
    yield jsonschema.ValidationError(message)


def _searches(pattern: str, text: str) -> bool:
    try:
        return compile_ecma(pattern).search(text) is not None
    except Untranslatable as error:
        raise CannotJudge(f"the pattern {pattern!r}: {error}") from error


def _pattern(_validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _searches(pattern, instance):
        yield from _fault(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for pattern, subschema in patterns.items():
            for name, member in instance.items():
                if _searches(pattern, name):
                    yield from validator.descend(member, subschema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, additional: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    patterns = schema.get("patternProperties", {})
    for name, member in instance.items():
        if name not in schema.get("properties", {}) and not any(_searches(p, name) for p in patterns):
            yield from validator.descend(member, additional, path=name)


def _bound(holds: Callable[[Any, Any], bool], strictly: Callable[[Any, Any], bool], modifier: str) -> Any:
    def check(_validator: Any, bound: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if is_number(instance):
            test = strictly if schema.get(modifier) is True else holds
            if not test(exact(instance), exact(bound)):
                yield from _fault(f"{instance} breaks the bound {bound}")

    return check


def _multiple_of(_validator: Any, divisor: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if is_number(instance) and exact(instance) % exact(divisor):
        yield from _fault(f"{instance} is not a multiple of {divisor}")


def _const(_validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if identity(instance) != identity(value):
        yield from _fault(f"{instance!r} is not {value!r}")


def _enum(_validator: Any, members: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if identity(instance) not in {identity(member) for member in members}:
        yield from _fault(f"{instance!r} is none of {members!r}")


def _unique_items(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if wanted and isinstance(instance, list) and len({identity(item) for item in instance}) < len(instance):
        yield from _fault("items are equal")


def _format(_validator: Any, name: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not isinstance(instance, str) or name not in FORMATS_SINCE:
        return
    if name not in CHECKS:
        raise CannotJudge(f"jsonschema cannot be trusted with the format {name!r}")
    if not CHECKS[name](instance):
        yield from _fault(f"{instance!r} is no {name}")


_PURE_FORMATS = jsonschema.FormatChecker(formats=())


@lru_cache(maxsize=8)
def _pure_class(draft: int) -> Any:
    base = _CLASSES[draft]
    at_least = _bound(lambda a, b: a >= b, lambda a, b: a > b, "exclusiveMinimum" if draft == 4 else "")
    at_most = _bound(lambda a, b: a <= b, lambda a, b: a < b, "exclusiveMaximum" if draft == 4 else "")
    checks: dict[str, Any] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "multipleOf": _multiple_of,
        "minimum": at_least,
        "maximum": at_most,
        "enum": _enum,
        "uniqueItems": _unique_items,
        "format": _format,
    }
    if draft >= 6:
        checks["const"] = _const
        checks["exclusiveMinimum"] = _bound(lambda a, b: a > b, lambda a, b: a > b, "")
        checks["exclusiveMaximum"] = _bound(lambda a, b: a < b, lambda a, b: a < b, "")
    types = base.TYPE_CHECKER.redefine("number", lambda _checker, value: is_number(value)).redefine(
        "integer", lambda _checker, value: type_of(value, draft_4=draft == 4) == "integer"
    )
    return jsonschema.validators.extend(base, validators=checks, type_checker=types)


def agree(schema: Any, instance: Any) -> bool | None:
    """The verdict that all installed validators share; None where they differ or one cannot judge."""
    verdicts = set()
    with contextlib.suppress(CannotJudge):
        for backend in BACKENDS:
            verdicts.add(Validator(schema, backend=backend).is_valid(instance))
        if len(verdicts) == 1:
            return verdicts.pop()
    return None
