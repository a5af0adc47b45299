"""Calls told apart: right, truncated, malformed, of an unknown tool, with wrong arguments.

`jsonschema` says which arguments are wrong; that a text is cut off and not malformed is judged by the automaton of
JSON, which the reader does not use. Every value or name that an error offers is tried.
"""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

import constrain
from constrain.grammars.errors import ToolCallParseError, UnsupportedSchemaError
from constrain.testing import CannotJudge, Validator, default_vocabulary, schemas_with_instances
from constrain.tools import (
    ArgumentChecker,
    Tool,
    ToolCall,
    UnknownToolError,
    WrongArgumentsError,
    check_call,
    close_objects,
)
from constrain.tools.json_text import read_object
from constrain.tools.questions import QUESTIONS, TOOLS
from tests.oracles import FULL

CHECKER = ArgumentChecker(TOOLS)
UNITS = ["celsius", "fahrenheit"]
DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
EXAMPLES = 1000 if FULL else 150


def wrong(name: str, arguments: Any) -> WrongArgumentsError:
    with pytest.raises(WrongArgumentsError) as caught:
        CHECKER.check(ToolCall(None, name, arguments))
    return caught.value


@pytest.mark.parametrize(
    ("name", "arguments", "path", "expected", "allowed"),
    [
        ("get_weather", {}, (), "also the argument 'city'", ["city"]),
        ("get_weather", {"city": 3}, ("city",), "a string", None),
        ("get_weather", {"city": None}, ("city",), "a string", None),
        ("get_weather", {"city": "P", "unit": "kelvin"}, ("unit",), 'one of "celsius", "fahrenheit"', UNITS),
        ("get_weather", {"city": "P", "unit": "celsiusx"}, ("unit",), 'one of "celsius", "fahrenheit"', UNITS),
        ("get_weather", {"city": "P", "days": 15}, ("days",), "an integer of at least 1, of at most 14", None),
        ("get_weather", {"city": "P", "days": 0}, ("days",), "an integer of at least 1, of at most 14", None),
        ("get_weather", {"city": "P", "days": "3"}, ("days",), "an integer", None),
        ("get_weather", {"city": "P", "day": 3}, (), "an argument called 'days' or 'unit'", ["days", "unit"]),
        ("list_alarms", {"x": 1}, (), "no further arguments", []),
        ("send_message", {"recipient": "a", "text": "b", "urgent": "yes"}, ("urgent",), "true or false", None),
        ("search_flights", {"origin": "a"}, (), "also the arguments 'destination' and 'date'", ["destination", "date"]),
        ("order_food", {"restaurant": "a", "items": []}, ("items",), "at least 1 item", None),
        ("order_food", {"restaurant": "a", "items": [{"dish": "x"}]}, ("items", 0), "also the argument", ["quantity"]),
        ("order_food", {"restaurant": "a", "items": {}}, ("items",), "an array", None),
        ("set_alarm", {"time": "24:00"}, ("time",), "a string that matches the pattern", None),
        ("set_alarm", {"time": "12:00", "repeat": ["mon", "mon"]}, ("repeat", 1), 'one of "tue"', DAYS[1:]),
        ("create_event", {"title": "a", "date": "2025-02-30"}, ("date",), "a string of the format date", None),
    ],
)
def test_where_and_what_was_expected(name: str, arguments: Any, path: Any, expected: str, allowed: Any) -> None:
    error = wrong(name, arguments)
    assert error.kind == "wrong_arguments"
    assert (error.tool, error.path) == (name, path)
    assert error.expected.startswith(expected)
    assert error.allowed == (None if allowed is None else tuple(allowed))
    assert error.expected in error.feedback
    assert error.came in error.feedback
    assert repr(name) in error.feedback


def test_an_alternative_that_was_left_is_not_offered() -> None:
    def shape(kind: str, size: str) -> dict[str, Any]:
        properties = {"kind": {"const": kind}, size: {"type": "number"}}
        return {"type": "object", "properties": properties, "required": ["kind", size]}

    shapes = {"oneOf": [shape("disc", "radius"), shape("box", "side")]}
    checker = ArgumentChecker([Tool("draw", "", {"type": "object", "properties": {"shape": shapes}})])
    for arguments, path, allowed in (
        ({"shape": {"kind": "disc", "side": 1}}, ("shape",), ("radius",)),
        ({"shape": {"kind": "box"}}, ("shape",), ("side",)),
        ({"shape": {"kind": "cone"}}, ("shape", "kind"), ("disc", "box")),
    ):
        with pytest.raises(WrongArgumentsError) as caught:
            checker.check(ToolCall(None, "draw", arguments))
        assert (caught.value.path, caught.value.allowed) == (path, allowed)
    assert caught.value.pointer == "/shape/kind"


