"""The members of objects: which names a set of object alternatives tells apart, and what their values must be.

Names that any alternative speaks of are *declared*. All others are *free*; they fall into classes by the patterns found
in them (see `keys`), and within a class every name is as good as another. Classes with few names are declared too, so a
free class that remains has more names than anyone lists, and is kept only when it has infinitely many or is large.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema import ir
from constrain.grammars.json_schema.demands import Clause, FreeSome, Option, without_implied
from constrain.grammars.json_schema.keys import MAX_LISTED, KeyClass, key_classes
from constrain.grammars.json_schema.normal import (
    ArrayAlternative,
    Has,
    Lacks,
    NormalForm,
    ObjectAlternative,
    Some,
    StringAlternative,
    Variable,
)
from constrain.grammars.json_schema.texts import name_language
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.extent import few_texts
from constrain.grammars.regex import search_language
from constrain.grammars.regex.utf8 import CodePointLanguage

Component = str | StringAlternative
"""What classes are told apart by: a pattern to be found in the name, or an alternative for the whole name."""


class Members:
    """The names of a list of object alternatives, and `more` that are to be told apart."""

    def __init__(self, forms: NormalForm, alternatives: Iterable[ObjectAlternative], more: Iterable[str] = ()) -> None:
        self._forms = forms
        components: dict[Component, None] = {}
        names: dict[str, None] = dict.fromkeys(more)
        for a in alternatives:
            demands = [demand for clause in a.clauses for demand in clause]
            some = [demand for demand in demands if isinstance(demand, Some)]
            names.update((demand.name, None) for demand in demands if not isinstance(demand, Some))
            for rule in (*a.rules, *(s.rule for s in some if s.rule is not None)):
                names.update(dict.fromkeys(rule.properties))
                components.update(dict.fromkeys(p for p, _ in rule.patterns))
            components.update(dict.fromkeys(s.pattern for s in some if s.pattern is not None))
            for variable in (*a.names, *(s.name for s in some if s.name is not None)):
                for text in forms.strings(variable):
                    if text.values is not None:
                        names.update(dict.fromkeys(text.values))
                    components[text] = None
            names.update(dict.fromkeys((*a.present, *a.absent, *a.required)))
        # What holds for all names, and what only for a few, which are declared then, tells no free names apart.
        self._always: list[Component] = []
        kept: list[Component] = []
        for component in components:
            language = component_language(component)
            listed = _listed(language)
            if language.start and language.universal(language.start):
                self._always.append(component)
            elif listed is not None:
                names.update(dict.fromkeys(listed))
            else:
                kept.append(component)
        self.components: tuple[Component, ...] = tuple(kept)
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
        self.names: tuple[str, ...] = _written(names)

    @classmethod
    def named(cls, forms: NormalForm, names: tuple[str, ...]) -> Members:
        """These names in order, and all others, of which nothing tells one from another."""
        self = cls.__new__(cls)
        self._forms, self.names = forms, names
        self._always, self._number = _NONE_ALWAYS, _NO_NUMBERS
        self.components = self.languages = ()
        self.classes = self.free = _ONE_CLASS
        return self

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
        held = (*self._always, *(self.components[i] for i in members))
        patterns = frozenset(c for c in held if isinstance(c, str))
        return self._forms.free_member(alternative, patterns)

    def _holds(self, component: Component, members: frozenset[int]) -> bool:
        """Whether the free names of a class belong to a component."""
        return component in self._always or self._number.get(component, -1) in members

    def _is_named(self, variable: Variable, members: frozenset[int]) -> bool:
        return any(self._holds(text, members) for text in self._forms.strings(variable))

    def clauses(
        self,
        alternative: ObjectAlternative,
        values: Mapping[str, Variable],
        free: Mapping[frozenset[int], Variable],
        inhabited: Callable[[Variable], bool],
    ) -> tuple[Clause, ...] | None:
        """What an alternative demands, by declared names and classes of free ones; None where it cannot be met.

        `values` and `free` are what the values of those members must be that are admitted.
        """
        required = set(alternative.required)
        out = []
        for demands in alternative.clauses:
            options: set[Option] = set()
            met = False
            for demand in demands:
                if isinstance(demand, Lacks):
                    met = met or demand.name not in values
                    if demand.name not in required:
                        options.add(demand)
                elif isinstance(demand, Has):
                    part = values.get(demand.name)
                    if part is not None:
                        met = met or (demand.name in required and demand.value <= part)
                        options.add(demand)
                else:
                    options.update(Has(name, demand.value) for name in values if self._forms.serves(demand, name))
                    classes = frozenset(c for c in free if self._free_serves(demand, c))
                    if classes:
                        options.add(FreeSome(classes, demand.value))
            if met:
                continue
            possible: set[Option] = set()
            for o in options:
                if isinstance(o, FreeSome):
                    classes = frozenset(c for c in o.classes if inhabited(free[c] | o.value))
                    if classes:
                        possible.add(FreeSome(classes, o.value))
                elif isinstance(o, Lacks) or inhabited(values[o.name] | o.value):
                    possible.add(o)
            if not possible:
                return None
            out.append(frozenset(possible))
        return without_implied(out)

    def _free_serves(self, some: Some, members: frozenset[int]) -> bool:
        if some.pattern is not None:
            return self._holds(some.pattern, members)
        if some.name is not None:
            return self._is_named(some.name, members)
        rule = some.rule
        assert rule is not None
        return not any(self._holds(p, members) for p, _ in rule.patterns)


_ONE_CLASS = key_classes(())
_NONE_ALWAYS: list[Component] = []  # of members that are told apart by their names alone; never changed
_NO_NUMBERS: dict[Component, int] = {}


def _written(names: Collection[str]) -> tuple[str, ...]:
    """The names that UTF-8 can write, in the order of their bytes."""
    if all(map(str.isascii, names)):
        return tuple(sorted(names))
    writable = (n for n in names if not any("\ud800" <= c <= "\udfff" for c in n))
    return tuple(sorted(writable, key=lambda n: n.encode()))


def component_language(component: Component) -> TextLanguage:
    """The names that belong to a component."""
    if isinstance(component, str):
        return search_language(component)
    return name_language(component)


@functools.lru_cache(maxsize=1024)
def _listed(language: TextLanguage) -> tuple[str, ...] | None:
    """The texts of a language where they are few."""
    return few_texts(language, MAX_LISTED) if isinstance(language, CodePointLanguage) else None


def as_names(forms: NormalForm, array: ArrayAlternative) -> ObjectAlternative | None:
    """An array of strings that must differ, as an object whose names they are; None for other arrays."""
    if array.prefix or array.contains or array.items is None or forms.types(array.items) & ~ir.STRING:
        return None
    return ObjectAlternative((), {}, frozenset(), (array.items,), (), array.minimum, array.maximum)
