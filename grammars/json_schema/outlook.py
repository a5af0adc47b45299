"""Bounds on what a schema comes to when it is brought to normal form, found without doing so.

How many alternatives a value can have is bounded by numbers at hand: branches of a choice add up, what holds together
multiplies, and a subschema fails in as many ways as it asserts things. A *node* is a subschema that holds (index i) or
does not (~i); what is said of members and items are nodes again, so one walk over the graph of nodes bounds whatever
can be met below a node. Where the bound is small nothing needs to be looked into before generation gets there. That is
so for most of the choices and negations in real schemas, whose normal forms would take most of the time of compiling.

Nodes that recurse into each other are taken together (Tarjan's strongly connected components).
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from operator import attrgetter, itemgetter, mul

from constrain.grammars.formats import format_superset
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.deferred import Deferred, at_hand
from constrain.grammars.json_schema.expansion import MAX_ALTERNATIVES
from constrain.grammars.json_schema.ir import SchemaDocument, Subschema
from constrain.grammars.json_schema.items import MAX_COUNTED
from constrain.grammars.json_schema.keys import SAMPLES
from constrain.grammars.json_schema.narrowing import reaching
from constrain.grammars.json_schema.normal import NormalForm, Variable
from constrain.grammars.regex import search_language

MAX_NODES = 24
"""Most nodes below one that are walked for their size."""
_MOST = 16
"""More nodes that come together, with some choice each, are too many."""

_KINDS = (ir.NULL | ir.BOOLEAN, ir.NUMBER, ir.STRING, ir.ARRAY, ir.OBJECT)
_SCALARS = ir.NULL | ir.BOOLEAN | ir.NUMBER | ir.STRING
_NO_WAYS = (0.0,) * len(_KINDS)
_ANYWHERE = None
_Place = tuple[int, tuple[int, ...]]
_Places = dict[str | int | None, _Place]
_NO_NODES: frozenset[int] = frozenset()
_NO_PATTERNS: frozenset[str] = frozenset()
_Ways = tuple[float, ...]
"""For each kind of value, in how many ways it can be what a node says, at most."""


@dataclass(slots=True)
class _Local:
    """What holds of the value that a node is about.

    Attributes:
        ways: alternatives by kind.
        texts: how many languages (patterns, formats) at most a text has to be in or not.
        nodes: the nodes of members and items.
        patterns: the patterns of names by which members are told apart.
        plain: whether nothing but the bounds has to be looked at.
        make: finds the places.
        crowded: whether several nodes may speak of one member or item together.
    """

    ways: _Ways
    texts: int
    nodes: frozenset[int] = _NO_NODES
    patterns: frozenset[str] = _NO_PATTERNS
    plain: bool = True
    make: Callable[[], _Places] = dict
    crowded: bool = False
    _found: _Places | None = None

    def places(self) -> _Places:
        """By member or item, how many nodes at most speak of it together, and which; at `_ANYWHERE` of all others."""
        if self._found is None:
            self._found = self.make()
        return self._found

    def of(self, ways: _Ways, texts: int) -> _Local:
        """The same with other numbers."""
        return _Local(ways, texts, self.nodes, self.patterns, self.plain, self.places, self.crowded)

    def crowds(self) -> list[tuple[int, tuple[int, ...]]]:
        """The places of which several nodes speak together: how many, and out of which."""
        if not self.crowded:
            return []
        # The most together first, as they are the likeliest to be too many.
        return sorted((place for place in self.places().values() if place[0] > 1), key=itemgetter(0), reverse=True)


@dataclass(frozen=True, slots=True)
class _Size:
    """Of a node and all that is below it: at most `deep` nodes come together, of `ways` and `texts` each."""

    ways: float
    deep: float
    texts: int


_OF_SCALARS = (
    "pointer", "types", "values", "minimum", "exclusive_minimum", "maximum", "exclusive_maximum", "multiple_of",
    "required", "integral_fraction", "min_contains", "source", "written", "names_at", "choice",
)  # fmt: skip
_beside_scalars = attrgetter(*(n for n in Subschema.__dataclass_fields__ if n not in _OF_SCALARS))
_NONE_BESIDE = _beside_scalars(Subschema(pointer=""))
_UNKNOWN = _Size(inf, inf, 2)
_ANY = _Local((1.0,) * len(_KINDS), 0)
_DEFERRED = _Local(tuple(float(kind == ir.OBJECT) for kind in _KINDS), 0)
_BAD = _Local(_NO_WAYS, 0, plain=False)


class Outlook:
    """The bounds of one document."""

    def __init__(
        self, forms: NormalForm, document: SchemaDocument, delicate: Collection[int], leading: Collection[int]
    ) -> None:
        """`delicate` are the subschemas for whose sake something may have to be looked at, if at all.

        They are reached from those in `leading`.
        """
        self._forms: NormalForm = weakref.proxy(forms)  # which keeps what is told of its variables
        self._subschemas = document.subschemas[:]
        self._count = len(self._subschemas)
        self._local: dict[int, _Local] = {}
        self._sizes: dict[int, _Size] = {}
        self._open: set[int] = set()
        self._leaves: dict[tuple[_Ways, int], _Local] = {}
        self._failing_leaves: dict[tuple[int, bool, int, bool], _Local] = {}
        self._negative: set[int] = set()  # the nodes that do not hold and that can come up
        self._unfair: set[int] = set()
        self._find_unfair(delicate, leading)

    def is_fair(self, variable: Variable) -> bool:
        """Whether the variable, and whatever it is made of, has alternatives that are known to be few and simple."""
        for node in variable:
            if node in self._unfair or node >= self._count or (node < 0 and node not in self._negative):
                return False  # unfair, or made on the way
        if len(variable) < 2:
            return True
        ways, texts = 1.0, 0.0
        for node in variable:
            found = self._size(node)
            ways *= _power(found.ways, found.deep)
            texts += found.texts and found.texts * found.deep
        return ways <= MAX_ALTERNATIVES and texts <= 1

    def is_plain_itself(self, node: int) -> bool:
        """Whether only what is below a node has to be looked at, and no two nodes come together there."""
        if not -self._count <= node < self._count:
            return False
        local = self._of_itself(node)
        return _is_small(local) and not local.crowds()

    def parts(self, node: int) -> set[Variable]:
        """The variables of members and items of a node that is plain itself."""
        return {self._forms.variable((part,)) for part in self._of_itself(node).nodes if part in self._unfair}

    def has_few(self, variable: Variable) -> bool:
        """Whether the variable has few alternatives for each kind of value; what it is made of may have more."""
        local = self._together(variable)
        return local is not None and max(local.ways) <= MAX_ALTERNATIVES

    def scalars(self, variable: Variable) -> int:
        """The types of scalars for which the variable is known to have few alternatives, and simple ones."""
        local = self._together(variable)
        if local is None:
            return 0
        known = zip(_KINDS, local.ways, strict=True)
        types = sum(kind for kind, ways in known if kind & _SCALARS and ways <= MAX_ALTERNATIVES)
        return types if local.texts <= 1 else types & ~ir.STRING

    def _together(self, variable: Variable) -> _Local | None:
        """What holds of a value of the variable; None where that is not known."""
        if not all(-self._count <= node < self._count for node in variable):
            return None
        inner = frozenset[int]().union(
            *(self._forms.closure(i) for node in variable if node >= 0 for i in self._subschemas[node].all_of)
        )
        local = _all([_ANY, *(self._of_itself(node) for node in variable - inner or variable)])
        return local if local.plain else None

    # ---- all that is below -------------------------------------------------------------------------------------------

    def _find_unfair(self, delicate: Collection[int], leading: Collection[int]) -> None:
        """Find the nodes from which something is reached whose bounds are too high, or that has none here."""
        subschemas = self._subschemas
        joining = [i for i in leading if _joins_several(subschemas[i])]
        todo = list(dict.fromkeys((*delicate, *joining)))
        unfair: set[int] = set()
        above: dict[int, list[int]] = {}
        while todo:
            node = todo.pop()
            local = self._of_itself(node)
            if not self._is_fair_itself(local):
                unfair.add(node)
                continue
            for part in local.nodes:
                if node < 0 or part < 0:
                    above.setdefault(part, []).append(node)
                if part < 0 and part not in self._negative:
                    self._negative.add(part)
                    todo.append(part)
        unique = [i for i in delicate if subschemas[i].unique_items]
        if unique:
            negating = {i for i, s in at_hand(subschemas) if self._negates(s)}
            unfair.update(reaching(subschemas, negating).intersection(unique) if negating else ())
        if unfair:
            self._unfair = reaching(subschemas, unfair, leading, above)

    def _is_fair_itself(self, local: _Local) -> bool:
        return _is_small(local) and all(self._may_come_together(count, nodes) for count, nodes in local.crowds())

    def _negates(self, s: Subschema) -> bool:
        return bool(s.none_of or s.conditions or any(self._overlapping(s, group) != [] for group in s.one_of))

    def _may_come_together(self, count: int, nodes: tuple[int, ...]) -> bool:
        """Whether few alternatives result where so many out of these nodes speak of one value."""
        if count > 1 and self._lead_to_text(nodes):
            return False  # of which there would be several
        ways, deep, texts = 1.0, 0.0, 0
        for node in nodes:
            size = self._size(node)
            ways, deep, texts = max(ways, size.ways), max(deep, count * size.deep), max(texts, size.texts)
            if _power(ways, deep) > MAX_ALTERNATIVES or (texts and deep * texts > 1):
                return False
        return True

    def _lead_to_text(self, nodes: tuple[int, ...]) -> bool:
        """Whether something near below is a text that has to be in some language, which is mostly found soon."""
        todo = list(nodes)
        seen = set(todo)
        for node in todo:  # which grows
            local = self._of_itself(node)
            if local.texts:
                return True
            if len(todo) > MAX_NODES:
                return False
            for part in local.nodes:
                if part not in seen:
                    seen.add(part)
                    todo.append(part)
        return False

    def _size(self, node: int) -> _Size:
        found = self._sizes.get(node)
        if found is None:
            local = self._of_itself(node)
            if not local.nodes:
                found = _Size(max(1.0, *local.ways), 1.0, local.texts)
            else:
                left = components(node, self._parts_to_size, self._sizes, self._add_up, MAX_NODES)
                self._sizes.update(dict.fromkeys(left, _UNKNOWN))
                found = self._sizes[node]
            self._sizes[node] = found
        return found

    def _parts_to_size(self, node: int) -> list[int]:
        out = []
        for part in self._of_itself(node).nodes:
            if part not in self._sizes:
                local = self._of_itself(part)
                if local.nodes:
                    out.append(part)
                else:
                    self._sizes[part] = _Size(max(1.0, *local.ways), 1.0, local.texts)
        return out

    def _add_up(self, component: list[int]) -> None:
        """The sizes of nodes that recurse into each other, from those of what they lead to."""
        members = set(component)
        ways, deep, texts = 1.0, 1.0, 0
        together = 1.0
        recursive = False
        for node in component:
            local = self._local[node]
            ways, texts = max(ways, *local.ways), max(texts, local.texts)
            together = max(together, *(count for count, _ in local.crowds()), 1.0)
            for part in local.nodes:
                if part in members:
                    recursive = True
                    continue
                size = self._sizes[part]
                ways, texts = max(ways, size.ways), max(texts, size.texts)
                deep = max(deep, size.deep)
        if together > 1:
            deep *= together**2 if recursive else together
        found = _Size(ways, deep, texts)
        for node in component:
            self._sizes[node] = found

    # ---- one value ---------------------------------------------------------------------------------------------------

    def _of_itself(self, node: int) -> _Local:
        found = self._local.get(node)
        if found is None:
            if node in self._open:  # it applies itself in place
                return _BAD
            s = self._subschemas[node if node >= 0 else ~node]
            if type(s) is Subschema and _beside_scalars(s) == _NONE_BESIDE:
                found = self._leaf(s) if node >= 0 else self._failing_leaf(s)
                self._local[node] = found
                return found
            if s.any_of or s.one_of:
                first = self._forms.twin(node)
                if first in self._local:
                    found = self._local[node] = self._local[first]
                    return found
            self._open.add(node)
            if type(s) is Deferred:
                found = _DEFERRED if node >= 0 else _ANY
            elif _is_delicate(s, negated=node < 0):
                found = _BAD
            else:
                found = self._holding(s) if node >= 0 else self._failing(s)
            self._open.discard(node)
            self._local[node] = found
        return found

    def _leaf(self, s: Subschema) -> _Local:
        key = _admitted(s.types), 0
        found = self._leaves.get(key)
        if found is None:
            found = self._leaves[key] = _Local(*key)
        return found

    def _failing_leaf(self, s: Subschema) -> _Local:
        listed = s.values is not None
        if listed and any(isinstance(v, list | dict) for v in s.values or ()):
            return _BAD
        key = s.types, listed, _bounds(s), bool(s.required)
        found = self._failing_leaves.get(key)
        if found is None:
            found = self._failing_leaves[key] = self._failing(s)
        return found

    def _holding(self, s: Subschema) -> _Local:
        """How a value can be valid."""
        out = self._own(s, _admitted(s.types), negated=False)
        if not (s.all_of or s.any_of or s.one_of or s.none_of or s.conditions or s.dependent_schemas):
            return out
        both = [self._of_itself(i) for i in s.all_of] + [self._of_itself(~i) for i in s.none_of]
        both += [_either([self._of_itself(i) for i in group]) for group in s.any_of]
        both += [self._exactly_one(s, group) for group in s.one_of]
        for test, then, otherwise in s.conditions:
            if then is not None or otherwise is not None:
                met = self._with(test, then)
                both.append(_either([met, self._with(~test, otherwise)]))
        both += [_either([_ANY, self._of_itself(i)]) for i in s.dependent_schemas.values()]
        asks_nothing = out.ways == _ANY.ways and not (out.texts or out.nodes)
        return _all(both if both and asks_nothing else [out, *both])

    def _own(self, s: Subschema, ways: _Ways, *, negated: bool) -> _Local:
        """What a subschema's own keywords come to."""
        texts = int(s.pattern is not None or s.format is not None or s.min_length > 0 or s.max_length is not None)
        if not (s.properties or s.prefix_items or s.pattern_properties) and s.items is s.additional is None:
            key = ways, texts
            found = self._leaves.get(key)
            if found is None:
                found = self._leaves[key] = _Local(ways, texts)
            return found
        numbers = {*s.properties.values(), *s.prefix_items, *(i for _, i in s.pattern_properties)}
        numbers.update(i for i in (s.items, s.additional) if i is not None)
        nodes = frozenset(~i for i in numbers) if negated else frozenset(numbers)
        patterns = frozenset(pattern for pattern, _ in s.pattern_properties) if s.pattern_properties else _NO_PATTERNS
        make = functools.partial(_own_places, s, self._subschemas, negated)
        return _Local(ways, texts, nodes, patterns, make=make, crowded=bool(s.pattern_properties))

    def _failing(self, s: Subschema) -> _Local:
        """How a value can fail to be valid; one way for values of types that are not admitted at all."""
        own = []
        for kind in _KINDS:
            if not s.types & kind:
                own.append(1.0)
            else:
                own.append(float(_ways_to_fail(s, kind) + (s.types & kind != kind) + (s.values is not None)))
        itself = self._own(s, tuple(own), negated=True)
        if not (s.all_of or s.any_of or s.one_of or s.none_of or s.conditions or s.dependent_schemas):
            return itself
        ways = [itself]
        ways += [self._of_itself(~i) for i in s.all_of] + [self._of_itself(i) for i in s.none_of]
        ways += [_all([self._of_itself(~i) for i in group]) for group in s.any_of]
        for group in s.one_of:
            ways.append(_all([self._of_itself(~i) for i in group]))
            overlapping = self._overlapping(s, group)
            if overlapping is None:
                return _BAD
            for a, b, kinds in overlapping:
                ways.append(_only(_all([self._of_itself(a), self._of_itself(b)]), kinds))
        for test, then, otherwise in s.conditions:
            if then is not None:
                ways.append(self._with(test, ~then))
            if otherwise is not None:
                ways.append(self._with(~test, ~otherwise))
        ways += [self._of_itself(~i) for i in s.dependent_schemas.values()]
        found = _either(ways)
        # Values of other types fail whatever is asked of them in place.
        admitted = (w if s.types & kind else 1.0 for w, kind in zip(found.ways, _KINDS, strict=True))
        return found.of(tuple(admitted), found.texts) if len(ways) > 1 else found

    def _with(self, node: int, other: int | None) -> _Local:
        found = self._of_itself(node)
        return found if other is None else _all([found, self._of_itself(other)])

    def _exactly_one(self, s: Subschema, group: list[int]) -> _Local:
        against: dict[int, list[tuple[int, int]]] = {}
        overlapping = self._overlapping(s, group)
        if overlapping is None:
            return _BAD
        for a, b, kinds in overlapping:
            against.setdefault(a, []).append((b, kinds))
            against.setdefault(b, []).append((a, kinds))
        return _either(
            [
                _all([self._of_itself(i), *(_only(self._of_itself(~j), k, 1.0) for j, k in against.get(i, ()))])
                for i in group
            ]
        )

    def _overlapping(self, s: Subschema, group: list[int]) -> list[tuple[int, int, int]] | None:
        """The pairs of branches that may hold together, and for which kinds of values."""
        if s.choice is not None and not s.any_of and len(s.one_of) == 1:
            return []
        return self._forms.overlapping(group)


