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

_SAMPLES = ("", "a", "A1", "-")


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
    known: set[tuple[bool, ...]] = set()
    for name in _SAMPLES:
        known.add(_signature(languages, name.encode()))
    for language in languages:
        if language.start:
            known.add(_signature(languages, _shortest(language)))
    groups: list[tuple[bool, ...]] = [()]
    for index in range(len(languages)):
        at_hand = {signature[: index + 1] for signature in known}
        split = []
        for group in groups:
            for member in (True, False):
                part = (*group, member)
                if part not in at_hand:
                    found = _class_language(languages, part)
                    if not found.start:
                        continue
                    known.add(_signature(languages, _shortest(found)))
                split.append(part)
        groups = split
    out = []
    for group in groups:
        language = _class_language(languages, group)
        assert isinstance(language, CodePointLanguage)
        members = frozenset(i for i, member in enumerate(group) if member)
        out.append(KeyClass(members, language, language.shortest(language.start), few_texts(language, MAX_LISTED)))
    return tuple(out)


def _signature(languages: tuple[TextLanguage, ...], name: bytes) -> tuple[bool, ...]:
    return tuple(language.matches(name) for language in languages)


def _shortest(language: TextLanguage) -> bytes:
    assert isinstance(language, CodePointLanguage)
    return shortest_text(language, language.start)


def _class_language(languages: tuple[TextLanguage, ...], group: tuple[bool, ...]) -> TextLanguage:
    """The names in those of `languages` that `group` says, and not in the others up to its length."""
    inside = [language for language, member in zip(languages, group, strict=False) if member]
    outside = [language for language, member in zip(languages, group, strict=False) if not member]
    if any(_are_disjoint(a, b) for k, a in enumerate(inside) for b in inside[:k]):
        return _NOTHING
    # What has nothing in common with a language does not need to be taken from it.
    outside = [b for b in outside if not any(_are_disjoint(a, b) for a in inside)]
    return _without(_common(tuple(inside)), tuple(outside))


_NOTHING = intersection(difference(FREE_TEXT, FREE_TEXT))


@functools.lru_cache(maxsize=4096)
def _are_disjoint(a: TextLanguage, b: TextLanguage) -> bool:
    return intersection(a, b).start == 0


@functools.lru_cache(maxsize=512)
def _common(languages: tuple[TextLanguage, ...]) -> TextLanguage:
    return intersection(*languages)


@functools.lru_cache(maxsize=1024)
def _without(language: TextLanguage, excluded: tuple[TextLanguage, ...]) -> TextLanguage:
    return difference(language, *excluded)
