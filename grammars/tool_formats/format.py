"""One wire format, as a value.

What a model writes in answer, left to right:

    [reasoning] [text] [after_text] first call between call … last [text]

in one of the arrangements of `text`. The templates are written in the notation of `parts`; where a message may hold
what is said by the fields here and by nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal as OneOf

from constrain.grammars.errors import ToolFormatError
from constrain.grammars.tool_formats.dialects import BareArguments, Dialect, JsonArguments, TaggedArguments
from constrain.grammars.tool_formats.ids import CallIds, CountedCallIds, RandomCallIds
from constrain.grammars.tool_formats.names import ANY_NAME, NAME_DELIMITERS, NameRule
from constrain.grammars.tool_formats.parts import (
    Arguments,
    Blank,
    CallId,
    Literal,
    Marker,
    Name,
    Part,
    leading_text,
    parts_of,
)

TextPlace = OneOf["before", "around", "instead", "never"]
_PLACES = ("before", "around", "instead", "never")
_SHORTEST_TRIGGER = 3


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The block in which a model thinks before it answers.

    Attributes:
        open, close: the texts around it, exactly. Whitespace before `open` is layout.
        begin, end: line breaks that templates write within the block, after `open` and before `close`.
        after: what follows `close`: whitespace, which is layout and may be any, or exactly this text if it is other.
        many: whether several blocks may follow each other.
    """

    open: str
    close: str
    begin: str = ""
    end: str = ""
    after: str = ""
    many: bool = False