def _joins_several(s: Subschema) -> bool:
    """Whether several subschemas may speak of the same members or items."""
    parts = len(s.all_of) + len(s.any_of) + len(s.one_of) + len(s.none_of) + len(s.conditions)
    if not (parts or s.dependent_schemas):
        return False
    own = bool(s.properties or s.prefix_items) or not s.items is s.additional is None
    return parts + len(s.dependent_schemas) + own > 1


def _is_small(local: _Local) -> bool:
    return (
        local.plain
        and max(local.ways) <= MAX_ALTERNATIVES
        and local.texts <= 1
        and (not local.patterns or (len(local.patterns) == 1 and all(map(_parts_names, local.patterns))))
    )


def _is_delicate(s: Subschema, *, negated: bool) -> bool:
    """Whether what is made of a subschema's own keywords is not bounded here."""
    if (
        s.contains is not None
        or s.unevaluated_properties is not None
        or s.unevaluated_items is not None
        or s.property_names is not None
    ):
        return True
    if not negated:
        return s.unique_items and s.min_items > MAX_COUNTED
    if s.unique_items or (s.values is not None and any(isinstance(v, list | dict) for v in s.values)):
        return True
    if s.format is None:
        return False
    superset = format_superset(s.format)
    return superset is not None and superset.universal(superset.start)


