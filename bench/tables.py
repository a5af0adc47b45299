"""Tables that look the same on a terminal and in a browser.

A table is text with marks: the best value of a row stands out, ratios are good or bad. How that looks is the business
of the two that draw it, `on_terminal` here and the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

Mark = Literal["", "best", "good", "bad", "dim"]
_STYLES = {"": "", "best": "bold green", "good": "green", "bad": "red", "dim": "dim"}


@dataclass(frozen=True)
class Cell:
    """Text, and what it is."""

    text: str
    mark: Mark = ""


@dataclass
class Table:
    """Rows under a title; the first column names the row.

    Attributes:
        title: of the table.
        columns: their headings.
        rows: as many cells as columns.
        note: how to read it.
        text_columns: numbers of columns that are words rather than figures, the first aside.
    """

    title: str
    columns: list[str]
    rows: list[list[Cell]] = field(default_factory=list)
    note: str = ""
    text_columns: tuple[int, ...] = ()

    def add(self, name: str, *cells: Cell | str) -> None:
        """Add a row."""
        self.rows.append([Cell(name), *(c if isinstance(c, Cell) else Cell(c) for c in cells)])


_GAP = 2


def on_terminal(tables: Iterable[Table], console: Console) -> None:
    """Print tables. One that is wider than the terminal is printed in parts, the names of its rows before each."""
    for table in tables:
        console.print()
        console.print(Text(table.title, "bold"))
        for number, columns in enumerate(_parts(table, console.width)):
            if number:
                console.print()
            _draw(table, columns, console)
        if table.note:
            console.print(Text(table.note, "dim"))


def _width(table: Table, column: int) -> int:
    return max(len(table.columns[column]), *(len(row[column].text) for row in table.rows), 0)


def _parts(table: Table, width: int) -> list[list[int]]:
    """Columns that fit beside the first, as many as possible at a time."""
    parts: list[list[int]] = []
    left = 0
    for column in range(1, len(table.columns)):
        needed = _width(table, column) + _GAP
        if not parts or (left < needed and column not in table.text_columns):
            parts.append([])
            left = width - _width(table, 0)
        parts[-1].append(column)
        left -= needed
    return parts


def _draw(table: Table, columns: list[int], console: Console) -> None:
    drawn = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for column in (0, *columns):
        words = column == 0 or column in table.text_columns
        drawn.add_column(
            table.columns[column],
            justify="left" if words else "right",
            overflow="fold",
            header_style="bold",
            no_wrap=not words,
            min_width=None if column in table.text_columns else _width(table, column),
        )
    for row in table.rows:
        drawn.add_row(*(Text(row[column].text, _STYLES[row[column].mark]) for column in (0, *columns)))
    console.print(drawn)


def figure(value: float | None, digits: int = 3) -> str:
    """A number with about so many digits that count, and thousands set apart: 0.05, 3.42, 27.1, 1,234."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0:
        return "0"
    before_point = math.floor(math.log10(abs(value))) + 1 if abs(value) < 0.1 or abs(value) >= 1 else 1
    places = min(6, max(0, digits - before_point))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places > 2 and "." in text else text


def duration(us: float | None) -> str:
    """Microseconds in the unit that suits them."""
    if us is None or math.isnan(us):
        return "–"
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{figure(us / size)} {unit}"
    return f"{figure(us)} µs"


def ranked(values: Sequence[float | None], show: Sequence[str], *, low: bool = True) -> list[Cell]:
    """Cells of a row, the best of several marked."""
    known = [v for v in values if v is not None]
    best = (min(known) if low else max(known)) if len(known) > 1 else None
    return [Cell(s, "best" if v is not None and v == best else "") for v, s in zip(values, show, strict=True)]


def ratio(ours: float | None, peers: Iterable[float | None], *, low: bool = True) -> Cell:
    """How many times better than the best peer this library is; below 1 it is behind."""
    known = [p for p in peers if p is not None]
    if ours is None or not known:
        return Cell("–", "dim")
    best = min(known) if low else max(known)
    if not ours or not best:
        return Cell("–", "dim")
    times = best / ours if low else ours / best
    return Cell(f"{figure(times, 2 if times < 10 else 3)}×", "good" if times >= 1 else "bad")
