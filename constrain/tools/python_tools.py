"""Tools from Python: functions, by what transformers reads from hints and docstrings, and Pydantic models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from constrain.tools.nullable import without_nullable
from constrain.tools.problems import ToolError
from constrain.tools.tool import Tool

_BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def tool_of_function(function: Callable[..., Any], place: str = "tool") -> Tool:
    """The tool that a Python function is, through `transformers.utils.get_json_schema`.

    Needs type hints and a docstring in Google's style that describes every argument. All arguments must be such that
    they can be passed by name. `Optional` allows null.

    Raises:
        ToolError: the function cannot be read; the message says why.
        ImportError: transformers is not installed.
    """
    name = getattr(function, "__name__", type(function).__name__)
    where = f"{place} (function {name!r})"
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ToolError(where, f"it has no signature that can be read: {error}") from None
    for parameter in parameters:
        if parameter.kind not in _BY_KEYWORD:
            raise ToolError(where, f"the argument {str(parameter)!r} cannot be passed by name; write out all arguments")
    try:
        from transformers.utils import get_json_schema
    except ImportError as error:
        raise ImportError(
            "reading Python functions as tools needs transformers: pip install 'constrain-decode[hf]'"
        ) from error
    try:
        described = get_json_schema(function)["function"]
    except Exception as error:
        raise ToolError(where, str(error)) from error
    schema = without_nullable(described["parameters"], only_types=False)
    return Tool(described["name"], described.get("description") or "", schema, None, "python")


def tool_of_model(model: Any, place: str = "tool") -> Tool:
    """The tool whose arguments are a Pydantic model's fields; its name is that of the class, its text the docstring.

    Raises:
        ToolError: the model has no JSON Schema, or is not one of an object.
    """
    try:
        schema = model.model_json_schema()
    except Exception as error:
        raise ToolError(f"{place} (model {model.__name__!r})", f"model_json_schema() failed: {error}") from error
    description = schema.get("description")
    return Tool(model.__name__, description if isinstance(description, str) else "", schema, None, "pydantic")
