"""Grammar-constrained decoding of tool calls.

    import constrain

    vocabulary = constrain.Vocabulary.from_tokenizer(tokenizer)
    compiled = constrain.json_schema(schema).compile(vocabulary)
    model.generate(**inputs, logits_processor=[constrain.ConstrainedLogitsProcessor(compiled)])

The names below are imported when first used: `import constrain` loads neither numba nor torch nor transformers.
"""

from __future__ import annotations

import importlib as _importlib
import os as _os
from typing import TYPE_CHECKING

_here = _os.path.dirname(_os.path.abspath(__file__))
if not _os.path.isdir(_os.path.join(_here, "grammars")):
    # Imported from the repository root without an install: the other rooms stand beside this folder.
    __path__.append(_os.path.dirname(_here))

if TYPE_CHECKING:
    from constrain import errors
    from constrain.engine import (
        CompiledGrammar,
        Grammar,
        Matcher,
        MatcherBatch,
        accept_tokens,
        apply_token_bitmask,
        fill_next_token_bitmasks,
        json_schema,
        regex,
        warm_up,
    )
    from constrain.errors import (
        ConstrainError,
        GenerationError,
        InvalidSchemaError,
        LogitsWidthError,
        NoAllowedTokenError,
        ProcessorReuseError,
        ResourceLimitError,
        TokenBudgetError,
        ToolCallParseError,
        UnsatisfiableSchemaError,
        UnsupportedSchemaError,
        VocabularyError,
    )
    from constrain.generation import ToolCallResult, generate_tool_calls, tool_format_of
    from constrain.jump import jump_generate
    from constrain.logits_processor import ConstrainedLogitsProcessor
    from constrain.mass import MassRecord, read_records, write_records
    from constrain.tools import Tool, ToolCall, ToolChoice, chat_turn, read_tool_choice, read_tools
    from constrain.vocabulary import Vocabulary
    from constrain.wire.grammar import tool_calls

__version__ = "0.1.0"

__all__ = [
    "CompiledGrammar",
    "ConstrainError",
    "ConstrainedLogitsProcessor",
    "GenerationError",
    "Grammar",
    "InvalidSchemaError",
    "LogitsWidthError",
    "MassRecord",
    "Matcher",
    "MatcherBatch",
    "NoAllowedTokenError",
    "ProcessorReuseError",
    "ResourceLimitError",
    "TokenBudgetError",
    "Tool",
    "ToolCall",
    "ToolCallParseError",
    "ToolCallResult",
    "ToolChoice",
    "UnsatisfiableSchemaError",
    "UnsupportedSchemaError",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "accept_tokens",
    "apply_token_bitmask",
    "chat_turn",
    "errors",
    "fill_next_token_bitmasks",
    "generate_tool_calls",
    "json_schema",
    "jump_generate",
    "read_records",
    "read_tool_choice",
    "read_tools",
    "regex",
    "tool_calls",
    "tool_format_of",
    "warm_up",
    "write_records",
]

_HOMES = {
    "Vocabulary": "constrain.vocabulary",
    "ConstrainedLogitsProcessor": "constrain.logits_processor",
    "MassRecord": "constrain.mass",
    "read_records": "constrain.mass",
    "write_records": "constrain.mass",
    "Tool": "constrain.tools",
    "ToolCall": "constrain.tools",
    "ToolChoice": "constrain.tools",
    "chat_turn": "constrain.tools",
    "read_tool_choice": "constrain.tools",
    "read_tools": "constrain.tools",
    "ToolCallResult": "constrain.generation",
    "generate_tool_calls": "constrain.generation",
    "tool_format_of": "constrain.generation",
    "jump_generate": "constrain.jump",
    "CompiledGrammar": "constrain.engine",
    "Grammar": "constrain.engine",
    "Matcher": "constrain.engine",
    "MatcherBatch": "constrain.engine",
    "accept_tokens": "constrain.engine",
    "fill_next_token_bitmasks": "constrain.engine",
    "apply_token_bitmask": "constrain.engine",
    "json_schema": "constrain.engine",
    "regex": "constrain.engine",
    "tool_calls": "constrain.wire.grammar",
    "warm_up": "constrain.engine",
}


def __getattr__(name: str) -> object:
    if name == "errors":
        return _importlib.import_module("constrain.errors")
    if name not in __all__:
        raise AttributeError(f"module 'constrain' has no attribute {name!r}")
    value = getattr(_importlib.import_module(_HOMES.get(name, "constrain.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