@dataclass(frozen=True)
class Format:
    """One wire format.

    Attributes:
        name: by which it is chosen.
        call: template of one call, or several in which models write it; the renderer writes the first.
        models: which models write it, in words.
        verified: what of a model's own the tests hold it against, such as a chat template; "" says that it is written
            after descriptions and parsers of it, unverified against a template.
        arguments: the dialect of ⟨arguments⟩.
        first, between, last: templates around the run of calls.
        text: where free text may stand: "before" the calls; "around" them; "instead" of them, so that a message is
            text or calls; "never". Without calls a message is text unless text is never.
        after_text: layout that the renderer writes between text and calls. Line breaks where text meets calls or
            reasoning are layout to the parser, and no part of the text.
        answer_open, answer_close: texts around an answer without calls (harmony's final channel).
        preamble_open, preamble_close: texts around text before calls, where it has any. If `answer_open` is given and
            these are not, there is no text before calls.
        reasoning: the block for thinking, if any. A message need not have it.
        markers: texts that vocabularies may hold as one token. They never occur in free text or JSON strings.
        banned: further texts that must occur in neither, because usual parsers of the format would take them for calls.
        header: text at the end of a prompt after which the message begins, if it is part of the format: what follows it
            in a prompt is a part of the message already.
        call_stops, text_stops: texts of the end-of-turn tokens after calls, and after text. Empty: any end token.
        most_calls: most calls of one message; None: any number.
        may_be_empty: whether `first` and `last` with no call between them say that there is none.
        ids: how ids look; None if the format knows none.
        names: which names of tools can be written.

    Raises:
        ToolFormatError: a field is wrong, or contradicts another; it names both format and field.
    """

    name: str
    call: str | tuple[str, ...]
    models: str = ""
    arguments: Dialect = field(default_factory=JsonArguments)
    first: str = ""
    between: str = ""
    last: str = ""
    text: TextPlace = "before"
    after_text: str = ""
    answer_open: str = ""
    answer_close: str = ""
    preamble_open: str = ""
    preamble_close: str = ""
    reasoning: Reasoning | None = None
    markers: tuple[str, ...] = ()
    banned: tuple[str, ...] = ()
    header: str = ""
    call_stops: tuple[str, ...] = ()
    text_stops: tuple[str, ...] = ()
    most_calls: int | None = None
    may_be_empty: bool = False
    ids: CallIds | None = None
    names: NameRule = ANY_NAME
    verified: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        for key, reason in self._problems():
            raise ToolFormatError(self.name if isinstance(self.name, str) else repr(self.name), key, reason)

    @cached_property
    def call_parts(self) -> tuple[tuple[Part, ...], ...]:
        """The parts of each template of a call."""
        return tuple(self.cut(template) for template in self._calls)

    @cached_property
    def first_parts(self) -> tuple[Part, ...]:
        return self.cut(self.first)

    @cached_property
    def between_parts(self) -> tuple[Part, ...]:
        return self.cut(self.between)

    @cached_property
    def last_parts(self) -> tuple[Part, ...]:
        return self.cut(self.last)

    @cached_property
    def member_parts(self) -> tuple[Part, ...]:
        """The parts of one argument of a tagged dialect; empty for the others."""
        return self.cut(self.arguments.member) if isinstance(self.arguments, TaggedArguments) else ()

    @cached_property
    def triggers(self) -> tuple[str, ...]:
        """The texts with which a run of calls can begin: its first marker with what stands before it; its first fixed
        text where no marker follows; an optional marker.

        Where text may stand before calls, none of them occurs in text; where a message is text or calls, no text begins
        with one, after whitespace.
        """
        out = []
        for call in self.call_parts:
            begun = ""
            for part in (*self.first_parts, *call):
                if isinstance(part, Marker) and part.optional and not begun:
                    out.append(part.text)
                elif isinstance(part, Literal) or (isinstance(part, Marker) and not part.optional):
                    begun += part.text
                    if isinstance(part, Marker):
                        break
                elif begun:
                    break
            if begun:
                out.append(begun)
        return tuple(dict.fromkeys(out))

    @cached_property
    def openers(self) -> tuple[str, ...]:
        """For each template of a call, the fixed text with which a run of calls begins, as long as it is."""
        return tuple(leading_text((*self.first_parts, *call)) for call in self.call_parts)

    @cached_property
    def forbidden(self) -> tuple[str, ...]:
        """The texts that occur neither in free text nor in strings of JSON arguments."""
        optional = [
            part.text
            for parts in (self.first_parts, self.between_parts, self.last_parts, *self.call_parts)
            for part in parts
            if isinstance(part, Marker)
        ]
        return tuple(dict.fromkeys((*self.markers, *optional, *self.banned)))

    @property
    def writes_ids(self) -> bool:
        """Whether the model writes ids, or counts."""
        return any(isinstance(part, CallId) for parts in self.call_parts for part in parts)

    @property
    def _calls(self) -> tuple[str, ...]:
        return (self.call,) if isinstance(self.call, str) else tuple(self.call)

    def cut(self, template: str) -> tuple[Part, ...]:
        """The parts of a template or fixed text, with the markers of this format."""
        return parts_of(template, self.markers)

    def _problems(self) -> Iterator[tuple[str, str]]:
        if not isinstance(self.name, str) or not re.fullmatch(r"[A-Za-z0-9_.-]+", self.name):
            yield "name", f"must be letters a-z and A-Z, digits, _ . and -, is {self.name!r}"
        for key in ("markers", "banned", "call_stops", "text_stops"):
            texts = getattr(self, key)
            if not isinstance(texts, tuple) or not all(isinstance(text, str) and text for text in texts):
                yield key, f"must be a tuple of texts that are not empty, is {texts!r}"
        if self.text not in _PLACES:
            yield "text", f"must be one of {', '.join(_PLACES)}, is {self.text!r}"
        if self.most_calls is not None and (not isinstance(self.most_calls, int) or self.most_calls < 1):
            yield "most_calls", f"must be at least 1, or None for any number, is {self.most_calls!r}"
        if self.reasoning is not None and not (self.reasoning.open and self.reasoning.close):
            yield "reasoning", "both its open and its close text must be given"
        for opening, closing in (("answer_open", "answer_close"), ("preamble_open", "preamble_close")):
            if getattr(self, closing) and not getattr(self, opening):
                yield opening, f"must be given where {closing} is"
        if self.preamble_open and not (self.answer_open and self.text in ("before", "around")):
            yield "preamble_open", 'has a meaning only with answer_open, and with text "before" or "around"'
        if self.after_text.strip():
            yield "after_text", f"must be whitespace, is {self.after_text!r}"
        yield from self._template_problems()

    def _template_problems(self) -> Iterator[tuple[str, str]]:
        if not self._calls:
            yield "call", "there must be a template"
        cut: dict[str, list[tuple[Part, ...]]] = {}
        for key in ("call", "first", "between", "last"):
            templates = self._calls if key == "call" else (getattr(self, key),)
            for template in templates:
                try:
                    cut.setdefault(key, []).append(self.cut(template))
                except (ValueError, TypeError) as error:
                    yield key, str(error)
        for key in ("first", "between", "last"):
            if not all(isinstance(part, Literal | Marker | Blank) for part in cut[key][0]):
                yield key, "has no placeholders but blanks and optional markers"
        for parts in cut["call"]:
            yield from self._call_problems(parts)
        if self.text in ("before", "around"):
            for trigger in self.triggers:
                if len(trigger.strip()) < _SHORTEST_TRIGGER:
                    yield "text", f"{trigger!r} begins a call, but is too common to stand in no text; use instead"
        if not all(self.openers):
            yield "call", "a run of calls must begin with a fixed text"
        if self.may_be_empty and not (self.first and self.last):
            yield "may_be_empty", "an empty run of calls needs a text before it and one after it"

    def _call_problems(self, parts: tuple[Part, ...]) -> Iterator[tuple[str, str]]:
        kinds = [type(part) for part in parts]
        if kinds.count(Name) != 1 or kinds.count(Arguments) != 1 or kinds.count(CallId) > 1:
            yield "call", "must have ⟨name⟩ or ⟨json_name⟩ once, ⟨arguments⟩ once, and ⟨id⟩ or ⟨count⟩ at most once"
            return
        if not all(kind in (Literal, Marker, Blank, Name, Arguments, CallId) for kind in kinds):
            yield "call", "has placeholders that belong in an argument"
        name_at = kinds.index(Name)
        follows = parts[name_at + 1] if name_at + 1 < len(parts) else None
        name = parts[name_at]
        if isinstance(name, Name) and name.json:
            before = parts[name_at - 1] if name_at else None
            quoted = isinstance(before, Literal) and before.text.endswith('"')
            if not quoted or not isinstance(follows, Literal) or not follows.text.startswith('"'):
                yield "call", "⟨json_name⟩ must stand between double quotes"
        else:
            if any(self.names.allows(c) for c in NAME_DELIMITERS):
                yield "names", f"⟨name⟩ is read up to one of {NAME_DELIMITERS!r}, so none of these can be in a name"
            if follows is None or isinstance(follows, Name | CallId):
                yield "call", "after ⟨name⟩ something must say where it ends"
        if kinds.index(Arguments) < name_at and not isinstance(self.arguments, JsonArguments):
            yield "call", "arguments that are no JSON cannot be read before the name is known"
        for part in parts:
            if isinstance(part, CallId):
                wanted = CountedCallIds if part.count else RandomCallIds
                if not isinstance(self.ids, wanted):
                    yield "ids", f"{'⟨count⟩' if part.count else '⟨id⟩'} needs {wanted.__name__}, not {self.ids!r}"
        if isinstance(self.arguments, TaggedArguments) and self.arguments.problem():
            yield "arguments", self.arguments.problem()
        if isinstance(self.arguments, BareArguments) and not self.arguments.quote:
            yield "arguments", "the quote must not be empty"
