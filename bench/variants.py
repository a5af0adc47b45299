"""New values like a given one: other words, other numbers, still valid under the schema.

A batch that repeats the same few texts measures caches only. Real rows differ where their values are free, so each
time a row begins again its strings and numbers are drawn anew, leaf by leaf, each change kept only where the value
stays valid.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

_TEXT = (
    "the of and to in that it was for on are with as his they at be this from have or by one had not but what all "
    "were when we there can an your which their said if do will each about how up out them then she many some so "
    "these would other into has more her two like him see time could no make than first been its who now people my "
    "made over did down only way find use may water long little very after words called just where most know get "
    "through back much before go good new write our used me man too any day same right look think also around "
    "another came come work three word must because does part even place well such here take why things help put "
    "years different away again off went old number great tell men say small"
)
_WORDS = _TEXT.split()


def variants(schema: Any, value: Any, seed: int) -> Iterator[Any]:
    """Values like `value`, without end, the same for the same seed. All are valid where `value` is."""
    choices = random.Random(seed)
    valid = _validator(schema)
    while True:
        drawn = copy.deepcopy(value)
        holder = [drawn]
        for container, key in list(_leaves(holder)):
            old = container[key]
            container[key] = _like(old, choices)
            if not valid(holder[0]):
                container[key] = old
        yield holder[0]


def _validator(schema: Any) -> Callable[[Any], bool]:
    import jsonschema_rs

    try:
        validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    except Exception:  # what it cannot build is left as it is
        return lambda _: False
    return lambda value: bool(validator.is_valid(value))


def _leaves(container: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in list(container.items() if isinstance(container, dict) else enumerate(container)):
        if isinstance(value, (dict, list)):
            yield from _leaves(value)
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield container, key


def _like(value: Any, choices: random.Random) -> Any:
    """A value of the same type and about the same length."""
    if isinstance(value, str):
        words = [choices.choice(_WORDS)]
        while sum(map(len, words)) + len(words) < len(value):
            words.append(choices.choice(_WORDS))
        return " ".join(words)[: max(len(value), 1)].strip() or "a"
    if isinstance(value, int):
        return choices.randrange(max(10, 10 ** len(str(abs(value)))))
    return round(choices.uniform(0, max(1.0, 2 * abs(value))), 3)
