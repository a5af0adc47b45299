"""Tool choices in every API's spelling, and what they mean in numbers of calls."""

from __future__ import annotations

from typing import Any

import pytest

from constrain.tools import Tool, ToolChoice, ToolChoiceError, read_tool_choice

TOOLS = [Tool("get"), Tool("get_x"), Tool("put")]


@pytest.mark.parametrize(
    ("spelled", "choice"),
    [
        (None, ToolChoice("auto")),
        ("none", ToolChoice("none")),
        ("auto", ToolChoice("auto")),
        ("required", ToolChoice("required")),
        ("any", ToolChoice("required")),
        ("get_x", ToolChoice("named", ("get_x",))),
        # OpenAI, chat and responses
        ({"type": "function", "function": {"name": "get"}}, ToolChoice("named", ("get",))),
        ({"type": "function", "name": "get"}, ToolChoice("named", ("get",))),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [
                        {"type": "function", "function": {"name": "put"}},
                        {"type": "function", "function": {"name": "get"}},
                    ],
                },
            },
            ToolChoice("required", ("put", "get")),
        ),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "put"}]},
            ToolChoice("auto", ("put",)),
        ),
        # Anthropic
        ({"type": "auto"}, ToolChoice("auto")),
        ({"type": "none"}, ToolChoice("none")),
        ({"type": "any"}, ToolChoice("required")),
        ({"type": "any", "disable_parallel_tool_use": True}, ToolChoice("required", None, False)),
        ({"type": "auto", "disable_parallel_tool_use": True}, ToolChoice("auto", None, False)),
        ({"type": "tool", "name": "put"}, ToolChoice("named", ("put",))),
        # Gemini
        ({"function_calling_config": {"mode": "AUTO"}}, ToolChoice("auto")),
        ({"functionCallingConfig": {"mode": "NONE"}}, ToolChoice("none")),
        (
            {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["get", "put"]}},
            ToolChoice("required", ("get", "put")),
        ),
        (
            {"toolConfig": {"functionCallingConfig": {"mode": "VALIDATED", "allowedFunctionNames": ["get"]}}},
            ToolChoice("auto", ("get",)),
        ),
        ("ANY", ToolChoice("required")),
        (ToolChoice("required", ("get",), 3), ToolChoice("required", ("get",), 3)),
    ],
)
def test_every_spelling(spelled: Any, choice: ToolChoice) -> None:
    assert read_tool_choice(spelled, TOOLS) == choice


@pytest.mark.parametrize(
    ("mode", "parallel", "least", "most"),
    [
        ("auto", True, 0, None),
        ("auto", False, 0, 1),
        ("auto", 4, 0, 4),
        ("required", True, 1, None),
        ("required", False, 1, 1),
        ("required", 2, 1, 2),
        ("named", True, 1, 1),
        ("named", False, 1, 1),
        ("none", True, 0, 0),
        ("none", False, 0, 0),
    ],
)
def test_numbers_of_calls(mode: Any, parallel: bool | int, least: int, most: int | None) -> None:
    names = ("get",) if mode == "named" else None
    resolved = ToolChoice(mode, names, parallel).resolve(TOOLS)
    assert (resolved.least, resolved.most) == (least, most)
    expected = {"none": [], "named": ["get"]}.get(mode, ["get", "get_x", "put"])
    assert [tool.name for tool in resolved.tools] == expected


def test_a_subset_filters_and_keeps_the_order_of_the_tools() -> None:
    resolved = read_tool_choice(ToolChoice("auto", ("put", "get"))).resolve(TOOLS)
    assert [tool.name for tool in resolved.tools] == ["get", "put"]


def test_openai_parallel_tool_calls() -> None:
    assert read_tool_choice("required", parallel=False).parallel is False
    assert read_tool_choice(None, parallel=3).resolve(TOOLS).most == 3
    with pytest.raises(ToolChoiceError, match="disable_parallel_tool_use"):
        read_tool_choice({"type": "any", "disable_parallel_tool_use": True}, parallel=True)
    assert read_tool_choice({"type": "any", "disable_parallel_tool_use": True}, parallel=False).parallel is False


@pytest.mark.parametrize(
    ("spelled", "message"),
    [
        ("get_y", r"'get_y'.*did you mean 'get_x'.*The tools are 'get', 'get_x' and 'put'"),
        ({"type": "tool", "name": "rm"}, r"'rm'.*The tools are 'get'"),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "rm"}]}, "'rm'"),
        ({"type": "allowed_tools", "mode": "never", "tools": []}, "'never'"),
        ({"function_calling_config": {"mode": "SOMETIMES"}}, "not understood"),
        ({"type": "file_search"}, "'file_search'.*not understood.*Understood are"),
        ({"type": "function"}, "lacks the name"),
        (7, "int 7.*Understood are"),
    ],
)
def test_errors_name_what_is_wrong_and_list_the_tools(spelled: Any, message: str) -> None:
    with pytest.raises(ToolChoiceError, match=message):
        read_tool_choice(spelled, TOOLS)


def test_contradictions_are_refused() -> None:
    with pytest.raises(ToolChoiceError, match="no tools to call"):
        read_tool_choice("required", [])
    with pytest.raises(ToolChoiceError, match="no tools to call"):
        read_tool_choice({"type": "allowed_tools", "mode": "required", "tools": []}, TOOLS)
    for arguments in (("named",), ("named", ("a", "b")), ("auto", None, 0), ("often",)):
        with pytest.raises(ToolChoiceError):
            ToolChoice(*arguments)
    assert read_tool_choice("auto", []).resolve([]).most == 0
