"""What the templates of a format are made of.

A template is a text with placeholders, which keeps a format readable as one line that looks like the output itself:

    <tool_call>⏎{·"name":␣"⟨json_name⟩"·,␣"arguments":␣⟨arguments⟩·}⏎</tool_call>

| placeholder | part |
|---|---|
| `·` `␣` `⏎` `¶` `⇥` | `Blank` whose canonical spelling is nothing, a blank, one line break, two, one and four blanks |
| `⟨name⟩` `⟨json_name⟩` | `Name`, as it is, or escaped as within JSON quotes |
| `⟨arguments⟩` | `Arguments` in the dialect of the format |
| `⟨id⟩` `⟨count⟩` | `CallId`: the whole id, or only the count within it |
| `⟨key⟩` `⟨value⟩` `⟨string⟩` | `Key`, `Value`, `StringFlag`: in the template of one argument of a tagged dialect |
| `⟨?text⟩` `⟨!text⟩` | `Marker` that may be left out; the renderer leaves it out, or writes it |

All other text stands for itself, cut into `Marker`s and `Literal`s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BLANKS = " \t\n\r"
"""The characters of a `Blank`: JSON's whitespace."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Exactly this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Marker:
    """A text that many tokenizers hold as one token, special or not.

    Where the vocabulary has that token it is the only spelling; otherwise the marker is text like any other.

    Attributes:
        text: the marker.
        optional: whether it may be left out.
        written: whether the renderer writes it.
    """

    text: str
    optional: bool = False
    written: bool = True


@dataclass(frozen=True, slots=True)
class Blank:
    """Any bounded amount of JSON whitespace. `canonical` is what the renderer writes."""

    canonical: str = ""


@dataclass(frozen=True, slots=True)
class Name:
    """The name of the tool; with `json` escaped as the inside of a JSON string."""

    json: bool = False


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments, in the dialect of the format."""


@dataclass(frozen=True, slots=True)
class CallId:
    """The id of the call; with `count` only the count within it, in decimal digits."""

    count: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """The name of an argument, as it is."""


@dataclass(frozen=True, slots=True)
class Value:
    """The value of an argument: the bare string, or JSON."""


@dataclass(frozen=True, slots=True)
class StringFlag:
    """`true` where the value is the bare string, `false` where it is JSON."""


Part = Literal | Marker | Blank | Name | Arguments | CallId | Key | Value | StringFlag

_BLANKS = {"·": "", "␣": " ", "⏎": "\n", "¶": "\n\n", "⇥": "\n    "}
_PLACEHOLDERS: dict[str, Part] = {
    "name": Name(),
    "json_name": Name(json=True),
    "arguments": Arguments(),
    "id": CallId(),
    "count": CallId(count=True),
    "key": Key(),
    "value": Value(),
    "string": StringFlag(),
}
_TOKENS = re.compile(f"⟨([^⟩]*)⟩|([{''.join(_BLANKS)}])")


def parts_of(template: str, markers: Iterable[str] = ()) -> tuple[Part, ...]:
    """The parts of a template.

    Args:
        template: text with placeholders.
        markers: the texts to be cut out as `Marker`s. Where two begin at one place the longer is taken.

    Raises:
        ValueError: a placeholder is not known or not closed.
    """
    known = sorted(set(markers), key=len, reverse=True)
    cut = re.compile("(" + "|".join(map(re.escape, known)) + ")") if known else None
    out: list[Part] = []

    def text(piece: str) -> None:
        if "⟨" in piece or "⟩" in piece:
            raise ValueError(f"a bracket ⟨ or ⟩ has no partner in {piece!r}")
        pieces = cut.split(piece) if cut else [piece]
        out.extend(Marker(p) if i % 2 else Literal(p) for i, p in enumerate(pieces) if p)

    end = 0
    for found in _TOKENS.finditer(template):
        text(template[end : found.start()])
        end = found.end()
        placeholder, blank = found.groups()
        if blank:
            out.append(Blank(_BLANKS[blank]))
        elif placeholder[:1] in ("?", "!") and len(placeholder) > 1:
            out.append(Marker(placeholder[1:], optional=True, written=placeholder[0] == "!"))
        elif placeholder in _PLACEHOLDERS:
            out.append(_PLACEHOLDERS[placeholder])
        else:
            names = ", ".join(f"⟨{name}⟩" for name in _PLACEHOLDERS)
            raise ValueError(f"there is no placeholder ⟨{placeholder}⟩; there are {names}, ⟨?text⟩ and ⟨!text⟩")
    text(template[end:])
    return tuple(out)


def leading_text(parts: Sequence[Part]) -> str:
    """The fixed text that parts begin with, after blanks: up to the first blank or placeholder that follows it."""
    out = ""
    for part in parts:
        if isinstance(part, Literal) or (isinstance(part, Marker) and not part.optional):
            out += part.text
        elif out or not isinstance(part, Blank | Marker):
            break
    return out
