"""`constrain formats`: the wire formats there are, the models that write them, and what each was held against."""

from __future__ import annotations

from rich.table import Table

from constrain.cli.console import results
from constrain.grammars.tool_formats import FORMATS

UNVERIFIED = "unverified against a template"


def run() -> None:
    """Print the table."""
    table = Table("format", "models", "verified against", box=None, pad_edge=False)
    for name, format in FORMATS.items():
        table.add_row(name, format.models, format.verified or UNVERIFIED)
    results().print(table)
