"""Tool calls as a grammar: any of some tools, in the wire format of a model, as often as the choice says."""

from __future__ import annotations

import hashlib
import json
import marshal
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal

from constrain.engine.around import Around
from constrain.engine.automaton import Automaton
from constrain.engine.compiled import CompiledGrammar
from constrain.engine.grammar import DEFAULT_CACHE_BYTES, Grammar, Narrowing, json_schema
from constrain.engine.markers import Markers
from constrain.engine.matcher import Matcher
from constrain.engine.text_style import Escapes, PropertyOrder, TextStyle, Whitespace
from constrain.grammars.errors import ConstrainError, ToolFormatError
from constrain.grammars.json_schema.frozen import frozen_all, thawed
from constrain.grammars.json_schema.inhabit import Inhabitation
from constrain.grammars.json_schema.ir import SchemaDocument, Subschema, Unenforced
from constrain.grammars.json_schema.normal import NormalForm, Variable
from constrain.grammars.tool_formats import (
    BareArguments,
    Format,
    GenerationStart,
    JsonArguments,
    PythonArguments,
    StartState,
    TaggedArguments,
    get_format,
)
from constrain.tools import (
    ArgumentChecker,
    ParsedMessage,
    Tool,
    ToolCallParser,
    ToolChoice,
    close_objects,
    parse_message,
    read_tool_choice,
    read_tools,
)
from constrain.tools.problems import ToolError
from constrain.tools.tool_names import check_unique
from constrain.vocabulary import Vocabulary
from constrain.wire.beginning import Reasoning, spelled, start_of, way_in
from constrain.wire.budget import BudgetedMatcher
from constrain.wire.build import Message, build
from constrain.wire.marks import forbidden_texts, marks_of
from constrain.wire.nodes import Values
from constrain.wire.restricted import check_names, has_plain_names, restricted
from constrain.wire.spelling_options import check_plain, check_style
from constrain.wire.symbols import symbol, token_of, with_symbols

_KEPT_TOOLS = 256


