"""The drafts: which keywords each has, and schemas of 2020-12 rewritten for the older ones."""

from __future__ import annotations

from typing import Any

DRAFTS = {"04": 4, "06": 6, "07": 7, "2019-09": 2019, "2020-12": 2020}
"""The drafts by name."""

_URIS = {
    "04": "http://json-schema.org/draft-04/schema#",
    "06": "http://json-schema.org/draft-06/schema#",
    "07": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
}

_SINCE = {
    "type": 4, "enum": 4, "const": 6, "minimum": 4, "maximum": 4, "exclusiveMinimum": 4, "exclusiveMaximum": 4,
    "multipleOf": 4, "minLength": 4, "maxLength": 4, "pattern": 4, "format": 4, "properties": 4, "required": 4,
    "additionalProperties": 4, "patternProperties": 4, "propertyNames": 6, "minProperties": 4, "maxProperties": 4,
    "items": 4, "prefixItems": 4, "contains": 6, "minContains": 2019, "maxContains": 2019, "uniqueItems": 4,
    "minItems": 4, "maxItems": 4, "dependentRequired": 4, "dependentSchemas": 4, "allOf": 4, "anyOf": 4, "oneOf": 4,
    "not": 4, "if": 7, "then": 7, "else": 7, "unevaluatedProperties": 2019, "unevaluatedItems": 2019, "$ref": 4,
}  # fmt: skip

KEYWORDS = frozenset(_SINCE)
"""The keywords that generated schemas are made of, by their names in 2020-12. `$ref` brings `$defs` along."""

_ONE = ("additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else")
_ONE_OR_MORE = (*_ONE, "unevaluatedProperties", "unevaluatedItems")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs")


def keywords_of(draft: str) -> frozenset[str]:
    """The keywords of a draft; those that it names otherwise (`dependencies`, array `items`) by their later names."""
    return frozenset(name for name, since in _SINCE.items() if since <= DRAFTS[draft])


def in_draft(schema: Any, draft: str) -> Any:
    """A schema of 2020-12, made of keywords that the draft has in some form, in the words of the draft.

    References must be `#` or `#/$defs/name`.
    """
    if draft == "2020-12":
        return schema
    rewritten = _rewrite(schema, DRAFTS[draft])
    return {"$schema": _URIS[draft], **rewritten} if isinstance(rewritten, dict) else rewritten


def _rewrite(schema: Any, draft: int) -> Any:
    if isinstance(schema, bool):
        return schema if draft >= 6 else {} if schema else {"not": {}}
    out: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _ONE_OR_MORE:
            keep = keyword == "additionalProperties" and isinstance(value, bool)
            out[keyword] = value if keep else _rewrite(value, draft)
        elif keyword in _MANY:
            out[keyword] = [_rewrite(branch, draft) for branch in value]
        elif keyword in _NAMED:
            out[keyword] = {name: _rewrite(member, draft) for name, member in value.items()}
        elif keyword == "$ref" and draft < 2019:
            out[keyword] = value.replace("/$defs/", "/definitions/")
        else:
            out[keyword] = value
    if "prefixItems" in out:
        rest = out.pop("items", None)
        out["items"] = out.pop("prefixItems")
        if rest is not None:
            out["additionalItems"] = rest
    if draft < 2019:
        if "$defs" in out:
            out["definitions"] = out.pop("$defs")
        dependencies = {**out.pop("dependentRequired", {}), **out.pop("dependentSchemas", {})}
        if dependencies:
            out["dependencies"] = dependencies
    if draft == 4:
        _to_draft_4(out)
    return out


def _to_draft_4(out: dict[str, Any]) -> None:
    if "const" in out:
        out["enum"] = [out.pop("const")]
    for side, better in (("Minimum", max), ("Maximum", min)):
        exclusive, plain = out.pop("exclusive" + side, None), out.get(side.lower())
        if exclusive is None:
            continue
        if plain is None or better(plain, exclusive) == exclusive:
            out[side.lower()], out["exclusive" + side] = exclusive, True
    for name, members in out.get("dependencies", {}).items():
        if members == []:
            out["dependencies"] = {k: v for k, v in out["dependencies"].items() if k != name}
