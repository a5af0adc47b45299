"""Forty-two schemas of the kinds that tools declare, each with values that follow it and values that just do not.

Written for this project, so that the benchmark needs no corpus: plain parameters, enumerations, nesting, arrays,
bounds, patterns, formats, unions, maps, recursion, tuples, conditions. Each invalid value breaks one thing, mostly
late, so that an engine that drops the keyword is seen to. The values follow the order of the declared properties,
closed objects say so, and texts are as `json.dumps` writes them: an engine with one fixed order and spacing is not at a
disadvantage.
"""

from __future__ import annotations

import json
from typing import Any

Case = tuple[str, Any, list[Any], list[Any]]


def closed(required: list[str] | None = None, /, **properties: Any) -> dict[str, Any]:
    """An object with these properties and no other; all of them are required unless said otherwise."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_NUMBER = {"type": "number"}
_BOOLEAN = {"type": "boolean"}


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return closed(name={"const": name}, arguments=arguments)


_ADDRESS = closed(["street", "city"], street=_STRING, city=_STRING, zip={"type": "string", "pattern": "^[0-9]{5}$"})

CASES: list[Case] = [
    (
        "weather",
        closed(city=_STRING, days=_INTEGER, unit={"enum": ["celsius", "fahrenheit"]}),
        [
            {"city": "Reykjavík", "days": 3, "unit": "celsius"},
            {"city": "São Paulo, Brazil", "days": 10, "unit": "fahrenheit"},
        ],
        [
            {"city": "Oslo", "days": 3, "unit": "kelvin"},
            {"city": "Oslo", "days": "3", "unit": "celsius"},
            {"city": "Oslo", "days": 3},
        ],
    ),
    (
        "no-parameters",
        closed(),
        [{}],
        [{"now": True}, []],
    ),
    (
        "optional-parameters",
        closed(["query"], query=_STRING, limit=_INTEGER, offset=_INTEGER, verbose=_BOOLEAN),
        [
            {"query": "red shoes"},
            {"query": "red shoes", "limit": 20},
            {"query": "red shoes", "offset": 40, "verbose": False},
            {"query": "red shoes", "limit": 20, "offset": 40, "verbose": True},
        ],
        [{"limit": 20}, {"query": "red shoes", "limit": True}, {"query": "red shoes", "sort": "asc"}],
    ),
    (
        "long-text",
        closed(subject=_STRING, body=_STRING),
        [
            {
                "subject": "Minutes of Tuesday's meeting",
                "body": "Dear all,\n\nthe new timetable was agreed upon. Deliveries will start at seven o'clock, the "
                'warehouse will close at nine, and "urgent" parcels will be sorted first.\n\nAnything that arrives '
                "later is kept overnight; the price per item (12.50 €) is unchanged.\n\n\t– Zoë & the others ☕",
            }
        ],
        [{"subject": "Minutes of Tuesday's meeting"}, {"subject": None, "body": "Dear all"}],
    ),
    (
        "string-lengths",
        closed(title={"type": "string", "minLength": 3, "maxLength": 24}, code={"type": "string", "maxLength": 4}),
        [{"title": "Spring collection", "code": "SP26"}, {"title": "abc", "code": ""}],
        [
            {"title": "ab", "code": "SP26"},
            {"title": "A title that goes on for far too long", "code": "SP26"},
            {"title": "Spring collection", "code": "SPR26"},
        ],
    ),
    (
        "long-enum",
        closed(
            country={
                "enum": [
                    "Argentina",
                    "Australia",
                    "Austria",
                    "Belgium",
                    "Brazil",
                    "Canada",
                    "Chile",
                    "China",
                    "Colombia",
                    "Denmark",
                    "Egypt",
                    "Finland",
                    "France",
                    "Germany",
                    "Greece",
                    "India",
                    "Indonesia",
                    "Ireland",
                    "Italy",
                    "Japan",
                    "Kenya",
                    "Mexico",
                    "Morocco",
                    "Netherlands",
                    "New Zealand",
                    "Nigeria",
                    "Norway",
                    "Peru",
                    "Poland",
                    "Portugal",
                    "South Africa",
                    "South Korea",
                    "Spain",
                    "Sweden",
                    "Switzerland",
                    "Türkiye",
                    "Ukraine",
                    "United Kingdom",
                    "United States",
                    "Uruguay",
                    "Vietnam",
                ]
            },
            year=_INTEGER,
        ),
        [{"country": "New Zealand", "year": 1999}, {"country": "Türkiye", "year": 2024}],
        [{"country": "New Zeal", "year": 1999}, {"country": "Atlantis", "year": 1999}],
    ),
    (
        "mixed-enum",
        closed(value={"enum": ["auto", "none", 0, 1, 2.5, True, None]}),
        [{"value": "auto"}, {"value": 2.5}, {"value": None}, {"value": True}],
        [{"value": "manual"}, {"value": 3}, {"value": False}],
    ),
    (
        "integer-range",
        closed(percent={"type": "integer", "minimum": 0, "maximum": 100}, port={"type": "integer", "minimum": 1024}),
        [{"percent": 0, "port": 1024}, {"percent": 100, "port": 65535}, {"percent": 42, "port": 8080}],
        [{"percent": 101, "port": 8080}, {"percent": -1, "port": 8080}, {"percent": 42, "port": 80}],
    ),
    (
        "number-range",
        closed(
            latitude={"type": "number", "minimum": -90, "maximum": 90},
            longitude={"type": "number", "minimum": -180, "exclusiveMaximum": 180},
        ),
        [{"latitude": 52.3676, "longitude": 4.9041}, {"latitude": -90, "longitude": -179.5}],
        [{"latitude": 90.5, "longitude": 4.9}, {"latitude": 52.3, "longitude": 180}],
    ),
    (
        "multiple-of",
        closed(seats={"type": "integer", "multipleOf": 4, "minimum": 4}),
        [{"seats": 4}, {"seats": 128}],
        [{"seats": 6}, {"seats": 0}],
    ),
    (
        "nullable",
        closed(name=_STRING, nickname={"type": ["string", "null"]}, age={"type": ["integer", "null"]}),
        [{"name": "Ada", "nickname": None, "age": 36}, {"name": "Ada", "nickname": "Countess", "age": None}],
        [{"name": None, "nickname": None, "age": 36}, {"name": "Ada", "nickname": 1, "age": 36}],
    ),
    (
        "string-array",
        closed(tags={"type": "array", "items": _STRING}),
        [{"tags": []}, {"tags": ["new"]}, {"tags": ["new", "sale", "summer 2026", "cotton", "blue"]}],
        [{"tags": ["new", 1]}, {"tags": "new"}],
    ),
    (
        "bounded-array",
        closed(to={"type": "array", "items": {"type": "string", "maxLength": 30}, "minItems": 1, "maxItems": 3}),
        [{"to": ["Alice"]}, {"to": ["Alice", "Bob", "Carol"]}],
        [{"to": []}, {"to": ["Alice", "Bob", "Carol", "Dave"]}],
    ),
    (
        "unique-items",
        closed(days={"type": "array", "items": {"enum": ["Mon", "Tue", "Wed", "Thu", "Fri"]}, "uniqueItems": True}),
        [{"days": ["Mon", "Wed"]}, {"days": ["Fri", "Thu", "Wed", "Tue", "Mon"]}],
        [{"days": ["Mon", "Mon"]}, {"days": ["Mon", "Tue", "Wed", "Tue"]}],
    ),
    (
        "matrix",
        closed(rows={"type": "array", "items": {"type": "array", "items": _NUMBER}}),
        [{"rows": [[1, 0.5], [-2.25, 3]]}, {"rows": [[], [100, 200, 300]]}],
        [{"rows": [[1, "2"]]}, {"rows": [1, 2]}],
    ),
    (
        "tuple",
        closed(
            point={
                "type": "array",
                "prefixItems": [_NUMBER, _NUMBER, {"enum": ["m", "km"]}],
                "items": False,
                "minItems": 3,
            }
        ),
        [{"point": [1, 2.5, "km"]}],
        [{"point": [1, 2.5]}, {"point": [1, "km", 2.5]}, {"point": [1, 2.5, "km", 4]}],
    ),
    (
        "nested-objects",
        closed(
            user=closed(name=_STRING, address=closed(street=_STRING, city=_STRING, country={"const": "NL"})),
            order=closed(id=_INTEGER, paid=_BOOLEAN),
        ),
        [
            {
                "user": {
                    "name": "Jan de Vries",
                    "address": {"street": "Damrak 1", "city": "Amsterdam", "country": "NL"},
                },
                "order": {"id": 90210, "paid": True},
            }
        ],
        [
            {
                "user": {"name": "Jan", "address": {"street": "Damrak 1", "city": "Amsterdam", "country": "BE"}},
                "order": {"id": 1, "paid": True},
            },
            {
                "user": {"name": "Jan", "address": {"street": "Damrak 1", "city": "Amsterdam", "country": "NL"}},
                "order": {"id": 1},
            },
        ],
    ),
    (
        "array-of-objects",
        closed(
            items={
                "type": "array",
                "items": closed(sku=_STRING, quantity={"type": "integer", "minimum": 1}, price=_NUMBER),
                "minItems": 1,
            }
        ),
        [
            {
                "items": [
                    {"sku": "A-1001", "quantity": 2, "price": 9.99},
                    {"sku": "B-2002", "quantity": 1, "price": 120},
                    {"sku": "C-3003", "quantity": 12, "price": 0.5},
                ]
            }
        ],
        [
            {"items": [{"sku": "A-1001", "quantity": 0, "price": 9.99}]},
            {"items": [{"sku": "A-1001", "quantity": 2, "price": 9.99}, {"sku": "B-2002", "quantity": 1}]},
        ],
    ),
    (
        "shared-definitions",
        {
            "$defs": {"address": _ADDRESS},
            **closed(billing={"$ref": "#/$defs/address"}, shipping={"$ref": "#/$defs/address"}),
        },
        [
            {
                "billing": {"street": "1 Main St", "city": "Springfield", "zip": "12345"},
                "shipping": {"street": "2 Oak Ave", "city": "Shelbyville"},
            }
        ],
        [
            {
                "billing": {"street": "1 Main St", "city": "Springfield"},
                "shipping": {"street": "2 Oak Ave", "city": "Shelbyville", "zip": "1234"},
            },
            {"billing": {"street": "1 Main St", "city": "Springfield"}},
        ],
    ),
    (
        "recursive-tree",
        {
            "$defs": {
                "node": closed(name=_STRING, children={"type": "array", "items": {"$ref": "#/$defs/node"}}),
            },
            "$ref": "#/$defs/node",
        },
        [
            {
                "name": "root",
                "children": [
                    {"name": "left", "children": [{"name": "leaf", "children": []}]},
                    {"name": "right", "children": []},
                ],
            }
        ],
        [
            {"name": "root", "children": [{"name": "left", "children": [{"name": "leaf"}]}]},
            {"name": "root", "children": [None]},
        ],
    ),
    (
        "any-of-types",
        closed(value={"anyOf": [_STRING, _INTEGER, {"type": "array", "items": _STRING}]}),
        [{"value": "north"}, {"value": -17}, {"value": ["a", "b"]}],
        [{"value": 1.5}, {"value": [1]}, {"value": {}}],
    ),
    (
        "tagged-union",
        closed(
            shape={
                "anyOf": [
                    closed(kind={"const": "circle"}, radius=_NUMBER),
                    closed(kind={"const": "rectangle"}, width=_NUMBER, height=_NUMBER),
                    closed(kind={"const": "label"}, text=_STRING),
                ]
            }
        ),
        [
            {"shape": {"kind": "circle", "radius": 2.5}},
            {"shape": {"kind": "rectangle", "width": 3, "height": 4}},
            {"shape": {"kind": "label", "text": "exit →"}},
        ],
        [
            {"shape": {"kind": "circle", "width": 3, "height": 4}},
            {"shape": {"kind": "triangle", "radius": 2.5}},
            {"shape": {"kind": "rectangle", "width": 3}},
        ],
    ),
    (
        "one-of",
        closed(target={"oneOf": [closed(id=_INTEGER), closed(email=_STRING)]}),
        [{"target": {"id": 7}}, {"target": {"email": "ada@example.com"}}],
        [{"target": {"id": "7"}}, {"target": {"id": 7, "email": "ada@example.com"}}, {"target": {}}],
    ),
    (
        "tool-choice",
        {
            "anyOf": [
                _call("get_weather", closed(city=_STRING, days=_INTEGER)),
                _call("send_message", closed(["to", "text"], to={"type": "array", "items": _STRING}, text=_STRING)),
                _call("set_alarm", closed(time={"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"})),
                _call("get_time", closed([], zone=_STRING)),
            ]
        },
        [
            {"name": "get_weather", "arguments": {"city": "Lima", "days": 2}},
            {"name": "send_message", "arguments": {"to": ["Bob", "Eve"], "text": "On my way!"}},
            {"name": "set_alarm", "arguments": {"time": "06:30"}},
            {"name": "get_time", "arguments": {}},
        ],
        [
            {"name": "get_weather", "arguments": {"to": ["Bob"], "text": "Lima"}},
            {"name": "set_alarm", "arguments": {"time": "24:30"}},
            {"name": "get_news", "arguments": {}},
        ],
    ),
    (
        "all-of",
        closed(
            password={
                "allOf": [{"type": "string", "minLength": 8}, {"type": "string", "maxLength": 12}, {"pattern": "[0-9]"}]
            }
        ),
        [{"password": "correct 4 it"}, {"password": "hunter22"}],
        [{"password": "short 1"}, {"password": "much too long 1"}, {"password": "no digits"}],
    ),
    (
        "pattern-anchored",
        closed(plate={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}-[A-Z]{1,2}$"}),
        [{"plate": "AB-123-C"}, {"plate": "XY-987-ZZ"}],
        [{"plate": "AB-12-C"}, {"plate": "ab-123-C"}, {"plate": "AB-123-CDE"}],
    ),
    (
        "pattern-search",
        closed(note={"type": "string", "pattern": "#[a-z]+"}),
        [{"note": "remember #milk and #eggs"}, {"note": "#x"}],
        [{"note": "remember the milk"}, {"note": "#1"}],
    ),
    (
        "date-and-time",
        closed(day={"type": "string", "format": "date"}, at={"type": "string", "format": "date-time"}),
        [{"day": "2026-02-28", "at": "2026-02-28T12:30:00Z"}, {"day": "2024-02-29", "at": "2024-01-01T00:00:00+02:00"}],
        [{"day": "2026-13-01", "at": "2026-02-28T12:30:00Z"}, {"day": "2026-02-28", "at": "12:30"}],
    ),
    (
        "email-and-uuid",
        closed(email={"type": "string", "format": "email"}, id={"type": "string", "format": "uuid"}),
        [{"email": "grace.hopper@example.com", "id": "123e4567-e89b-12d3-a456-426614174000"}],
        [
            {"email": "grace.hopper", "id": "123e4567-e89b-12d3-a456-426614174000"},
            {"email": "grace.hopper@example.com", "id": "123e4567-e89b-12d3-a456"},
        ],
    ),
    (
        "string-map",
        closed(headers={"type": "object", "additionalProperties": _STRING}),
        [{"headers": {}}, {"headers": {"Accept": "text/html", "X-Request-Id": "42", "": "empty name"}}],
        [{"headers": {"Accept": 1}}, {"headers": ["Accept"]}],
    ),
    (
        "open-object",
        {"type": "object", "properties": {"event": _STRING, "count": _INTEGER}, "required": ["event", "count"]},
        [
            {"event": "click", "count": 3},
            {"event": "click", "count": 3, "where": {"x": 10, "y": [1, 2, None]}, "by": "Ada"},
        ],
        [{"event": "click", "where": 1}, {"event": "click", "count": "3"}],
    ),
    (
        "free-json",
        closed(payload=True),
        [{"payload": {"a": [1, "two", {"three": None}], "b": True}}, {"payload": "text"}, {"payload": -1.25}],
        [{}, {"payload": 1, "more": 2}],
    ),
    (
        "pattern-properties",
        {
            "type": "object",
            "patternProperties": {"^[a-z]{2}$": _STRING, "^n_": _INTEGER},
            "additionalProperties": False,
        },
        [{"en": "Hello", "nl": "Hallo"}, {"n_users": 12, "fr": "Bonjour"}],
        [{"eng": "Hello"}, {"en": 1}, {"n_users": "12"}],
    ),
    (
        "property-names",
        {"type": "object", "propertyNames": {"pattern": "^[a-z_]+$"}, "additionalProperties": _INTEGER},
        [{"total_items": 5, "pages": 2}, {}],
        [{"Total": 5}, {"total-items": 5}],
    ),
    (
        "property-count",
        {"type": "object", "additionalProperties": _NUMBER, "minProperties": 1, "maxProperties": 3},
        [{"x": 1}, {"x": 1, "y": 2.5, "z": -3}],
        [{}, {"x": 1, "y": 2, "z": 3, "w": 4}],
    ),
    (
        "dependent-required",
        {
            **closed(["name"], name=_STRING, card=_STRING, cvc=_STRING),
            "dependentRequired": {"card": ["cvc"]},
        },
        [{"name": "Ada"}, {"name": "Ada", "card": "4111", "cvc": "123"}, {"name": "Ada", "cvc": "123"}],
        [{"name": "Ada", "card": "4111"}],
    ),
    (
        "if-then-else",
        {
            **closed(["method"], method={"enum": ["card", "cash"]}, number=_STRING, change=_NUMBER),
            "if": {"properties": {"method": {"const": "card"}}},
            "then": {"required": ["number"]},
            "else": {"required": ["change"]},
        },
        [{"method": "card", "number": "4111"}, {"method": "cash", "change": 2.5}],
        [{"method": "card", "change": 2.5}, {"method": "cash", "number": "4111"}],
    ),
    (
        "not-empty-name",
        closed(name={"type": "string", "not": {"enum": ["", "admin", "root"]}}),
        [{"name": "ada"}, {"name": "administrator"}],
        [{"name": "admin"}, {"name": ""}],
    ),
    (
        "contains",
        closed(roles={"type": "array", "items": _STRING, "contains": {"const": "owner"}}),
        [{"roles": ["owner"]}, {"roles": ["editor", "owner", "viewer"]}],
        [{"roles": []}, {"roles": ["editor", "viewer"]}],
    ),
    (
        "deep-nesting",
        closed(a=closed(b=closed(c=closed(d=closed(e=closed(f=closed(g=closed(h=_INTEGER)))))))),
        [{"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 8}}}}}}}}],
        [{"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": "8"}}}}}}}}, {"a": {"b": {"c": {"d": {"e": {"f": {}}}}}}}],
    ),
    (
        "many-properties",
        closed(["id"], id=_INTEGER, **{f"field_{i:02}": _STRING if i % 3 else _INTEGER for i in range(40)}),
        [
            {"id": 1, **{f"field_{i:02}": "value" if i % 3 else i for i in range(40)}},
            {"id": 2, "field_03": 3, "field_20": "twenty", "field_39": 39},
        ],
        [{"id": 1, "field_40": "x"}, {"id": 1, "field_00": "zero"}, {"field_01": "x"}],
    ),
    (
        "pydantic-order",
        {
            "$defs": {
                "Priority": {"enum": ["low", "normal", "high"], "title": "Priority", "type": "string"},
                "Line": {
                    "properties": {
                        "description": {"title": "Description", "type": "string"},
                        "amount": {"exclusiveMinimum": 0, "title": "Amount", "type": "number"},
                    },
                    "required": ["description", "amount"],
                    "additionalProperties": False,
                    "title": "Line",
                    "type": "object",
                },
            },
            "properties": {
                "reference": {"pattern": "^INV-[0-9]{4}$", "title": "Reference", "type": "string"},
                "lines": {"items": {"$ref": "#/$defs/Line"}, "minItems": 1, "title": "Lines", "type": "array"},
                "priority": {"$ref": "#/$defs/Priority", "default": "normal"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Note"},
            },
            "required": ["reference", "lines"],
            "additionalProperties": False,
            "title": "Invoice",
            "type": "object",
        },
        [
            {
                "reference": "INV-0042",
                "lines": [{"description": "Paper, A4", "amount": 12.5}, {"description": "Ink", "amount": 30}],
                "priority": "high",
                "note": None,
            },
            {"reference": "INV-9999", "lines": [{"description": "Desk", "amount": 199.99}]},
        ],
        [
            {"reference": "INV-42", "lines": [{"description": "Desk", "amount": 199.99}]},
            {"reference": "INV-0042", "lines": [{"description": "Desk", "amount": 0}]},
            {"reference": "INV-0042", "lines": [{"description": "Desk", "amount": 1}], "priority": "urgent"},
        ],
    ),
]


def lines() -> list[str]:
    """The set in the format of a corpus, one JSON object a line."""
    return [
        json.dumps(
            {
                "id": name,
                "schema": schema,
                "tests": [{"valid": valid, "data": data} for valid, group in groups for data in group],
            },
            ensure_ascii=False,
        )
        for name, schema, accepted, refused in CASES
        for groups in [((True, accepted), (False, refused))]
    ]