class ToolCallGrammar(Grammar):
    """The messages that a model may write where it is given tools. Made by `tool_calls`.

    Attributes:
        format: the wire format.
        tools: the tools that may be called.
        least, most: the least and the most calls; None for any number.
        start: where in its message the model begins.
        reasoning_budget: the most tokens of reasoning; None for any number.
    """

    def __init__(
        self,
        format: Format,
        tools: Sequence[Tool],
        least: int,
        most: int | None,
        *,
        start: GenerationStart,
        counted: int,
        closed_objects: bool,
        style: TextStyle,
        reasoning_budget: int | None = None,
    ) -> None:
        self.format, self.tools, self.least, self.most = format, tuple(tools), least, most
        self.start, self.reasoning_budget = start, reasoning_budget
        self._counted, self._closed = counted, closed_objects
        self._style, self._pattern = style, None
        self._check()
        # Most tools are plain, which is soon seen; in the others there may be something that cannot be enforced.
        self._schemas: list[bytes] = []
        self._is_plain: list[bool] = []
        copies = frozen_all([tool.argument_schema for tool in self.tools])
        for i, (tool, data) in enumerate(zip(self.tools, copies, strict=True)):
            plain = data if data is not None and self._can_write(tool.argument_schema, data) else None
            self._schemas.append(plain or marshal.dumps(json.loads(_content(tool.argument_schema)), 4))
            self._is_plain.append(plain is not None)
            if plain is None:
                self.arguments(i)

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digest of all that decides which messages are accepted."""
        content = json.dumps(
            [repr(self.format), self.least, self.most, repr(self.start), self.reasoning_budget, self._counted,
             self._closed, repr(self._style),
             [[t.name, t.argument_schema] for t in self.tools]],
            default=str,
        )  # fmt: skip
        return hashlib.sha256(content.encode()).hexdigest()

    def _check(self) -> None:
        check_style(self._style, self.format, len(self.tools))
        check_unique((f"tool {i}", t) for i, t in enumerate(self.tools))
        for tool in self.tools:
            if not self.format.names.allows(tool.name):
                raise ToolError(
                    repr(tool.name),
                    f"the format {self.format.name!r} cannot write this name; it takes {self.format.names.words}",
                )

    def _can_write(self, parameters: dict[str, Any], data: bytes) -> bool:
        """Whether the format evidently can write the values of a plain schema; `data` is its copy."""
        is_json = isinstance(self.format.arguments, JsonArguments)
        if is_json and self._style.escapes == "any":
            return True
        fits = is_json or has_plain_names(parameters)
        return fits and not any(text in data for text in self._forbidden)

    @cached_property
    def _forbidden(self) -> tuple[bytes, ...]:
        return tuple(text.encode() for text in forbidden_texts(self.format))

    def arguments(self, number: int) -> Grammar:
        """The grammar of a tool's arguments. The last ones that were asked for are kept."""
        tool, schema = self.tools[number], thawed(self._schemas[number])
        try:
            # Closed before what the format cannot write is taken away.
            closed = close_objects(schema) if self._closed and tool.strict is not False else schema
            return _arguments(_content(self._written(closed, schema)), self._style)
        except ConstrainError as error:
            raise _of_tool(error, tool.name) from error

    def _written(self, parameters: dict[str, Any], read_by: dict[str, Any]) -> dict[str, Any]:
        """The schema of what the format can write of some arguments, which bare texts are read by `read_by`."""
        dialect = self.format.arguments
        if isinstance(dialect, TaggedArguments):
            return restricted(parameters, read_by, forbidden_texts(self.format), flagged=dialect.flagged)
        if isinstance(dialect, PythonArguments | BareArguments):
            check_names(parameters, dialect)
        if isinstance(dialect, JsonArguments) and self._style.escapes == "plain":
            check_plain(parameters, forbidden_texts(self.format))
        return parameters

    @property
    def unenforced(self) -> tuple[Unenforced, ...]:
        """What is left out of the tools' schemas, such as formats that no specification defines; by tool."""
        return tuple(
            Unenforced(f"{tool.name}#{u.pointer}", u.keyword, u.reason)
            for i, tool in enumerate(self.tools)
            if not self._is_plain[i]
            for u in self.arguments(i).unenforced
        )

    @property
    def narrowings(self) -> tuple[Narrowing, ...]:
        """Spellings that are never written, by tool and place."""
        return tuple(
            Narrowing(f"{tool.name}#{n.pointer}", n.keyword, n.reason)
            for i, tool in enumerate(self.tools)
            for n in self.arguments(i).narrowings
        )

    def parse(
        self,
        message: str | Iterable[int],
        vocabulary: Vocabulary | None = None,
        *,
        messages: Sequence[Mapping[str, Any]] = (),
        end_texts: Sequence[str] = (),
        errors: Literal["raise", "collect"] = "raise",
    ) -> ParsedMessage:
        """What a message says: its text, its reasoning, and its calls, each with an id.

        Args:
            message: what the model wrote after the prompt: text with its special tokens, or token ids.
            vocabulary: needed for token ids.
            messages: the conversation: no id is given or taken twice, and counted ids go on from it.
            end_texts: texts of further tokens that end a message, for text that still has them, such as the
                "<|im_end|>" that `tokenizer.decode(ids)` ends with. Token ids end where their vocabulary says so.
            errors: "raise" raises the first problem; "collect" leaves all of them in `problems`.

        Raises:
            ToolCallParseError: the message is truncated or malformed, or a call is wrong. No complete message under
                this grammar is.
        """
        return parse_message(
            message if isinstance(message, str) else list(message),
            self.format,
            self._checker,
            self._parsed_choice,
            vocabulary=vocabulary,
            start=self.start,
            messages=messages,
            end_texts=end_texts,
            errors=errors,
        )

    def parser(
        self,
        vocabulary: Vocabulary | None = None,
        *,
        messages: Sequence[Mapping[str, Any]] = (),
        end_texts: Sequence[str] = (),
    ) -> ToolCallParser:
        """What reads a message as it comes, and says the same as `parse`, whose arguments these are."""
        return ToolCallParser(
            self.format,
            self._checker,
            self._parsed_choice,
            vocabulary=vocabulary,
            start=self.start,
            messages=messages,
            end_texts=end_texts,
        )

    @property
    def _parsed_choice(self) -> ToolChoice:
        most = True if self.most is None else max(self.most, 1)
        return ToolChoice("required" if self.least else "auto", None, most)

    @cached_property
    def _checker(self) -> ArgumentChecker:
        return ArgumentChecker(self.tools, closed_objects=self._closed)

    def compile(self, vocabulary: Vocabulary, *, cache_bytes: int = DEFAULT_CACHE_BYTES) -> CompiledToolCalls:
        """Bind the grammar to a vocabulary; which markers are tokens, and which ids end a turn, is up to it."""
        return CompiledToolCalls(self, vocabulary, cache_bytes=cache_bytes)

    def _normal_form(self) -> tuple[NormalForm, Inhabitation]:
        """Of any value; tools are taken in when they are called."""
        declared = self._style.property_order == "declared"
        forms = NormalForm(SchemaDocument([Subschema(pointer="")], 0, declared_order=declared))
        return forms, self._new_inhabitation(forms)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (
            self.format, self.tools, self.least, self.most, self.start, self._counted, self._closed,
            self._style, self.reasoning_budget,
        )  # fmt: skip