def test_unknown_tools_and_the_names_like_them() -> None:
    with pytest.raises(UnknownToolError) as caught:
        CHECKER.parse("Get_Wether", "{}")
    assert caught.value.kind == "unknown_tool"
    assert caught.value.suggestions[0] == "get_weather"
    for tool in TOOLS:
        assert repr(tool.name) in caught.value.feedback
    with pytest.raises(UnknownToolError, match="There are no tools"):
        check_call(ToolCall(None, "x"), [])


def test_what_is_right_is_returned_unchanged() -> None:
    call = CHECKER.parse("get_weather", ' {"city": "Z\\u00fcrich",\n"days": 3.0}\n', id="c1")
    assert call == ToolCall("c1", "get_weather", {"city": "Zürich", "days": 3.0})
    lenient = ArgumentChecker([Tool("t", "", {"properties": {"a": {"type": "integer"}}}, strict=False)])
    lenient.check(ToolCall(None, "t", {"a": "x", "b": [1e300, None]}))


def test_only_so_many_compiled_tools_are_kept() -> None:
    tools = [Tool(f"t{i}", "", {"properties": {"a": {"const": i}}}) for i in range(5)]
    checker = ArgumentChecker(tools, keep=2)
    for i in (0, 1, 2, 0, 3, 4, 4, 1):
        checker.check(ToolCall(None, f"t{i}", {"a": i}))
        with pytest.raises(WrongArgumentsError):
            checker.check(ToolCall(None, f"t{i}", {"a": i + 1}))
        assert len(checker._compiled) <= 2


def test_open_objects_on_request() -> None:
    tools = [Tool("t", "", {"properties": {"a": {"type": "integer"}}})]
    ArgumentChecker(tools, closed_objects=False).check(ToolCall(None, "t", {"b": 1}))
    with pytest.raises(WrongArgumentsError):
        ArgumentChecker(tools).check(ToolCall(None, "t", {"b": 1}))


def test_values_that_json_lacks() -> None:
    error = wrong("convert_currency", {"amount": float("inf"), "source": "USD", "target": "EUR"})
    assert "inf" in error.came
    wrong("get_weather", {"city": object()})


def test_errors_travel() -> None:
    for error in (
        wrong("get_weather", {"city": 3}),
        UnknownToolError("x", ["y"], 3),
        ToolCallParseError("truncated", 2, "r"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), vars(again), again.feedback) == (str(error), vars(error), error.feedback)


@pytest.mark.parametrize(
    ("text", "kind", "position"),
    [
        ("", "truncated", 0),
        ("{", "truncated", 1),
        ('{"city": "Par', "truncated", 13),
        ('{"city": "\\u00', "truncated", 14),
        ('{"city": -', "truncated", 10),
        ('{"city": 1.', "truncated", 11),
        ('{"city": 1e+', "truncated", 12),
        ('{"city": 12', "truncated", 11),
        ('{"city": tru', "truncated", 12),
        ('{"city": "P", ', "truncated", 14),
        ('{"city": "P",}', "malformed", 13),
        ("{city: 1}", "malformed", 1),
        ("{'city': 1}", "malformed", 1),
        ('{"city" 1}', "malformed", 8),
        ('{"city": True}', "malformed", 9),
        ('{"city": NaN}', "malformed", 9),
        ('{"city": 01}', "malformed", 10),
        ('{"city": 1.x}', "malformed", 9),
        ('{"city": "\\x"}', "malformed", 10),
        ('{"city": "a\nb"}', "malformed", 11),
        ('{"city": [1 2]}', "malformed", 12),
        ('{"city": [1}', "malformed", 11),
        ('{"city": 1, "city": 2}', "malformed", 12),
        ('{"a": 1, "\\u0061": 2}', "malformed", 9),
        ('{"city": "P"} trailing', "malformed", 14),
        ("[1]", "malformed", 0),
        ("tru", "malformed", 0),
        ('{"a":' * 100_000, "truncated", 500_000),
    ],
)
def test_cut_off_and_malformed_texts(text: str, kind: str, position: int) -> None:
    with pytest.raises(ToolCallParseError) as caught:
        read_object(text, 1000)
    assert (caught.value.kind, caught.value.position) == (kind, 1000 + position)
    assert str(1000 + position) in caught.value.feedback


