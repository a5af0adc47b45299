"""The errors of the library. Every one is a `ConstrainError`; messages name the place and the way out."""

from __future__ import annotations

from typing import Any


class ConstrainError(Exception):
    """Base of all errors raised on purpose by this library."""


class _SchemaError(ConstrainError):
    """An error at one place of a schema or pattern.

    Attributes:
        pointer: JSON pointer (RFC 6901) of the schema object concerned, "" for the root.
        keyword: the keyword concerned, or "" when it is not about one keyword.
        reason: what is wrong, and what to do about it.
    """

    def __init__(self, pointer: str, keyword: str, reason: str) -> None:
        self.pointer, self.keyword, self.reason = pointer, keyword, reason
        place = f"at {pointer or '(root)'}" + (f", {keyword!r}" if keyword else "")
        super().__init__(f"{place}: {reason}")

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.pointer, self.keyword, self.reason)


class InvalidSchemaError(_SchemaError, ValueError):
    """The schema or pattern is not well-formed."""


class UnsupportedSchemaError(_SchemaError, NotImplementedError):
    """The schema is well-formed, but a keyword cannot be enforced exactly."""


class UnsatisfiableSchemaError(_SchemaError, ValueError):
    """No value is valid under the schema."""


class ResourceLimitError(_SchemaError):
    """A limit was reached. `limit` names it and gives its value."""

    def __init__(self, pointer: str, keyword: str, reason: str, limit: str = "") -> None:
        super().__init__(pointer, keyword, reason)
        self.limit = limit

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str]]:  # type: ignore[override]
        return type(self), (self.pointer, self.keyword, self.reason, self.limit)


class VocabularyError(ConstrainError, ValueError):
    """A tokenizer's tokens could not be turned into bytes with certainty. `check` names the check that failed."""

    def __init__(self, check: str, reason: str) -> None:
        self.check, self.reason = check, reason
        super().__init__(f"{check}: {reason}")

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.check, self.reason)


class ToolFormatError(ConstrainError, ValueError):
    """A tool-call format is not well-formed, or not known. `format` and `field` name the place.

    Where a format should have been told and could not, they are "auto" and "format", and the message is the reason
    alone.
    """

    def __init__(self, format: str, field: str, reason: str) -> None:
        self.format, self.field, self.reason = format, field, reason
        untold = (format, field) == ("auto", "format")
        super().__init__(reason if untold else f"format {format!r}, {field}: {reason}")

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.format, self.field, self.reason)


class ToolCallParseError(ConstrainError, ValueError):
    """A text could not be parsed as tool calls.

    Attributes:
        kind: "truncated", where more text could have made it right; "malformed"; "unknown_tool"; "wrong_arguments".
        position: offset in the text that was parsed.
        reason: what was expected and what came.
        hint: what whoever parses can do about it, "" for nothing; no concern of the model's.
    """

    def __init__(self, kind: str, position: int, reason: str, hint: str = "") -> None:
        self.kind, self.position, self.reason, self.hint = kind, position, reason, hint
        super().__init__(f"{kind} at {position}: {reason}{hint and '; '}{hint}")

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.kind, self.position, self.reason, self.hint)

    @property
    def feedback(self) -> str:
        """A text for the model, to be sent back as the result of the call."""
        what = "was cut off" if self.kind == "truncated" else "could not be read"
        return f"The tool call {what} at character {self.position}: {self.reason}. Write the call again, complete."
