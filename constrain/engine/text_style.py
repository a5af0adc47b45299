"""Which of the many JSON texts of one value a grammar takes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

Whitespace = Literal["bounded", "spaced", "none"]
PropertyOrder = Literal["any", "declared"]
Escapes = Literal["any", "plain"]
_CHOICES: dict[str, Any] = {"whitespace": Whitespace, "property_order": PropertyOrder, "escapes": Escapes}


@dataclass(frozen=True, slots=True)
class TextStyle:
    """The style of a grammar's texts; see `constrain.json_schema` for what the choices mean.

    Raises:
        ValueError: a choice that there is not.
    """

    whitespace: Whitespace = "bounded"
    property_order: PropertyOrder = "any"
    escapes: Escapes = "any"

    def __post_init__(self) -> None:
        for field in fields(self):
            chosen, choices = getattr(self, field.name), get_args(_CHOICES[field.name])
            if chosen not in choices:
                listed = ", ".join(f'"{c}"' for c in choices[:-1]) + f' or "{choices[-1]}"'
                raise ValueError(f"{field.name} must be {listed}, not {chosen!r}")
