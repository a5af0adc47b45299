"""A tool: what a model may call, whatever API's spelling it was written in.

The parameters are one JSON Schema with its own base: references in it are relative to it alone, so that each tool can
be compiled and kept by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from constrain.tools.problems import ToolError

Source = Literal["openai", "anthropic", "gemini", "mcp", "openapi", "python", "pydantic", "json_schema"]

_SAYS_NOTHING = frozenset(
    {"type", "properties", "required", "title", "description", "$schema", "$id", "$comment", "examples", "default"}
)
_DRAFTS_WHERE_REFERENCES_OVERRIDE = ("draft-04", "draft-06", "draft-07")


def no_parameters() -> dict[str, Any]:
    """The closed empty object."""
    return {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True)
class Tool:
    """One tool.

    Attributes:
        name: as the model writes it. What a format allows is checked where the format is known; see `check_names`.
        description: for the model.
        parameters: JSON Schema of the arguments, an object. None, {} and an object schema that names no member and
            says nothing of further ones all become the closed empty object. The dict is kept, not copied.
        strict: False takes any JSON object as arguments; True and None take what the parameters say.
        source: the spelling it was read from.
        annotations: what else the source says and a caller may need: for an operation of an OpenAPI document `method`,
            `path` and `locations` (argument name to ["query", name in the request] and the like).

    Raises:
        ToolError: the name is no text, or the parameters are no schema of an object.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=no_parameters)
    strict: bool | None = None
    source: Source = "json_schema"
    annotations: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ToolError("a tool", f"the name must be a text that is not empty, is {self.name!r}")
        if any("\ud800" <= c <= "\udfff" for c in self.name):
            raise ToolError(ascii(self.name), "the name holds half of a surrogate pair")
        if self.strict is not None and not isinstance(self.strict, bool):
            raise ToolError(repr(self.name), f"strict must be true, false or absent, is {self.strict!r}")
        if not isinstance(self.description, str):
            raise ToolError(repr(self.name), f"the description must be a text, is {self.description!r}")
        object.__setattr__(self, "parameters", _object_schema(self.name, self.parameters))

    def __hash__(self) -> int:
        return hash((self.name, self.source))

    @property
    def argument_schema(self) -> dict[str, Any]:
        """The schema that is enforced: the parameters, or any object where `strict` is False."""
        return {"type": "object"} if self.strict is False else self.parameters

    def to_openai(self) -> dict[str, Any]:
        """The tool as OpenAI's chat API and the `tools` of `apply_chat_template` spell it."""
        function: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        if self.strict is not None:
            function["strict"] = self.strict
        return {"type": "function", "function": function}


def _object_schema(name: str, parameters: Any) -> dict[str, Any]:
    if parameters is None:
        return no_parameters()
    if not isinstance(parameters, dict):
        raise ToolError(repr(name), f"the parameters must be a JSON Schema, a dict, not {type(parameters).__name__}")
    types = parameters.get("type", "object")
    named = types if isinstance(types, list) else [types]
    if "object" not in named:
        raise ToolError(repr(name), f"the parameters must be those of an object, but their type is {types!r}")
    if not parameters.get("properties") and not set(parameters) - _SAYS_NOTHING and not parameters.get("required"):
        kept = {key: value for key, value in parameters.items() if key not in ("properties", "required")}
        return {**kept, **no_parameters()}
    if types == "object" and "type" in parameters:
        return parameters
    if "$ref" in parameters and any(
        draft in str(parameters.get("$schema")) for draft in _DRAFTS_WHERE_REFERENCES_OVERRIDE
    ):
        # A type beside the reference would not be seen.
        rest = {key: value for key, value in parameters.items() if key != "$ref"}
        return {**rest, "type": "object", "allOf": [{"$ref": parameters["$ref"]}, *rest.get("allOf", [])]}
    return {**parameters, "type": "object"}
