"""The traversal: from the root to every subschema that constrains something, without recursion.

Subschemas are numbered when they are first named and read later, from a growing list, so that depth and cycles of
references cost nothing. One subschema is one number however many references lead to it. What nothing leads to, such as
an unused entry of `$defs`, is never looked at.

With closed objects, `additionalProperties` absent means false. Taken literally, that would make an `allOf` of two
objects accept only the members they share. So an object is closed where it stands alone; where several subschemas
describe one object together, their parts stay open and the whole is closed around the union of their names. Nothing is
closed inside a condition (`not`, `if`), as that would let more pass, not less.

One place of the schema may become several subschemas, as what it means depends on the way to it: on whether it closes
its object, on whether an `unevaluated…` keyword sees what it evaluates, and on where dynamic references lead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any, NoReturn, TypeVar

from constrain.grammars.errors import InvalidSchemaError, ResourceLimitError, UnsupportedSchemaError
from constrain.grammars.json_schema.choice import MIN_BRANCHES, Choice, tags, tell_apart
from constrain.grammars.json_schema.deferred import Deferred, Fragments
from constrain.grammars.json_schema.dialect import Dialect
from constrain.grammars.json_schema.dynamic_scope import DynamicScopes
from constrain.grammars.json_schema.frozen import WITHOUT_MEANING, frozen_all
from constrain.grammars.json_schema.ir import ANY_TYPE, NULL, Subschema, Unenforced
from constrain.grammars.json_schema.keywords import IN_PLACE, TYPES, read_admitted, readers_of
from constrain.grammars.json_schema.references import References, Scope, Target
from constrain.grammars.json_schema.values import ValueProblem, kind

MAX_POINTER_CHARACTERS = 1 << 26
"""Limit of the characters in the JSON pointers of all subschemas, which grow as the square of the nesting depth."""

CLOSED = 1  # the subschema closes its object, or says who does
CLOSING = 2  # objects below it are closed
SEEN = 4  # the highest; what it marks as evaluated is seen by an `unevaluated…` keyword around it
_MODE_BITS = 3
_MODE_MASK = 7

_OF_TYPES = WITHOUT_MEANING | {"type"}

T = TypeVar("T")


class Loader:
    """Reads one schema. While a keyword is read, the attributes describe the subschema it belongs to.

    Attributes:
        node: the subschema being filled in.
        schema: what is written there.
        scope: its base URI, resource and dialect.
        admits: mask of the type atoms that its type and values admit.
        subschemas, unenforced: the result so far.
        seen: whether it matters which members and items the subschema marks as evaluated.
        warn: whether what cannot be enforced is left out and listed.
        not_yet: the keywords that cannot be enforced.
        left_out: the nodes that lack a keyword that would constrain them, by the id() of each, with these keywords.
        shared: whether one Python dict stood in two places of the schema.
        notes_order: whether the order in which members are declared is noted.
    """

    node: Subschema
    schema: dict[Any, Any]
    scope: Scope
    admits: int
    seen: bool

    def __init__(self, references: References, *, warn: bool, closed_objects: bool, not_yet: frozenset[str]) -> None:
        self.references = references
        self.subschemas: list[Subschema] = []
        self.unenforced: list[Unenforced] = []
        self.shared = False
        self.notes_order = False
        self.warn = warn
        self.not_yet = not_yet
        self.left_out: dict[int, set[str]] = {}
        self._close = closed_objects
        self._mode = self._mode_below = 0
        self._passes_closing = False
        self._numbers: dict[tuple[int, Scope, int], int] = {}
        self._of_types: dict[tuple[int, bool], int] = {}  # subschemas that say nothing but a type
        self._pending: list[tuple[Subschema, dict[Any, Any], Scope, int]] = []
        self._dynamic_scopes = DynamicScopes(self.references)
        self._dynamic_scope = 0
        self._closed_as_a_whole: list[Subschema] = []
        self._open: set[int] = set()
        self._pointer_characters = 0
        self._problems: set[str] = set()

    @property
    def dialect(self) -> Dialect:
        return self.scope.dialect

    def run(self) -> int:
        """Loads everything; returns the number of the root."""
        self.scope = self.references.root
        if self.scope.dialect.problem:
            self._refuse_dialect(self.scope, "")
        root = self._add(self.scope.root, self.scope, "", CLOSED | CLOSING if self._close else 0)
        self._read_pending()
        for node in self._closed_as_a_whole:
            self._close_around(node)
        return root

    def _read_pending(self) -> None:
        for node, schema, scope, way in self._pending:
            self.node, self.schema, self.scope = node, schema, scope
            self._mode = mode = way & _MODE_MASK
            self._mode_below = CLOSED | CLOSING if mode & CLOSING else 0
            self._dynamic_scope = way >> _MODE_BITS
            self._read(mode)

    def fill(self, node: Subschema, schema: dict[Any, Any], mode: int) -> None:
        """Reads a schema into a node that has a number already."""
        self.scope = self.references.root
        self._pending.append((node, schema, self.scope, mode))
        self._read_pending()

    def child(self, schema: object, path: str, *, boolean: bool = False) -> int:
        """The number of the subschema at `path` below this one, about another value; `boolean` if even in draft 04."""
        return self._structural(schema, path, self._mode_below, boolean)

    def in_place(self, schema: object, path: str) -> int:
        """The number of the subschema at `path` below this one, about the same value."""
        return self._describing(self._structural(schema, path, self._mode_in_place(), False))

    def group(self, keyword: str, schemas: Sequence[object]) -> list[int]:
        """The numbers of the branches of `anyOf` or `oneOf`.

        Where they are many and one of their members tells them apart, that is noted, and plain ones are not read yet.
        """
        told = None
        copies: Sequence[bytes | None] = ()
        mode = self._mode_in_place()
        if (
            len(schemas) >= MIN_BRANCHES
            and self.dialect.draft >= 6
            and not (self.seen or self.notes_order or self.dialect.annotations)
            and tags(schemas[0])
        ):
            # Where objects are closed from outside, it matters which members the parts have.
            open_now = self._dynamic_scope or (self._close and not self._passes_closing)
            copies = [None] * len(schemas) if open_now else frozen_all(schemas)
            told = tell_apart(schemas, copies, is_open=not mode & CLOSED)
        if told is None:
            return self._distinct(
                [self.in_place(schema, f"/{keyword}/{position}") for position, schema in enumerate(schemas)]
            )
        plain = [position for position, data in enumerate(copies) if data is not None]
        first = len(self.subschemas)
        pointer = f"{self.node.pointer}/{keyword}/"
        fragments = Fragments(copies, plain, first, pointer, self.dialect, mode, self._close)
        self.subschemas += [Deferred.of(fragments)] * len(plain)
        group = [-1] * len(schemas)
        for number, position in enumerate(plain, first):
            group[position] = number
        if len(plain) < len(schemas):
            for position, number in enumerate(group):
                if number < 0:
                    group[position] = self.in_place(schemas[position], f"/{keyword}/{position}")
        branches = {value: group[position] for value, position in told.positions.items()}
        self.node.choice = Choice(told.tag, branches, tuple(sorted(told.names)), told.is_open)
        return group

    def _distinct(self, group: list[int]) -> list[int]:
        """The group with each number in it once: what stands in it again, as one Python object may, is referred to.

        Of a `oneOf` a branch that stands twice never holds alone, so which branch is meant must be told.
        """
        if len({*group}) == len(group):
            return group
        out: dict[int, None] = {}
        for number in group:
            if number in out:
                self.subschemas.append(Subschema(self.subschemas[number].pointer, all_of=[number]))
                number = len(self.subschemas) - 1
            out[number] = None
        return [*out]

    def test(self, schema: object, path: str, *, in_place: bool) -> int:
        """The number of the subschema at `path` below this one, of which it matters too that it does not hold.

        `in_place` where it marks members and items of this value as evaluated.
        """
        return self._structural(schema, path, SEEN if in_place and self.seen else 0, False)

    def rest(self, keyword: str, schema: object, *, boolean: bool = False) -> int | None:
        """As `child`, for what follows the named positions or members: None where it asks nothing."""
        if schema is True and (boolean or self.dialect.boolean_schemas) and not self.seen:
            return None
        if isinstance(schema, dict) and not schema and not self.seen:
            return None
        return self.child(schema, "/" + keyword, boolean=boolean)

    def check_schema(self, value: object, path: str, *, boolean: bool = False) -> None:
        """Raises `InvalidSchemaError` unless the value at `path` is a schema; `boolean` allows those in draft 04."""
        if isinstance(value, dict) or (isinstance(value, bool) and (boolean or self.dialect.boolean_schemas)):
            return
        where = "" if self.dialect.boolean_schemas else f" (in {self.dialect.name}, {{}} is what true is later)"
        keyword = path.split("/")[1]
        raise InvalidSchemaError(self.node.pointer + path, keyword, f"must be a schema, is {kind(value)}{where}")

    def refer(self, keyword: str, target: Target) -> int:
        """The number of the target of a reference."""
        if isinstance(target.schema, bool) and not target.scope.dialect.boolean_schemas:
            self.invalid(
                keyword, f"{target.pointer} holds a boolean, which is no schema in {target.scope.dialect.name}"
            )
        return self._describing(self._add(target.schema, target.scope, target.pointer, self._mode_in_place()))

    def outermost(self, name: str, target: Target) -> Target:
        """Where a reference to the dynamic anchor `name` leads from here; `target` is where it stands for itself."""
        return self._dynamic_scopes.anchors(self._dynamic_scope).get(name, target)

    def both(self, first: int, second: int, path: str) -> int:
        """The number of a new subschema in which two others hold."""
        self.subschemas.append(Subschema(self.node.pointer + path, all_of=[first, second]))
        return len(self.subschemas) - 1

    def null(self, path: str) -> int:
        """The number of a new subschema that admits null alone."""
        self.subschemas.append(Subschema(self.node.pointer + path, NULL))
        return len(self.subschemas) - 1

    def exact(self, keyword: str, take: Callable[[Any], T], value: object) -> T:
        """`take(value)` with its problems named as those of `keyword` here."""
        try:
            return take(value)
        except ValueProblem as problem:
            if problem.limit:
                raise ResourceLimitError(self.node.pointer, keyword, problem.reason, problem.limit) from None
            self.invalid(keyword, problem.reason)

    def invalid(self, keyword: str, reason: str) -> NoReturn:
        raise InvalidSchemaError(self.node.pointer, keyword, reason)

    def unsupported(self, keyword: str, reason: str) -> None:
        """Raises for a keyword that would constrain but cannot be enforced, or lists it where the caller chose so."""
        if not self.warn:
            raise UnsupportedSchemaError(
                self.node.pointer, keyword, reason + ' (on_unsupported="warn" leaves it out and lists it)'
            )
        self.unenforced.append(Unenforced(self.node.pointer, keyword, reason))
        self.left_out.setdefault(id(self.node), set()).add(keyword)
        if keyword in IN_PLACE or keyword == "patternProperties":
            self._open.add(id(self.node))  # it may have named members

    def deferred(self, keyword: str, reason: str) -> bool:
        """Whether `keyword` cannot be enforced yet; treats it as `unsupported` then."""
        if keyword not in self.not_yet:
            return False
        self.unsupported(keyword, reason)
        return True

    def _mode_in_place(self) -> int:
        return (CLOSED if self._passes_closing else 0) | (self._mode & CLOSING) | (SEEN if self.seen else 0)

    def _describing(self, number: int) -> int:
        """The number itself, noted as that of a subschema that describes the same value."""
        if self.notes_order:
            self.node.add("written", number)
        return number

    def _structural(self, schema: object, path: str, mode: int, boolean: bool) -> int:
        pointer = self.node.pointer + path
        if type(schema) is dict and not self._dynamic_scope:
            types = self._types_alone(schema)
            if types is not None:
                return self._add_types(pointer, types)
        self.check_schema(schema, path, boolean=boolean)
        number = self._add(schema, self.scope, pointer, mode)
        if not self.shared and self.subschemas[number].pointer != pointer:
            self.shared = True
        return number

    def _types_alone(self, schema: dict[Any, Any]) -> int | None:
        """The types that a subschema admits which says nothing else, so that it need not be read; else None."""
        if self.scope.dialect.annotations:
            return None
        named = schema.get("type")
        if len(schema) > 1 and not schema.keys() <= _OF_TYPES:
            return None
        if type(named) is str:
            return TYPES.get(named)
        if type(named) is not list or not named or not all(type(name) is str and name in TYPES for name in named):
            return None
        return reduce(or_, map(TYPES.__getitem__, named)) if len({*named}) == len(named) else None

    def _add_types(self, pointer: str, types: int) -> int:
        """The number of the subschema that admits these types; one for all places, as each of them has a value."""
        key = (types, self.scope.dialect.integral_fraction)
        number = self._of_types.get(key)
        if number is None:
            number = self._of_types[key] = len(self.subschemas)
            self._count_characters(pointer)
            self.subschemas.append(Subschema(pointer, types, integral_fraction=key[1]))
        return number

    def _count_characters(self, pointer: str) -> None:
        self._pointer_characters += len(pointer)
        if self._pointer_characters > MAX_POINTER_CHARACTERS:
            limit = f"MAX_POINTER_CHARACTERS = {MAX_POINTER_CHARACTERS}"
            raise ResourceLimitError(pointer[:200], "", "the schema nests too deeply", limit)

    def _add(self, schema: object, scope: Scope, pointer: str, mode: int) -> int:
        if isinstance(schema, dict):
            if "$schema" in schema or scope.dialect.identifier in schema:
                scope = self.references.enter(schema, scope, pointer)
            dynamic_scope = self._dynamic_scope
            if scope.root is not self.scope.root:
                dynamic_scope = self._dynamic_scopes.enter(scope, dynamic_scope)
            if scope is not self.scope and scope.dialect.problem:
                self._refuse_dialect(scope, pointer if "$schema" in schema else scope.pointer)
            way = dynamic_scope << _MODE_BITS | mode
            key = (id(schema), scope, way)
            number = self._numbers.get(key)
            if number is not None:
                return number
            if dynamic_scope:
                self._dynamic_scopes.count(schema, pointer)
            self._count_characters(pointer)
            number = self._numbers[key] = len(self.subschemas)
            node = Subschema(pointer, integral_fraction=scope.dialect.integral_fraction)
            self.subschemas.append(node)
            self._pending.append((node, schema, scope, way))
            return number
        if isinstance(schema, bool):
            node = Subschema(pointer, integral_fraction=scope.dialect.integral_fraction)
            if not schema:
                node.types = 0
            self.subschemas.append(node)
            return len(self.subschemas) - 1
        raise InvalidSchemaError(pointer, "", f"must be a schema, is {kind(schema)}")

    def _refuse_dialect(self, scope: Scope, pointer: str) -> None:
        """Raises for a scope whose dialect has a problem, or lists it, once, where the caller chose so."""
        reason = scope.dialect.problem
        if not self.warn:
            raise UnsupportedSchemaError(pointer, "$schema", reason)
        if reason not in self._problems:
            self._problems.add(reason)
            self.unenforced.append(Unenforced(pointer, "$schema", reason))

    def _read(self, mode: int) -> None:
        schema, dialect = self.schema, self.scope.dialect
        if dialect.annotations:
            schema = self.schema = {name: value for name, value in schema.items() if name not in dialect.annotations}
        readers = readers_of(dialect)
        self._passes_closing = False
        closing = mode & CLOSED and self._plan_closing()
        if self._close and schema.get("additionalProperties") in (True, {}):
            self._open.add(id(self.node))
        self.seen = mode >= SEEN or (
            ("unevaluatedProperties" in schema or "unevaluatedItems" in schema)
            and dialect.draft >= 2019
            and any(name in schema for name in (*IN_PLACE, "contains"))
        )
        if dialect.reference_overrides and "$ref" in schema:
            readers["$ref"](self, "$ref", schema["$ref"])
            return
        self.admits = read_admitted(self)
        for keyword, value in schema.items():
            read = readers.get(keyword)
            if read is not None:
                read(self, keyword, value)
            elif not isinstance(keyword, str):
                raise InvalidSchemaError(self.node.pointer, "", f"the keyword {keyword!r} is not a string")
        if closing and id(self.node) not in self._open:
            self.node.additional = self._whole(False)

    def _plan_closing(self) -> bool:
        """Decides who closes the object that this subschema describes; True when it does so itself.

        A subschema that only passes the value on, as a reference or a lone `anyOf` or `oneOf`, leaves the closing to
        where it leads. One that adds members of its own or joins several parts is closed as a whole, once all is read.
        """
        schema = self.schema
        if self.dialect.reference_overrides and "$ref" in schema:
            self._passes_closing = True
            return False
        parts = sum(name in schema for name in ("$ref", "$dynamicRef", "$recursiveRef", "anyOf", "oneOf"))
        members = schema.get("allOf")
        parts += len(members) if isinstance(members, list | tuple) else 0
        # These may leave out the part that would close the object.
        parts += 2 * sum(name in schema for name in ("if", "dependentSchemas", "dependencies"))
        if any(name in schema for name in ("additionalProperties", "unevaluatedProperties")):
            return False
        if not parts:
            return isinstance(schema.get("properties"), dict)
        if parts == 1 and not schema.get("properties") and not schema.get("patternProperties"):
            self._passes_closing = True
        else:
            self._closed_as_a_whole.append(self.node)
        return False

    def _close_around(self, node: Subschema) -> None:
        names: dict[str, None] = {}
        patterns: dict[str, None] = {}
        seen: set[int] = set()
        stack = [node]
        while stack:
            part = stack.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            names.update(dict.fromkeys(part.properties))
            patterns.update(dict.fromkeys(pattern for pattern, _ in part.pattern_properties))
            rest = (part.additional, part.unevaluated_properties)
            if id(part) in self._open or any(number is not None and self.subschemas[number].types for number in rest):
                return  # one of the parts says what further members are
            stack.extend(self.subschemas[number] for number in part.in_place() if number not in part.none_of)
        if names:
            self.node = node
            anything, never = self._whole(True), self._whole(False)
            node.add("all_of", len(self.subschemas))
            self.subschemas.append(
                Subschema(
                    node.pointer,
                    properties=dict.fromkeys(names, anything),
                    pattern_properties=[(pattern, anything) for pattern in patterns],
                    additional=never,
                )
            )

    def _whole(self, admits: bool) -> int:
        """The number of a new subschema that admits everything or nothing, for members that no keyword names."""
        self.subschemas.append(Subschema(self.node.pointer + "/additionalProperties", ANY_TYPE if admits else 0))
        return len(self.subschemas) - 1


def read_fragment(node: Subschema, schema: dict[Any, Any], fragments: Fragments, subschemas: list[Subschema]) -> None:
    """Reads what was deferred into `node`; the subschemas below it are added to `subschemas`."""
    references = References(schema, fragments.dialect)
    loader = Loader(references, warn=False, closed_objects=fragments.closed_objects, not_yet=frozenset())
    loader.subschemas = subschemas
    loader.fill(node, schema, fragments.mode)
