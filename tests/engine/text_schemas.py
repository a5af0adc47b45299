"""Schemas whose strings and names meet several conditions: formats beside patterns, lengths that neither tells, names
told apart by formats and counts.

What is hard about them is the size of the automata: a host name alone has some 27,000 states, an e-mail address more.
"""

from __future__ import annotations

from tests.engine.case import Case

TEXTS: dict[str, Case] = {
    "format, pattern and length in free members": Case(
        {"type": "object", "additionalProperties": {"minLength": 9, "pattern": "a|^$", "format": "email"}},
        [{}, {"x": "a@example.org"}, {"x": "bbbbbb@b.a", "y": 1}],
        [{"x": "a@b.c"}, {"x": "xxxxxxxxx@b.c"}, {"x": ""}],
    ),
    "no length but zero": Case(
        {"type": "object", "additionalProperties": {"format": "uri-template", "pattern": "a|^$", "maxLength": 0}},
        [{}, {"x": ""}, {"x": []}],
        [{"x": "a"}, {"x": "{a}"}],
    ),
    "times in one zone": Case(
        {"format": "date-time", "pattern": r"\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", "type": "string"},
        ["2020-02-29T12:00:00Z"],
        ["2020-02-29T12:00:00z", "2020-02-29T12:00:00+01:00", "2019-02-29T12:00:00Z"],
    ),
    "times that are none": Case(
        {"type": "string", "not": {"format": "date-time"}, "minLength": 19},
        ["2019-02-29T12:00:00Z", "2019-02-28 at twelve o'clock"],
        ["2020-02-29T12:00:00Z", "2020"],
    ),
    "names are addresses": Case(
        {"propertyNames": {"format": "email"}, "minProperties": 1},
        [{"a@b.c": 1}, {"a@b.c": 1, "a.b@example.org": 2}],
        [{}, {"a": 1}, {"a@": 1}, {"a@b.c": 1, "x": 2}],
    ),
    "names are patterns": Case(
        {"propertyNames": {"format": "regex"}, "additionalProperties": {"type": "boolean"}},
        [{}, {"^x-": True, "[a-z]": False}, {"a(b)": True}],
        [{"(": True}, {"*": True}, {"[": True}, {"^x-": 1}],
    ),
    "names by format and by pattern": Case(
        {
            "propertyNames": {"anyOf": [{"format": "uuid"}, {"format": "hostname", "maxLength": 20}]},
            "patternProperties": {"^[0-9]": {"type": "integer"}, "x": {"type": "string"}},
            "additionalProperties": {"type": "null"},
        },
        [
            {},
            {"1a": 1, "x1": "", "abc": None},
            {"0f0e0d0c-0b0a-0908-0706-050403020100": 5},
            {"af0e0d0c-0b0a-0908-0706-050403020100": None},
        ],
        [{"1a": "x"}, {"x1": 1}, {"abc": 1}, {"a_b": None}, {"1x": 1}, {"abcdefghijklmnopqrstuvw": None}],
    ),
    "counted names of one class": Case(
        {"patternProperties": {"^[0-9a-zA-Z_-]{1,255}$": {"type": "integer"}}, "additionalProperties": False},
        [{}, {"a": 1}, {"a" * 255: 1}],
        [{"": 1}, {"a" * 256: 1}, {"a b": 1}, {"a": "1"}],
    ),
    "counted classes meet": Case(
        {"type": "string", "pattern": "^[a-z0-9]{2,63}$", "allOf": [{"pattern": "^[a-f0-9]{0,9}$"}, {"minLength": 3}]},
        ["abc", "abcdef123"],
        ["ab", "xyz", "abcdef1234", "abg"],
    ),
    "a counted class is excluded": Case(
        {"type": "string", "maxLength": 6, "not": {"pattern": "^[a-c]{2,4}$"}},
        ["", "a", "abcab", "abd", "dd"],
        ["ab", "abca", "abcabca"],
    ),
    "patterns that hold all together": Case(
        {"allOf": [{"pattern": p} for p in ("ab1", "b12", "bc1", r"\d\d", r"^\w*$", "1.*2")], "minLength": 8},
        ["ab12bc1xx", "bc1ab12x"],
        ["ab12", "ab12bc1", "ab12bc1--", "bc1ab1xx"],
    ),
}
"""The cases by name."""
