"""Classes of member names: which patterns are found in a name, and what names of each class there are.

The names that an object's rules do not list fall into classes by the languages (patterns, demands on names) they belong
to. The classes are found by splitting: all names, by the first language, by the second, and so on. That a part is not
empty is mostly plain from a name at hand; else the product of languages that it is gets searched. So no product is
explored, and a class is a language by itself, whose live states tell what names are still possible.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from constrain.grammars.languages.base import TextLanguage
from constrain.grammars.languages.extent import few_texts, shortest_text
from constrain.grammars.languages.text import FREE_TEXT, difference, intersection
from constrain.grammars.regex.utf8 import CodePointLanguage

MAX_LISTED = 256
"""Names of a finite class up to this number are treated like declared ones."""

SAMPLES = (b"", b"a", b"A1", b"-")
"""Names at hand."""


@dataclass(frozen=True, slots=True)
class KeyClass:
    """The names that belong to exactly the languages `members`: their language, and bytes of the shortest one.

    `names` lists them all where they are few; None where there are more.
    """

    members: frozenset[int]
    language: TextLanguage
    shortest: int
    names: tuple[str, ...] | None


@functools.lru_cache(maxsize=512)
def key_classes(languages: tuple[TextLanguage, ...]) -> tuple[KeyClass, ...]:
    """The classes into which all texts fall by the languages they belong to.

    Raises:
        ResourceLimitError: whether a class has names takes too many states to decide.
    """
    if not languages:
        return (KeyClass(frozenset(), FREE_TEXT, 0, None),)
    return _Split(languages).classes()


_Group = tuple[bool, ...]
"""Whether names belong to each of the first languages."""


class _Split:
    def __init__(self, languages: tuple[TextLanguage, ...]) -> None:
        self._languages = languages
        self._known: set[_Group] = set()
        for name in SAMPLES:
            self._learn(name)
        for language in languages:
            if language.start:
                self._learn(_shortest(language))

    def _learn(self, name: bytes) -> None:
        self._known.add(tuple(language.matches(name) for language in self._languages))

    def classes(self) -> tuple[KeyClass, ...]:
        groups: list[_Group] = [()]
        for index in range(len(self._languages)):
            at_hand = {known[: index + 1] for known in self._known}
            split = []
            for group in groups:
                for part in ((*group, True), (*group, False)):
                    if part not in at_hand:
                        found = self._language(part)
                        if not found.start:
                            continue
                        self._learn(_shortest(found))
                    split.append(part)
            groups = split
        out = []
        for group in groups:
            language = self._language(group)
            assert isinstance(language, CodePointLanguage)
            members = frozenset(i for i, member in enumerate(group) if member)
            out.append(KeyClass(members, language, language.shortest(language.start), few_texts(language, MAX_LISTED)))
        return tuple(out)

    def _language(self, group: _Group) -> TextLanguage:
        """The names of a group."""
        inside = [i for i, member in enumerate(group) if member]
        if any(self._disjoint(i, j) for k, i in enumerate(inside) for j in inside[:k]):
            return _NOTHING
        # What has nothing in common with a language does not need to be taken from it.
        outside = [j for j, member in enumerate(group) if not member and not any(self._disjoint(i, j) for i in inside)]
        common = _common(tuple(self._languages[i] for i in inside))
        return _without(common, tuple(self._languages[j] for j in outside))

    def _disjoint(self, i: int, j: int) -> bool:
        if any(known[i] and known[j] for known in self._known):
            return False
        return _are_disjoint(frozenset((self._languages[i], self._languages[j])))


def _shortest(language: TextLanguage) -> bytes:
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