JSON = constrain.json_schema({"type": "object"}, whitespace="none").compile(default_vocabulary())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.sampled_from([0.5, -1.25, "a", 'q"\\', "é😀", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "ab", "é"]), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from("ab"), VALUES, max_size=3)


def judged(text: str) -> str:
    matcher = JSON.matcher()
    if not matcher.accept_bytes(text.encode()):
        return "malformed"
    return "right" if matcher.is_accepting else "truncated"


@settings(max_examples=EXAMPLES, deadline=None)
@given(OBJECTS, st.data())
def test_cut_off_and_malformed_as_the_automaton_tells_them(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=data.draw(st.booleans()))
    text = text[: data.draw(st.integers(0, len(text)))]
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(text)))
        text = (
            text[:at] + data.draw(st.text('{}[]",:0-.tfnu\\a', max_size=2)) + text[at + data.draw(st.integers(0, 2)) :]
        )
    expected = judged(text)
    error = None
    try:
        assert read_object(text) == json.loads(text)
    except ToolCallParseError as caught:
        error = caught
    kind = error.kind if error else "right"
    if error:
        assert 0 <= error.position <= len(text)
    if error and kind == "malformed":
        # All before the place is the beginning of some text.
        assert judged(text[: error.position]) != "malformed"
    if "\\u" not in text:  # half a surrogate pair is JSON, which the automaton never writes
        assert kind == expected, text


def mutated(value: Any, data: st.DataObject) -> Any:
    """The value with one place changed."""
    places: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        part = stack.pop()
        for key, member in part.items() if isinstance(part, dict) else enumerate(part):
            places.append((part, key))
            if isinstance(member, dict | list):
                stack.append(member)
    if isinstance(value, dict) and (not places or data.draw(st.booleans())):
        value[data.draw(st.sampled_from(["x", "city", "days", "items"]))] = data.draw(VALUES)
        return value
    if not places:
        return [1]
    part, key = data.draw(st.sampled_from(places))
    if data.draw(st.booleans()):
        part[key] = data.draw(
            VALUES | st.sampled_from(["celsius", "EUR", "07:30", 3, 2.0, ["mon", "mon"], "2025-01-31"])
        )
    else:
        del part[key]
    return value


ANSWERS = [
    (name, {key: values[0] for key, values in accepted.items() if values[0] != ""})
    for question in QUESTIONS
    for call in question.expected
    for name, accepted in call.items()
    if name != "order_food"
] + [("order_food", {"restaurant": "x", "items": [{"dish": "a", "quantity": 2}, {"dish": "b", "quantity": 1}]})]
VALIDATORS = {
    tool.name: jsonschema.Draft202012Validator(
        close_objects(tool.parameters), format_checker=jsonschema.FormatChecker(["date"])
    )
    for tool in TOOLS
}


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(ANSWERS), st.integers(0, 2), st.data())
def test_wrong_is_what_a_validator_refuses_and_what_is_offered_is_taken(
    answer: tuple[str, Any], changes: int, data: st.DataObject
) -> None:
    name, arguments = answer[0], copy.deepcopy(answer[1])
    for _ in range(changes):
        arguments = mutated(arguments, data)
    valid = VALIDATORS[name].is_valid(arguments)
    try:
        CHECKER.check(ToolCall(None, name, arguments))
        assert valid
        return
    except WrongArgumentsError as caught:
        error = caught
    assert not valid
    there = arguments
    for part in error.path:
        there = there[part]
    assume(error.allowed)
    offered = error.allowed[0] if error.allowed else None
    if error.expected.startswith(("also", "an argument")):
        properties = [s for s in _subschemas(VALIDATORS[name].schema, error.path) if offered in s.get("properties", {})]
        assert properties
        assert offered not in there
        return
    for value in error.allowed or ():
        put = copy.deepcopy(arguments)
        owner = put
        for part in error.path[:-1]:
            owner = owner[part]
        owner[error.path[-1]] = value
        left = {tuple(e.absolute_path) for e in VALIDATORS[name].iter_errors(put)}
        assert error.path not in left


