"""`uri`, `uri-reference`, `iri`, `iri-reference` and `uri-template` as patterns.

RFC 3986 and RFC 3987 rule by rule. Percent signs need two hexadecimal digits, brackets stand around IP literals only, a
port is digits, and the first segment of a relative path has no colon. An IRI adds `ucschar` everywhere and
`iprivate` in the query. A template (RFC 6570 with its erratum on the apostrophe) is literals and expressions.
"""

from __future__ import annotations

from .addresses import IPV6

_UNRESERVED = r"A-Za-z0-9\-._~"
_DELIMITERS = "!$&'()*+,;="
_ESCAPED = "%[0-9A-Fa-f]{2}"

_UCSCHAR = r"\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF" + "".join(
    rf"\u{{{plane:X}{'1000' if plane == 14 else '0000'}}}-\u{{{plane:X}FFFD}}" for plane in range(1, 15)
)
_IPRIVATE = r"\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"


def _rules(letters: str, private: str) -> tuple[str, str]:
    """The patterns of an absolute identifier and of a reference, with more `letters`, and `private` in the query."""
    name = f"{_UNRESERVED}{_DELIMITERS}{letters}"
    character = f"(?:[{name}:@]|{_ESCAPED})"
    no_colon = f"(?:[{name}@]|{_ESCAPED})"
    user = f"(?:(?:[{name}:]|{_ESCAPED})*@)?"
    future = rf"[vV][0-9A-Fa-f]+\.[{_UNRESERVED}{_DELIMITERS}:]+"
    host = rf"(?:\[(?:{IPV6}|{future})\]|(?:[{name}]|{_ESCAPED})*)"
    segments = f"(?:/{character}*)*"
    authority = f"//{user}{host}(?::[0-9]*)?{segments}"
    absolute_path = f"/(?:{character}+{segments})?"
    query = rf"(?:\?(?:[{name}:@/?{private}]|{_ESCAPED})*)?"
    fragment = f"(?:#(?:[{name}:@/?]|{_ESCAPED})*)?"
    scheme = r"[A-Za-z][A-Za-z0-9+\-.]*:"
    rooted = f"(?:{authority}|{absolute_path})?"
    rootless = f"{character}+{segments}"
    whole = f"{scheme}(?:{rooted}|{rootless}){query}{fragment}"
    # One rule for what a scheme may or may not stand before.
    reference = f"(?:(?:{scheme})?{rooted}|{scheme}{rootless}|{no_colon}+{segments}){query}{fragment}"
    return whole, reference


URI, URI_REFERENCE = _rules("", "")
IRI, IRI_REFERENCE = _rules(_UCSCHAR, _IPRIVATE)

_LITERAL = rf"[!#$&'()*+,\-./0-9:;=?@A-Z[\]_a-z~{_UCSCHAR}{_IPRIVATE}]"
_VARIABLE_CHARACTER = f"(?:[A-Za-z0-9_]|{_ESCAPED})"
_VARIABLE = rf"{_VARIABLE_CHARACTER}(?:\.?{_VARIABLE_CHARACTER})*(?::[1-9][0-9]{{0,3}}|\*)?"
URI_TEMPLATE = rf"(?:{_LITERAL}|{_ESCAPED}|\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"
