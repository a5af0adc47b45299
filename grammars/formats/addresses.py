"""`ipv4` and `ipv6` as patterns, which addresses inside of URIs and of mailboxes share.

IPv4 is four decimal octets without leading zeros. IPv6 is the text of RFC 4291: eight groups, one run of one or more
of them replaced by `::`, the last two possibly written as IPv4; no zone. Before `::` the pattern is nested rather than
listed, so that a group is read in one way, however many forms are still possible.
"""

from __future__ import annotations

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_GROUP = "[0-9A-Fa-f]{1,4}"

IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
"""Pattern of a whole IPv4 address."""


def _after_gap(most: int) -> str:
    """Up to `most` groups after `::`."""
    if most < 2:
        return f"(?:{_GROUP})?" if most else ""
    return f"(?:(?:{_GROUP}:){{0,{most - 1}}}{_GROUP}|(?:{_GROUP}:){{0,{most - 2}}}{IPV4})?"


def _ipv6() -> str:
    rest = f"(?:{_GROUP}:(?:{_GROUP}|:)|{IPV4})"  # two groups to go
    for left in range(3, 9):
        rest = f"{_GROUP}:(?:{rest}|:{_after_gap(left - 2)})"
    return f"(?:::{_after_gap(7)}|{rest})"


IPV6 = _ipv6()
"""Pattern of a whole IPv6 address."""
