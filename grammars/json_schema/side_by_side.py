"""Languages of names read side by side: into which groups all names fall, by the languages they belong to.

Where the languages have few states together, a walk over tuples of their states meets every group there is, and tells
which groups have few names. Several languages are told apart so in less time than it takes to build a product of them
for each group that may be empty.
"""

from __future__ import annotations

from constrain.grammars.languages.base import DEAD, TextLanguage
from constrain.grammars.languages.product import Steps, Tuple, joined
from constrain.grammars.regex.utf8 import CodePointLanguage

Group = tuple[bool, ...]
"""Whether names belong to each of some languages."""
_Names = list[str] | None
_CHARACTERS = ((0, 0xD7FF), (0xE000, 0x10FFFF))


def groups_of(languages: tuple[TextLanguage, ...], most: int, limit: int) -> dict[Group, _Names] | None:
    """The groups that have names, with the names of those that have no more than `most`.

    None where the languages have more than `limit` states together.

    Raises:
        ResourceLimitError: one of them has too many states.
    """
    parts = [language for language in languages if isinstance(language, CodePointLanguage)]
    assert len(parts) == len(languages)
    walked = _walk(parts, limit)
    if walked is None:
        return None
    found: dict[Group, _Names] = {}
    for at, names in zip(walked, _names(list(walked.values()), most), strict=True):
        group = tuple(state != DEAD and part.accepting(state) for part, state in zip(parts, at, strict=True))
        before = found.get(group, _NONE)
        few = before is not None and names is not None and len(before) + len(names) <= most
        found[group] = [*(before or ()), *(names or ())] if few else None
    return found


_NONE: list[str] = []
_Onward = dict[int, list[tuple[int, int]]] | None
"""By the number of a tuple, with which characters it is reached; None of one after which nothing changes any more."""


def _walk(parts: list[CodePointLanguage], limit: int) -> dict[Tuple, _Onward] | None:
    """The tuples of states that are reached, in the order of their numbers."""
    start: Tuple = tuple(part.start for part in parts)
    order = [start]
    numbers = {start: 0}
    out: dict[Tuple, _Onward] = {}
    for at in order:  # which grows
        if all(state == DEAD or part.universal(state) for part, state in zip(parts, at, strict=True)):
            out[at] = None
            continue
        steps: Steps = [(first, last, ()) for first, last in _CHARACTERS]
        for part, state in zip(parts, at, strict=True):
            segments = part.segments(state) if state != DEAD else []
            steps = joined(steps, segments, required=False)
        onward: dict[int, list[tuple[int, int]]] = {}
        for first, last, to in steps:
            number = numbers.get(to)
            if number is None:
                number = numbers[to] = len(order)
                order.append(to)
            onward.setdefault(number, []).append((first, last))
        if len(order) > limit:
            return None
        out[at] = onward
    return out


def _names(onward: list[_Onward], most: int) -> list[_Names]:
    """The names that end at each tuple, from the number 0 on; None where they are more than `most`."""
    left = [0] * len(onward)  # ways to a tuple that are yet to be followed
    for steps in onward:
        for to in steps or ():
            left[to] += 1
    names: list[_Names] = [[] for _ in onward]
    names[0] = [""]
    todo = [] if left[0] else [0]
    ended: set[int] = set()
    while todo:
        at = todo.pop()
        ended.add(at)
        steps = onward[at]
        if steps is None:
            names[at] = None
            continue
        for to, ranges in steps.items():
            names[to] = _longer(names[at], ranges, names[to], most)
            left[to] -= 1
            if not left[to]:
                todo.append(to)
    # What is not reached so lies on a circle or behind one.
    return [found if at in ended else None for at, found in enumerate(names)]


def _longer(names: _Names, ranges: list[tuple[int, int]], others: _Names, most: int) -> _Names:
    """Others, and these names with one character more."""
    width = sum(last - first + 1 for first, last in ranges)
    if names is None or others is None or len(others) + len(names) * width > most:
        return None
    return others + [name + chr(c) for first, last in ranges for c in range(first, last + 1) for name in names]
