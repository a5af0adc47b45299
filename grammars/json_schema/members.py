"""The members of objects: which names a set of object alternatives tells apart, and what their values must be.

Names that any alternative speaks of are *declared*. All others are *free*; they fall into classes by the patterns found
in them (see `keys`), and within a class every name is as good as another. Classes with few names are declared too, so a
free class that remains has more names than anyone lists, and is kept only when it has infinitely many or is large.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.keys import KeyClass, key_classes
from constrain.grammars.json_schema.normal import (
    ANYTHING,
    ArrayAlternative,
    NormalForm,
    ObjectAlternative,
    Some,
    StringAlternative,
    Variable,
)
from constrain.grammars.json_schema.texts import name_language
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.regex import search_language

MAX_VARIANTS = 1_000
"""Ways in which an object's demands for some member are settled."""

Component = str | StringAlternative
"""What classes are told apart by: a pattern to be found in the name, or an alternative for the whole name."""


@dataclass(frozen=True, slots=True)
class FreeSome:
    """A demand for a member with a free name of one of these classes, its value in a variable."""

    classes: frozenset[frozenset[int]]
    value: Variable


@dataclass(frozen=True, slots=True)
class Variant:
    """An object alternative whose demands for some member are settled: by declared names, or left to free ones."""

    alternative: ObjectAlternative
    some: tuple[FreeSome, ...]


class Members:
    """The names of a list of object alternatives."""

    def __init__(self, forms: NormalForm, alternatives: Iterable[ObjectAlternative]) -> None:
        self._forms = forms
        components: dict[Component, None] = {}
        names: dict[str, None] = {}
        for a in alternatives:
            for rule in (*a.rules, *(s.rule for s in a.some if s.rule is not None)):
                names.update(dict.fromkeys(rule.properties))
                components.update(dict.fromkeys(p for p, _ in rule.patterns))
            components.update(dict.fromkeys(s.pattern for s in a.some if s.pattern is not None))
            for variable in (*a.names, *(s.name for s in a.some if s.name is not None)):
                for text in forms.strings(variable):
                    if text.values is not None:
                        names.update(dict.fromkeys(text.values))
                    components[text] = None
            names.update(dict.fromkeys((*a.present, *a.absent, *a.required)))
        self.components: tuple[Component, ...] = tuple(components)
        self._number = {c: i for i, c in enumerate(self.components)}
        self.languages: tuple[TextLanguage, ...] = tuple(component_language(c) for c in self.components)
        free = []
        self.classes: tuple[KeyClass, ...] = self._classes()
        for key_class in self.classes:
            if key_class.names is None:
                free.append(key_class)
            else:
                names.update(dict.fromkeys(key_class.names))
        self.free: tuple[KeyClass, ...] = tuple(free)
        writable = (n for n in names if not any("\ud800" <= c <= "\udfff" for c in n))
        self.names: tuple[str, ...] = tuple(sorted(writable, key=lambda n: n.encode()))

    def _classes(self) -> tuple[KeyClass, ...]:
        try:
            return key_classes(self.languages)
        except ResourceLimitError as error:
            keyword = "patternProperties" if any(isinstance(c, str) for c in self.components) else "propertyNames"
            raise ResourceLimitError(error.pointer, keyword, error.reason, error.limit) from None

    def free_value(self, alternative: ObjectAlternative, members: frozenset[int]) -> Variable | None:
        """What the value under a free name of a class must be; None where the alternative admits no such name."""
        for variable in alternative.names:
            if not self._is_named(variable, members):
                return None
        patterns = frozenset(c for c in (self.components[i] for i in members) if isinstance(c, str))
        return self._forms.free_member(alternative, patterns)

    def _is_named(self, variable: Variable, members: frozenset[int]) -> bool:
        return any(self._number[text] in members for text in self._forms.strings(variable))

    def variants(self, alternative: ObjectAlternative) -> list[Variant]:
        """The ways to settle an alternative's demands for some member."""
        out = [Variant(replace(alternative, some=()), ())]
        for some in alternative.some:
            ways: list[Variant] = []
            classes = frozenset(c.members for c in self.free if self._free_serves(some, c.members))
            for v in out:
                a = v.alternative
                for name in self.names:
                    if name not in a.absent and self._serves(some, name):
                        present = {**a.present, name: a.present.get(name, ANYTHING) | some.value}
                        required = a.required if name in a.required else (*a.required, name)
                        minimum = max(a.minimum, len(required))
                        if a.maximum is None or minimum <= a.maximum:
                            settled = replace(a, present=present, required=required, minimum=minimum)
                            ways.append(Variant(settled, v.some))
                for k, other in enumerate(v.some):  # one member may serve several demands
                    shared = other.classes & classes
                    if shared:
                        both = FreeSome(shared, other.value | some.value)
                        ways.append(Variant(a, (*v.some[:k], both, *v.some[k + 1 :])))
                if classes:
                    ways.append(Variant(a, (*v.some, FreeSome(classes, some.value))))
            if len(ways) > MAX_VARIANTS:
                raise ResourceLimitError(
                    "",
                    "not",
                    f"the members that it demands combine in more than {MAX_VARIANTS} ways",
                    f"MAX_VARIANTS = {MAX_VARIANTS}",
                )
            out = ways
        return out

    def _serves(self, some: Some, name: str) -> bool:
        if some.pattern is not None:
            return search_language(some.pattern).matches(name.encode())
        if some.name is not None:
            return self._forms.admits(some.name, name)
        rule = some.rule
        assert rule is not None
        return name not in rule.properties and not any(
            search_language(p).matches(name.encode()) for p, _ in rule.patterns
        )

    def _free_serves(self, some: Some, members: frozenset[int]) -> bool:
        if some.pattern is not None:
            return self._number[some.pattern] in members
        if some.name is not None:
            return self._is_named(some.name, members)
        rule = some.rule
        assert rule is not None
        return not any(self._number[p] in members for p, _ in rule.patterns)


def component_language(component: Component) -> TextLanguage:
    """The names that belong to a component."""
    if isinstance(component, str):
        return search_language(component)
    return name_language(component)


def as_names(forms: NormalForm, array: ArrayAlternative) -> ObjectAlternative | None:
    """An array of strings that must differ, as an object whose names they are; None for other arrays."""
    if array.prefix or array.contains or array.items is None or forms.types(array.items) & ~ir.STRING:
        return None
    return ObjectAlternative((), {}, frozenset(), (array.items,), (), array.minimum, array.maximum)
