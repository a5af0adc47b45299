"""Values that are numbers, booleans or null, of which nothing more is asked: in most grammars, so kept in one piece."""

from __future__ import annotations

import functools
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from constrain.grammars.languages.base import Language
from constrain.grammars.languages.number import INTEGER, NUMBER
from constrain.kernels.layout import HAS_NEXT, Q_FLAGS, Q_LOOP, Q_LOOP_ROW, Q_OUTCOME, Q_PAD, Q_SHORTEST, STATE_WIDTH


class Word(Language):
    """The language of one literal."""

    def __init__(self, word: bytes) -> None:
        self.word = word
        self.start = 1
        self._rows = []
        for i in range(len(word) + 1):
            row = np.zeros(256, dtype=np.int32)
            if i < len(word):
                row[word[i]] = i + 2
            self._rows.append(row)

    def row(self, state: int) -> np.ndarray:  # type: ignore[type-arg]
        return self._rows[state - 1]

    def accepting(self, state: int) -> bool:
        return state == len(self.word) + 1

    def shortest(self, state: int) -> int:
        return len(self.word) + 1 - state


NULL, TRUE, FALSE = Word(b"null"), Word(b"true"), Word(b"false")
PYTHON_WORDS = Word(b"None"), Word(b"True"), Word(b"False")

USUAL = frozenset((NUMBER, INTEGER, NULL, TRUE, FALSE))
"""Languages that are in most grammars."""
USUAL_TOGETHER = (
    (NUMBER,),
    (INTEGER,),
    (FALSE, TRUE),
    (NULL,),
    (NUMBER, FALSE, TRUE, NULL),
    (NUMBER, NULL),
    (INTEGER, NULL),
    (FALSE, TRUE, NULL),
)
_BEGINNING = 12  # states of such a language whose rows are added at once


@functools.cache
def beginning(
    languages: tuple[Language, ...],
) -> tuple[list[tuple[Language, int]], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """The first states of some languages of `USUAL`, of each in the order of their distance, and those after them.

    With their rows, one after the other, of 1 + the index of a state or 0, or -1 throughout for those after the first;
    with 1 wherever a row has a state, else 0; and the records of all, with 1 for the outcome of those that accept.
    """
    if len(languages) > 1:
        found = [beginning((language,)) for language in languages]
        offsets = [*accumulate((len(states) for states, *_ in found), initial=0)]
        return (
            [state for states, *_ in found for state in states],
            np.concatenate(
                [np.where(rows > 0, rows + at, rows) for (_, rows, *_), at in zip(found, offsets, strict=False)]
            ),
            np.concatenate([live for _, _, live, _ in found]),
            np.concatenate([records for *_, records in found]),
        )
    (language,) = languages
    states = [language.start]
    done = 0
    while done < min(len(states), _BEGINNING):
        after = language.row(states[done]).tolist()
        states.extend(t for t in dict.fromkeys(after) if t and t not in states)
        done += 1
    number = {0: 0} | {s: i + 1 for i, s in enumerate(states)}
    rows = np.full((len(states), 256), -1, dtype=np.int32)
    rows[:done] = [[number[t] for t in language.row(s).tolist()] for s in states[:done]]
    records = np.zeros((len(states), STATE_WIDTH), dtype=np.int64)
    records[:, Q_OUTCOME] = [language.accepting(s) for s in states]
    records[:, Q_SHORTEST] = [language.shortest(s) for s in states]
    records[:, [Q_LOOP, Q_LOOP_ROW, Q_PAD]] = -1
    records[:, Q_FLAGS] = np.where((rows > 0).any(axis=1), HAS_NEXT, 0)
    live = (rows > 0).astype(np.int32)
    return [(language, state) for state in states], rows.reshape(-1), live.reshape(-1), records


def prepare() -> None:
    """Have what atoms usually begin with at hand."""
    words = (FALSE, TRUE)
    for languages in ((NUMBER,), (INTEGER,), words, (NUMBER, *words, NULL), (INTEGER, NULL), (NUMBER, NULL)):
        beginnings(languages)


@functools.cache
def beginnings(languages: tuple[Language, ...]) -> NDArray[np.int32] | None:
    """By byte, 1 + the index in `beginning` of the state after it; None where a byte begins texts of two of them."""
    _, rows, *_ = beginning(languages)
    first = [*accumulate((len(beginning((language,))[0]) for language in languages[:-1]), initial=0)]
    starts = rows.reshape(-1, 256)[first]
    return None if ((starts > 0).sum(axis=0) > 1).any() else starts.sum(axis=0, dtype=np.int32)
