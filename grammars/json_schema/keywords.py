"""The keywords: for each, the drafts that have it and the reader that turns it into fields of a `Subschema`.

To add a keyword, write a reader and a line of `KEYWORDS`. A reader first checks the keyword's value, whatever it
means, so that malformed schemas are refused; then it leaves out what cannot constrain anything, either because the
subschema's `type` or values exclude the type that the keyword is about, or because the value asks nothing. Subschemas
that are left out so are not loaded. Where an `unevaluated…` keyword sees the subschema, what only marks members or
items as evaluated asks something too. A keyword that is in no line for a draft is unknown there and ignored, as are
annotations. `type`, `enum`, `const` and `nullable` are read first, as the others look at what they admit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.formats import OLD_HOSTNAME
from constrain.grammars.json_schema.dialect import DIALECTS, Dialect
from constrain.grammars.json_schema.ir import (
    ANY_TYPE,
    ARRAY,
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    Unenforced,
)
from constrain.grammars.json_schema.references import (
    RECURSIVE,
    Remote,
    Target,
    Unresolvable,
    escape,
    has_recursive_anchor,
    is_dynamic_anchor,
)
from constrain.grammars.json_schema.values import (
    atoms_of,
    exact_number,
    exact_text,
    exact_value,
    identity,
    is_number,
    kind,
)
from constrain.grammars.regex import PatternError, parse

if TYPE_CHECKING:
    from constrain.grammars.json_schema.loader import Loader

Reader = Callable[["Loader", str, object], None]

TYPES = {
    "null": NULL,
    "boolean": BOOLEAN,
    "integer": INTEGER,
    "number": NUMBER,
    "string": STRING,
    "array": ARRAY,
    "object": OBJECT,
}

FORMATS = frozenset(
    (
        "date-time",
        "date",
        "time",
        "duration",
        "email",
        "idn-email",
        "hostname",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uuid",
        "uri-template",
        "json-pointer",
        "relative-json-pointer",
        "regex",
    )
)
"""The formats that some draft defines. They are assertions in every draft; other names are annotations."""

IN_PLACE = ("$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies")
"""Keywords that apply a subschema to the same value, so that it may mark members or items as evaluated."""


# --- what a value may be: type, enum, const, nullable


def read_admitted(loader: Loader) -> int:
    """Reads `type`, `nullable`, `enum` and `const` of the subschema at hand; returns the mask of admitted atoms."""
    node, schema = loader.node, loader.schema
    admitted = ANY_TYPE
    if "type" in schema:
        admitted = _type_mask(loader, schema["type"])
        # OpenAPI 3.0, and what transformers' get_json_schema writes for Optional.
        if schema.get("nullable") is True:
            admitted |= NULL
        node.types = admitted
    if "enum" in schema:
        node.values = _enum_values(loader, schema["enum"])
    if "const" in schema and loader.dialect.draft >= 6:
        value = loader.exact("const", exact_value, schema["const"])
        if node.values is None:
            node.values = [value]
        else:
            wanted = identity(value)
            node.values = [member for member in node.values if identity(member) == wanted]
    return admitted if node.values is None else admitted & atoms_of(node.values)


def _type_mask(loader: Loader, value: object) -> int:
    if isinstance(value, str):
        mask = TYPES.get(value)
        if mask is None:
            loader.invalid("type", _unknown_type(value))
        return mask
    if not isinstance(value, list | tuple):
        loader.invalid("type", f"must be a type name or a list of them, is {kind(value)}")
    if not value:
        loader.invalid("type", "must name at least one type")
    mask = 0
    seen = set()
    for name in value:
        if not isinstance(name, str):
            loader.invalid("type", f"must hold type names, holds {kind(name)}")
        if name not in TYPES:
            loader.invalid("type", _unknown_type(name))
        if name in seen:
            loader.invalid("type", f"names {name!r} twice")
        seen.add(name)
        mask |= TYPES[name]
    return mask


def _unknown_type(name: str) -> str:
    if name in ("image", "audio"):
        return (
            f"{name!r} is no JSON type: a model cannot write {name} data as JSON text; take a path or URL as a string"
        )
    return f"{name!r} is no JSON type; they are {', '.join(TYPES)}"


def _enum_values(loader: Loader, value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        loader.invalid("enum", f"must be a list, is {kind(value)}")
    # Empty lists and repeated members break a rule of some drafts, but leave no doubt what is meant.
    if all(type(member) is str for member in value):
        values: list[object] = list(dict.fromkeys(loader.exact("enum", exact_text, member) for member in value))
    else:
        exact = [loader.exact("enum", exact_value, member) for member in value]
        values = list({identity(member): member for member in reversed(exact)}.values())[::-1]
    return values


# --- scalars


def _number(loader: Loader, keyword: str, value: object) -> Fraction:
    if not is_number(value):
        loader.invalid(keyword, f"must be a number, is {kind(value)}")
    return Fraction(loader.exact(keyword, exact_number, value))


def _count(loader: Loader, keyword: str, value: object) -> int:
    if type(value) is int and value >= 0:
        return value
    if not is_number(value):
        loader.invalid(keyword, f"must be a non-negative integer, is {kind(value)}")
    number = loader.exact(keyword, exact_number, value)
    if not isinstance(number, int) or number < 0:
        loader.invalid(keyword, f"must be a non-negative integer, is {value}")
    return number


def _count_reader(field: str) -> Reader:
    def read(loader: Loader, keyword: str, value: object) -> None:
        setattr(loader.node, field, _count(loader, keyword, value))

    return read


def _bound_reader(field: str) -> Reader:
    def read(loader: Loader, keyword: str, value: object) -> None:
        if isinstance(value, bool):
            hint = "; only draft 04 has the boolean form: give the bound itself" if "exclusive" in field else ""
            loader.invalid(keyword, "must be a number, is a boolean" + hint)
        setattr(loader.node, field, _number(loader, keyword, value))

    return read


def _draft_04_bound_reader(field: str, modifier: str) -> Reader:
    def read(loader: Loader, keyword: str, value: object) -> None:
        bound = _number(loader, keyword, value)
        exclusive = loader.schema.get(modifier) is True
        setattr(loader.node, "exclusive_" + field if exclusive else field, bound)

    return read


def _read_draft_04_exclusive(loader: Loader, keyword: str, value: object) -> None:
    # Without the bound that it modifies it means nothing.
    if not isinstance(value, bool):
        loader.invalid(keyword, f"must be a boolean in draft 04, is {kind(value)}; numbers came with draft 06")


def _read_multiple_of(loader: Loader, keyword: str, value: object) -> None:
    divisor = _number(loader, keyword, value)
    if divisor <= 0:
        loader.invalid(keyword, f"must be greater than 0, is {value}")
    loader.node.multiple_of = divisor


def _read_pattern(loader: Loader, keyword: str, value: object) -> None:
    if not isinstance(value, str):
        loader.invalid(keyword, f"must be a string, is {kind(value)}")
    pattern = loader.exact(keyword, exact_text, value)
    problem = _pattern_problem(loader, keyword, pattern)
    if problem is None:
        loader.node.pattern = pattern
    elif loader.admits & STRING:
        loader.unsupported(keyword, problem)


def _pattern_problem(loader: Loader, keyword: str, pattern: str) -> str | None:
    """Why a pattern cannot be enforced; None where it can be. Raises `InvalidSchemaError` for what is no pattern."""
    try:
        parse(pattern)
    except PatternError as error:
        reason = f"in {pattern!r} at {error.position}: {error.reason}"
        if error.kind == "invalid":
            loader.invalid(keyword, reason)
        return reason
    except ResourceLimitError as error:
        raise ResourceLimitError(loader.node.pointer, keyword, error.reason, error.limit) from error
    return None


def _read_format(loader: Loader, keyword: str, value: object) -> None:
    if not isinstance(value, str):
        loader.invalid(keyword, f"must be a string, is {kind(value)}")
    if value not in FORMATS:
        loader.unenforced.append(Unenforced(loader.node.pointer, keyword, f"unknown format {value!r}"))
    elif loader.admits & STRING and not loader.deferred(keyword, f"the format {value!r} cannot be enforced"):
        is_old = value == "hostname" and loader.dialect.draft <= 6
        loader.node.format = OLD_HOSTNAME if is_old else value


# --- arrays


def _read_items(loader: Loader, keyword: str, value: object) -> None:
    if isinstance(value, list | tuple):
        loader.invalid(keyword, "must be one schema in draft 2020-12; a list of schemas is called prefixItems there")
    if loader.admits & ARRAY:
        loader.node.items = loader.rest(keyword, value)


def _read_draft_04_items(loader: Loader, keyword: str, value: object) -> None:
    """`items` up to 2019-09, where a list makes a tuple and `additionalItems` is about what follows it."""
    if not isinstance(value, list | tuple):
        if loader.admits & ARRAY:
            loader.node.items = loader.rest(keyword, value)
        return
    _read_prefix(loader, keyword, value)
    if "additionalItems" in loader.schema and loader.admits & ARRAY:
        loader.node.items = loader.rest("additionalItems", loader.schema["additionalItems"], boolean=True)


def _read_prefix(loader: Loader, keyword: str, value: object) -> None:
    schemas = _schema_list(loader, keyword, value, empty=keyword == "items" and loader.dialect.draft >= 6)
    if loader.admits & ARRAY:
        loader.node.prefix_items = [
            loader.child(schema, f"/{keyword}/{position}") for position, schema in enumerate(schemas)
        ]


def _read_unique_items(loader: Loader, keyword: str, value: object) -> None:
    if not isinstance(value, bool):
        loader.invalid(keyword, f"must be a boolean, is {kind(value)}")
    if value and loader.admits & ARRAY:
        loader.node.unique_items = not loader.deferred(keyword, "that items differ from each other cannot be enforced")


def _read_contains(loader: Loader, keyword: str, value: object) -> None:
    loader.check_schema(value, "/" + keyword)
    least, most = 1, None
    if loader.dialect.draft >= 2019:
        if "minContains" in loader.schema:
            least = _count(loader, "minContains", loader.schema["minContains"])
        if "maxContains" in loader.schema:
            most = _count(loader, "maxContains", loader.schema["maxContains"])
    if not loader.admits & ARRAY or not (least or most is not None or loader.seen):
        return
    if not loader.deferred(keyword, "that some of the items fit a schema cannot be enforced"):
        path = "/" + keyword
        loader.node.contains = loader.child(value, path) if most is None else loader.test(value, path, in_place=False)
        loader.node.min_contains, loader.node.max_contains = least, most


def _read_unevaluated_items(loader: Loader, keyword: str, value: object) -> None:
    loader.check_schema(value, "/" + keyword)
    schema = loader.schema
    items = schema.get("items")
    tuple_items = isinstance(items, list | tuple)
    if not loader.admits & ARRAY or ("items" in schema and (not tuple_items or "additionalItems" in schema)):
        return  # every item is evaluated
    if _asks_nothing(value) or not any(name in schema for name in (*IN_PLACE, "contains")):
        loader.node.items = loader.rest(keyword, value)
    elif not loader.deferred(keyword, "what other keywords leave unevaluated cannot be determined"):
        loader.node.unevaluated_items = loader.child(value, "/" + keyword)


# --- objects


def _read_properties(loader: Loader, keyword: str, value: object) -> None:
    members = _schema_map(loader, keyword, value)
    if loader.admits & OBJECT:
        loader.node.names_at = len(loader.node.written)
        properties: dict[str, int] = {}
        for name, schema in members.items():
            path = "/properties/" + escape(name)
            properties[loader.exact(keyword, exact_text, name)] = loader.child(schema, path)
        loader.node.properties = properties


def _read_additional_properties(loader: Loader, keyword: str, value: object) -> None:
    loader.check_schema(value, "/" + keyword, boolean=True)
    if loader.admits & OBJECT and not _lacks_patterns(loader, keyword, value):
        loader.node.additional = loader.rest(keyword, value, boolean=True)


def _lacks_patterns(loader: Loader, keyword: str, value: object) -> bool:
    """Whether further members cannot be told because `patternProperties` lacks some patterns; lists `keyword` if so."""
    patterns = loader.schema.get("patternProperties")
    if not patterns or _asks_nothing(value) or not loader.warn:
        return False  # without `warn`, patternProperties itself is refused
    if "patternProperties" not in loader.not_yet:
        exact = (
            loader.exact("patternProperties", exact_text, pattern)
            for pattern in _schema_map(loader, "patternProperties", patterns)
        )
        if all(_pattern_problem(loader, "patternProperties", pattern) is None for pattern in exact):
            return False
    loader.unsupported(keyword, "which members it is about depends on patternProperties, which is left out")
    return True


def _read_required(loader: Loader, keyword: str, value: object) -> None:
    if isinstance(value, bool):
        loader.invalid(keyword, "must be a list of names, is a boolean; list the name in the required of the object")
    names = _name_list(loader, keyword, value)
    if not names and loader.dialect.draft == 4:
        loader.invalid(keyword, "must hold at least one name in draft 04")
    loader.node.required = tuple(names)


def _read_pattern_properties(loader: Loader, keyword: str, value: object) -> None:
    members = _schema_map(loader, keyword, value)
    if not members or not loader.admits & OBJECT:
        return
    if not loader.deferred(keyword, "members chosen by a pattern of their names cannot be enforced"):
        for pattern, schema in members.items():
            exact = loader.exact(keyword, exact_text, pattern)
            problem = _pattern_problem(loader, keyword, exact)
            if problem is None:
                number = loader.child(schema, f"/{keyword}/{escape(pattern)}")
                loader.node.add("pattern_properties", (exact, number))
            else:
                loader.unsupported(keyword, problem)


def _read_property_names(loader: Loader, keyword: str, value: object) -> None:
    loader.check_schema(value, "/" + keyword)
    if not loader.admits & OBJECT or _asks_nothing(value):
        return
    if not loader.deferred(keyword, "a schema for the names of members cannot be enforced"):
        loader.node.property_names = loader.child(value, "/" + keyword)


def _read_dependent_required(loader: Loader, keyword: str, value: object) -> None:
    _read_dependencies_of(loader, keyword, value, "names that are required beside others cannot be enforced", "names")


def _read_dependent_schemas(loader: Loader, keyword: str, value: object) -> None:
    _read_dependencies_of(loader, keyword, value, "schemas that apply beside a member cannot be enforced", "schemas")


def _read_dependencies(loader: Loader, keyword: str, value: object) -> None:
    _read_dependencies_of(loader, keyword, value, "what applies beside a member cannot be enforced", "either")


def _read_dependencies_of(
    loader: Loader, keyword: str, value: object, reason: str, form: Literal["names", "schemas", "either"]
) -> None:
    names: dict[str, list[str]] = {}
    schemas: dict[str, object] = {}
    for name, dependency in _mapping(loader, keyword, value).items():
        if form == "names" or (form == "either" and isinstance(dependency, list | tuple)):
            names[name] = _name_list(loader, keyword, dependency)
            if not names[name] and loader.dialect.draft == 4:
                loader.invalid(keyword, "a list of names must not be empty in draft 04")
        else:
            loader.check_schema(dependency, f"/{keyword}/{escape(name)}")
            if not _asks_nothing(dependency):
                schemas[name] = dependency
    if not loader.admits & OBJECT or not (any(names.values()) or schemas) or loader.deferred(keyword, reason):
        return
    node = loader.node
    for name, required in names.items():
        if required:
            exact = loader.exact(keyword, exact_text, name)
            needed = tuple(dict.fromkeys((*node.dependent_required.get(exact, ()), *required)))
            node.dependent_required = {**node.dependent_required, exact: needed}
    for name, schema in schemas.items():
        exact = loader.exact(keyword, exact_text, name)
        path = f"/{keyword}/{escape(name)}"
        number = loader.in_place(schema, path)
        if exact in node.dependent_schemas:  # dependencies beside dependentSchemas
            number = loader.both(node.dependent_schemas[exact], number, path)
        node.dependent_schemas = {**node.dependent_schemas, exact: number}


def _read_unevaluated_properties(loader: Loader, keyword: str, value: object) -> None:
    loader.check_schema(value, "/" + keyword)
    if not loader.admits & OBJECT or "additionalProperties" in loader.schema:
        return  # every member is evaluated
    if _asks_nothing(value) or not any(name in loader.schema for name in IN_PLACE):
        if not _lacks_patterns(loader, keyword, value):
            loader.node.additional = loader.rest(keyword, value)
    elif not loader.deferred(keyword, "what other keywords leave unevaluated cannot be determined"):
        loader.node.unevaluated_properties = loader.child(value, "/" + keyword)


# --- in place


def _read_all_of(loader: Loader, keyword: str, value: object) -> None:
    for position, schema in enumerate(_schema_list(loader, keyword, value)):
        loader.node.add("all_of", loader.in_place(schema, f"/{keyword}/{position}"))


def _read_any_of(loader: Loader, keyword: str, value: object) -> None:
    schemas = _schema_list(loader, keyword, value)
    group = loader.group(keyword, schemas)
    # transformers' get_json_schema writes Optional[A | B] so; with a type, nullable is about that type.
    if loader.schema.get("nullable") is True and "type" not in loader.schema:
        group.append(loader.null(f"/{keyword}"))
        loader.node.choice = None
    loader.node.add("any_of", group)
    if loader.node.choice is not None:
        loader.node.types &= OBJECT


def _read_one_of(loader: Loader, keyword: str, value: object) -> None:
    schemas = _schema_list(loader, keyword, value)
    if len(schemas) == 1:
        loader.node.add("all_of", loader.in_place(schemas[0], f"/{keyword}/0"))
    elif loader.admits and not loader.deferred(
        keyword, "that exactly one schema fits cannot be enforced; anyOf says the same where they exclude each other"
    ):
        loader.node.add("one_of", loader.group(keyword, schemas))
        if loader.node.choice is not None:
            loader.node.types &= OBJECT


def _read_not(loader: Loader, keyword: str, value: object) -> None:
    loader.check_schema(value, "/" + keyword)
    if value is False or not loader.admits:
        return
    if not loader.deferred(keyword, "that a schema does not fit cannot be enforced"):
        loader.node.add("none_of", loader.test(value, "/" + keyword, in_place=False))


def _read_if(loader: Loader, keyword: str, value: object) -> None:
    loader.check_schema(value, "/" + keyword)
    schema = loader.schema
    branches = {name: schema[name] for name in ("then", "else") if name in schema and not _asks_nothing(schema[name])}
    if not loader.admits or not (branches or loader.seen):
        return
    if not loader.deferred(keyword, "schemas that apply under a condition cannot be enforced"):
        condition = loader.test(value, "/" + keyword, in_place=True)
        numbers = {name: loader.in_place(branch, "/" + name) for name, branch in branches.items()}
        loader.node.add("conditions", (condition, numbers.get("then"), numbers.get("else")))


def _read_then_else(loader: Loader, keyword: str, value: object) -> None:
    loader.check_schema(value, "/" + keyword)


def _read_ref(loader: Loader, keyword: str, value: object) -> None:
    target = _follow(loader, keyword, value)
    if target is not None:
        loader.node.add("all_of", loader.refer(keyword, target))


def _follow(loader: Loader, keyword: str, value: object) -> Target | None:
    """The target of a reference; None where it is to be left out."""
    if not isinstance(value, str):
        loader.invalid(keyword, f"must be a string, is {kind(value)}")
    try:
        return loader.references.resolve(value, loader.scope)
    except Remote as error:
        loader.unsupported(keyword, f"{value!r} cannot be followed: {error.reason}")
        return None
    except Unresolvable as error:
        loader.invalid(keyword, f"{value!r} leads nowhere: {error.reason}")


def _read_dynamic_ref(loader: Loader, keyword: str, value: object) -> None:
    """`$dynamicRef` of 2020-12: dynamic only where its target has a `$dynamicAnchor` of that name.

    It leads to the outermost resource on the way to it that has this anchor.
    """
    target = _follow(loader, keyword, value)
    if target is not None:
        name = str(value).partition("#")[2]
        if is_dynamic_anchor(target, name):
            target = loader.outermost(name, target)
        loader.node.add("all_of", loader.refer(keyword, target))


def _read_recursive_ref(loader: Loader, keyword: str, value: object) -> None:
    """`$recursiveRef` of 2019-09: dynamic only where the resource's root has `$recursiveAnchor: true`."""
    if value != "#":
        loader.invalid(keyword, f"must be '#', is {value!r}")
    target = loader.references.resolve("#", loader.scope)
    if has_recursive_anchor(target):
        target = loader.outermost(RECURSIVE, target)
    loader.node.add("all_of", loader.refer(keyword, target))