def _subschemas(schema: Any, path: tuple[str | int, ...]) -> list[Any]:
    for part in path:
        schema = schema["items"] if isinstance(part, int) else schema["properties"][part]
    return [schema]


@pytest.mark.parametrize(
    ("schema", "arguments", "path", "expected", "allowed"),
    [
        (
            {"n": {"enum": [1, 2.5, 10, None, "x"]}},
            {"n": 100},
            ("n",),
            'one of 1, 2.5, 10, null, "x"',
            (1, 2.5, 10, None, "x"),
        ),
        ({"c": {"const": {"a": [1]}}}, {"c": {"a": [2]}}, ("c", "a", 0), "1", (1,)),
        ({"c": {"const": {"a": [1]}}}, {"c": {"b": 1}}, ("c",), "an argument called 'a'", ("a",)),
        ({"n": {"maxItems": 2, "items": {}}}, {"n": [1, 2, 3]}, ("n",), "at most 2 items", None),
        ({"n": {"type": "number", "multipleOf": 0.1}}, {"n": 0.25}, ("n",), "a number that is a multiple of 0.1", None),
        ({"s": {"type": "string", "minLength": 3}}, {"s": "é"}, ("s",), "a string of at least 3 characters", None),
        ({"s": {"type": "string"}}, {"s": "\ud83d"}, ("s",), "a string without half of a surrogate pair", None),
        (
            {"k": {"$ref": "#"}, "v": {"type": ["integer", "null"]}},
            {"k": {"v": "s"}},
            ("k", "v"),
            "null or an integer",
            None,
        ),
        (
            {"a": {"anyOf": [{"type": "string"}, {"items": {"type": "string"}, "type": "array"}]}},
            {"a": ["x", 1]},
            ("a", 1),
            "a string",
            None,
        ),
    ],
)
def test_words_for_more_keywords(schema: Any, arguments: Any, path: Any, expected: str, allowed: Any) -> None:
    checker = ArgumentChecker([Tool("t", "", {"type": "object", "properties": schema})])
    with pytest.raises(WrongArgumentsError) as caught:
        checker.check(ToolCall(None, "t", arguments))
    error = caught.value
    assert (error.path, error.expected, error.allowed) == (path, expected, allowed)
    error.feedback.encode()


def test_of_many_values_the_nearest_are_shown() -> None:
    values = [f"value-{i}" for i in range(2000)] + ["zebra"]
    checker = ArgumentChecker([Tool("t", "", {"properties": {"a": {"enum": values}}})])
    with pytest.raises(WrongArgumentsError) as caught:
        checker.check(ToolCall(None, "t", {"a": "zebras"}))
    assert caught.value.expected.startswith('one of "zebra", "value-0"')
    assert caught.value.expected.endswith("and 1971 more")
    assert caught.value.allowed == tuple(values)


def test_a_member_that_another_one_demands() -> None:
    schema = {"properties": {"a": {}, "b": {}, "c": {}}, "dependentRequired": {"a": ["b"]}}
    checker = ArgumentChecker([Tool("t", "", schema)])
    with pytest.raises(WrongArgumentsError) as caught:
        checker.check(ToolCall(None, "t", {"a": 1}))
    assert caught.value.allowed == ("b",)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas_with_instances(max_depth=3), VALUES, st.data())
def test_under_any_schema_the_verdict_is_a_validators_and_a_place_is_named(pair: Any, other: Any, data: Any) -> None:
    schema, witness = pair
    definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}
    assume(not definitions)  # references would lead elsewhere once the schema is a member
    whole = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    value = {"v": other}
    if isinstance(witness, dict | list) and data.draw(st.booleans()):
        value = {"v": mutated(copy.deepcopy(witness), data)}
    checker = ArgumentChecker([Tool("t", "", whole)], closed_objects=False)
    try:
        valid = Validator(whole).is_valid(value)
        checker.check(ToolCall(None, "t", {"v": witness}))
    except (CannotJudge, UnsupportedSchemaError):
        reject()
    if valid:
        checker.check(ToolCall(None, "t", value))
        return
    with pytest.raises(WrongArgumentsError) as caught:
        checker.check(ToolCall(None, "t", value))
    there: Any = value
    for part in caught.value.path:
        there = there[part]
    assert caught.value.expected
    assert caught.value.came
