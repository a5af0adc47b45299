"""Recognisers of formats for Python's `jsonschema`, which lets most formats pass unless optional packages are there.

Only formats whose definition fits on a line or two are here. `FORMATS_SINCE` lists all that some draft defines: one
that is listed and has no recogniser cannot be judged by this backend, and says so.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Callable

FORMATS_SINCE = {
    "date-time": 4, "email": 4, "hostname": 4, "ipv4": 4, "ipv6": 4, "uri": 4,
    "uri-reference": 6, "uri-template": 6, "json-pointer": 6,
    "date": 7, "time": 7, "regex": 7, "idn-email": 7, "idn-hostname": 7, "iri": 7, "iri-reference": 7,
    "relative-json-pointer": 7,
    "duration": 2019, "uuid": 2019,
}  # fmt: skip
"""The formats and the draft that introduced each. They are assertions in every draft; other names mean nothing."""

_TIME = re.compile(
    r"(?P<h>[01][0-9]|2[0-3]):(?P<m>[0-5][0-9]):(?P<s>[0-5][0-9]|60)(?:\.[0-9]+)?"
    r"(?:[zZ]|(?P<sign>[+-])(?P<oh>[01][0-9]|2[0-3]):(?P<om>[0-5][0-9]))"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAYTIME = r"(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"
_DAYS = r"(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)"
_DURATION = re.compile(rf"P(?:[0-9]+W|{_DAYS}(?:T{_DAYTIME})?|T{_DAYTIME})")
_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_POINTER = re.compile(r"(?:/(?:[^/~]|~[01])*)*", re.DOTALL)
_RELATIVE_POINTER = re.compile(r"(?:0|[1-9][0-9]*)(?:[+-][1-9][0-9]*)?(?:#|(?:/(?:[^/~]|~[01])*)*)", re.DOTALL)


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text) or text.startswith("0000"):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    found = _TIME.fullmatch(text)
    if not found:
        return False
    if found["s"] != "60":
        return True
    minutes = int(found["h"]) * 60 + int(found["m"])
    if found["sign"]:
        offset = int(found["oh"]) * 60 + int(found["om"])
        minutes += -offset if found["sign"] == "+" else offset
    return minutes % 1440 == 1439


def _is_date_time(text: str) -> bool:
    return text[10:11] in ("T", "t") and _is_date(text[:10]) and _is_time(text[11:])


def _is_address(kind: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return text.isascii() and "%" not in text

    return check


CHECKS: dict[str, Callable[[str], bool]] = {
    "date": _is_date,
    "time": _is_time,
    "date-time": _is_date_time,
    "duration": lambda text: bool(_DURATION.fullmatch(text)),
    "uuid": lambda text: bool(_UUID.fullmatch(text)),
    "ipv4": _is_address(ipaddress.IPv4Address),
    "ipv6": _is_address(ipaddress.IPv6Address),
    "json-pointer": lambda text: bool(_POINTER.fullmatch(text)),
    "relative-json-pointer": lambda text: bool(_RELATIVE_POINTER.fullmatch(text)),
}
"""Recognisers by format."""
