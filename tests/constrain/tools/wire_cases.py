"""Tools, calls and messages that the tests of wire formats share."""

from hypothesis import strategies as st

from constrain.grammars.tool_formats import FORMATS
from constrain.tools import ArgumentChecker, Tool, ToolCall

BOOK = Tool(
    "book_table",
    parameters={
        "type": "object",
        "properties": {"guest": {"type": "string"}, "seats": {"type": "integer"}},
        "required": ["guest"],
    },
)
CLOCK = Tool("clock", parameters={"type": "object", "properties": {"zone": {"type": "string"}}})
ANYTHING = Tool(
    "any_thing",
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "flag": {"type": "boolean"},
            "maybe": {"type": ["string", "null"]},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "object"}]},
            "items": {"type": "array"},
            "members": {"type": "object"},
            "free": {},
        },
        "additionalProperties": True,
    },
)
TOOLS = [BOOK, CLOCK, ANYTHING]
CHECKER = ArgumentChecker(TOOLS)

CALL_A = ToolCall("aB3dE6gH9", "book_table", {"guest": "Ada", "seats": 4})
CALL_B = ToolCall("zY8xW5vU2", "clock", {"zone": "CET"})

_MARKERS = sorted({text for format in FORMATS.values() for text in (*format.forbidden, *format.triggers)})
TEXTS = st.one_of(
    st.text(max_size=12),
    st.lists(
        st.sampled_from(
            ["<", "</", ">", "\n", " ", '"', "'", "\\", "{", "}", "[", "]", "null", "5", "é", "😀", "\x00"]
        ),
        max_size=6,
    ).map("".join),
    st.builds(lambda a, m, b: a + m + b, st.text(max_size=3), st.sampled_from(_MARKERS), st.text(max_size=3)),
    st.sampled_from(["</parameter>", "</arg_value>", "</｜DSML｜parameter>", "true", "None", "-1.5", "[1", "{}"]),
).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))
NUMBERS = st.one_of(
    st.integers(-(10**12), 10**12),
    st.floats(-1e9, 1e9, allow_nan=False).map(lambda x: round(x, 6)),
    st.sampled_from([0.0, -0.5, 1.5, 2.0]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(["a", "b_c", "x1"]), TEXTS), inner, max_size=3),
    ),
    max_leaves=6,
)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "text": TEXTS,
        "count": st.integers(-(10**12), 10**12),
        "ratio": NUMBERS,
        "flag": st.booleans(),
        "maybe": st.one_of(st.none(), TEXTS),
        "either": st.one_of(TEXTS, st.integers(-9, 99), st.dictionaries(st.sampled_from("ab"), TEXTS, max_size=2)),
        "items": st.lists(VALUES, max_size=3),
        "members": st.dictionaries(st.sampled_from(["a", "b_c", "x1"]), VALUES, max_size=3),
        "free": VALUES,
        "more": VALUES,
    },
)
CALLS = st.lists(
    st.one_of(
        st.builds(lambda arguments: ToolCall(None, "any_thing", arguments), ARGUMENTS),
        st.just(ToolCall(None, CALL_A.name, CALL_A.arguments)),
        st.just(ToolCall(None, CALL_B.name, CALL_B.arguments)),
    ),
    min_size=1,
    max_size=3,
)


def said(calls):
    """Names and arguments, so that 1, 1.0 and True differ."""
    return [(call.name, _typed(call.arguments)) for call in calls]


def _typed(value):
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return type(value).__name__, value
