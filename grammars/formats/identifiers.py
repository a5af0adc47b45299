"""`uuid`, `json-pointer` and `relative-json-pointer` as patterns.

A UUID is 8-4-4-4-12 hexadecimal digits of either case, whatever its version. Pointers are those of RFC 6901, and of
the draft on relative ones without its later index manipulation (`0+1/a`), which validators do not know.
"""

from __future__ import annotations

UUID = "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"

JSON_POINTER = "(?:/(?:[^~/]|~[01])*)*"

RELATIVE_JSON_POINTER = f"(?:0|[1-9][0-9]*)(?:#|{JSON_POINTER})"

RELATIVE_JSON_POINTER_WITH_INDEX = f"(?:0|[1-9][0-9]*)(?:[+-][1-9][0-9]*)?(?:#|{JSON_POINTER})"
"""With index manipulation."""
