"""Grammars: what a text must satisfy, independent of any tokenizer."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from constrain.engine import unicode_data
from constrain.engine.plain_copies import are_plain
from constrain.engine.text_style import Escapes, PropertyOrder, TextStyle, Whitespace
from constrain.grammars.errors import InvalidSchemaError, UnsupportedSchemaError
from constrain.grammars.json_schema.deferred import read_all
from constrain.grammars.json_schema.enforceable import check_enforceable
from constrain.grammars.json_schema.frozen import look_at_many_with
from constrain.grammars.json_schema.inhabit import Inhabitation
from constrain.grammars.json_schema.ir import SchemaDocument, Subschema, Unenforced
from constrain.grammars.json_schema.load import NOT_YET, load
from constrain.grammars.json_schema.normal import NormalForm
from constrain.grammars.languages.base import Language
from constrain.grammars.regex import PatternError, full_language, parse
from constrain.grammars.regex.properties import add_source

if TYPE_CHECKING:
    from constrain.engine.compiled import CompiledGrammar
    from constrain.vocabulary import Vocabulary

DEFAULT_CACHE_BYTES = 256 << 20

add_source(unicode_data.ranges)
look_at_many_with(are_plain)


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A spelling that is never written although JSON allows it. Values are never narrowed."""

    pointer: str
    keyword: str
    reason: str


