"""Every error the library raises on purpose, in one place.

Errors about schemas, vocabularies and parsing belong to `constrain.grammars.errors` and are only named again here. The
errors of a running generation are defined here: they concern logits and batches, which grammars know nothing of. They
stop a generation instead of letting it go on without its constraint.
"""

from __future__ import annotations

from constrain.grammars.errors import (
    ConstrainError,
    InvalidSchemaError,
    ResourceLimitError,
    ToolCallParseError,
    ToolFormatError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    VocabularyError,
)

__all__ = [
    "ConstrainError",
    "GenerationError",
    "InvalidSchemaError",
    "LogitsWidthError",
    "NoAllowedTokenError",
    "ProcessorReuseError",
    "ResourceLimitError",
    "TokenBudgetError",
    "ToolCallParseError",
    "ToolFormatError",
    "UnsatisfiableSchemaError",
    "UnsupportedSchemaError",
    "VocabularyError",
]


class GenerationError(ConstrainError, RuntimeError):
    """A generation cannot go on under its constraint."""


class NoAllowedTokenError(GenerationError):
    """No token the model can emit is allowed on a row that is not finished. `row` is the index in the batch."""

    def __init__(self, row: int, reason: str) -> None:
        self.row, self.reason = row, reason
        super().__init__(f"row {row}: {reason}")

    def __reduce__(self) -> tuple[type, tuple[int, str]]:
        return type(self), (self.row, self.reason)


class LogitsWidthError(GenerationError, ValueError):
    """Logits of another width than the model's reached the processor, and not from a draft model; or the vocabulary is
    plainly that of another model.
    """


class ProcessorReuseError(GenerationError):
    """A processor met the rows of another `generate` call and cannot tell where their prompt ends."""


class TokenBudgetError(GenerationError, ValueError):
    """No completion is known that fits into the tokens that may be generated.

    `row` is the index in the batch, `left` the tokens left, `needed` those that are known to be enough; None where no
    number is.
    """

    def __init__(self, row: int, left: int, needed: int | None) -> None:
        self.row, self.left, self.needed = row, left, needed
        known = "no number is known to be enough" if needed is None else f"{needed} are known to be enough"
        super().__init__(f"row {row}: {left} tokens are left to complete the output; {known}: raise max_new_tokens")

    def __reduce__(self) -> tuple[type, tuple[int, int, int | None]]:
        return type(self), (self.row, self.left, self.needed)