def _restore(
    format: Format,
    tools: tuple[Tool, ...],
    least: int,
    most: int | None,
    start: GenerationStart,
    counted: int,
    closed: bool,
    style: TextStyle,
    budget: int | None,
) -> ToolCallGrammar:
    return ToolCallGrammar(
        format,
        tools,
        least,
        most,
        start=start,
        counted=counted,
        closed_objects=closed,
        style=style,
        reasoning_budget=budget,
    )


def _content(schema: Any) -> str:
    return json.dumps(schema, sort_keys=False)


@lru_cache(maxsize=_KEPT_TOOLS)
def _arguments(schema: str, style: TextStyle) -> Grammar:
    """The grammar of arguments, kept by content: tools come again in one conversation after the other."""
    return json_schema(
        json.loads(schema), whitespace=style.whitespace, property_order=style.property_order, escapes=style.escapes
    )


def _of_tool(error: ConstrainError, name: str) -> Exception:
    """The same error, with the tool in its pointer."""
    pointer = getattr(error, "pointer", None)
    if pointer is None:
        return error
    arguments = [f"{name}#{pointer}", getattr(error, "keyword", ""), getattr(error, "reason", str(error))]
    if hasattr(error, "limit"):
        arguments.append(error.limit)
    return type(error)(*arguments)


class CompiledToolCalls(CompiledGrammar):
    """Tool calls over a vocabulary; see `CompiledGrammar`."""

    grammar: ToolCallGrammar

    def __init__(self, grammar: ToolCallGrammar, vocabulary: Vocabulary, *, cache_bytes: int) -> None:
        f = grammar.format
        stops = (*f.call_stops, *f.text_stops)
        texts = [text for text in dict.fromkeys((*f.forbidden, *stops)) if text not in f.banned]
        self._symbols = frozenset(text for text in texts if token_of(vocabulary, text) is not None)
        self._derived = with_symbols(vocabulary, self._symbols)
        super().__init__(grammar, vocabulary, cache_bytes=cache_bytes)
        self.end_token_ids = self._derived.eos_token_ids
        ids = (token_of(vocabulary, stop) for stop in stops)
        self.stop_token_ids = frozenset(i for i in ids if i is not None)
        tokens = {symbol(text): token for text in self._symbols if (token := token_of(vocabulary, text)) is not None}
        self.markers = Markers(vocabulary, tokens, self.stop_token_ids)

    def matcher(self) -> Matcher:
        budget = self.grammar.reasoning_budget
        return Matcher(self) if budget is None else BudgetedMatcher(self, budget)

    def _tables_of(self, vocabulary: Vocabulary) -> Vocabulary:  # noqa: ARG002
        return self._derived

    def _new_automaton(self) -> Automaton:
        grammar = self.grammar
        forms, _ = grammar._normal_form()
        gap = grammar._new_inhabitation(forms).gap
        values = _Arguments(grammar, forms, Inhabitation(forms, self._terminals.spelling, gap))
        names = [tool.name for tool in grammar.tools]
        ids = self.vocabulary.eos_token_ids
        ends = [text for text in sorted(self._symbols) if token_of(self.vocabulary, text) in ids]
        message = Message(
            grammar.format,
            names,
            grammar.least,
            grammar.most,
            grammar._counted,
            self._symbols,
            ends,
            blank_before=grammar._style.whitespace == "spaced",
        )
        reasoning, prefix = way_in(grammar.format, grammar.start)
        wire = build(message, values, reasoning=reasoning)
        dialect = grammar.format.arguments
        around = Around(
            wire,
            values.variable,
            marks_of(grammar.format),
            members=isinstance(dialect, TaggedArguments | PythonArguments),
            stretch=_stretch(grammar.format),
        )
        values.around = weakref.ref(around)  # the text around holds the values
        automaton = Automaton(
            self._terminals,
            forms,
            values.inhabitation,
            around=around,
            python_words=isinstance(dialect, PythonArguments),
            style=grammar._style,
            row_bytes=self.cache_bytes // 4,
        )
        # The nodes of the text lead back to each other and to the values: only these few wait for the collector.
        weakref.finalize(automaton, vars(values).clear).atexit = False
        self._lead_in(automaton, prefix)
        return automaton

    def _lead_in(self, automaton: Automaton, prefix: str) -> None:
        """Lead an automaton over what the prompt holds of the message, to begin there."""
        for byte in spelled(prefix, self._symbols):
            automaton.start = automaton.accept_byte(automaton.start, byte)
            if automaton.start < 0:
                raise ToolFormatError(
                    self.grammar.format.name,
                    "start",
                    f"the prompt ends within a message, after {prefix!r}, that cannot go on as the tools and the "
                    "choice demand; render the prompt without that beginning, or choose otherwise",
                )


