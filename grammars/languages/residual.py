"""What can follow a text that belongs to some languages and to none of others: their residual.

Each language stands in a state of its own, between two characters. Those that are settled drop out (what admits every
continuation, and what admits none), so that often one language is left, or none; else the residual is a product of
those that are left, entered at their states. Much is plain without it, from a character that a language does not know:
behind it, no text belongs to it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from ..regex.utf8 import CodePointLanguage
from .extent import MANY, has_many, shortest_text
from .product import Product
from .text import FREE_TEXT

Standing = tuple[CodePointLanguage, int]
"""A language and the state in which it is, between two characters; `DEAD` where nothing can follow."""


assert isinstance(FREE_TEXT, CodePointLanguage)
ANYTHING: Standing = (FREE_TEXT, FREE_TEXT.start)


def _open(
    inside: Iterable[Standing], outside: Iterable[Standing]
) -> tuple[tuple[Standing, ...], tuple[Standing, ...]] | None:
    """Those that are not settled; None where evidently nothing follows."""
    needed: dict[Standing, None] = {}
    for language, state in inside:
        if not state:
            return None
        if not language.universal(state):
            needed[language, state] = None
    barred: dict[Standing, None] = {}
    for language, state in outside:
        if state:
            if (language, state) in needed or language.universal(state):
                return None
            barred[language, state] = None
    return tuple(needed), tuple(barred)


def has_many_evidently(inside: Iterable[Standing], outside: Iterable[Standing], many: int = MANY) -> bool:
    """Whether it is plain that `many` texts or more follow."""
    found = _open(inside, outside)
    if found is None:
        return False
    needed, barred = found
    if len(needed) == 1 and not barred:
        ((language, state),) = needed
        return has_many(language, state, many)
    return any(_repeats(byte, needed, barred) for byte in _PROBES)


_PROBES = b"~a0-"
_SOON = 3  # repetitions of a byte after which most languages stay in one state


def _repeats(byte: int, needed: tuple[Standing, ...], barred: tuple[Standing, ...]) -> bool:
    """Whether a text follows that begins with this byte, and after which it may come any number of times."""
    languages = [language for language, _ in (*needed, *barred)]
    at = [state for _, state in (*needed, *barred)]
    for _ in range(_SOON):
        after = [language.next(state, byte) for language, state in zip(languages, at, strict=True)]
        if after == at:
            break
        at = after
    else:
        return False
    count = len(needed)
    if not all(at[:count]):
        return False
    for i in range(count):
        if not languages[i].accepting(at[i]):
            rest = shortest_text(languages[i], at[i])
            at = [language.run(rest, state) for language, state in zip(languages, at, strict=True)]
            if not all(at[:count]):
                return False
    ends = [bool(state) and language.accepting(state) for language, state in zip(languages, at, strict=True)]
    return all(ends[:count]) and not any(ends[count:])


def residual(inside: Iterable[Standing], outside: Iterable[Standing]) -> Standing | None:
    """The language of what can follow and the state in which it is; None where nothing can.

    Raises:
        ResourceLimitError: whether anything can takes too many states to decide.
    """
    found = _open(inside, outside)
    if found is None:
        return None
    needed, barred = found
    if not barred and len(needed) <= 1:
        return needed[0] if needed else ANYTHING
    first = needed or (ANYTHING,)
    parts = (*first, *barred)
    product = _product(tuple(language for language, _ in parts), len(first))
    state = product.entered(tuple(state for _, state in parts))
    return (product, state) if state else None


@functools.lru_cache(maxsize=256)
def _product(languages: tuple[CodePointLanguage, ...], required: int) -> Product:
    return Product(languages, required, entered=True)
