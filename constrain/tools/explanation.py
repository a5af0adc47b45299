"""What was expected at the place where an automaton refused a value, in words.

The automaton decides: every name, value and type that is offered was tried in it at that very place, so that nothing is
suggested that would be refused again, and an alternative that the value has left is not mentioned. Schemas lend the
words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from constrain.tools.candidates import Candidates, whole_values
from constrain.tools.problems import listing, nearest
from constrain.tools.spelled import Span, spell

if TYPE_CHECKING:
    from constrain.engine import Matcher

_FIRST_BYTES = {
    "a string": '"',
    "an object": "{",
    "an array": "[",
    "null": "n",
    "true": "t",
    "false": "f",
}
_FOLLOWERS = (",", "}", "]")
"""What may follow a number, in texts without whitespace."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN = 200
_LISTED = 30

Explanation = tuple[tuple[str | int, ...], str, str, list[Any] | None]
"""Path, what was expected, what came, and the allowed values or names."""


def explain(matcher: Matcher, candidates: Candidates, value: Any, text: str, spans: list[Span], at: int) -> Explanation:
    """Why `text[at]` was refused.

    Args:
        matcher: a matcher of the schema, at the beginning.
        candidates: the subschemas of the same schema.
        value: the value that `text` spells.
        text, spans: as `spell` gave them.
        at: offset of the refused character.
    """
    index = next(i for i, span in enumerate(spans) if span.start <= at < span.end)
    span = spans[index]
    before = spans[index - 1] if index else span
    if at == span.start and before.kind == "value" and _is_number(value, before.path):
        # What follows a number shows that it ends too early, if nothing at all may follow.
        here = _advanced(matcher, text[:at])
        if not any(_takes(here, follower) for follower in _FOLLOWERS):
            span = before
    start = _advanced(matcher, text[: span.start])
    if span.kind == "key":
        return _of_name(start, candidates, span)
    if span.kind == "close":
        return _of_end(start, candidates, value, span)
    if span.kind == "comma":
        return _of_more(candidates, value, span)
    return _of_value(start, candidates, value, span)


def _of_name(start: Matcher, candidates: Candidates, span: Span) -> Explanation:
    owner, name = span.path[:-1], str(span.path[-1])
    allowed = [n for n in _names(candidates.at(owner)) if _takes(start, json.dumps(n) + ":")]
    if not allowed and not _takes(start, '"'):
        return owner, "no further arguments", ascii(name), []
    if not allowed:
        patterns = [p for s in candidates.at(owner) for p in s.get("patternProperties") or ()]
        hint = f", one that matches {' or '.join(patterns)}" if patterns else ""
        return owner, f"an argument of another name{hint}", ascii(name), None
    similar = nearest(name, allowed)
    hint = f" (did you mean {listing(similar, 'or')}?)" if similar else ""
    return owner, f"an argument called {listing(allowed, 'or')}", f"{name!a}{hint}", allowed


def _of_end(start: Matcher, candidates: Candidates, value: Any, span: Span) -> Explanation:
    there = _value_at(value, span.path)
    schemas = candidates.at(span.path)
    if isinstance(there, dict):
        lead = "," if there else ""
        possible = [n for n in _names(schemas) if n not in there and _takes(start, lead + json.dumps(n) + ":")]
        demanded = {n for s in schemas for n in _texts(s.get("required"))}
        demanded |= {n for s in schemas for key in there for n in _texts(_dependent(s).get(key))}
        missing = [n for n in possible if n in demanded] or possible
        if missing:
            word = "and" if set(missing) <= demanded else "or"
            words = f"also the argument{'s' if len(missing) > 1 else ''} {listing(missing, word)}"
            return span.path, words, _shown(there), missing
        least = max((s["minProperties"] for s in schemas if isinstance(s.get("minProperties"), int)), default=0)
        words = _counted("at least", least, "member") if least > len(there) else "further members"
        return span.path, words, _shown(there), None
    least = max((s["minItems"] for s in schemas if isinstance(s.get("minItems"), int)), default=0)
    if least > len(there):
        return span.path, _counted("at least", least, "item"), f"{len(there)} in {_shown(there)}", None
    return span.path, "further items, among them one that `contains` demands", _shown(there), None


def _of_more(candidates: Candidates, value: Any, span: Span) -> Explanation:
    there = _value_at(value, span.path)
    schemas = candidates.at(span.path)
    key, what = ("maxProperties", "member") if isinstance(there, dict) else ("maxItems", "item")
    limits = [s[key] for s in schemas if isinstance(s.get(key), int)]
    words = _counted("at most", min(limits), what) if limits and min(limits) < len(there) else f"fewer {what}s"
    return span.path, words, f"{len(there)} in {_shown(there)}", None


