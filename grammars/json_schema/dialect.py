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
    """

    draft: int
    name: str
    identifier: str
    specification: str

    @property
    def reference_overrides(self) -> bool:
        """Whether the siblings of a `$ref`, identifiers among them, are ignored."""
        return self.draft <= 7

    @property
    def fragment_identifiers(self) -> bool:
        """Whether an identifier of the form `#name` is an anchor."""
        return self.draft <= 7

    @property
    def integral_fraction(self) -> bool:
        """Whether 1.0 is an integer."""
        return self.draft > 4

    @property
    def boolean_schemas(self) -> bool:
        """Whether `true` and `false` are schemas everywhere."""
        return self.draft > 4


DRAFT_04 = Dialect(4, "draft 04", "id", "DRAFT4")
DRAFT_06 = Dialect(6, "draft 06", "$id", "DRAFT6")
DRAFT_07 = Dialect(7, "draft 07", "$id", "DRAFT7")
DRAFT_2019_09 = Dialect(2019, "draft 2019-09", "$id", "DRAFT201909")
DRAFT_2020_12 = Dialect(2020, "draft 2020-12", "$id", "DRAFT202012")
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
