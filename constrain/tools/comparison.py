"""Do calls say what was asked for? An abstract comparison with several accepted values for each argument.

The data and the leniency are those of the Berkeley Function Calling Leaderboard (BFCL), so that its files can be used:
an expected call is `{name: {argument: [accepted values]}}`, and "" among the values means that the argument may be
left out.

- Strings are equal where they are without blanks, the characters , . / - _ * ^ and case, and with ' for ".
- Numbers are compared by value: 3 is 3.0 (BFCL looks at the type too, which is the schema's business here). But true
  is not 1, nor "3" 3.
- A list must have its items in the order and number of an accepted list; a dict the members of an accepted one, of
  which every member has a list of accepted values in turn.
- An argument that is not expected is wrong, and so is one missing without "" among its values.
- Several calls may stand in any order, but one for each expected call and no more. BFCL pairs them greedily; here they
  are paired if that is possible at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from constrain.tools.call import ToolCall

Expected = Mapping[str, Mapping[str, Sequence[Any]]]
"""One call: its name, and for each argument the accepted values."""

_IGNORED = re.compile(r"[ ,./\-_*^]")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict.

    Attributes:
        names_match: the calls have the names that were expected, as often as expected.
        matches: the arguments are accepted too.
        reason: what differs; "" where nothing does.
    """

    names_match: bool
    matches: bool
    reason: str = ""


def compare_calls(calls: Sequence[ToolCall], expected: Sequence[Expected]) -> Comparison:
    """Compare the calls of one answer with those expected; nothing expected means that nothing may be called."""
    wanted = [(name, accepted) for call in expected for name, accepted in call.items()]
    came = sorted(call.name for call in calls)
    names = sorted(name for name, _ in wanted)
    if came != names:
        return Comparison(False, False, f"expected calls of {names or 'nothing'}, got {came or 'nothing'}")
    differences = [[_difference(call, name, accepted) for call in calls] for name, accepted in wanted]
    pairs = _paired(differences)
    if pairs is not None:
        return Comparison(True, True)
    reasons = [
        next(d for call, d in zip(calls, row, strict=True) if call.name == name)
        for (name, _), row in zip(wanted, differences, strict=True)
        if "" not in row
    ]
    return Comparison(True, False, "; ".join(reasons) or "one call answers two of those expected, another none")


def compare_arguments(arguments: Mapping[str, Any], accepted: Mapping[str, Sequence[Any]]) -> str:
    """What differs between arguments and the values accepted for them; "" where nothing does."""
    for name in arguments:
        if name not in accepted:
            return f"the argument {name!r} was not expected"
    for name, values in accepted.items():
        if name not in arguments:
            if not _optional(values):
                return f"the argument {name!r} is missing"
        elif not any(_equal(arguments[name], value) for value in values):
            return f"the argument {name!r} is {arguments[name]!r}, accepted {'is' if len(values) == 1 else 'are'} " + (
                ", ".join(repr(value) for value in values)
            )
    return ""


def _difference(call: ToolCall, name: str, accepted: Mapping[str, Sequence[Any]]) -> str:
    if call.name != name:
        return f"{call.name} was called in place of {name}"
    difference = compare_arguments(call.arguments, accepted)
    return f"{name}: {difference}" if difference else ""


def _equal(value: Any, accepted: Any) -> bool:
    if isinstance(value, bool) or isinstance(accepted, bool):
        return value is accepted
    if isinstance(accepted, str):
        return isinstance(value, str) and _plain(value) == _plain(accepted)
    if isinstance(accepted, int | float):
        return isinstance(value, int | float) and value == accepted
    if isinstance(accepted, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(accepted)
            and all(_equal(v, a) for v, a in zip(value, accepted, strict=True))
        )
    if isinstance(accepted, Mapping):
        return isinstance(value, Mapping) and not compare_arguments(
            value, {k: _as_list(v) for k, v in accepted.items()}
        )
    return bool(value == accepted)


def _optional(values: Sequence[Any]) -> bool:
    return any(isinstance(value, str) and value == "" for value in values)


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _plain(text: str) -> str:
    return _IGNORED.sub("", text).lower().replace("'", '"')


def _paired(differences: Sequence[Sequence[str]]) -> list[int] | None:
    """For each row a column of its own in which nothing differs, by augmenting paths; None where there is none."""
    row_of: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, difference in enumerate(differences[row]):
            if difference or column in seen:
                continue
            seen.add(column)
            if column not in row_of or place(row_of[column], seen):
                row_of[column] = row
                return True
        return False

    for row in range(len(differences)):
        if not place(row, set()):
            return None
    return sorted(row_of, key=row_of.__getitem__)
