"""Keeps what is left out from making a schema narrower.

Leaving a keyword out lets a subschema accept more. Under `not` that means less: where a subschema was widened, what
accepts more the less that subschema does is left out too. Likewise for a keyword that marked members or items as
evaluated: without the marks, `unevaluated…` would refuse them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from constrain.grammars.json_schema.deferred import at_hand
from constrain.grammars.json_schema.ir import Subschema, Unenforced

_MARKING = frozenset(
    (
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "dependentSchemas",
        "dependencies",
        "patternProperties",
        "additionalProperties",
        "contains",
        "unevaluatedProperties",
        "unevaluatedItems",
    )
)
"""Keywords that mark members or items as evaluated."""

_REASON = "it depends on keywords that are left out"


def keep_from_narrowing(subschemas: list[Subschema], left_out: dict[int, set[str]]) -> list[Unenforced]:
    """Removes what would narrow; returns a list of it.

    Args:
        left_out: the keywords that were left out, by the id() of their subschema. Extended by what is removed.
    """
    removed: list[Unenforced] = []
    if not any(_may_narrow(node) for _, node in at_hand(subschemas)):
        return removed

    def remove(node: Subschema, keyword: str) -> None:
        removed.append(Unenforced(node.pointer, keyword, _REASON))
        left_out.setdefault(id(node), set()).add(keyword)

    wider = reaching(subschemas, {number for number, node in enumerate(subschemas) if id(node) in left_out})
    for node in (subschemas[number] for number in sorted(wider)):
        if wider.intersection(node.none_of):
            node.none_of = [number for number in node.none_of if number not in wider]
            remove(node, "not")
        for group in [group for group in node.one_of if wider.intersection(group)]:
            node.one_of.remove(group)
            node.add("any_of", group)  # what exactly one held for, at least one of the wider ones holds for
            remove(node, "oneOf")
        for condition in [condition for condition in node.conditions if condition[0] in wider]:
            node.conditions.remove(condition)
            remove(node, "if")
        if node.max_contains is not None and node.contains in wider:
            node.max_contains = None
            remove(node, "maxContains")
    for node in (subschemas[number] for number in sorted(wider)):
        if node.unevaluated_properties is None and node.unevaluated_items is None:
            continue
        if _lacks_marks(subschemas, node, left_out):
            for keyword, field in (
                ("unevaluatedProperties", "unevaluated_properties"),
                ("unevaluatedItems", "unevaluated_items"),
            ):
                if getattr(node, field) is not None:
                    setattr(node, field, None)
                    remove(node, keyword)
    return removed


def _may_narrow(node: Subschema) -> bool:
    return bool(
        node.none_of
        or node.one_of
        or node.conditions
        or node.max_contains is not None
        or node.unevaluated_properties is not None
        or node.unevaluated_items is not None
    )


def reaching(
    subschemas: list[Subschema],
    targets: Collection[int],
    within: Iterable[int] | None = None,
    more: Mapping[int, Collection[int]] | None = None,
) -> set[int]:
    """The subschemas from which one of `targets` is reached, with the targets.

    Only those `within` are looked at, where that is given. `more` has what else is above a number, of whatever kind.
    """
    above: dict[int, list[int]] = {}
    for number, node in at_hand(subschemas) if within is None else [(number, subschemas[number]) for number in within]:
        if node.leads_nowhere():
            continue
        for part in (*node.in_place(), *node.of_members_and_items()):
            if part in above:
                above[part].append(number)
            else:
                above[part] = [number]
    found = set(targets)
    stack = list(targets)
    while stack:
        at = stack.pop()
        for number in (*above.get(at, ()), *(more.get(at, ()) if more else ())):
            if number not in found:
                found.add(number)
                stack.append(number)
    return found


def _lacks_marks(subschemas: list[Subschema], node: Subschema, left_out: dict[int, set[str]]) -> bool:
    """Whether something in place of `node` lacks a keyword that marks members or items as evaluated."""
    seen: set[int] = set()
    stack = [node]
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if not _MARKING.isdisjoint(left_out.get(id(part), ())):
            return True
        stack.extend(subschemas[number] for number in part.in_place())
    return False
