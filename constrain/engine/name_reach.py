"""What names remain within reach while one is read, of an object whose patterns tell names apart.

Most patterns are found anywhere in a name or at its beginning, and know few characters beside the free text around
them. A *separator* is a character that none of them knows: after it no pattern goes on that had begun, those that were
found stay found, and as long as separators come nothing else is found. So the patterns that have been found so far tell
a class that endlessly many names belong to that go on from here, and so does each pattern that can be found anywhere
and is written behind a separator. Which classes are wanted then says after how many characters none may be in reach,
without looking at what a name goes through.
"""

from __future__ import annotations

import functools
from collections.abc import Collection

from constrain.engine.class_loops import mark_classes
from constrain.grammars.languages.extent import shortest_text
from constrain.grammars.regex.classes import FIRST_SURROGATE, LAST_SURROGATE, CodePoints
from constrain.grammars.regex.utf8 import CodePointLanguage
from constrain.kernels.loops import UNLIMITED

ENDLESS = UNLIMITED
NameClass = frozenset[int]
"""The numbers of the languages that names belong to."""


class NameReach:
    """Names told apart by languages `among`, each of which belongs to one of `classes`."""

    def __init__(self, among: tuple[CodePointLanguage, ...], classes: tuple[NameClass, ...]) -> None:
        self.among, self.classes = among, classes
        known = CodePoints(())
        for language in among:
            known |= language.separation.known
        self._lasting = [language.separation.lasting for language in among]
        self._separator = _outside(known)
        self._least: dict[tuple[int, int], int] = {}
        self._lacking: dict[frozenset[NameClass], list[NameClass]] = {}

    @functools.cached_property
    def _findable(self) -> list[NameClass]:
        """What can be found behind a separator, whatever came before: one of the languages."""
        out: list[NameClass] = []
        separator = self._separator
        assert separator is not None
        behind = [language.run(separator) if language.start else 0 for language in self.among]
        for i, language in enumerate(self.among):
            if behind[i] and language.padding(language.start) is not None and self._lasting[i]:
                text = shortest_text(language, behind[i])
                ends = [other.run(text, state) for other, state in zip(self.among, behind, strict=True)]
                found = [j for j, state in enumerate(ends) if state and self.among[j].accepting(state)]
                if found == [i]:
                    out.append(frozenset(found))
        return out

    def _lacking_if(self, wanted: frozenset[NameClass]) -> list[NameClass]:
        """The classes that may be found so far from which no wanted one is in reach."""
        found = self._lacking.get(wanted)
        if found is None:
            found = self._lacking[wanted] = [
                c
                for c in self.classes
                if c not in wanted
                and all(self._lasting[i] for i in c)
                and not any(c | more in wanted for more in self._findable)
            ]
        return found

    def _found(self, states: list[int]) -> NameClass:
        return frozenset(
            i
            for i, (language, state) in enumerate(zip(self.among, states, strict=True))
            if state < 0 or (state and self._lasting[i] and language.accepting(state))
        )

    def steps(self, states: list[int], wanted: Collection[NameClass]) -> int:
        """So many characters may come, whatever they are: after each of them, endlessly many names of wanted classes
        can follow, as far as is evident. `ENDLESS` for any number, -1 for none.

        `states` has a state, between two characters, for each language; 0 where nothing can follow, -1 where
        everything can.
        """
        if self._separator is None:
            return -1
        found = self._found(states)
        if not all(self._lasting[i] for i in found):
            return -1
        most = ENDLESS
        for c in self._lacking_if(frozenset(wanted)):
            if found <= c:
                if len(found) == len(c):
                    return -1
                needed = max(self._characters(i, states[i]) for i in c - found)
                if needed < ENDLESS:
                    most = min(most, needed - 1)
        return most

    def marks(self, states: list[int], wanted: Collection[NameClass]) -> int | None:
        """Classes of the vocabulary (see `kernels/classes.py`), as bits, without whose characters names can go on as
        `steps` says for any number of characters; None where there are none that are evident, and few.

        There are `steps` from these states.
        """
        found = self._found(states)
        marks = 0
        for c in self._lacking_if(frozenset(wanted)):
            if not found <= c:
                continue
            missing = [(self.among[i], states[i]) for i in c - found]
            if any(not state for _, state in missing):
                continue
            for number, members in self._known_marks:
                if any(language.needs(state, members) for language, state in missing):
                    marks |= 1 << number
                    break
            else:
                return None
        return marks

    @functools.cached_property
    def _known_marks(self) -> list[tuple[int, CodePoints]]:
        """The classes of digits and of single characters that the languages know."""
        known = CodePoints.of(r for language in self.among for r in language.separation.known.ranges)
        return [(number, members) for number, members in mark_classes() if members & known]

    def _characters(self, i: int, state: int) -> int:
        """No fewer characters lead to where a language is found."""
        found = self._least.get((i, state))
        if found is None:
            least = self.among[i].quick_lengths(state)[0].first_in(0, None) if state else None
            found = self._least[i, state] = ENDLESS if least is None else least
        return found


def _outside(known: CodePoints) -> bytes | None:
    """A character that is not among these, a plain one if there is."""
    others = (~known).ranges
    plain = max((min(last, 0x7E) for first, last in others if first <= 0x7E), default=0)
    if plain > 0x20:
        return chr(plain).encode()
    for first, last in others:
        for code in (first, last):
            if not FIRST_SURROGATE <= code <= LAST_SURROGATE:
                return chr(code).encode()
    return None


@functools.lru_cache(maxsize=256)
def name_reach(among: tuple[CodePointLanguage, ...], classes: tuple[NameClass, ...]) -> NameReach:
    """The reach of names among these languages and classes; kept, as equal patterns share a language."""
    return NameReach(among, classes)