# --- shapes


def _asks_nothing(schema: object) -> bool:
    return schema is True or (isinstance(schema, dict) and not schema)


def _mapping(loader: Loader, keyword: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        loader.invalid(keyword, f"must be an object, is {kind(value)}")
    for name in value:
        if not isinstance(name, str):
            loader.invalid(keyword, f"the name {name!r} of a member is not a string")
    return value


def _schema_map(loader: Loader, keyword: str, value: object) -> dict[str, object]:
    members = _mapping(loader, keyword, value)
    for name, schema in members.items():
        if not isinstance(schema, dict):
            loader.check_schema(schema, f"/{keyword}/{escape(name)}")
    return members


def _schema_list(loader: Loader, keyword: str, value: object, *, empty: bool = False) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        loader.invalid(keyword, f"must be a list of schemas, is {kind(value)}")
    if not value and not empty:
        loader.invalid(keyword, "must hold at least one schema")
    for position, schema in enumerate(value):
        if not isinstance(schema, dict):
            loader.check_schema(schema, f"/{keyword}/{position}")
    return value


def _name_list(loader: Loader, keyword: str, value: object) -> list[str]:
    if not isinstance(value, list | tuple):
        loader.invalid(keyword, f"must be a list of names, is {kind(value)}")
    names: dict[str, None] = {}
    for name in value:
        if not isinstance(name, str):
            loader.invalid(keyword, f"must hold strings, holds {kind(name)}")
        name = loader.exact(keyword, exact_text, name)
        if name in names:
            loader.invalid(keyword, f"names {name!r} twice")
        names[name] = None
    return list(names)


# --- the table


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword with its reader and the first and last draft that has it."""

    name: str
    read: Reader
    since: int = 4
    until: int = 2020


KEYWORDS = (
    Keyword("minimum", _draft_04_bound_reader("minimum", "exclusiveMinimum"), until=4),
    Keyword("maximum", _draft_04_bound_reader("maximum", "exclusiveMaximum"), until=4),
    Keyword("exclusiveMinimum", _read_draft_04_exclusive, until=4),
    Keyword("exclusiveMaximum", _read_draft_04_exclusive, until=4),
    Keyword("minimum", _bound_reader("minimum"), since=6),
    Keyword("maximum", _bound_reader("maximum"), since=6),
    Keyword("exclusiveMinimum", _bound_reader("exclusive_minimum"), since=6),
    Keyword("exclusiveMaximum", _bound_reader("exclusive_maximum"), since=6),
    Keyword("multipleOf", _read_multiple_of),
    Keyword("minLength", _count_reader("min_length")),
    Keyword("maxLength", _count_reader("max_length")),
    Keyword("pattern", _read_pattern),
    Keyword("format", _read_format),
    Keyword("items", _read_draft_04_items, until=2019),
    Keyword("items", _read_items, since=2020),
    Keyword("prefixItems", _read_prefix, since=2020),
    Keyword("minItems", _count_reader("min_items")),
    Keyword("maxItems", _count_reader("max_items")),
    Keyword("uniqueItems", _read_unique_items),
    Keyword("contains", _read_contains, since=6),
    Keyword("unevaluatedItems", _read_unevaluated_items, since=2019),
    Keyword("properties", _read_properties),
    Keyword("additionalProperties", _read_additional_properties),
    Keyword("required", _read_required),
    Keyword("minProperties", _count_reader("min_properties")),
    Keyword("maxProperties", _count_reader("max_properties")),
    Keyword("patternProperties", _read_pattern_properties),
    Keyword("propertyNames", _read_property_names, since=6),
    Keyword("dependentRequired", _read_dependent_required, since=2019),
    Keyword("dependentSchemas", _read_dependent_schemas, since=2019),
    # Not in the latest drafts, but left to implementations there, and validators differ.
    Keyword("dependencies", _read_dependencies),
    Keyword("unevaluatedProperties", _read_unevaluated_properties, since=2019),
    Keyword("allOf", _read_all_of),
    Keyword("anyOf", _read_any_of),
    Keyword("oneOf", _read_one_of),
    Keyword("not", _read_not),
    Keyword("if", _read_if, since=7),
    Keyword("then", _read_then_else, since=7),
    Keyword("else", _read_then_else, since=7),
    Keyword("$ref", _read_ref),
    Keyword("$recursiveRef", _read_recursive_ref, since=2019, until=2019),
    Keyword("$dynamicRef", _read_dynamic_ref, since=2020),
)


def readers_of(dialect: Dialect) -> dict[str, Reader]:
    """The readers of a draft by keyword, without those that `read_admitted` reads."""
    return _READERS[dialect.draft]


_READERS = {
    dialect.draft: {
        keyword.name: keyword.read for keyword in KEYWORDS if keyword.since <= dialect.draft <= keyword.until
    }
    for dialect in DIALECTS
}
