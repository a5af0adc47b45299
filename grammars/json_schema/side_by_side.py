"""Languages of names read side by side: into which groups all names fall, by the languages they belong to.

Where the languages have few states together, a walk over tuples of their states meets every group there is, and tells
which groups have few names. Several languages are told apart so in less time than it takes to build a product of them
for each group that may be empty.
"""

from __future__ import annotations

from constrain.grammars.languages.base import DEAD, TextLanguage
from constrain.grammars.languages.product import Tuple
from constrain.grammars.regex.utf8 import CodePointLanguage

Group = tuple[bool, ...]
"""Whether names belong to each of some languages."""
_Names = list[str] | None
_CHARACTERS = ((0, 0xD7FF), (0xE000, 0x10FFFF))
_NO_CHARACTER = 0xD800  # nor what follows up to the next range


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
_Ranges = list[tuple[int, int]]
_Onward = dict[int, _Ranges] | None
"""By the number of a tuple, with which characters it is reached; None of one after which nothing changes any more."""


def _walk(parts: list[CodePointLanguage], limit: int) -> dict[Tuple, _Onward] | None:
    """The tuples of states that are reached, in the order of their numbers."""
    tables = [_table(part, limit) for part in parts]
    if any(table is None for table in tables):
        return None
    columns, ranges = _columns([table for table in tables if table is not None])
    dead = (DEAD,) * len(ranges)
    ended = [
        {state for state in by_state if part.universal(state)} for part, by_state in zip(parts, columns, strict=True)
    ]
    for by_state, at_end in zip(columns, ended, strict=True):
        by_state[DEAD] = dead
        at_end.add(DEAD)
    start: Tuple = tuple(part.start for part in parts)
    order = [start]
    numbers = {start: 0}
    out: dict[Tuple, _Onward] = {}
    for at in order:  # which grows
        if all(state in at_end for state, at_end in zip(at, ended, strict=True)):
            out[at] = None
            continue
        onward: dict[int, _Ranges] = {}
        targets = zip(*[by_state[state] for state, by_state in zip(at, columns, strict=True)], strict=True)
        for to, of_column in zip(targets, ranges, strict=True):
            number = numbers.get(to)
            if number is None:
                number = numbers[to] = len(order)
                order.append(to)
            onward.setdefault(number, []).extend(of_column)
        if len(order) > limit:
            return None
        out[at] = onward
    return out


_Table = dict[int, list[tuple[int, int, int]]]


def _table(part: CodePointLanguage, limit: int) -> _Table | None:
    """By state, where characters lead to; None where there are more than `limit` states."""
    table: _Table = {}
    order = [part.start] if part.start != DEAD else []
    met = {*order}
    for state in order:  # which grows
        table[state] = segments = part.segments(state)
        for _, _, to in segments:
            if to not in met:
                met.add(to)
                order.append(to)
        if len(order) > limit:
            return None
    return table


def _columns(tables: list[_Table]) -> tuple[list[dict[int, tuple[int, ...]]], list[_Ranges]]:
    """Of each table, by state where each kind of characters leads to; and the ranges of each kind.

    Characters are of one kind if no state of any table tells them apart.
    """
    cuts = {bound for first, last in _CHARACTERS for bound in (first, last + 1)}
    for table in tables:
        for segments in table.values():
            for first, last, _ in segments:
                cuts.add(first)
                cuts.add(last + 1)
    bounds = sorted(cuts)
    place = {bound: k for k, bound in enumerate(bounds)}
    rows: list[list[int]] = []
    for table in tables:
        for segments in table.values():
            row = [DEAD] * (len(bounds) - 1)
            for first, last, to in segments:
                begin, end = place[first], place[last + 1]
                row[begin:end] = [to] * (end - begin)
            rows.append(row)
    kinds: dict[tuple[int, ...], _Ranges] = {}
    for first, after, kind in zip(bounds, bounds[1:], zip(*rows, strict=True), strict=False):
        if first != _NO_CHARACTER:
            kinds.setdefault(kind, []).append((first, after - 1))
    by_row = iter(zip(*kinds, strict=True))
    return [{state: next(by_row) for state in table} for table in tables], list(kinds.values())


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
