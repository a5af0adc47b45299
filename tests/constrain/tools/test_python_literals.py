"""Keyword arguments in Python, against Python itself."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.errors import ToolCallParseError
from constrain.tools.python_literals import Extent, read_keywords

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)


@given(st.dictionaries(st.from_regex(r"\A[a-z_]{1,3}_[0-9]\Z"), VALUES, max_size=3))
def test_what_repr_writes_is_read(arguments):
    text = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    assert repr(read_keywords(text)) == repr(arguments)
    assert Extent(0).end(text + ")") == len(text)


@given(st.text(alphabet="a=[]{},:'\"\\x1.-e+NoneTrue \n", max_size=12))
def test_whatever_is_read_python_reads_the_same(text):
    try:
        read = read_keywords(text)
    except ToolCallParseError as refused:
        error = refused
    else:
        error = None
    if error is not None:
        assert error.kind == "malformed"
        assert 0 <= error.position <= len(text)
        return
    call = ast.parse(f"f({text}\n)", mode="eval").body
    assert repr(read) == repr({word.arg: ast.literal_eval(word.value) for word in call.keywords})


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("a=(1, 2)", 2),
        ("a={1}", 2),
        ("a=0x10", 2),
        ("a=1_0", 2),
        ("a=01", 2),
        ("a=1.", 2),
        ("a=1j", 2),
        ("a=+1", 2),
        ("a=b'x'", 3),
        ("a='x' 'y'", 6),
        ("a='''x'''", 4),
        (r"a='\d'", 2),
        (r"a='\ud83d'", 2),
        ("a=None\n,b=é", 10),
        ("b='é', a=x", 9),
        ("b='é',\na=x", 9),
        ("a=[1,]", 5),
        ("a=1,", 4),
        ("a=f()", 3),
        ("a=x.y", 3),
        ("**{}", 0),
        ("a=1, a=2", 7),
        ("a={'x': 1, 'x': 2}", 11),
        ("a={1: 2}", 3),
        ("a=null", 2),
        ("a=" + "[" * 500 + "]" * 500, None),
    ],
)
def test_what_is_no_literal_of_jsons_types(text, at):
    with pytest.raises(ToolCallParseError) as refused:
        read_keywords(text, 100)
    assert refused.value.kind == "malformed"
    assert at is None or refused.value.position == 100 + at


def test_what_is_cut_off():
    for text in ("", "a", "a=", "a='x", "a='x\\", "a=[1, ", "a=-", "a=1."):
        with pytest.raises(ToolCallParseError, match="truncated"):
            read_keywords(text, cut=True)
    with pytest.raises(ToolCallParseError, match="malformed"):
        read_keywords("a=;", cut=True)
