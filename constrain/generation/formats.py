"""Which wire format the model of a tokenizer writes."""

from __future__ import annotations

from typing import Any

from constrain.grammars.tool_formats import detect_format


def chat_template_of(tokenizer: Any) -> str | None:
    """The template that a tokenizer renders conversations with tools by; None if it has none."""
    if not getattr(tokenizer, "chat_template", None):
        return None
    template: str = tokenizer.get_chat_template(tools=[{}])  # one of several may be for tools
    return template


def tool_format_of(tokenizer: Any) -> str:
    """The name of the format in which the model of a tokenizer writes calls, for `tool_calls(format=...)`.

    Args:
        tokenizer: of transformers: its chat template tells, or the tokens that were added to it.

    Raises:
        ToolFormatError: neither tells; it says what was seen, and lists the formats there are.
    """
    added: dict[str, int] = getattr(tokenizer, "get_added_vocab", dict)()
    return detect_format(chat_template_of(tokenizer), frozenset(added))
