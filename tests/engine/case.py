"""What a test schema comes with: values it admits and values it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """A schema, values it admits and values it does not."""

    schema: Any
    valid: list[Any]
    invalid: list[Any] = field(default_factory=list)
