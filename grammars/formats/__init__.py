"""The formats of JSON Schema as languages of texts.

`format_language` gives the texts that have a format, exactly where the module of its family says so; what is left out
on purpose is told in `NARROWINGS`. Under a negation leaving something out would let it in, so `format_superset` gives
a language that has all texts of the format, and a few more where the format is narrowed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..languages.base import TextLanguage
from ..languages.text import FREE_TEXT, difference
from ..regex import full_language
from ..regex.utf8 import CodePointLanguage
from . import addresses, dates, identifiers, resources
from .emails import ADDRESS_LITERAL, Email
from .hosts import MAX_NAME, HostName
from .idn import UnicodeHostName
from .machine import LanguageMachine, Machine, MachineLanguage
from .patterns import Pattern

__all__ = ["KNOWN_FORMATS", "NARROWINGS", "format_language", "format_superset", "split_format"]

_PATTERNS = {
    "duration": dates.DURATION,
    "ipv4": addresses.IPV4,
    "ipv6": addresses.IPV6,
    "iri": resources.IRI,
    "iri-reference": resources.IRI_REFERENCE,
    "json-pointer": identifiers.JSON_POINTER,
    "relative-json-pointer": identifiers.RELATIVE_JSON_POINTER,
    "uri": resources.URI,
    "uri-reference": resources.URI_REFERENCE,
    "uri-template": resources.URI_TEMPLATE,
    "uuid": identifiers.UUID,
}


def _email(host: Machine[Any], unicode: bool) -> Email:
    return Email(host, LanguageMachine(full_language(ADDRESS_LITERAL)), unicode)


_MACHINES: dict[str, Callable[[], Machine[Any]]] = {
    "date": lambda: dates.DateTime(date=True, time=False),
    "date-time": lambda: dates.DateTime(date=True, time=True),
    "email": lambda: _email(HostName(any_hyphens=False), unicode=False),
    "hostname": lambda: HostName(any_hyphens=False),
    "idn-email": lambda: _email(UnicodeHostName(composed=False), unicode=True),
    "idn-hostname": lambda: UnicodeHostName(composed=True),
    "regex": Pattern,
    "time": lambda: dates.DateTime(date=False, time=True),
}

OLD_HOSTNAME = "hostname of RFC 1034"
"""What `hostname` means up to draft 06, by a name of its own."""
_MACHINES[OLD_HOSTNAME] = lambda: HostName(any_hyphens=True)

_UNCOUNTED: dict[str, tuple[Callable[[], Machine[Any]], int]] = {
    "hostname": (lambda: HostName(any_hyphens=False, counted=False), MAX_NAME),
    OLD_HOSTNAME: (lambda: HostName(any_hyphens=True, counted=False), MAX_NAME),
}
"""Formats of which it is a bound that makes most states: machines without it, and the most code points."""

KNOWN_FORMATS = frozenset((*_PATTERNS, *_MACHINES)) - {OLD_HOSTNAME}
"""The names that `format_language` knows. Others are annotations."""

_PUNYCODE = "labels written in Punycode (xn--…)"
_LITERALS = "address literals other than IPv4 and IPv6"
_SPACE = "a space that is escaped in a quoted local part"
_LONG = (
    "labels that may exceed 63 octets in Punycode: beyond 17 letters of Greek, Cyrillic, Arabic and the like, 12 of "
    "other scripts, 10 outside the basic plane; and names that may exceed 253"
)
_JOINING = "a zero width non-joiner between letters other than Arabic ones with presentation forms"
_NEWER = (
    "characters newer than the Unicode version of the interpreter; beside a keraia or katakana middle dot, those of "
    "Greek, kana and Han outside of their main blocks"
)

NARROWINGS: dict[str, tuple[str, ...]] = {
    "email": (_PUNYCODE, _LITERALS, _SPACE),
    "hostname": (f"{_PUNYCODE}, from draft 07 on",),
    "idn-email": (_PUNYCODE, _LITERALS, _SPACE, _LONG, _JOINING, _NEWER),
    "idn-hostname": (
        _PUNYCODE,
        _LONG,
        "combining marks that could compose with what stands before them",
        _JOINING,
        _NEWER,
    ),
    "regex": (
        "more than 20 groups open at a time",
        "numbers of more than 4 digits, or with leading zeros, in quantifiers",
        "references forward, by number beyond 9, or to groups whose name has more than one letter",
        "more than one group whose name has several letters, more than 3 whose name has one, letters beyond ASCII or "
        "escapes in names, one name in several alternatives",
        "modifiers (?i:…)",
        "Unicode properties other than general categories, ASCII and Any",
        "ranges in classes that begin with a character beyond ASCII not written as an escape",
        "surrogate pairs written as escapes in classes",
    ),
    "relative-json-pointer": ("index manipulation (0+1/a)",),
}
"""Texts that have a format by its specification and are left out of its language, in words, by format."""

_LABELS = r"[A-Za-z0-9](?:-*[A-Za-z0-9])*(?:\.[A-Za-z0-9](?:-*[A-Za-z0-9])*)*"
_WIDE_LABEL = r"[A-Za-z0-9\-\u0080-\u{10FFFF}]+"
_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+"
_WIDE_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\u0080-\u{10FFFF}]+"
_SUPERSETS = {
    "email": rf'(?:{_ATOM}(?:\.{_ATOM})*|"[\x20-\x7E]*")@(?:{_LABELS}|\[[\x21-\x7E]*)',
    "idn-email": rf'(?:{_WIDE_ATOM}(?:\.{_WIDE_ATOM})*|"[^]*")@(?:{_WIDE_LABEL}(?:\.{_WIDE_LABEL})*|\[[^@]*)',
    "idn-hostname": rf"{_WIDE_LABEL}(?:\.{_WIDE_LABEL})*\.?",
    "relative-json-pointer": identifiers.RELATIVE_JSON_POINTER_WITH_INDEX,
}
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[!-~])*"'
_DATE = r"[0-9]{4}-[01][0-9]-[0-3][0-9]"
_TIME = r"[0-2][0-9]:[0-5][0-9]:[0-6][0-9](?:\.[0-9]+)?(?:[Zz]|[+\-][0-2][0-9]:[0-5][0-9])"

_OUTLINES = {
    "date-time": f"{_DATE}[Tt]{_TIME}",
    "email": rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@(?:{_LABELS}|\[[0-9A-Fa-fIPVipv.:]+\])",
    "hostname": _LABELS,
    "idn-email": _SUPERSETS["idn-email"],
    "idn-hostname": _SUPERSETS["idn-hostname"],
    "time": _TIME,
}
"""Patterns with few states that match all texts of a machine with many."""

_NO_PATTERN = r"[*+?)][^]*|[^()[\]\\]*\([^()[\]\\]*|[^()[\]\\]*\)[^]*|[^[\]\\]*\[[^\]\\]*"
"""Texts that are certainly not valid patterns: nothing to repeat, or parentheses or brackets that do not match."""

_lock = threading.Lock()
_languages: dict[str, TextLanguage] = {}


def format_language(name: str, draft: int = 2020) -> TextLanguage | None:
    """The texts that have the format `name`; None when no specification defines it, which makes it an annotation.

    Languages are shared: the same name gives the same object throughout the process.

    Args:
        name: as in a schema.
        draft: 4, 6, 7, 2019 or 2020. Up to 6 a host name is that of RFC 1034, where `xn--` means nothing.
    """
    if name not in KNOWN_FORMATS and name != OLD_HOSTNAME:
        return None
    if name == "hostname" and draft <= 6:
        name = OLD_HOSTNAME
    found = _languages.get(name)
    if found is None:
        with _lock:
            found = _languages.get(name)
            if found is None:
                found = _languages[name] = _build(name)
    return found


def split_format(name: str) -> tuple[TextLanguage, int | None] | None:
    """A language, and the most code points where that is a bound, that together mean what `format_language` means."""
    if name not in _UNCOUNTED:
        language = format_language(name)
        return None if language is None else (language, None)
    make, most = _UNCOUNTED[name]
    key = f"{name} of any length"
    with _lock:
        found = _languages.get(key)
        if found is None:
            found = _languages[key] = MachineLanguage(make(), (_language_of_any_length, (name,)))
    return found, most


def _language_of_any_length(name: str) -> TextLanguage:
    found = split_format(name)
    assert found is not None
    return found[0]


def format_superset(name: str, draft: int = 2020) -> TextLanguage | None:
    """A language that has every text with the format `name`: what to take the complement of.

    It is `format_language` itself for the formats without `NARROWINGS`. None as there.
    """
    if name in ("hostname", OLD_HOSTNAME):
        return format_language(OLD_HOSTNAME)
    if name not in KNOWN_FORMATS:
        return None
    if name == "regex":
        return difference(FREE_TEXT, full_language(_NO_PATTERN))
    pattern = _SUPERSETS.get(name)
    return full_language(pattern) if pattern is not None else format_language(name, draft)


def _build(name: str) -> TextLanguage:
    pattern = _PATTERNS.get(name)
    if pattern is not None:
        return full_language(pattern)
    source = (format_language, ("hostname", 4) if name == OLD_HOSTNAME else (name,))
    outline = _OUTLINES.get("hostname" if name == OLD_HOSTNAME else name)
    return MachineLanguage(_MACHINES[name](), source, None if outline is None else _by_outline(outline))


def _by_outline(pattern: str) -> CodePointLanguage:
    language = full_language(pattern)
    assert isinstance(language, CodePointLanguage)
    return language
