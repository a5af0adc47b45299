"""Who is right where an engine and a corpus's label differ: asked of jsonschema-rs, then of Python's jsonschema.

jsonschema-rs with formats asserted reproduces MaskBench's labels on 36,970 of 37,011 instances, so its word decides;
the other is asked where it cannot build the schema. A valid value that is refused only in its spelling (an exponent,
a zero after the point) is told apart, since a documented narrowing may exclude it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

Cause = Literal["engine accepts invalid", "engine refuses valid", "spelling", "label", "undecided"]


def is_valid(schema: Any, instance: Any) -> bool | None:
    """The validators' verdict; None where neither can build the schema or decide."""
    import jsonschema
    import jsonschema_rs

    builders: tuple[Callable[[], bool], ...] = (
        lambda: bool(jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(instance)),
        lambda: bool(
            jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)(
                schema, format_checker=jsonschema.FormatChecker()
            ).is_valid(instance)
        ),
    )
    for build in builders:
        try:
            return build()
        except Exception:
            continue
    return None


def plain_text(instance: Any) -> str:
    """`json.dumps(instance, ensure_ascii=False)` with numbers spelled without exponent and without a zero fraction."""
    if isinstance(instance, float):
        text = format(Decimal(repr(instance)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(instance, list):
        return "[" + ", ".join(map(plain_text, instance)) + "]"
    if isinstance(instance, dict):
        members = (json.dumps(k, ensure_ascii=False) + ": " + plain_text(v) for k, v in instance.items())
        return "{" + ", ".join(members) + "}"
    return json.dumps(instance, ensure_ascii=False)


def cause(schema: Any, instance: Any, *, accepted: bool, accepts: Callable[[str], bool]) -> Cause:
    """Why an engine's verdict and a label differ.

    Args:
        schema: the schema.
        instance: the value concerned.
        accepted: the engine's verdict; the label is the opposite.
        accepts: the engine's verdict on another text.
    """
    truth = is_valid(schema, instance)
    if truth is None:
        return "undecided"
    if truth == accepted:
        return "label"
    if accepted:
        return "engine accepts invalid"
    plain = plain_text(instance)
    if plain != json.dumps(instance, ensure_ascii=False) and accepts(plain):
        return "spelling"
    return "engine refuses valid"
