"""Which schemas are enforced exactly, and which not, and why: over a folder, a tool list, an API, a corpus.

The way of one schema through the files: `inputs` (with `tool_lists` and `openapi`) finds it, `pool` hands it to a
worker process, `inspection` compiles it and judges every keyword that `keywords` says occurs in it, `verification`
compares the automaton with an independent validator, and `report` adds all up for `heat_map` and `html`.
"""

from constrain.coverage.inputs import InputProblem, SchemaInput, read
from constrain.coverage.pool import Options, examine, run
from constrain.coverage.report import Place, SchemaReport, Summary, TestReport

__all__ = [
    "InputProblem",
    "Options",
    "Place",
    "SchemaInput",
    "SchemaReport",
    "Summary",
    "TestReport",
    "examine",
    "read",
    "run",
]
