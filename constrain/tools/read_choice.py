"""Reading tool choices in the spellings of OpenAI (chat and responses), Anthropic, Gemini and Mistral."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from constrain.tools.choice import Mode, ToolChoice
from constrain.tools.problems import ToolChoiceError
from constrain.tools.tool import Tool

ACCEPTED = (
    '"none", "auto", "required" (or "any"), the name of a tool, '
    '{"type": "function", "function": {"name": ...}}, {"type": "function", "name": ...}, '
    '{"type": "allowed_tools", ...}, {"type": "auto" | "any" | "tool" | "none", ...}, '
    '{"function_calling_config": {"mode": ..., "allowed_function_names": [...]}} and constrain.ToolChoice'
)
_MODES: dict[str, Mode] = {
    "none": "none",
    "auto": "auto",
    "required": "required",
    "any": "required",
    # Gemini: a call or text, and calls follow their schemas, as they always do here.
    "validated": "auto",
}


def read_tool_choice(
    choice: Any = None, tools: Sequence[Tool] | None = None, *, parallel: bool | int | None = None
) -> ToolChoice:
    """The choice that an API's `tool_choice`, or Gemini's `tool_config`, spells.

    Args:
        choice: None is "auto"; see `ACCEPTED` for all spellings. A text that is no mode is the name of a tool.
        tools: the tools there are; where given, names are checked against them.
        parallel: OpenAI's `parallel_tool_calls`: true, false or the most calls. None leaves it to what `choice` says
            itself (Anthropic's `disable_parallel_tool_use`), and otherwise to true.

    Raises:
        ToolChoiceError: the spelling is not understood, contradicts `parallel`, or names a tool that is not there.
    """
    read = _read(choice, tools)
    if parallel is not None:
        disabled = isinstance(choice, Mapping) and choice.get("disable_parallel_tool_use") is True
        if disabled and (parallel is True or parallel > 1):
            raise ToolChoiceError(f"disable_parallel_tool_use is true, but parallel is {parallel!r}")
        if not isinstance(choice, ToolChoice):
            read = ToolChoice(read.mode, read.names, parallel)
        elif parallel != choice.parallel:
            raise ToolChoiceError(f"the tool choice says parallel={choice.parallel!r}, the argument {parallel!r}")
    if tools is not None:
        read.resolve(tools)
    return read


def _read(choice: Any, tools: Sequence[Tool] | None) -> ToolChoice:
    if isinstance(choice, ToolChoice):
        return choice
    if choice is None:
        return ToolChoice()
    if isinstance(choice, str):
        # Only Gemini writes modes in capitals; a tool may be called "Auto".
        mode = _MODES.get(choice.lower() if choice.isupper() else choice)
        return ToolChoice("named", (choice,)) if mode is None else ToolChoice(mode)
    if callable(getattr(choice, "model_dump", None)) and not isinstance(choice, type):
        choice = choice.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not isinstance(choice, Mapping):
        raise ToolChoiceError(f"a tool choice cannot be {type(choice).__name__} {choice!r}. Understood are {ACCEPTED}")
    for outer in ("tool_config", "toolConfig"):
        if isinstance(choice.get(outer), Mapping):
            return _read(choice[outer], tools)
    for config in ("function_calling_config", "functionCallingConfig"):
        if isinstance(choice.get(config), Mapping):
            return _gemini(choice[config], choice)
    kind = choice.get("type")
    if kind is None and "mode" in choice:
        return _gemini(choice, choice)
    if kind == "allowed_tools":
        return _allowed(choice)
    if kind == "function":
        function = choice.get("function", choice)
        return ToolChoice("named", (_name(function, choice),))
    if kind == "tool":
        return ToolChoice("named", (_name(choice, choice),), _parallel(choice))
    if isinstance(kind, str) and kind in ("auto", "any", "none", "required"):
        return ToolChoice(_MODES[kind], None, _parallel(choice))
    raise _not_understood(choice)


def _allowed(choice: Mapping[str, Any]) -> ToolChoice:
    inner = choice.get("allowed_tools", choice)  # the responses API has no inner object
    if not isinstance(inner, Mapping) or not isinstance(inner.get("tools"), list | tuple):
        raise _not_understood(choice)
    mode = inner.get("mode", "auto")
    if mode not in ("auto", "required"):
        raise ToolChoiceError(f'the mode of allowed_tools is "auto" or "required", not {mode!r}')
    names = []
    for tool in inner["tools"]:
        if isinstance(tool, Mapping):
            names.append(_name(tool.get("function", tool), choice))
        elif isinstance(tool, str):
            names.append(tool)
        else:
            raise _not_understood(choice)
    return ToolChoice(mode, tuple(names))


def _gemini(config: Mapping[str, Any], choice: Mapping[str, Any]) -> ToolChoice:
    spelled = config.get("mode", "AUTO")
    if spelled == "MODE_UNSPECIFIED":
        spelled = "AUTO"
    mode = _MODES.get(spelled.lower()) if isinstance(spelled, str) else None
    if mode is None:
        raise _not_understood(choice)
    names = config.get("allowedFunctionNames", config.get("allowed_function_names"))
    if names is not None and (not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names)):
        raise _not_understood(choice)
    return ToolChoice(mode, tuple(names) if names else None)


def _parallel(choice: Mapping[str, Any]) -> bool:
    disabled = choice.get("disable_parallel_tool_use", False)
    if not isinstance(disabled, bool):
        raise ToolChoiceError(f"disable_parallel_tool_use is true or false, not {disabled!r}")
    return not disabled


def _name(holder: Any, choice: Mapping[str, Any]) -> str:
    name = holder.get("name") if isinstance(holder, Mapping) else None
    if not isinstance(name, str) or not name:
        raise ToolChoiceError(f"the tool choice {dict(choice)!r} lacks the name of a tool")
    return name


def _not_understood(choice: Mapping[str, Any]) -> ToolChoiceError:
    return ToolChoiceError(f"the tool choice {dict(choice)!r} is not understood. Understood are {ACCEPTED}")
