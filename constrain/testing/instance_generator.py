"""Values that are probably valid under a schema, by following it.

A value is made for a list of schemas that must hold at once, so `allOf`, references and the chosen branches of `anyOf`,
`oneOf` and `if` simply join the list; what all of them ask of a type, a member, an item or a length is then read off
together. What a list of schemas does not show (`not`, the branches of a `oneOf` that must fail) is left to the
validator that filters the values. Works for any schema, whatever the engine makes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any
from urllib.parse import unquote

from constrain.testing import format_samples
from constrain.testing.choices import Choices
from constrain.testing.ecma_regex import Untranslatable, compile_ecma
from constrain.testing.json_values import exact, identity, is_number, type_of
from constrain.testing.pattern_texts import text_for
from constrain.testing.random_values import NAMES, TYPES, random_number, random_string, random_value
from constrain.testing.validator import draft_of

_MAX_DEPTH = 10
_HINTS = {
    "object": (
        "properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties",
        "propertyNames", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties",
    ),
    "array": ("items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}  # fmt: skip


class DeadEnd(Exception):
    """The choices made so far leave no value."""


@lru_cache(maxsize=8192)
def finds(pattern: str, text: str) -> bool:
    """Whether a pattern matches somewhere in a text; False where it cannot be read."""
    try:
        return compile_ecma(pattern).search(text) is not None
    except Untranslatable:
        return False


class InstanceGenerator:
    """Makes candidate instances of a schema.

    Args:
        schema: the schema.
        choices: where decisions come from.
    """

    def __init__(self, schema: Any, choices: Choices) -> None:
        self._root, self._choices = schema, choices
        self._draft = draft_of(schema)
        self._anchors: dict[str, Any] = {}
        self._collect_anchors(schema)

    def value(self) -> Any:
        """A value that is probably valid. Raises `DeadEnd` where the choices led nowhere."""
        return self._value([self._root], 0)

    # --- references

    def _collect_anchors(self, schema: Any) -> None:
        if isinstance(schema, dict):
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(schema.get(keyword), str):
                    self._anchors.setdefault("#" + schema[keyword], schema)
            for keyword in ("$id", "id"):
                if isinstance(schema.get(keyword), str):
                    self._anchors.setdefault(schema[keyword].rstrip("#"), schema)
            for part in schema.values():
                self._collect_anchors(part)
        elif isinstance(schema, list):
            for part in schema:
                self._collect_anchors(part)

    def _target(self, reference: Any) -> Any:
        """The schema that a reference leads to; one without demands where it is not found."""
        if not isinstance(reference, str) or reference in self._anchors:
            return self._anchors.get(reference, True)
        base, _, fragment = reference.partition("#")
        schema = self._anchors.get(base, True) if base else self._root
        for part in fragment.split("/")[1:]:
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(schema, dict) and name in schema:
                schema = schema[name]
            elif isinstance(schema, list) and name.isdigit() and int(name) < len(schema):
                schema = schema[int(name)]
            else:
                return True
        return schema if isinstance(schema, dict | bool) else True

    # --- schemas that hold at once

    def _gather(self, schemas: list[Any], out: list[dict[str, Any]], fuel: int) -> None:
        """Add to `out` all schema objects that are to hold, branches chosen."""
        if fuel <= 0:
            raise DeadEnd
        for schema in schemas:
            if schema is False:
                raise DeadEnd
            if not isinstance(schema, dict):
                continue
            reference = schema.get("$ref", schema.get("$dynamicRef", schema.get("$recursiveRef")))
            if reference is not None:
                self._gather([self._target(reference)], out, fuel - 1)
                if self._draft < 2019:
                    continue
            out.append(schema)
            if "allOf" in schema:
                self._gather(schema["allOf"], out, fuel - 1)
            for keyword in ("anyOf", "oneOf"):
                if schema.get(keyword):
                    self._gather([self._branch(schema[keyword], fuel)], out, fuel - 1)
            if "if" in schema and self._draft >= 7:
                if self._choices.chance(0.5):
                    self._gather([schema["if"], schema.get("then", True)], out, fuel - 1)
                else:
                    self._gather([schema.get("else", True)], out, fuel - 1)

    def _branch(self, branches: list[Any], fuel: int) -> Any:
        possible = [b for b in branches if b is not False]
        if not possible:
            raise DeadEnd
        if fuel < 12:  # deep inside: the branch that ends soonest is likely one without containers
            scalar = [b for b in possible if isinstance(b, dict) and ("type" in b or "enum" in b or "const" in b)]
            flat = [b for b in scalar if b.get("type") not in ("array", "object")]
            possible = flat or possible
        return self._choices.pick(possible)

    def _value(self, schemas: list[Any], depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise DeadEnd
        held: list[dict[str, Any]] = []
        self._gather(schemas, held, 20 - depth)
        lists = [s["enum"] for s in held if isinstance(s.get("enum"), list)]
        lists += [[s["const"]] for s in held if "const" in s and self._draft >= 6]
        if lists:
            return self._listed(held, lists)
        kind = self._type(held, depth)
        if kind == "null":
            return None
        if kind == "boolean":
            return self._choices.chance(0.5)
        if kind == "string":
            return self._string(held)
        if kind == "array":
            return self._array(held, depth)
        if kind == "object":
            return self._object(held, depth)
        return self._number(held, kind)

    def _listed(self, held: list[dict[str, Any]], lists: list[list[Any]]) -> Any:
        """One of the values that all of `lists` hold."""
        members = {identity(m): m for m in lists[0]}
        for other in lists[1:]:
            known = {identity(m) for m in other}
            members = {key: m for key, m in members.items() if key in known}
        candidates = [m for m in members.values() if self._typed(held, m)]
        if not candidates:
            raise DeadEnd
        return self._choices.pick(candidates)

    def _typed(self, held: list[dict[str, Any]], value: Any) -> bool:
        kind = type_of(value, draft_4=self._draft == 4)
        return all(kind in self._types_of(schema) for schema in held)

    @staticmethod
    def _types_of(schema: dict[str, Any]) -> set[str]:
        named = schema.get("type", TYPES)
        types = {named} if isinstance(named, str) else set(named)
        return types | {"integer"} if "number" in types else types

    def _type(self, held: list[dict[str, Any]], depth: int) -> str:
        choices = self._choices
        types = set(TYPES)
        for schema in held:
            types &= self._types_of(schema)
        excluded = {s["not"]["type"] for s in held if isinstance(s.get("not"), dict) and _only_type(s["not"])}
        types = (types - excluded) or types
        if not types:
            raise DeadEnd
        if not any("type" in schema for schema in held):
            hinted = {kind for kind, words in _HINTS.items() if any(w in s for s in held for w in words)}
            if hinted and choices.chance(0.85):
                types = types & hinted or types
        if depth > 4 and types - {"array", "object"}:
            types -= {"array", "object"}
        return choices.pick([kind for kind in TYPES if kind in types])

    # --- numbers

    def _number(self, held: list[dict[str, Any]], kind: str) -> Any:
        choices = self._choices
        lows: list[tuple[Fraction, int]] = []  # bounds, with 1 or -1 where they are exclusive
        highs: list[tuple[Fraction, int]] = []
        steps: list[Fraction] = []
        for schema in held:
            for name, bounds, inward in (("Minimum", lows, 1), ("Maximum", highs, -1)):
                plain, exclusive = schema.get(name.lower()), schema.get("exclusive" + name)
                if is_number(plain):
                    bounds.append((exact(plain), inward if exclusive is True else 0))
                if is_number(exclusive):
                    bounds.append((exact(exclusive), inward))
            if is_number(schema.get("multipleOf")):
                steps.append(exact(schema["multipleOf"]))
        if not (lows or highs or steps):
            if kind == "integer":
                whole = random_number(choices)
                return whole if type_of(whole, draft_4=self._draft == 4) == "integer" else choices.integer(-20, 20)
            return random_number(choices)
        step = Fraction(1)
        if steps:
            whole_steps = [*steps, Fraction(1)] if kind == "integer" else steps
            scale = lcm(*(s.denominator for s in whole_steps))
            step = Fraction(lcm(*(int(s * scale) for s in whole_steps)), scale)
        elif kind == "number":
            step = choices.pick((Fraction(1), Fraction(1, 2), Fraction(1, 100)))
        far = step * choices.pick((0, 0, 1, 2, 7))
        if highs and (not lows or choices.chance(0.4)):
            bound, exclusive = min(highs)
            nearest = bound // step * step
            return _as_number(nearest - far - (step if exclusive and nearest == bound else 0), choices, kind)
        if lows:
            bound, exclusive = max(lows)
            nearest = -(-bound // step) * step
            return _as_number(nearest + far + (step if exclusive and nearest == bound else 0), choices, kind)
        return _as_number(step * choices.integer(-5, 20), choices, kind)

    # --- strings

    def _string(self, held: list[dict[str, Any]]) -> str:
        choices = self._choices
        patterns = [s["pattern"] for s in held if isinstance(s.get("pattern"), str)]
        formats = [s["format"] for s in held if isinstance(s.get("format"), str)]
        low = max((int(s["minLength"]) for s in held if "minLength" in s), default=0)
        high = min((int(s["maxLength"]) for s in held if "maxLength" in s), default=low + 8)
        if low > high:
            raise DeadEnd
        text = ""
        for _ in range(8):
            sampled = format_samples.sample(formats[0], choices) if formats else None
            if sampled is not None:
                text = sampled
            elif patterns:
                found = text_for(choices.pick(patterns), choices, length=low if low > 3 else 0)
                text = random_string(choices) if found is None else found
            else:
                text = random_string(choices)
                if len(text) < low:
                    text += choices.pick(("a", "é", "0", "😀")) * (low - len(text))
                if len(text) > high:
                    text = text[:high]
            if low <= len(text) <= high and all(finds(p, text) for p in patterns):
                break
        return text

    # --- arrays

    def _array(self, held: list[dict[str, Any]], depth: int) -> list[Any]:
        choices = self._choices
        low = max((int(s["minItems"]) for s in held if "minItems" in s), default=0)
        high = min((int(s["maxItems"]) for s in held if "maxItems" in s), default=low + 3)
        if low > high:
            raise DeadEnd
        contained = [s for s in held if "contains" in s and self._draft >= 6 and s.get("minContains", 1)]
        needed = sum(int(s.get("minContains", 1)) for s in contained)
        longest = max((len(s.get(self._tuple_keyword(s)) or ()) for s in held), default=0)
        length = choices.integer(low, max(low, min(high, low + (3 if depth < 4 else 0))))
        if longest and choices.chance(0.6):
            length = max(low, min(high, longest + choices.integer(-1, 1)))
        length = max(length, min(high, needed))
        wanted = choices.shuffled(
            [schema["contains"] for schema in contained for _ in range(int(schema.get("minContains", 1)))]
        )
        positions = choices.shuffled(list(range(length)))[: len(wanted)]
        extra = dict(zip(positions, wanted, strict=False))
        unique = any(s.get("uniqueItems") is True for s in held)
        items: list[Any] = []
        seen = set()
        for at in range(length):
            schemas = self._item_schemas(held, at)
            if at in extra:
                schemas.append(extra[at])
            try:
                for _ in range(6):
                    item = self._value(schemas, depth + 1)
                    if not unique or identity(item) not in seen:
                        break
            except DeadEnd:
                if len(items) >= low:
                    break
                raise
            seen.add(identity(item))
            items.append(item)
        return items

    def _tuple_keyword(self, schema: dict[str, Any]) -> str:
        return "prefixItems" if self._draft >= 2020 else "items" if isinstance(schema.get("items"), list) else ""

    def _item_schemas(self, held: list[dict[str, Any]], at: int) -> list[Any]:
        schemas = []
        evaluated = False
        for schema in held:
            keyword = self._tuple_keyword(schema)
            prefix = schema.get(keyword, []) if keyword else []
            rest = "items" if keyword != "items" else "additionalItems"
            if at < len(prefix):
                schemas.append(prefix[at])
                evaluated = True
            elif rest in schema and not isinstance(schema[rest], list):
                schemas.append(schema[rest])
                evaluated = True
        if not evaluated:
            schemas += [s["unevaluatedItems"] for s in held if s.get("unevaluatedItems", False) is not False]
        return schemas

    # --- objects

    def _object(self, held: list[dict[str, Any]], depth: int) -> dict[str, Any]:
        choices = self._choices
        low = max((int(s["minProperties"]) for s in held if "minProperties" in s), default=0)
        high = min((int(s["maxProperties"]) for s in held if "maxProperties" in s), default=1000)
        forbidden = {
            name for s in held if isinstance(s.get("not"), dict) and len(s["not"].get("required", ())) == 1
            for name in s["not"]["required"]
        }  # fmt: skip
        names = [name for s in held for name in _list(s.get("required"))]
        declared = [
            name for s in held for name, sub in (s.get("properties") or {}).items()
            if sub is not False and name not in forbidden
        ]  # fmt: skip
        likely = 0.6 if depth < 3 else 0.3 if depth < 5 else 0.0
        names += choices.some(declared, likely)
        names = self._with_dependents(held, list(dict.fromkeys(names)))
        free = choices.pick((0, 0, 0, 1, 2)) if depth < 4 else 0
        if len(names) < low or free:
            names = self._with_dependents(held, self._more_names(held, names, declared, max(low, len(names) + free)))
        if len(names) > high:
            required = {name for s in held for name in _list(s.get("required"))}
            names = [n for n in names if n in required] + [n for n in names if n not in required]
            names = names[:high]
        held = [*held, *self._dependent_schemas(held, names)]
        value = {}
        for name in choices.shuffled(names):
            try:
                value[name] = self._value(self._member_schemas(held, name), depth + 1)
            except DeadEnd:
                if any(name in _list(s.get("required")) for s in held):
                    raise
        return value

    def _more_names(self, held: list[dict[str, Any]], names: list[str], declared: list[str], count: int) -> list[str]:
        choices = self._choices
        makers: list[Callable[[], Any]] = [lambda: choices.pick(NAMES)]
        patterns = [p for s in held for p in (s.get("patternProperties") or {})]
        rules = [s["propertyNames"] for s in held if "propertyNames" in s and self._draft >= 6]
        if patterns:
            makers.append(lambda: text_for(choices.pick(patterns), choices))
        if declared:
            makers.append(lambda: choices.pick(declared))
        if rules:
            makers = [lambda: self._value([*rules, {"type": "string"}], _MAX_DEPTH - 2)]
        names = list(names)
        for _ in range(3 * count + 3):
            if len(names) >= count:
                break
            name = choices.pick(makers)()
            if isinstance(name, str) and name not in names:
                names.append(name)
        return names

    def _with_dependents(self, held: list[dict[str, Any]], names: list[str]) -> list[str]:
        names = list(names)
        for name in names:  # grows while it is read
            for schema in held:
                for keyword in ("dependentRequired", "dependencies"):
                    names += [n for n in _list((schema.get(keyword) or {}).get(name)) if n not in names]
        return list(dict.fromkeys(names))

    def _dependent_schemas(self, held: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for schema in held:
            for keyword in ("dependentSchemas", "dependencies"):
                for name, rule in (schema.get(keyword) or {}).items():
                    if name in names and isinstance(rule, dict | bool):
                        self._gather([rule], found, 8)
        return found

    def _member_schemas(self, held: list[dict[str, Any]], name: str) -> list[Any]:
        schemas = []
        evaluated = False
        for schema in held:
            matching = [sub for pattern, sub in (schema.get("patternProperties") or {}).items() if finds(pattern, name)]
            if name in (schema.get("properties") or {}):
                matching.append(schema["properties"][name])
            if not matching and "additionalProperties" in schema:
                matching = [schema["additionalProperties"]]
            evaluated |= bool(matching)
            schemas += matching
        if not evaluated:
            schemas += [s["unevaluatedProperties"] for s in held if "unevaluatedProperties" in s]
        return schemas


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _only_type(schema: dict[str, Any]) -> bool:
    return set(schema) == {"type"} and isinstance(schema["type"], str)


def _as_number(value: Fraction, choices: Choices, kind: str) -> Any:
    """A Python number for a fraction: int where it is whole, or now and then the float that equals it."""
    if value.denominator == 1:
        whole = int(value)
        if kind == "number" and abs(whole) < 1 << 53 and choices.chance(0.1):
            return float(whole)
        return whole
    near = float(value)
    return near if exact(near) == value else random_value(choices, 0)
