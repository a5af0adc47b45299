"""Where a reference leads: base URIs, embedded resources, anchors, JSON pointers.

Nearly every real reference is `#/definitions/x` in a document without inner identifiers, and walking that pointer takes
a microsecond. Only a reference that needs more (an anchor, a URI, a pointer that crosses an inner identifier) makes the
whole document be catalogued, once. The catalogue rests on the `referencing` library for what differs between drafts:
which keywords hold subschemas, so that an `$id` inside an `enum` is not taken for one, and which ones name anchors.

Other documents are those that the caller supplied, and the official meta-schemas where `jsonschema-specifications` is
installed. Nothing is ever fetched. A supplied document without `$schema` has the dialect of what refers to it.

`$schema` in a subschema without an identifier is allowed by no draft. As validators agree, it says what the keywords
there and below mean, and does nothing for a JSON pointer that passes through on its way deeper.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from constrain.grammars.errors import InvalidSchemaError
from constrain.grammars.json_schema.dialect import Dialect, find_dialect
from constrain.grammars.json_schema.metaschemas import Dialects
from constrain.grammars.json_schema.resources import Resources

Schema = dict[Any, Any]


@dataclass(eq=False, slots=True)
class Document:
    """One JSON document. `prefix` stands before the pointers into it: "" for the schema itself."""

    root: object
    prefix: str = ""


@dataclass(eq=False, slots=True)
class Scope:
    """A schema resource as seen under one dialect: what `#` and relative references mean to a subschema.

    Attributes:
        base: the base URI, without fragment; "" where nothing gives one.
        root: the resource's root, where `#` leads.
        pointer: pointer of `root` in its document, with the document's prefix.
        dialect: the dialect of the subschemas in this scope.
        document: the document that `root` is part of.
    """

    base: str
    root: object
    pointer: str
    dialect: Dialect
    document: Document


@dataclass(frozen=True, slots=True)
class Target:
    """What a reference leads to: a subschema, the scope around it, and its pointer."""

    schema: object
    scope: Scope
    pointer: str


@dataclass(slots=True)
class Catalogue:
    """All identifiers of a document.

    `resources` and `anchors` are keyed by absolute URI and (URI, name); `scopes` gives the scope of every subschema
    that stands where the dialect expects one, by the id() of its dict.
    """

    resources: dict[str, Scope] = field(default_factory=dict)
    anchors: dict[tuple[str, str], Target] = field(default_factory=dict)
    scopes: dict[int, Scope] = field(default_factory=dict)


RECURSIVE = ""
"""Stands for `$recursiveAnchor` among the names of dynamic anchors."""


def is_dynamic_anchor(target: Target, name: str) -> bool:
    """Whether `target` has the `$dynamicAnchor` that is called `name`."""
    return isinstance(target.schema, dict) and bool(name) and target.schema.get("$dynamicAnchor") == name


def has_recursive_anchor(target: Target) -> bool:
    """Whether `target` is marked by `$recursiveAnchor`."""
    return isinstance(target.schema, dict) and target.schema.get("$recursiveAnchor") is True


def escape(name: object) -> str:
    """`name` as one segment of a JSON pointer."""
    text = str(name)
    return text.replace("~", "~0").replace("/", "~1") if "~" in text or "/" in text else text


class References:
    """Resolves the references of one schema. `root` is the scope of its root.

    Args:
        schema: the schema as Python containers.
        dialect: what it is read as where its `$schema` does not say.
        resources: the other documents that it may refer to.

    Raises `InvalidSchemaError` where `$schema` or the identifier at the root is malformed.
    """

    def __init__(self, schema: object, dialect: Dialect, resources: Resources | None = None) -> None:
        self.document = Document(schema)
        self._resources = Resources() if resources is None else resources
        self._dialects = Dialects(self._resources.lookup)
        self._scopes: dict[tuple[int, str, Dialect], Scope] = {}
        self._outermost: dict[Document, Scope] = {}  # scopes of the roots
        self._targets: dict[tuple[str, Scope], Target] = {}
        self._catalogues: dict[Document, Catalogue] = {}
        self._external: dict[str, Scope] = {}
        self._supplied: dict[tuple[str, Dialect | None], Scope] = {}
        self._embedded: dict[Dialect, dict[str, Scope]] = {}
        self._dynamic: dict[tuple[int, str, Dialect], dict[str, Target]] = {}
        self.root = self._root_scope(self.document, "", self._dialects.of(schema, dialect, ""))

    def enter(self, schema: Schema, scope: Scope, pointer: str) -> Scope:
        """The scope of a subschema that stands in `scope`, its own identifier and `$schema` applied.

        Raises `InvalidSchemaError` for a malformed identifier.
        """
        return self._enter(schema, scope, pointer, strict=True)

    def resolve(self, reference: str, scope: Scope) -> Target:
        """The target of `reference` in a subschema of `scope`.

        Raises `Unresolvable` where there is none within the document, `Remote` where it is another document.
        """
        key = reference, scope
        target = self._targets.get(key)
        if target is None:
            target = self._targets[key] = self._resolve(reference, scope)
        return target

    def _resolve(self, reference: str, scope: Scope) -> Target:
        start = scope
        if reference.startswith("#"):
            fragment = reference[1:]
        else:
            uri, fragment = urldefrag(urljoin(scope.base, reference))
            if uri != scope.base:
                start = self._resource(uri, scope)
        if not fragment:
            return Target(start.root, start, start.pointer)
        fragment = unquote(fragment)
        if fragment.startswith("/"):
            return self._walk(fragment, start)
        target = self._catalogue(start.document).anchors.get((start.base, fragment))
        if target is None:
            known = [name for base, name in self._catalogue(start.document).anchors if base == start.base]
            raise Unresolvable(f"there is no anchor {fragment!r}{_similar(fragment, known)}", start)
        return target

    def dynamic_anchors(self, scope: Scope) -> dict[str, Target]:
        """The dynamic anchors of the resource of `scope` by name, with `RECURSIVE` for a `$recursiveAnchor`."""
        key = (id(scope.root), scope.base, scope.dialect)
        found = self._dynamic.get(key)
        if found is None:
            found = {
                name: target
                for (base, name), target in self._catalogue(scope.document).anchors.items()
                if base == scope.base and is_dynamic_anchor(target, name)
            }
            root = Target(scope.root, scope, scope.pointer)
            if has_recursive_anchor(root):
                found[RECURSIVE] = root
            self._dynamic[key] = found
        return found

    def _enter(self, schema: Schema, scope: Scope, pointer: str, *, strict: bool) -> Scope:
        if schema is scope.root:
            return scope
        dialect = scope.dialect
        if dialect.reference_overrides and "$ref" in schema:
            return scope
        # What surrounds a subschema decides whether it has an identifier; `$schema` is about its keywords.
        base = _identified_base(schema, scope.base, dialect, pointer, strict)
        declared = schema.get("$schema")
        if isinstance(declared, str):
            dialect = self._dialects.find(declared) or dialect
        if base is not None:
            return self._scope(base, schema, pointer, dialect, scope.document)
        if dialect is not scope.dialect:
            return self._scope(scope.base, scope.root, scope.pointer, dialect, scope.document)
        return scope

    def _scope(self, base: str, root: object, pointer: str, dialect: Dialect, document: Document) -> Scope:
        key = (id(root), base, dialect)
        scope = self._scopes.get(key)
        if scope is None:
            scope = self._scopes[key] = Scope(base, root, pointer, dialect, document)
        return scope

    def _root_scope(self, document: Document, uri: str, dialect: Dialect) -> Scope:
        root, pointer = document.root, document.prefix
        base = _identified_base(root, uri, dialect, pointer, True) if isinstance(root, dict) else None
        scope = self._scope(uri if base is None else base, root, pointer, dialect, document)
        self._outermost[document] = scope
        return scope

    def _walk(self, fragment: str, start: Scope) -> Target:
        """The target of a JSON pointer (percent-decoded) from the root of `start`."""
        at, path, scope = start.root, start.pointer, start
        crossed: list[object] = []
        for number, segment in enumerate(fragment.split("/")[1:]):
            if number and isinstance(at, dict) and ("$schema" in at or scope.dialect.identifier in at):
                crossed.append(at)
            segment = segment.replace("~1", "/").replace("~0", "~")
            if isinstance(at, dict) and segment in at:
                at = at[segment]
            elif isinstance(at, list | tuple) and _is_index(segment) and int(segment) < len(at):
                at = at[int(segment)]
            else:
                names = [name for name in at if isinstance(name, str)] if isinstance(at, dict) else []
                place = path or "the root of the schema"
                raise Unresolvable(f"there is no {segment!r} at {place}{_similar(segment, names)}", start)
            path += "/" + escape(segment)
        if not isinstance(at, dict | bool):
            raise Unresolvable(f"{path} holds {type(at).__name__}, not a schema", start)
        if crossed:
            scopes = self._catalogue(start.document).scopes
            for schema in crossed:
                inner = scopes.get(id(schema), scope)
                if inner.root is schema:
                    scope = inner
        return Target(at, scope, path)

    def _resource(self, uri: str, scope: Scope) -> Scope:
        """The scope of the resource that a reference in `scope` calls `uri`."""
        for place in (scope.document, self.document):
            found = self._catalogue(place).resources.get(uri)
            if found is not None:
                return found
        if uri in self._resources:
            return self._supply(uri, scope.dialect)
        found = self._embedded_in_supplied(scope.dialect).get(uri)
        if found is not None:
            return found
        if uri not in self._external:
            contents, dialect = _metaschema(uri, self._resources)
            self._external[uri] = self._root_scope(Document(contents, uri + "#"), uri, dialect)
        return self._external[uri]

    def _supply(self, uri: str, referring: Dialect) -> Scope:
        """The scope of a supplied document. `referring` is the dialect of what refers to it."""
        contents = self._resources[uri]
        own = isinstance(contents, dict) and "$schema" in contents
        key = (uri, None if own else referring)
        scope = self._supplied.get(key)
        if scope is None:
            dialect = self._dialects.of(contents, referring, uri + "#")
            scope = self._supplied[key] = self._root_scope(Document(contents, uri + "#"), uri, dialect)
        return scope

    def _embedded_in_supplied(self, referring: Dialect) -> dict[str, Scope]:
        """The scopes of all identified resources in the supplied documents, the first of each URI."""
        found = self._embedded.get(referring)
        if found is None:
            found = self._embedded[referring] = {}
            for uri in self._resources:
                with contextlib.suppress(InvalidSchemaError):  # reported where something refers to this document
                    for name, scope in self._catalogue(self._supply(uri, referring).document).resources.items():
                        found.setdefault(name, scope)
        return found

    def _catalogue(self, document: Document) -> Catalogue:
        found = self._catalogues.get(document)
        if found is None:
            found = self._catalogues[document] = self._build_catalogue(document)
        return found

    def _build_catalogue(self, document: Document) -> Catalogue:
        catalogue = Catalogue()
        pointers = _Pointers(document)
        stack: list[tuple[object, Scope]] = [(document.root, self._outermost[document])]
        while stack:
            schema, scope = stack.pop()
            if not isinstance(schema, dict) or id(schema) in catalogue.scopes:
                continue
            if schema is not document.root and ("$schema" in schema or scope.dialect.identifier in schema):
                scope = self._enter(schema, scope, pointers.of(schema), strict=False)
            catalogue.scopes[id(schema)] = scope
            if scope.root is schema:
                catalogue.resources.setdefault(scope.base, scope)
            anchors, subschemas = _anchors_and_subschemas(schema, scope.dialect)
            for name in anchors:
                catalogue.anchors.setdefault((scope.base, name), Target(schema, scope, pointers.of(schema)))
            stack.extend((subschema, scope) for subschema in subschemas)
        return catalogue


class Unresolvable(Exception):
    """A reference that leads nowhere in its document."""

    def __init__(self, reason: str, start: Scope | None = None) -> None:
        if start is not None and start.pointer and start.document.prefix == "":
            reason += f" (the identifier at {start.pointer} makes references below it start there)"
        super().__init__(reason)
        self.reason = reason


class Remote(Unresolvable):
    """A reference to another document."""


class _Pointers:
    """Pointers of the containers of a document by identity; each container remembers only its parent."""

    def __init__(self, document: Document) -> None:
        self._prefix = document.prefix
        self._root = document.root

    @functools.cached_property
    def _parents(self) -> dict[int, tuple[object, object]]:
        parents: dict[int, tuple[object, object]] = {}
        stack: list[object] = [self._root]
        while stack:
            container = stack.pop()
            for key, value in _members(container):
                if isinstance(value, dict | list | tuple) and id(value) not in parents:
                    parents[id(value)] = (container, key)
                    stack.append(value)
        return parents

    def of(self, container: object) -> str:
        segments: list[str] = []
        while container is not self._root:
            container, key = self._parents[id(container)]
            segments.append(escape(key))
        return self._prefix + "".join("/" + segment for segment in reversed(segments))


def _members(container: object) -> Iterator[tuple[object, object]]:
    if isinstance(container, dict):
        return iter(container.items())
    if isinstance(container, list | tuple):
        return iter(enumerate(container))
    return iter(())


def _identified_base(schema: Schema, base: str, dialect: Dialect, pointer: str, strict: bool) -> str | None:
    """The base URI that a subschema's own identifier makes, or None where it has none. Lenient unless `strict`."""
    keyword = dialect.identifier
    if keyword not in schema or (dialect.reference_overrides and "$ref" in schema):
        return None
    identifier = schema[keyword]
    if not isinstance(identifier, str):
        # An object under `id` is a property that lost its `properties`: such names are ignored.
        if strict and not (keyword == "id" and isinstance(identifier, dict)):
            raise InvalidSchemaError(pointer, keyword, f"must be a string, is {type(identifier).__name__}")
        return None
    uri, fragment = urldefrag(identifier)
    if fragment and strict and not dialect.fragment_identifiers:
        raise InvalidSchemaError(
            pointer, keyword, f"{identifier!r} has a fragment; {dialect.name} has $anchor for that"
        )
    return urljoin(base, uri) if uri else None


