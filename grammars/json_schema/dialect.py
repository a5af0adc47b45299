"""The drafts of JSON Schema that are understood, and what distinguishes them apart from their keywords.

`$schema` chooses; without it a schema is read as 2020-12, as validators do today. Which keywords a draft has is told
in `keywords`, beside the readers of the keywords.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """One draft.

    Attributes:
        draft: 4, 6, 7, 2019 or 2020, so that drafts compare by age.
        name: as people write it.
        identifier: the keyword that gives a subschema a URI.
        specification: name of the draft in the `referencing` library.
        reference_overrides: whether the siblings of a `$ref`, identifiers among them, are ignored.
        fragment_identifiers: whether an identifier of the form `#name` is an anchor.
        integral_fraction: whether 1.0 is an integer.
        boolean_schemas: whether `true` and `false` are schemas everywhere.
        annotations: the keywords of the draft that the meta-schema leaves without meaning.
        problem: why schemas of this dialect cannot be read exactly; "" where they can.
    """

    draft: int
    name: str
    identifier: str
    specification: str
    reference_overrides: bool
    fragment_identifiers: bool
    integral_fraction: bool = True
    boolean_schemas: bool = True
    annotations: frozenset[str] = frozenset()
    problem: str = ""


DRAFT_04 = Dialect(4, "draft 04", "id", "DRAFT4", True, True, integral_fraction=False, boolean_schemas=False)
DRAFT_06 = Dialect(6, "draft 06", "$id", "DRAFT6", True, True)
DRAFT_07 = Dialect(7, "draft 07", "$id", "DRAFT7", True, True)
DRAFT_2019_09 = Dialect(2019, "draft 2019-09", "$id", "DRAFT201909", False, False)
DRAFT_2020_12 = Dialect(2020, "draft 2020-12", "$id", "DRAFT202012", False, False)
DIALECTS = (DRAFT_04, DRAFT_06, DRAFT_07, DRAFT_2019_09, DRAFT_2020_12)
LATEST = DRAFT_2020_12

# Hyper-schemas add keywords that validate nothing. The URI without a draft names the latest one.
_BY_URI = {
    "json-schema.org/draft-04/schema": DRAFT_04,
    "json-schema.org/draft-04/hyper-schema": DRAFT_04,
    "json-schema.org/draft-06/schema": DRAFT_06,
    "json-schema.org/draft-06/hyper-schema": DRAFT_06,
    "json-schema.org/draft-07/schema": DRAFT_07,
    "json-schema.org/draft-07/hyper-schema": DRAFT_07,
    "json-schema.org/draft/2019-09/schema": DRAFT_2019_09,
    "json-schema.org/draft/2019-09/hyper-schema": DRAFT_2019_09,
    "json-schema.org/draft/2020-12/schema": DRAFT_2020_12,
    "json-schema.org/draft/2020-12/hyper-schema": DRAFT_2020_12,
    "json-schema.org/schema": LATEST,
}


def find_dialect(uri: str) -> Dialect | None:
    """The dialect that a `$schema` value names, with http or https, with or without an empty fragment."""
    scheme, found, rest = uri.partition("://")
    if not found or scheme not in ("http", "https"):
        return None
    return _BY_URI.get(rest.removesuffix("#"))