class Grammar:
    """A set of texts. Immutable, hashable and picklable; made by `json_schema` or `regex`."""

    def __init__(self, document: SchemaDocument, style: TextStyle, *, pattern: str | None = None) -> None:
        self._document = document
        self._style = style
        self._pattern = pattern
        self._unenforced = tuple(document.unenforced)
        self._prepared: list[tuple[NormalForm, Inhabitation]] = []
        self._has_repeated = False
        if pattern is None:
            forms = NormalForm(document)
            inhabitation = self._new_inhabitation(forms)
            check_enforceable(document, forms)
            self._has_repeated = forms.has_repeated
            inhabitation.require(forms.root)
            self._prepared.append((forms, inhabitation))

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digest of all that decides which texts are accepted."""
        content = [dataclasses.replace(s, pointer="") for s in read_all(self._document.subschemas)]
        described = repr((self._document.root, content, self._style, self._pattern))
        return hashlib.sha256(described.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def unenforced(self) -> tuple[Unenforced, ...]:
        """Keywords that were left out (`on_unsupported="warn"`), and formats that no specification defines."""
        return self._unenforced

    @property
    def narrowings(self) -> tuple[Narrowing, ...]:
        """Spellings that are never written, by place."""
        from constrain.engine.narrowings import narrowings

        return () if self._pattern is not None else narrowings(self._document, self._style, self._has_repeated)

    def compile(self, vocabulary: Vocabulary, *, cache_bytes: int = DEFAULT_CACHE_BYTES) -> CompiledGrammar:
        """Bind the grammar to a vocabulary.

        `cache_bytes` bounds the memory of what is computed on the way (states, positions, mask rows); beyond it the
        cache is dropped and built again as needed.
        """
        from constrain.engine.compiled import CompiledGrammar

        return CompiledGrammar(self, vocabulary, cache_bytes=cache_bytes)

    def _normal_form(self) -> tuple[NormalForm, Inhabitation]:
        """A normal form that nobody else uses."""
        try:
            return self._prepared.pop()
        except IndexError:
            forms = NormalForm(self._document)
            forms.has_repeated = self._has_repeated
            return forms, self._new_inhabitation(forms)

    def _new_inhabitation(self, forms: NormalForm) -> Inhabitation:
        return Inhabitation(forms, gap=int(self._style.whitespace == "spaced"))

    def _language(self) -> Language | None:
        return None if self._pattern is None else full_language(self._pattern)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and other.fingerprint == self.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._document, self._style, self._pattern)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.fingerprint[:12]}>"


def _restore(document: SchemaDocument, style: TextStyle, pattern: str | None) -> Grammar:
    return Grammar(document, style, pattern=pattern)


def json_schema(
    schema: object,
    *,
    whitespace: Whitespace = "bounded",
    property_order: PropertyOrder = "any",
    escapes: Escapes = "any",
    closed_objects: bool = False,
    on_unsupported: Literal["error", "warn"] = "error",
    resources: Mapping[str, object] | None = None,
) -> Grammar:
    """The grammar of all JSON texts that are valid under a schema.

    Args:
        schema: a dict or boolean, JSON text (str or bytes), or a Pydantic model class.
        whitespace: "bounded" allows, wherever JSON does, nothing, one blank, or a line break with an indentation of at
            most eight characters per level; "spaced" is what `json.dumps` writes by default, one blank after each comma
            and colon between members, items and values, and none elsewhere; "none" allows none.
        property_order: "any" takes the members of an object in any order; "declared" in the order in which the schema
            declares them, those that it does not declare, in any order, after them. Names are declared by `properties`
            of all subschemas that describe the object, read as they are written: `allOf`, `anyOf`, `$ref` and the like
            at their places, each name where it first comes up, `if` and `not` last; and by the objects that `enum` and
            `const` give as a whole.
        escapes: "any" takes every spelling of a character in a string or name; "plain" the one of `json.dumps` with
            `ensure_ascii=False`: characters stand for themselves, and only quotes, backslashes and control characters
            are escaped, in the shortest way and in lower case, and characters that the vocabulary has no bytes for. So
            a model cannot drift into needless escapes, such as `"curr\\u0065nt"`.
        closed_objects: read an absent `additionalProperties` as false.
        on_unsupported: "error" raises where a keyword cannot be enforced exactly; "warn" leaves it out and lists it in
            the grammar's `unenforced`.
        resources: other documents that the schema refers to, and meta-schemas of its own, by URI; each in one of the
            forms of `schema`. Nothing is ever fetched.

    Raises:
        InvalidSchemaError: the schema is malformed.
        UnsupportedSchemaError: a keyword cannot be enforced exactly.
        UnsatisfiableSchemaError: no value is valid.
        ResourceLimitError: a limit was reached.
    """
    style = TextStyle(whitespace, property_order, escapes)
    if on_unsupported not in ("error", "warn"):
        raise ValueError(f'on_unsupported must be "error" or "warn", not {on_unsupported!r}')
    left_out = NOT_YET
    while True:
        document = load(
            schema,
            on_unsupported=on_unsupported,
            closed_objects=closed_objects,
            not_yet=left_out,
            resources=resources,
            declared_order=property_order == "declared",
        )
        try:
            return Grammar(document, style)
        except UnsupportedSchemaError as error:
            # What only lowering can tell is left out everywhere, by loading once more without it.
            if on_unsupported == "error" or not error.keyword or error.keyword in left_out:
                raise
            left_out = left_out | {error.keyword}


def regex(pattern: str) -> Grammar:
    """The grammar of all texts that match an ECMA-262 regular expression from beginning to end.

    Raises:
        InvalidSchemaError: the pattern is malformed.
        UnsupportedSchemaError: it uses a construct that cannot be enforced.
    """
    if not isinstance(pattern, str):
        raise InvalidSchemaError("", "pattern", f"a pattern is a string, not {type(pattern).__name__}")
    try:
        parse(pattern)
        language = full_language(pattern)
    except PatternError as error:
        kind = InvalidSchemaError if error.kind == "invalid" else UnsupportedSchemaError
        raise kind("", "pattern", f"in {pattern!r} at {error.position}: {error.reason}") from error
    if not language.start:
        from constrain.grammars.errors import UnsatisfiableSchemaError

        raise UnsatisfiableSchemaError("", "pattern", f"no text matches {pattern!r}")
    return Grammar(SchemaDocument([Subschema(pointer="")], 0), TextStyle("none"), pattern=pattern)
