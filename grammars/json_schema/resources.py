"""The documents that a caller supplies for a schema to refer to, by URI.

They stand in for fetching, which never happens. A document is found under the URI that it is supplied under and under
the identifier at its root; what is embedded deeper is found by `references`, which knows the dialects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from constrain.grammars.errors import InvalidSchemaError, ResourceLimitError
from constrain.grammars.json_schema.source import read_source, refuse_cycles


class Resources:
    """Documents by URI.

    Args:
        documents: maps URIs, which may end in an empty fragment, to schemas in any of the forms that `read_source`
            takes. None for no documents.

    Raises:
        TypeError: it is no mapping, or a URI is not a string.
        ValueError: a URI has a fragment, or is given twice.
        InvalidSchemaError, ResourceLimitError: a document is no schema; the pointer names it.
    """

    def __init__(self, documents: Mapping[str, object] | None = None) -> None:
        self._documents: dict[str, dict[object, object] | bool] = {}
        self._by_identifier: dict[str, str] = {}
        if documents is None:
            return
        if not isinstance(documents, Mapping):
            raise TypeError(f"resources must map URIs to schemas, not be {type(documents).__name__}")
        for key, document in documents.items():
            if not isinstance(key, str):
                raise TypeError(f"resources must have URIs as keys, not {type(key).__name__}")
            uri, _, fragment = key.partition("#")
            if fragment:
                raise ValueError(f"the URI {key!r} in resources must not have a fragment: it names a whole document")
            if uri in self._documents:
                raise ValueError(f"the URI {uri!r} is twice in resources")
            self._documents[uri] = contents = _read(uri, document)
            identifier = None
            if isinstance(contents, dict):
                identifier = contents.get("$id", contents.get("id"))
            if isinstance(identifier, str):
                self._by_identifier.setdefault(identifier.removesuffix("#"), uri)

    def __contains__(self, uri: str) -> bool:
        return uri in self._documents

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def __getitem__(self, uri: str) -> dict[object, object] | bool:
        return self._documents[uri]

    def lookup(self, uri: str) -> dict[object, object] | bool | None:
        """The document that is supplied as `uri` or calls itself so."""
        return self._documents.get(uri if uri in self._documents else self._by_identifier.get(uri, uri))


def _read(uri: str, document: object) -> dict[object, object] | bool:
    try:
        contents = read_source(document)
        refuse_cycles(contents)
    except ResourceLimitError as error:
        raise ResourceLimitError(f"{uri}#", error.keyword, error.reason, error.limit) from None
    except InvalidSchemaError as error:
        raise InvalidSchemaError(f"{uri}#", error.keyword, error.reason) from None
    return contents
