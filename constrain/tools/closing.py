"""Closing objects: a schema in which objects take no member that it does not name.

Most schemas of tools leave `additionalProperties` out and mean false. Taken literally, that would make an `allOf` of
two objects accept only what both name, which may be nothing. So the rule is:

- An object is closed where one subschema describes it: where there are `properties` and no `additionalProperties` or
  `unevaluatedProperties`.
- A subschema that only passes the value on (a `$ref`, an `allOf`, `anyOf` or `oneOf` of its own, no members) leaves
  closing to where it leads: each alternative of a `oneOf` is closed by itself.
- Where several subschemas describe one object together, the parts stay open, and the whole is closed around the union
  of the names and patterns of all of them, unless one says itself what further members are.
- Nothing is closed in a condition (`not`, `if`, `contains` with a maximum): that would let more pass, not less.
- Objects without any `properties` are maps, and stay open.

The result is a plain JSON Schema of the same draft that any validator reads. `json_schema(..., closed_objects=True)`
follows the same rule without rewriting. A subschema that is referred to both as a part and as a whole is there twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from constrain.grammars.errors import InvalidSchemaError, UnsupportedSchemaError

_OLD = ("draft-04", "draft-06", "draft-07")
_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("then", "else")
_IN_PLACE_MAPS = ("dependentSchemas", "dependencies")
_CHILDREN = ("additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems", "propertyNames")
_CHILD_MAPS = ("properties", "patternProperties")
_DEFINITIONS = ("$defs", "definitions")
_DYNAMIC = ("$dynamicRef", "$recursiveRef")

_WHOLE, _PART, _AS_IT_IS = "closed", "open part", "as it is"


def close_objects(schema: Any) -> Any:
    """The schema with its objects closed; see above. The schema is not changed.

    Raises:
        InvalidSchemaError: a reference leads nowhere.
        UnsupportedSchemaError: references go by anchors, dynamic anchors or identifiers, so that what they lead to
            cannot be written a second time.
    """
    if not isinstance(schema, dict):
        return schema
    return _Closer(schema).run()


class _Closer:
    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        named = str(root.get("$schema", ""))
        self.overrides = any(draft in named for draft in _OLD)
        self.holder = "definitions" if self.overrides else "$defs"
        self.identifier = "id" if "draft-04" in named else "$id"
        self.anything: Any = {} if "draft-04" in named else True
        self.names: dict[tuple[str, str], str] = {}
        self.pending: list[tuple[str, str]] = []
        self.taken = set(root.get(self.holder, ()))

    def run(self) -> dict[str, Any]:
        out = self.rewritten(self.root, "", _WHOLE)
        definitions: dict[str, Any] = {}
        while self.pending:
            pointer, way = self.pending.pop()
            definitions[self.names[pointer, way]] = self.rewritten(self.at(pointer), pointer, way)
        # Definitions that are not referred to under this name any more would only be dead weight.
        for holder in _DEFINITIONS:
            out.pop(holder, None)
        if definitions:
            out[self.holder] = definitions
        return out

    def reference(self, reference: Any, place: str, way: str) -> str:
        """The reference to the variant of its target."""
        if not isinstance(reference, str) or (reference != "#" and not reference.startswith("#/")):
            raise UnsupportedSchemaError(
                place, "$ref", f"objects can be closed behind references of the form '#/...', not {reference!r}"
            )
        pointer = unquote(reference[1:])
        if not pointer and way == _WHOLE:
            return "#"
        key = (pointer, way)
        if key not in self.names:
            self.at(pointer)
            base = (pointer.rsplit("/", 1)[-1] or "root") + ("" if way == _WHOLE else f" ({way})")
            name, count = base, 1
            while name in self.names.values() or (name in self.taken and name != base):
                count += 1
                name = f"{base} {count}"
            self.names[key] = name
            self.pending.append(key)
        escaped = self.names[key].replace("~", "~0").replace("/", "~1").replace("%", "%25")
        return f"#/{self.holder}/{escaped}"

    def at(self, pointer: str) -> Any:
        value: Any = self.root
        for part in pointer.split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and part in value:
                value = value[part]
            elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
                value = value[int(part)]
            else:
                raise InvalidSchemaError("", "$ref", f"the reference '#{pointer}' leads nowhere")
        return value

    def rewritten(self, schema: Any, place: str, way: str) -> Any:
        """The schema at a place. `way`: closes its own object, leaves that to others, or is only copied."""
        if not isinstance(schema, dict):
            return schema
        if place and isinstance(schema.get(self.identifier), str):
            raise UnsupportedSchemaError(
                place, self.identifier, "objects cannot be closed in a schema with identifiers inside"
            )
        for keyword in _DYNAMIC:
            if keyword in schema:
                raise UnsupportedSchemaError(place, keyword, "objects cannot be closed behind dynamic references")
        if way == _AS_IT_IS:
            return self._copied(schema, place)
        if self.overrides and "$ref" in schema:
            return {**schema, "$ref": self.reference(schema["$ref"], place, way)}
        closes, passes_on, as_a_whole = self._plan(schema) if way == _WHOLE else (False, False, False)
        below = _WHOLE if passes_on else _PART
        out: dict[str, Any] = {}
        for key, value in schema.items():
            where = f"{place}/{key}"
            if key == "$ref":
                out[key] = self.reference(value, place, below)
            elif key in _IN_PLACE_LISTS and isinstance(value, list):
                out[key] = [self.rewritten(part, f"{where}/{i}", below) for i, part in enumerate(value)]
            elif key in _IN_PLACE:
                out[key] = self.rewritten(value, where, below)
            elif key in _IN_PLACE_MAPS and isinstance(value, dict):
                out[key] = {name: self.rewritten(part, f"{where}/{name}", below) for name, part in value.items()}
            elif key in ("not", "if") or (key == "contains" and "maxContains" in schema):
                out[key] = self.rewritten(value, where, _AS_IT_IS)
            elif key in _CHILD_MAPS and isinstance(value, dict):
                out[key] = {name: self.rewritten(part, f"{where}/{name}", _WHOLE) for name, part in value.items()}
            elif key in ("prefixItems", "items") and isinstance(value, list):
                out[key] = [self.rewritten(part, f"{where}/{i}", _WHOLE) for i, part in enumerate(value)]
            elif key in _CHILDREN or key in ("items", "contains"):
                out[key] = self.rewritten(value, where, _WHOLE)
            else:
                out[key] = value
        if closes:
            out["additionalProperties"] = False
        elif as_a_whole:
            around = self._around(schema)
            if around is not None:
                out["allOf"] = [*out.get("allOf", []), around]
        return out

    def _copied(self, schema: Any, place: str) -> Any:
        """A copy that only lets references lead where they led."""
        if isinstance(schema, list):
            return [self._copied(part, place) for part in schema]
        if not isinstance(schema, dict):
            return schema
        out = {}
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                out[key] = self.reference(value, place, _AS_IT_IS)
            elif key in ("enum", "const", "default", "examples"):
                out[key] = value
            else:
                out[key] = self._copied(value, f"{place}/{key}")
        return out

    def _plan(self, schema: dict[str, Any]) -> tuple[bool, bool, bool]:
        """Whether the schema closes its object itself, leaves that to the part that it is, or is closed as a whole."""
        members = schema.get("allOf")
        parts = sum(key in schema for key in ("$ref", "anyOf", "oneOf"))
        parts += len(members) if isinstance(members, list) else 0
        # These may leave out the part that would close the object.
        parts += 2 * sum(key in schema for key in ("if", *_IN_PLACE_MAPS))
        if "additionalProperties" in schema or "unevaluatedProperties" in schema:
            return False, False, False
        if not parts:
            return isinstance(schema.get("properties"), dict), False, False
        if parts == 1 and not schema.get("properties") and not schema.get("patternProperties"):
            return False, True, False
        return False, False, True

    def _around(self, schema: dict[str, Any]) -> dict[str, Any] | None:
        """A closed object of all the names of the parts; None where a part says what further members are."""
        names: dict[str, Any] = {}
        patterns: dict[str, Any] = {}
        for part in self._parts(schema):
            for key in ("additionalProperties", "unevaluatedProperties"):
                if part.get(key, False) is not False:
                    return None
            names.update(dict.fromkeys(part.get("properties") or (), self.anything))
            patterns.update(dict.fromkeys(part.get("patternProperties") or (), self.anything))
        if not names:
            return None
        around: dict[str, Any] = {"properties": names}
        if patterns:
            around["patternProperties"] = patterns
        return {**around, "additionalProperties": False}

    def _parts(self, schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        seen: set[int] = set()
        stack: list[Any] = [schema]
        while stack:
            part = stack.pop()
            if not isinstance(part, dict) or id(part) in seen:
                continue
            seen.add(id(part))
            if isinstance(part.get("$ref"), str) and (part["$ref"] == "#" or part["$ref"].startswith("#/")):
                stack.append(self.at(unquote(part["$ref"][1:])))
                if self.overrides:
                    continue
            yield part
            for key in _IN_PLACE_LISTS:
                stack.extend(part.get(key) or () if isinstance(part.get(key), list) else ())
            stack.extend(part[key] for key in ("if", *_IN_PLACE) if key in part)
            for key in _IN_PLACE_MAPS:
                stack.extend(part[key].values() if isinstance(part.get(key), dict) else ())
