"""Classes of member names: which patterns are found in a name, and what names of each class there are.

The names that an object's rules do not list fall into classes by the languages (patterns, demands on names) they belong
to. The classes are found by splitting: all names, by the first language, by the second, and so on. That a part is not
empty is mostly plain from a name at hand; else the product of languages that it is gets searched. A class is a language
by itself, which is made where somebody asks for it: there may be many classes, and few of them matter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from itertools import compress

from constrain.grammars.errors import ResourceLimitError
from constrain.grammars.json_schema.side_by_side import Group, groups_of
from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.extent import few_texts, shortest_text
from constrain.grammars.languages.residual import Standing, has_many_evidently
from constrain.grammars.languages.text import FREE_TEXT, difference, intersection
from constrain.grammars.regex.utf8 import CodePointLanguage

MAX_LISTED = 256
"""Names of a finite class up to this number are treated like declared ones."""

SAMPLES = (b"", b"a", b"A1", b"-")
"""Names at hand."""
_SAMPLES_KEPT = 4
_SEVERAL = 3
"""So many languages are read side by side first."""
_STATES = 16
"""States of them together, for each, with which that is quick."""
_FILLING = b"~" * 16
_CODE_POINTS = 0x110000
_ENOUGH = MAX_LISTED + 0x800  # with surrogates, which are no characters


class KeyClass:
    """The names that belong to exactly the languages `members`.

    `names` lists them all where they are few; None where there are more.
    """

    def __init__(self, members: frozenset[int], names: tuple[str, ...] | None, language: Callable[[], TextLanguage]):
        self.members, self.names = members, names
        self._language = language

    @property
    def language(self) -> TextLanguage:
        """The names as a language."""
        return self._language()

    @functools.cached_property
    def shortest(self) -> int:
        """Bytes of the shortest name."""
        return self.language.shortest(self.language.start)


@functools.lru_cache(maxsize=512)
def key_classes(languages: tuple[TextLanguage, ...]) -> tuple[KeyClass, ...]:
    """The classes into which all texts fall by the languages they belong to.

    Raises:
        ResourceLimitError: whether a class has names takes too many states to decide.
    """
    if not languages:
        return (KeyClass(frozenset(), None, lambda: FREE_TEXT),)
    return _Split(languages).classes()


class _Split:
    def __init__(self, languages: tuple[TextLanguage, ...]) -> None:
        self._languages = languages
        self._known: dict[Group, list[bytes]] = {}  # names at hand
        self._groups: Collection[Group] | None = None  # all that have names, where the languages are read side by side

    def _learn(self, name: bytes) -> None:
        found = self._known.setdefault(tuple(language.matches(name) for language in self._languages), [])
        if len(found) < _SAMPLES_KEPT:
            found.append(name)

    def classes(self) -> tuple[KeyClass, ...]:
        found = self._side_by_side()
        if found is not None:
            self._groups = found
            return tuple(
                self._class_of(group, None if names is None else tuple(names))
                for group, names in sorted(found.items(), reverse=True)
            )
        for name in SAMPLES:
            self._learn(name)
        self._shortest = [_shortest_of(language) if language.start else b"" for language in self._languages]
        for name in self._shortest:
            self._learn(name)
        groups: list[Group] = [()]
        for _ in self._languages:
            groups = [part for group in groups for part in ((*group, True), (*group, False)) if self._has_names(part)]
        return tuple(self._key_class(group) for group in groups)

    def _side_by_side(self) -> dict[Group, list[str] | None] | None:
        count = len(self._languages)
        try:
            return groups_of(self._languages, MAX_LISTED, _STATES * count) if count >= _SEVERAL else None
        except ResourceLimitError:
            return None

    def _has_names(self, group: Group) -> bool:
        """Whether there are names that belong to just these of the first languages."""
        count = len(group)
        if any(known[:count] == group for known in self._known):
            return True
        # What is looked for anywhere can be had together, in a short name or in a long one.
        together = b"".join(compress(self._shortest, group))
        for name in (self._compact(group), together, _FILLING + together):
            self._learn(name)
        if any(known[:count] == group for known in self._known):
            return True
        found = self._language(group)
        if found.start:
            self._learn(_shortest_of(found))
        return bool(found.start)

    def _compact(self, group: Group) -> bytes:
        """A name in which is found just what is needed: the last first, as what comes first may be found by then."""
        name = b""
        for i in reversed(range(len(group))):
            if group[i] and not self._languages[i].matches(name):
                name = self._shortest[i] + name
        return name

    def _key_class(self, group: Group) -> KeyClass:
        names = None
        known = self._known.get(group, [])
        if not any(self._goes_on(group, name) for name in (*known, self._compact(group))):
            language = self._language(group)
            assert isinstance(language, CodePointLanguage)
            names = few_texts(language, MAX_LISTED)
        return self._class_of(group, names)

    def _class_of(self, group: Group, names: tuple[str, ...] | None) -> KeyClass:
        members = frozenset(i for i, member in enumerate(group) if member)
        return KeyClass(members, names, functools.partial(self._language, group))

    def _goes_on(self, group: Group, name: bytes) -> bool:
        """Whether evidently more names than are listed begin with this one."""
        inside: list[Standing] = []
        outside: list[Standing] = []
        for member, language in zip(group, self._languages, strict=True):
            assert isinstance(language, CodePointLanguage)
            (inside if member else outside).append((language, language.run(name)))
        return _has_many_characters(inside, outside) or has_many_evidently(inside, outside, MAX_LISTED + 1)

    def _language(self, group: Group) -> TextLanguage:
        """The names of a group."""
        inside = [i for i, member in enumerate(group) if member]
        if any(self._disjoint(i, j) for k, i in enumerate(inside) for j in inside[:k]):
            return _NOTHING
        # What has nothing in common with a language does not need to be taken from it.
        outside = [j for j, member in enumerate(group) if not member and not any(self._disjoint(i, j) for i in inside)]
        common = _common(tuple(self._languages[i] for i in inside))
        return _without(common, tuple(self._languages[j] for j in outside))

    def _disjoint(self, i: int, j: int) -> bool:
        if self._groups is not None:
            return not any(group[i] and group[j] for group in self._groups)
        if any(known[i] and known[j] for known in self._known):
            return False
        return _are_disjoint(frozenset((self._languages[i], self._languages[j])))


def _has_many_characters(inside: list[Standing], outside: list[Standing]) -> bool:
    """Whether more texts than are listed plainly follow that are one character."""
    left = _CODE_POINTS
    for language, state in inside:
        left -= _CODE_POINTS - (_count_last(language, state) if state else 0)
        if left <= _ENOUGH:
            return False
    for language, state in outside:
        left -= _count_last(language, state) if state else 0
    return left > _ENOUGH


def _count_last(language: CodePointLanguage, state: int) -> int:
    """How many characters lead from a state to the end of a text."""
    return sum(last - first + 1 for first, last, to in language.segments(state) if language.accepting(to))


def _shortest_of(language: TextLanguage) -> bytes:
    assert isinstance(language, CodePointLanguage)
    return shortest_text(language, language.start)


_NOTHING = intersection(difference(FREE_TEXT, FREE_TEXT))


@functools.lru_cache(maxsize=4096)
def _are_disjoint(languages: frozenset[TextLanguage]) -> bool:
    return intersection(*languages).start == 0


@functools.lru_cache(maxsize=512)
def _common(languages: tuple[TextLanguage, ...]) -> TextLanguage:
    return intersection(*languages)


@functools.lru_cache(maxsize=1024)
def _without(language: TextLanguage, excluded: tuple[TextLanguage, ...]) -> TextLanguage:
    return difference(language, *excluded)
