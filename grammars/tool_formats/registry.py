"""The formats by name."""

from __future__ import annotations

import difflib

from constrain.grammars.errors import ToolFormatError
from constrain.grammars.tool_formats import bracketed_formats, json_formats, tagged_formats
from constrain.grammars.tool_formats.format import Format

FORMATS: dict[str, Format] = {
    format.name: format for format in (*json_formats.ALL, *bracketed_formats.ALL, *tagged_formats.ALL)
}
"""All formats that are known."""


def get_format(format: str | Format) -> Format:
    """The format of that name; a `Format` is given back as it is.

    Raises:
        ToolFormatError: there is none of that name; it suggests those that look like it.
    """
    if isinstance(format, Format):
        return format
    if format in FORMATS:
        return FORMATS[format]
    near = difflib.get_close_matches(str(format), FORMATS, n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise ToolFormatError(str(format), "name", f"there is no such format; {hint}there are {', '.join(FORMATS)}")


def register_format(format: Format, *, replace: bool = False) -> Format:
    """Make a format known by its name, and give it back.

    Raises:
        ToolFormatError: the name is taken, and `replace` is false.
    """
    if format.name in FORMATS and not replace and FORMATS[format.name] != format:
        raise ToolFormatError(format.name, "name", "it is taken by another format; choose another, or say replace=True")
    FORMATS[format.name] = format
    return format