@functools.cache
def _admitted(types: int) -> _Ways:
    return tuple(float(types & kind > 0) for kind in _KINDS)


def _power(ways: float, times: float) -> float:
    """`ways` to the power of `times`, or infinite."""
    return 1.0 if ways <= 1 else inf if times > _MOST else ways**times


def _bounds(s: Subschema) -> int:
    """How many bounds a number has."""
    if s.minimum is s.maximum is s.exclusive_minimum is s.exclusive_maximum is s.multiple_of is None:
        return 0
    bounds = (s.minimum, s.maximum, s.exclusive_minimum, s.exclusive_maximum, s.multiple_of)
    return sum(bound is not None for bound in bounds)


def _ways_to_fail(s: Subschema, kind: int) -> int:
    if kind == ir.STRING:
        return (s.min_length > 0) + (s.max_length is not None) + (s.pattern is not None) + (s.format is not None)
    if kind == ir.NUMBER:
        return _bounds(s)
    if kind == ir.OBJECT:  # demands on single members are followed side by side, as one alternative
        ways = int(bool(s.required or s.properties or s.pattern_properties or s.additional is not None))
        ways += (s.min_properties > 0) + (s.max_properties is not None)
        return ways + sum(map(len, s.dependent_required.values()))
    if kind == ir.ARRAY:
        return (s.min_items > 0) + (s.max_items is not None) + len(s.prefix_items) + (s.items is not None)
    return 0


