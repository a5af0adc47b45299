"""Property tests for grammars, for use in your own test suite.

    from constrain.testing import check_schema

    def test_my_schema_is_enforced_exactly():
        check_schema(MY_SCHEMA, vocabulary)

`check_schema` and `check_matcher_laws` need no more than a schema or a compiled grammar. The Hypothesis strategies
`json_schemas`, `instances`, `near_misses` and `spellings` are for tests of one's own; `Validator` and `is_valid` give
the verdict of an independent validator. Needs the extra `testing`: `pip install 'constrain-decode[testing]'`;
jsonschema-rs is preferred as validator where it is installed.
"""

from __future__ import annotations

from constrain.testing.requirements import require as _require

_require()

from constrain.testing.check import SchemaReport, check_schema  # noqa: E402
from constrain.testing.default_vocabulary import default_vocabulary  # noqa: E402
from constrain.testing.drafts import DRAFTS, KEYWORDS, keywords_of  # noqa: E402
from constrain.testing.laws import LawsReport, check_matcher_laws  # noqa: E402
from constrain.testing.masks import MatcherLike  # noqa: E402
from constrain.testing.strategies import (  # noqa: E402
    instances,
    json_schemas,
    near_misses,
    schemas_with_instances,
    spellings,
)
from constrain.testing.validator import CannotJudge, Validator, is_valid  # noqa: E402

__all__ = [
    "DRAFTS",
    "KEYWORDS",
    "CannotJudge",
    "LawsReport",
    "MatcherLike",
    "SchemaReport",
    "Validator",
    "check_matcher_laws",
    "check_schema",
    "default_vocabulary",
    "instances",
    "is_valid",
    "json_schemas",
    "keywords_of",
    "near_misses",
    "schemas_with_instances",
    "spellings",
]