def _of_value(start: Matcher, candidates: Candidates, value: Any, span: Span) -> Explanation:
    there = _value_at(value, span.path)
    schemas = candidates.at(span.path)
    came = _shown(there)
    types = [words for words, byte in _FIRST_BYTES.items() if _takes(start, byte)]
    numbers = any(_takes(start, digit) for digit in "-0123456789")
    allowed = _allowed_values(start, schemas)
    listed = any("enum" in s or "const" in s for s in schemas)
    if listed and allowed:
        near = set(nearest(there, [v for v in allowed if isinstance(v, str)])) if isinstance(there, str) else set()
        first = sorted(allowed, key=lambda v: not isinstance(v, str) or v not in near)[:_LISTED]
        shown = [_shown(v) for v in (allowed if len(allowed) <= _LISTED else first)]
        more = f" and {len(allowed) - _LISTED} more" if len(allowed) > _LISTED else ""
        words = shown[0] if len(shown) == 1 else "one of " + ", ".join(shown) + more
        return span.path, words, came, allowed
    if "true" in types and "false" in types:
        types = [t for t in types if t not in ("true", "false")] + ["true or false"]
    if numbers:
        integer = any("integer" in _texts(s.get("type")) for s in schemas)
        number = any("number" in _texts(s.get("type")) for s in schemas)
        types.append("an integer" if integer and not number else "a number")
    details = _details(schemas, there)
    if not types:
        return span.path, "no value here", came, None
    return span.path, " or ".join(types) + (f" {details}" if details else ""), came, None


def _details(schemas: list[dict[str, Any]], there: Any) -> str:
    """What the schemas say of a value of the type that came."""
    words: list[str] = []

    def say(key: str, phrase: Callable[[Any], str]) -> None:
        for schema in schemas:
            if key in schema and phrase(schema[key]) not in words:
                words.append(phrase(schema[key]))

    if isinstance(there, str):
        if _SURROGATE.search(there):
            words.append("without half of a surrogate pair")
        say("format", lambda v: f"of the format {v}")
        say("pattern", lambda v: f"that matches the pattern {v}")
        say("minLength", lambda v: f"of at least {v} characters")
        say("maxLength", lambda v: f"of at most {v} characters")
    elif isinstance(there, int | float) and not isinstance(there, bool):
        say("minimum", lambda v: f"of at least {v}")
        say("maximum", lambda v: f"of at most {v}")
        say("exclusiveMinimum", lambda v: f"greater than {v}" if not isinstance(v, bool) else "not the minimum itself")
        say("exclusiveMaximum", lambda v: f"less than {v}" if not isinstance(v, bool) else "not the maximum itself")
        say("multipleOf", lambda v: f"that is a multiple of {v}")
    elif isinstance(there, list) and any(s.get("uniqueItems") is True for s in schemas):
        words.append("of items that differ")
    return ", ".join(words)


def _allowed_values(start: Matcher, schemas: list[dict[str, Any]]) -> list[Any]:
    out: list[Any] = []
    seen: set[str] = set()
    for schema in schemas:
        for value in whole_values(schema):
            try:
                text, _ = spell(value)
            except ValueError:
                continue
            # A number is only known to be right once something may follow it.
            ends = _FOLLOWERS if text[-1].isdigit() else ("",)
            if text not in seen and any(_takes(start, text + end) for end in ends):
                seen.add(text)
                out.append(value)
    return out


def _names(schemas: Iterable[dict[str, Any]]) -> list[str]:
    """All names that the schemas mention, the required ones too."""
    names: dict[str, None] = {}
    for schema in schemas:
        if isinstance(schema.get("properties"), dict):
            names.update(dict.fromkeys(map(str, schema["properties"])))
        names.update(dict.fromkeys(_texts(schema.get("required"))))
        for dependent in _dependent(schema).values():
            names.update(dict.fromkeys(_texts(dependent)))
        for value in whole_values(schema):
            names.update(dict.fromkeys(value if isinstance(value, dict) else ()))
    return list(names)


def _dependent(schema: dict[str, Any]) -> dict[str, Any]:
    """By name the names that it demands; what is no list of names says nothing."""
    return {**(schema.get("dependencies") or {}), **(schema.get("dependentRequired") or {})}


def _texts(value: Any) -> list[str]:
    return (
        [value]
        if isinstance(value, str)
        else [v for v in value if isinstance(v, str)]
        if isinstance(value, list)
        else []
    )


def _counted(words: str, number: int, what: str) -> str:
    return f"{words} {number} {what}" + ("s" if number != 1 else "")


def _is_number(value: Any, path: tuple[str | int, ...]) -> bool:
    there = _value_at(value, path)
    return isinstance(there, int | float) and not isinstance(there, bool)


def _value_at(value: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


def _advanced(matcher: Matcher, text: str) -> Matcher:
    here = matcher.fork()
    here.accept_bytes(text.encode("ascii"))
    return here


def _takes(matcher: Matcher, text: str) -> bool:
    return matcher.fork().accept_bytes(text.encode("ascii"))


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    text = _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