def _parts_names(pattern: str) -> bool:
    """Whether it is plain that some names are found by a pattern and others are not, or all are."""
    language = search_language(pattern)
    if not language.start:
        return False
    return language.universal(language.start) or not all(map(language.matches, SAMPLES))


def _own_places(s: Subschema, subschemas: Sequence[Subschema], negated: bool) -> _Places:
    def node(number: int) -> tuple[int, ...]:  # what no value has is no part
        return (~number if negated else number,) if subschemas[number].types else ()

    out: _Places = {}
    found = [node(i) for _, i in s.pattern_properties]
    patterned: _Place = len(found), tuple(sum(found, ()))
    declared: list[tuple[str | int, int]] = [*s.properties.items(), *enumerate(s.prefix_items)]
    for place, number in declared:
        out[place] = 1 + patterned[0], (*node(number), *patterned[1])
    rest = tuple(sum((node(i) for i in (s.items, s.additional) if i is not None), ()))
    out[_ANYWHERE] = max(int(bool(rest)), patterned[0]), (*rest, *patterned[1])
    return out


def _all(parts: list[_Local]) -> _Local:
    """What holds of a value that all of this is said of."""
    if len(parts) == 1:
        return parts[0]
    ways = parts[0].ways
    for part in parts[1:]:
        ways = tuple(map(mul, ways, part.ways))
    return _joined(ways, sum(part.texts for part in parts), sum, parts)