def _anchors_and_subschemas(schema: Schema, dialect: Dialect) -> tuple[list[str], list[object]]:
    """Names of the anchors at `schema`, and the values at places where `dialect` expects subschemas."""
    specification = _specification(dialect.specification)
    anchors: list[str] = []
    subschemas: list[object] = []
    # A malformed keyword stops the library; it is reported when a reader reaches it, if one ever does.
    if (dialect.identifier in schema or "$anchor" in schema or "$dynamicAnchor" in schema) and not (
        dialect.reference_overrides and "$ref" in schema
    ):
        with contextlib.suppress(AttributeError, TypeError):
            anchors.extend(anchor.name for anchor in specification.anchors_in(schema))
    with contextlib.suppress(AttributeError, TypeError):
        subschemas.extend(specification.subresources_of(schema))
    return anchors, subschemas


@functools.cache
def _specification(name: str) -> Any:
    import referencing.jsonschema

    return getattr(referencing.jsonschema, name)


def _metaschema(uri: str, resources: Resources) -> tuple[object, Dialect]:
    """An official meta-schema and its dialect. Raises `Remote` for any other URI."""
    if not uri.partition("://")[2].startswith("json-schema.org/"):
        hint = "" if ":" in uri else "; within the schema a reference starts with '#/'"
        raise Remote(
            f"it is another document, {uri!r}, and nothing is fetched: pass that in resources= or copy it under $defs"
            f"{hint}{_similar(uri, list(resources))}"
        )
    try:
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
    except ImportError:
        raise Remote(
            f"{uri!r} is an official meta-schema; install jsonschema-specifications, or pass it in resources="
        ) from None
    resource = REGISTRY.get(uri)
    contents = None if resource is None else resource.contents
    dialect = find_dialect(str(contents.get("$schema"))) if isinstance(contents, dict) else None
    if dialect is None:
        raise Remote(
            f"{uri!r} is none of the meta-schemas of draft 04 to 2020-12, and nothing is fetched: pass it in resources="
        )
    return contents, dialect


def _is_index(segment: str) -> bool:
    return segment.isascii() and segment.isdigit() and (segment == "0" or segment[0] != "0")


def _similar(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