class _Arguments(Values):
    """The arguments of tools in the normal form of one automaton; a tool is taken in when it is first asked for."""

    def __init__(self, grammar: ToolCallGrammar, forms: NormalForm, inhabitation: Inhabitation) -> None:
        self._grammar, self._forms, self.inhabitation = grammar, forms, inhabitation
        self._variables: dict[int, Variable] = {}
        self.around: weakref.ref[Around] | None = None

    @property
    def typist(self) -> Around:
        around = None if self.around is None else self.around()
        assert around is not None
        return around

    def parameters(self, tool: int) -> Any:
        return self._grammar.tools[tool].argument_schema

    def variable(self, tool: int) -> Variable:
        """The variable of a tool's arguments."""
        found = self._variables.get(tool)
        if found is None:
            grammar = self._grammar.arguments(tool)
            found = self._variables[tool] = self._forms.add(grammar._document)
            self._forms.has_repeated = self._forms.has_repeated or grammar._has_repeated
        return found

    def shortest(self, tool: int) -> float:
        return self.inhabitation.shortest(self.variable(tool))


def _stretch(format: Format) -> tuple[int, int]:
    """By how much typed arguments may be longer than their JSON: a factor, and bytes besides."""
    dialect = format.arguments
    if isinstance(dialect, TaggedArguments):
        overhead = 2 * len(format.member_parts) + len(dialect.member.encode()) + 8
        return 1 + overhead, overhead
    return (3 + len(dialect.quote.encode()), 0) if isinstance(dialect, BareArguments) else (1, 0)


def tool_calls(
    tools: Any,
    *,
    format: str | Format,
    tool_choice: Any = "auto",
    parallel: bool | int = True,
    reasoning: Reasoning = "may begin",
    start: GenerationStart | StartState | None = None,
    reasoning_budget: int | None = None,
    counted: int = 0,
    closed_objects: bool = True,
    whitespace: Whitespace = "bounded",
    property_order: PropertyOrder = "any",
    escapes: Escapes = "any",
) -> ToolCallGrammar:
    """The grammar of a model's message where it is given tools.

    Args:
        tools: one tool or several, as `read_tools` takes them.
        format: the name of a wire format, or a `Format`.
        tool_choice: "auto", "required", "none", the name of a tool, or what an API calls a choice; see
            `read_tool_choice`.
        parallel: whether the message may hold several calls; a number is the most it may hold.
        reasoning: where the prompt ends: before a block of reasoning that "may begin", within an "open" one, or where
            it has "ended".
        start: the same, and what the prompt holds of the message besides, as `start_state` reads it off a prompt; in
            place of `reasoning`.
        reasoning_budget: the most tokens of reasoning. After them the block is ended, once a character that was begun
            is complete, and no other begins.
        counted: calls of the conversation so far; formats whose ids count go on from there.
        closed_objects: read an absent `additionalProperties` as false, as most schemas of tools mean it.
        whitespace, property_order, escapes: as for `json_schema`, within arguments. "spaced" is for formats whose
            arguments are JSON; "declared" not for several tools where the arguments come before the name; with "plain",
            texts that JSON arguments can hold only with an escape, such as the format's markers, cannot be written.

    Raises:
        ToolError: a tool cannot be read, or the format cannot write its name.
        ToolChoiceError: the choice is none, or does not fit the tools.
        ToolFormatError: there is no such format, or it cannot honour a choice of spelling.
        InvalidSchemaError, UnsupportedSchemaError, UnsatisfiableSchemaError, ResourceLimitError: about the parameters
            of a tool, which the pointer names before its "#".
    """
    if reasoning_budget is not None and (isinstance(reasoning_budget, bool) or reasoning_budget < 0):
        raise ValueError(f"reasoning_budget is a number of tokens, or None for any; not {reasoning_budget!r}")
    wire_format = get_format(format)
    read = read_tools(tools)
    choice = (
        tool_choice if isinstance(tool_choice, ToolChoice) else read_tool_choice(tool_choice, read, parallel=parallel)
    )
    resolved = choice.resolve(read)
    return ToolCallGrammar(
        wire_format,
        resolved.tools,
        resolved.least,
        resolved.most,
        start=start_of(wire_format, reasoning, start),
        counted=counted,
        closed_objects=closed_objects,
        style=TextStyle(whitespace, property_order, escapes),
        reasoning_budget=reasoning_budget,
    )