def _either(parts: list[_Local]) -> _Local:
    """What holds of a value that one of this is said of."""
    if len(parts) == 1:
        return parts[0]
    ways = tuple(map(sum, zip(*(part.ways for part in parts), strict=True)))
    return _joined(ways, max((part.texts for part in parts), default=0), max, parts)


def _joined(ways: _Ways, texts: int, count: Callable[[list[int]], int], parts: list[_Local]) -> _Local:
    out = _Local(ways or _NO_WAYS, texts, plain=all(part.plain for part in parts))
    found = [part for part in parts if part.nodes]
    if len(found) == 1:
        (part,) = found
        out.nodes, out.patterns, out.make, out.crowded = part.nodes, part.patterns, part.places, part.crowded
    elif found:
        out.nodes = found[0].nodes.union(*(part.nodes for part in found[1:]))
        out.patterns = _NO_PATTERNS.union(*(part.patterns for part in found))
        out.make = functools.partial(_joined_places, count, found)
        out.crowded = count is sum or any(part.crowded for part in found)
    return out


def _joined_places(count: Callable[[list[int]], int], parts: list[_Local]) -> _Places:
    maps = [part.places() for part in parts]
    out: _Places = {}
    for place in {place: None for places in maps for place in places}:
        found = [places.get(place) or places[_ANYWHERE] for places in maps]
        out[place] = count([n for n, _ in found]), tuple({node for _, nodes in found for node in nodes})
    return out


