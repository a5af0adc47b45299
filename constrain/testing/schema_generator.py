"""Random satisfiable schemas, each built around values that must be valid under it.

Every subschema is made for a list of witnesses: keywords are chosen so that all of them hold, `properties` and `items`
go on with their members and items, `anyOf` and `oneOf` with a part of them, `not` and the branches that must fail with
a schema that none of them satisfies. So satisfiable schemas come without search, whatever the keywords, and the
difficult ones (a `oneOf` of overlapping branches, `contains` beside `items`, conditions) are no rarer than the others.
A validator has the last word on the whole. References lead to definitions made on the way, also to enclosing ones from
below a member or item, which is where recursion comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from constrain.testing.choices import Choices
from constrain.testing.drafts import DRAFTS, in_draft, keywords_of
from constrain.testing.ecma_regex import compile_ecma
from constrain.testing.format_checks import FORMATS_SINCE
from constrain.testing.format_samples import SAMPLES
from constrain.testing.json_values import exact, identity, is_number, type_of
from constrain.testing.random_values import (
    NAMES,
    TYPES,
    random_number,
    random_scalar,
    random_string,
    random_value,
)
from constrain.testing.validator import CannotJudge, Validator

_PATTERNS = (
    "", "^", "a", "^a", "b$", "^a*b?$", "^(ab)*$", "^.{2}$", "^[^a]+$", "^(a|é|😀)+$", "\\d", "^$", "^\\S*$",
    "^a{2,3}b*$", "^x-", "\\w", "[0-9]{2}", "^(?:a|b|ab)+$", "é|z", "^[a-z]{1,5}$", "\\s", "^\\W", "^[\\s\\S]{0,3}$",
    "^(?!b)", "a|^$", "^P", ":", "^\\d{4}-", "^.*[^b]$",
)  # fmt: skip
_FORMATS_OF = {text: [name for name, texts in SAMPLES.items() if text in texts] for s in SAMPLES.values() for text in s}
_DIVISORS = (1, 2, 3, 5, 7, 0.5, 0.25, 0.1, 0.01, 1.5, 10, 2.0, 1e-3)
_SCALAR_TYPES = frozenset(("null", "boolean", "integer", "number", "string"))


@lru_cache(maxsize=8192)
def _finds(pattern: str, text: str) -> bool:
    return compile_ecma(pattern).search(text) is not None


def _distinct(values: Sequence[Any]) -> list[Any]:
    return list({identity(v): v for v in values}.values())


class SchemaGenerator:
    """Makes schemas with a witness.

    Args:
        choices: where decisions come from.
        draft: "04", "06", "07", "2019-09" or "2020-12".
        max_depth: levels of subschemas.
        keywords: the keywords to use; None for all that the draft has. Boolean schemas may always come.
    """

    def __init__(
        self, choices: Choices, *, draft: str = "2020-12", max_depth: int = 4, keywords: Collection[str] | None = None
    ) -> None:
        if draft not in DRAFTS:
            raise ValueError(f"draft must be one of {', '.join(DRAFTS)}, not {draft!r}")
        known = keywords_of(draft)
        if keywords is not None:
            unknown = set(keywords) - known
            if unknown:
                raise ValueError(f"draft {draft} has no keyword {', '.join(sorted(unknown))}")
        self._keywords = frozenset(known if keywords is None else keywords)
        self._choices, self._draft, self._max_depth = choices, draft, max_depth
        self._reset()

    def _reset(self) -> None:
        self._budget = self._choices.integer(3, 24)  # subschemas with keywords of their own
        self._definitions: dict[str, Any] = {}
        self._open: dict[str, bool] = {"#": False}  # enclosing definitions: whether a member or item lies between

    def schema_with_witness(self, tries: int = 12) -> tuple[Any, Any]:
        """A schema, and a value that is valid under it by an independent validator."""
        choices = self._choices
        for _ in range(tries):
            self._reset()
            witnesses = [random_value(choices, 3) for _ in range(choices.integer(1, 3))]
            schema: Any = self._for(witnesses, self._max_depth)
            if isinstance(schema, dict) and self._definitions:
                schema = self._with_definitions(schema)
            schema = in_draft(schema, self._draft)
            try:
                validator = Validator(schema)
                valid = [w for w in witnesses if validator.is_valid(w)]
            except CannotJudge:
                continue
            if valid:
                return schema, valid[0]
        return in_draft({"enum": [None]} if self._may("enum") else True, self._draft), None

    def _with_definitions(self, schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in schema and self._draft in ("04", "06", "07"):
            schema = {"allOf": [schema]}  # a `$ref` hides its siblings there
        return {**schema, "$defs": self._definitions}

    def _may(self, keyword: str) -> bool:
        return keyword in self._keywords

    def _wants(self, keyword: str, probability: float) -> bool:
        return keyword in self._keywords and self._choices.chance(probability)

    @contextmanager
    def _below(self) -> Iterator[None]:
        """While a subschema for a member or item is made: enclosing definitions may be referred to."""
        before = dict(self._open)
        self._open = dict.fromkeys(before, True)
        yield
        self._open = before

    # --- subschemas

    def _for(self, values: list[Any], depth: int) -> Any:
        """A schema under which all of `values` are valid."""
        choices = self._choices
        if depth <= 0 or self._budget <= 0:
            return self._leaf(values)
        self._budget -= 1
        kind = choices.integer(0, 19)
        if kind == 0:
            return choices.chance(0.5) or {}
        if kind == 1:
            return self._leaf(values)
        if kind in (2, 3) and self._may("$ref"):
            referring = self._reference(values, depth)
            if self._draft in ("04", "06", "07") or choices.chance(0.7):
                return referring
            return {**self._typed(values, depth), **referring}
        schema = self._typed(values, depth) if kind < 17 else {}
        if kind >= 17 or choices.chance(0.3):
            schema |= self._in_place(values, depth)
        self._add_unevaluated(schema, values, depth)
        return schema

    def _member(self, values: list[Any], depth: int) -> Any:
        """A schema for members or items; where there are none to satisfy, any schema."""
        with self._below():
            return self._for(values, depth - 1) if values else self._free(depth - 1)

    def _free(self, depth: int) -> Any:
        """A schema that owes nothing: made for other values, referring to a definition, or unsatisfiable."""
        choices = self._choices
        kind = choices.integer(0, 9)
        if kind == 0:
            return False
        if kind == 1 and self._may("type") and self._may("minimum") and self._may("maximum"):
            return {"type": "integer", "minimum": 4, "maximum": 3}
        targets = [name for name, guarded in self._open.items() if guarded]
        targets += [name for name in self._definitions if name not in self._open]
        if kind < 5 and targets and self._may("$ref"):
            return self._link(choices.pick(targets))
        return self._for([random_value(choices, 1) for _ in range(choices.integer(1, 2))], depth)

    def _link(self, name: str) -> dict[str, Any]:
        return {"$ref": name if name == "#" else f"#/$defs/{name}"}

    def _reference(self, values: list[Any], depth: int) -> dict[str, Any]:
        """A reference to a new definition that accepts `values`."""
        before = self._open
        name = f"d{len(self._definitions)}"
        self._definitions[name] = True  # reserves the name
        self._open = dict.fromkeys(before, False) | {name: False}
        if self._choices.chance(0.4):
            self._definitions[name] = self._recursive(name, values)
        else:
            self._definitions[name] = self._for(values, depth - 1)
        self._open = before
        return self._link(name)

    def _recursive(self, name: str, values: list[Any]) -> Any:
        """A definition of lists and records of itself, down to scalars."""
        scalars: list[Any] = []
        stack = list(values)
        while stack:
            value = stack.pop()
            if isinstance(value, list):
                stack += value
            elif isinstance(value, dict):
                stack += value.values()
            else:
                scalars.append(value)
        link = self._link(name)
        branches: list[Any] = [self._leaf(scalars or [None])]
        if self._may("items"):
            branches.append({"type": "array", "items": link})
        if self._may("additionalProperties"):
            branches.append({"type": "object", "additionalProperties": link})
        combinator = "oneOf" if self._wants("oneOf", 0.4) else "anyOf"
        if not self._may("type") or not self._may(combinator):
            return self._leaf(values)
        return {combinator: self._choices.shuffled(branches)}

    def _leaf(self, values: list[Any]) -> Any:
        """A schema without subschemas that accepts `values`."""
        choices = self._choices
        kind = choices.integer(0, 9)
        if kind < 3 and self._may("type"):
            return {"type": self._types(values)}
        distinct = _distinct(values)
        if kind == 3 and len(distinct) == 1 and self._may("const"):
            return {"const": distinct[0]}
        if kind < 7 and self._may("enum"):
            others = [random_value(choices, 1) for _ in range(choices.integer(0, 2))]
            return {"enum": choices.shuffled(_distinct([*distinct, *others]))}
        if all(type_of(v) in _SCALAR_TYPES for v in values):
            return self._typed(values, 0)
        return True

    def _against(self, values: list[Any], depth: int) -> Any:
        """A schema under which none of `values` is valid."""
        choices = self._choices
        options: list[Callable[[], Any]] = [lambda: False]
        types = {type_of(v) for v in values}
        others = [t for t in TYPES if t not in types and not (t == "number" and "integer" in types)]
        if others and self._may("type"):
            options.append(lambda: {"type": choices.pick(others)})
        known = {identity(v) for v in values}
        if self._may("enum"):
            wrong = [v for v in (random_value(choices, 1), random_scalar(choices)) if identity(v) not in known]
            if wrong:
                options.append(lambda: {"enum": _distinct(wrong)})
        if self._may("not") and depth > 0 and self._budget > 0:
            options += [lambda: {"not": self._for(values, depth - 1)}] * 2
        options += self._against_typed(values, types, depth)
        chosen = choices.pick(options)()
        if isinstance(chosen, dict) and "type" not in chosen and len(types) == 1 and self._wants("type", 0.3):
            chosen = {"type": self._types(values), **chosen}
        return chosen

    def _against_typed(self, values: list[Any], types: set[str], depth: int) -> list[Callable[[], Any]]:
        options: list[Callable[[], Any]] = []
        if types <= {"integer", "number"}:
            largest = max(exact(v) for v in values)
            if self._may("minimum"):
                options.append(lambda: {"minimum": int(largest // 1) + 1})
        elif types == {"string"}:
            if self._may("minLength"):
                options.append(lambda: {"minLength": max(map(len, values)) + 1})
            patterns = [p for p in _PATTERNS if not any(_finds(p, v) for v in values)]
            if patterns and self._may("pattern"):
                options.append(lambda: {"pattern": self._choices.pick(patterns)})
        elif types == {"object"}:
            options += self._against_objects(values, depth)
        elif types == {"array"}:
            if self._may("minItems"):
                options.append(lambda: {"minItems": max(map(len, values)) + 1})
            if self._may("items") and depth > 0 and all(values):
                options.append(lambda: {"items": self._against([v[0] for v in values], depth - 1)})
            if self._may("contains"):
                options.append(lambda: {"contains": False})
        return options

    def _against_objects(self, values: list[Any], depth: int) -> list[Callable[[], Any]]:
        options: list[Callable[[], Any]] = []
        absent = [name for name in NAMES if not any(name in v for v in values)]
        shared = sorted(set.intersection(*(set(v) for v in values)))
        if absent and self._may("required"):
            options.append(lambda: {"required": [self._choices.pick(absent)]})
        if self._may("minProperties"):
            options.append(lambda: {"minProperties": max(map(len, values)) + 1})
        if shared and self._may("properties") and depth > 0:

            def wrong_member() -> Any:
                name = self._choices.pick(shared)
                return {"properties": {name: self._against([v[name] for v in values], depth - 1)}}

            options += [wrong_member] * 2
        return options

    # --- keywords on the values themselves

    def _types(self, values: list[Any]) -> Any:
        choices = self._choices
        wide = choices.chance(0.3)
        found = []
        for value in values:
            name = type_of(value, draft_4=self._draft == "04")
            found.append("number" if name == "integer" and (wide or not isinstance(value, int)) else name)
        if "number" in found:
            found = [name for name in found if name != "integer"]
        if choices.chance(0.2):
            found.append(choices.pick(TYPES))
        names = list(dict.fromkeys(found))
        return names[0] if len(names) == 1 and choices.chance(0.8) else names

    def _typed(self, values: list[Any], depth: int) -> dict[str, Any]:
        choices = self._choices
        schema: dict[str, Any] = {}
        if self._wants("type", 0.85):
            schema["type"] = self._types(values)
        if self._wants("enum", 0.05):
            schema["enum"] = _distinct([*values, *(random_value(choices, 1) for _ in range(2))])
        numbers = [v for v in values if is_number(v)]
        strings = [v for v in values if isinstance(v, str)]
        objects = [v for v in values if isinstance(v, dict)]
        arrays = [v for v in values if isinstance(v, list)]
        vacuous = choices.chance(0.1)
        if numbers or (vacuous and choices.chance(0.3)):
            self._add_numeric(schema, numbers)
        if strings or (vacuous and choices.chance(0.3)):
            self._add_textual(schema, strings)
        if objects or (vacuous and choices.chance(0.3)):
            self._add_object(schema, objects, depth)
        if arrays or (vacuous and choices.chance(0.3)):
            self._add_array(schema, arrays, depth)
        return schema

    def _add_numeric(self, schema: dict[str, Any], values: list[Any]) -> None:
        choices = self._choices
        some = values or [random_number(choices)]
        low, high = min(some, key=exact), max(some, key=exact)
        gap = choices.pick((0, 0, 1, 2, 10, 0.5))
        if self._wants("minimum", 0.35):
            schema["minimum"] = _shifted(low, -gap)
        if self._wants("maximum", 0.3):
            schema["maximum"] = _shifted(high, gap)
        if self._wants("exclusiveMinimum", 0.15):
            schema["exclusiveMinimum"] = _shifted(low, -(gap or 1))
        if self._wants("exclusiveMaximum", 0.15):
            schema["exclusiveMaximum"] = _shifted(high, gap or 1)
        if self._wants("multipleOf", 0.3):
            divisors = [d for d in _DIVISORS if all(exact(v) % exact(d) == 0 for v in values)]
            if divisors:
                schema["multipleOf"] = choices.pick(divisors)

    def _add_textual(self, schema: dict[str, Any], values: list[str]) -> None:
        choices = self._choices
        lengths = [len(v) for v in values] or [1]
        if self._wants("minLength", 0.25):
            schema["minLength"] = max(0, min(lengths) - choices.pick((0, 0, 1, 2)))
        if self._wants("maxLength", 0.25):
            schema["maxLength"] = max(lengths) + choices.pick((0, 0, 1, 2, 300))
        if self._wants("pattern", 0.35):
            patterns = [p for p in _PATTERNS if all(_finds(p, v) for v in values)]
            schema["pattern"] = choices.pick(patterns)
        if self._may("format"):
            since = DRAFTS[self._draft]
            names = (
                [n for n in _FORMATS_OF.get(values[0], ()) if all(n in _FORMATS_OF.get(v, ()) for v in values)]
                if values
                else []
            )
            names = [n for n in names if FORMATS_SINCE[n] <= since]
            if names and choices.chance(0.6):
                schema["format"] = choices.pick(names)
            elif choices.chance(0.02):
                schema["format"] = "no-such-format"

    def _add_object(self, schema: dict[str, Any], values: list[dict[str, Any]], depth: int) -> None:
        choices = self._choices
        names = list(dict.fromkeys(name for v in values for name in v))
        absent = [name for name in NAMES if name not in names]

        def members(wanted: Callable[[str], bool]) -> list[Any]:
            return [member for v in values for name, member in v.items() if wanted(name)]

        declared: dict[str, Any] = {}
        patterns: dict[str, Any] = {}
        deep = depth > 0 and self._budget > 0
        if self._wants("properties", 0.8):
            for name in choices.some(names, 0.75):
                declared[name] = self._member(members(lambda n, name=name: n == name), depth) if deep else True  # type: ignore[misc]
            for _ in range(choices.integer(0, 2)):
                declared[choices.pick(absent)] = self._member([], depth) if deep else True
            schema["properties"] = dict(choices.shuffled(list(declared.items())))
        if deep and self._wants("patternProperties", 0.2):
            for _ in range(choices.integer(1, 2)):
                pattern = choices.pick(_PATTERNS)
                patterns[pattern] = self._member(members(lambda n, p=pattern: _finds(p, n)), depth)  # type: ignore[misc]
            schema["patternProperties"] = patterns
        if self._wants("additionalProperties", 0.45):
            rest = members(lambda n: n not in declared and not any(_finds(p, n) for p in patterns))
            closed = not rest and choices.chance(0.7)
            schema["additionalProperties"] = False if closed else self._member(rest, depth) if deep else True
        if self._wants("required", 0.55):
            always = [n for n in names if all(n in v for v in values)] if values else [choices.pick(NAMES)]
            required = choices.shuffled(choices.some(always, 0.6))
            if required or self._draft != "04":
                schema["required"] = required
        counts = [len(v) for v in values] or [1]
        if self._wants("minProperties", 0.12):
            schema["minProperties"] = max(0, min(counts) - choices.pick((0, 0, 1)))
        if self._wants("maxProperties", 0.12):
            schema["maxProperties"] = max(counts) + choices.pick((0, 0, 1, 2))
        if deep and self._wants("propertyNames", 0.1):
            schema["propertyNames"] = self._for([*names], depth - 1) if names else self._free(depth - 1)
        self._add_dependent(schema, values, names, absent, depth if deep else 0)

    def _add_dependent(
        self, schema: dict[str, Any], values: list[dict[str, Any]], names: list[str], absent: list[str], depth: int
    ) -> None:
        choices = self._choices
        triggers = [*names, choices.pick(absent)]
        if self._wants("dependentRequired", 0.1):
            rules = {}
            for trigger in choices.some(triggers, 0.4):
                having = [v for v in values if trigger in v]
                candidates = [n for n in names if all(n in v for v in having)] if having else [*names, *absent]
                rules[trigger] = list(dict.fromkeys(choices.pick(candidates) for _ in range(choices.integer(1, 2))))
            schema["dependentRequired"] = rules
        if depth > 0 and self._wants("dependentSchemas", 0.1):
            schemas = {}
            for trigger in choices.some(triggers, 0.4):
                having = [v for v in values if trigger in v]
                schemas[trigger] = self._for([*having], depth - 1) if having else self._free_object(depth - 1)
            schema["dependentSchemas"] = schemas

    def _free_object(self, depth: int) -> Any:
        names = {self._choices.pick(NAMES) for _ in range(2)}
        return self._for([{name: random_scalar(self._choices) for name in sorted(names)}], depth)

    def _add_array(self, schema: dict[str, Any], values: list[list[Any]], depth: int) -> None:
        choices = self._choices
        deep = depth > 0 and self._budget > 0
        longest = max(map(len, values), default=1)
        tuple_length = 0
        if deep and self._wants("prefixItems", 0.25):
            tuple_length = choices.integer(1, max(1, min(3, longest + 1)))
            schema["prefixItems"] = [
                self._member([v[at] for v in values if len(v) > at], depth) for at in range(tuple_length)
            ]
        if self._wants("items", 0.7):
            rest = [item for v in values for item in v[tuple_length:]]
            schema["items"] = False if not rest and choices.chance(0.3) else self._member(rest, depth) if deep else True
        counts = [len(v) for v in values] or [1]
        if self._wants("minItems", 0.25):
            schema["minItems"] = max(0, min(counts) - choices.pick((0, 0, 1)))
        if self._wants("maxItems", 0.25):
            schema["maxItems"] = max(counts) + choices.pick((0, 0, 1, 3))
        if self._wants("uniqueItems", 0.15):
            unique = all(len(_distinct(v)) == len(v) for v in values)
            schema["uniqueItems"] = unique and choices.chance(0.9)
        if deep and self._wants("contains", 0.15):
            self._add_contains(schema, values, depth)

    def _add_contains(self, schema: dict[str, Any], values: list[list[Any]], depth: int) -> None:
        choices = self._choices
        if all(values):
            schema["contains"] = self._member([choices.pick(v) for v in values], depth)
            if self._wants("minContains", 0.3):
                schema["minContains"] = choices.integer(0, 1)
        elif self._may("minContains"):
            schema["contains"], schema["minContains"] = self._member([], depth), 0
        if "contains" in schema and self._wants("maxContains", 0.3):
            schema["maxContains"] = max(1, *map(len, values)) if len(values) > 1 else max(1, *map(len, values), 1)

    # --- keywords that apply subschemas to the same value

    def _in_place(self, values: list[Any], depth: int) -> dict[str, Any]:
        choices = self._choices
        kinds = [k for k in ("anyOf", "oneOf", "allOf", "not", "if") if self._may(k)]
        schema: dict[str, Any] = {}
        for kind in choices.shuffled(kinds)[: choices.pick((1, 1, 1, 2))]:
            if kind == "allOf":
                schema[kind] = [self._for(values, depth - 1) for _ in range(choices.integer(1, 3))]
            elif kind == "not":
                schema[kind] = self._against(values, depth - 1)
            elif kind == "if":
                schema |= self._conditional(values, depth)
            elif kind == "anyOf":
                schema[kind] = self._any_of(values, depth)
            else:
                schema[kind] = self._one_of(values, depth)
        return schema

    def _any_of(self, values: list[Any], depth: int) -> list[Any]:
        choices = self._choices
        if len(values) > 1 and choices.chance(0.6):
            cut = choices.integer(1, len(values) - 1)
            branches = [self._for(values[:cut], depth - 1), self._for(values[cut:], depth - 1)]
        else:
            branches = [self._for(values, depth - 1)]
        branches += [self._against(values, depth - 1) for _ in range(choices.integer(0, 2))]
        return choices.shuffled(branches)

    def _one_of(self, values: list[Any], depth: int) -> list[Any]:
        choices = self._choices
        by_type: dict[str, list[Any]] = {}
        for value in values:
            by_type.setdefault("number" if is_number(value) else type_of(value), []).append(value)
        if len(by_type) > 1 and self._wants("type", 0.7):
            branches = []
            for name, group in by_type.items():
                branch = self._for(group, depth - 1)
                branches.append(
                    {**branch, "type": name} if isinstance(branch, dict) and "$ref" not in branch else {"type": name}
                )
        else:
            branches = [self._for(values, depth - 1)]
            branches += [self._against(values, depth - 1) for _ in range(choices.integer(0, 2))]
        return choices.shuffled(branches)

    def _conditional(self, values: list[Any], depth: int) -> dict[str, Any]:
        holds = self._choices.chance(0.5)
        schema = {"if": (self._for if holds else self._against)(values, depth - 1)}
        if self._wants("then", 0.8):
            schema["then"] = self._for(values, depth - 1) if holds else self._branch(depth - 1)
        if self._wants("else", 0.6):
            schema["else"] = self._branch(depth - 1) if holds else self._for(values, depth - 1)
        return schema

    def _branch(self, depth: int) -> Any:
        """A schema for the branch that no witness takes: without references to enclosing definitions."""
        return self._for([random_value(self._choices, 1)], depth) if self._choices.chance(0.8) else False

    def _add_unevaluated(self, schema: dict[str, Any], values: list[Any], depth: int) -> None:
        choices = self._choices
        objects = [v for v in values if isinstance(v, dict)]
        arrays = [v for v in values if isinstance(v, list)]
        in_place = any(k in schema for k in ("allOf", "anyOf", "oneOf", "if", "$ref", "dependentSchemas"))
        if objects and self._wants("unevaluatedProperties", 0.4 if in_place else 0.05):
            known = _evaluated_names(schema)
            rest = [m for v in objects for n, m in v.items() if n not in known]
            schema["unevaluatedProperties"] = self._rest(rest, depth)
        if arrays and self._wants("unevaluatedItems", 0.3 if in_place or "contains" in schema else 0.05):
            length = len(schema.get("prefixItems", ()))
            rest = [] if "items" in schema else [item for v in arrays for item in v[length:]]
            schema["unevaluatedItems"] = self._rest(rest, depth)
        if not choices.chance(0.97):
            schema["description"] = random_string(choices)

    def _rest(self, rest: list[Any], depth: int) -> Any:
        if not rest and self._choices.chance(0.8):
            return False
        return self._member(rest, depth)


def _shifted(value: Any, by: Any) -> Any:
    """A bound near a number: the number plus `by`, exact in its decimal spelling; the number itself where it is not."""
    moved = value + by
    return moved if exact(moved) == exact(value) + exact(by) else value


def _evaluated_names(schema: Any) -> set[str]:
    """Names that a valid object's evaluation covers for certain."""
    if not isinstance(schema, dict):
        return set()
    names = set(schema.get("properties", ()))
    for branch in schema.get("allOf", ()):
        names |= _evaluated_names(branch)
    return names