def _only(part: _Local, kinds: int, otherwise: float = 0.0) -> _Local:
    """The same for values of some kinds; of others it says nothing, or is impossible."""
    ways = tuple(w if kind & kinds else otherwise for w, kind in zip(part.ways, _KINDS, strict=True))
    if not kinds & (ir.OBJECT | ir.ARRAY):
        return _Local(ways, part.texts, plain=part.plain)
    return part.of(ways, part.texts if kinds & ir.STRING else 0)


def components(
    root: int,
    parts_of: Callable[[int], Iterable[int]],
    known: Container[int],
    close: Callable[[list[int]], None],
    limit: int,
) -> list[int]:
    """Walk a graph from `root` and `close` its strongly connected components, what they lead to first.

    It ends early where there are more than `limit` nodes; those that are left are returned.

    What is in `known` is not entered; closing a component adds it. (Tarjan, SIAM J. Comput. 1972.)
    """
    place: dict[int, int] = {root: 0}  # of nodes in `path`
    lowest: dict[int, int] = {root: 0}
    path = [root]
    work: list[tuple[int, Iterator[int]]] = [(root, iter(parts_of(root)))]
    while work:
        node, parts = work[-1]
        for part in parts:
            if part in known:
                continue
            if part not in place:
                if len(place) == limit:
                    return path
                place[part] = lowest[part] = len(path)
                path.append(part)
                work.append((part, iter(parts_of(part))))
                break
            lowest[node] = min(lowest[node], place[part])
        else:
            work.pop()
            if lowest[node] == place[node]:
                component = path[place[node] :]
                del path[place[node] :]
                close(component)
            elif work:
                above = work[-1][0]
                lowest[above] = min(lowest[above], lowest[node])
    return []
