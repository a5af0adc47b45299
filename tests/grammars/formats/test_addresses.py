"""IP addresses against `ipaddress`, and as parts of URIs and mailboxes."""

from __future__ import annotations

import ipaddress

from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.formats import format_language

from .texts import has

IPV4, IPV6, URI, EMAIL = map(format_language, ("ipv4", "ipv6", "uri", "email"))
assert IPV4 is not None
assert IPV6 is not None
assert URI is not None
assert EMAIL is not None


def is_ipv4(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text  # zones are not part of the format


@given(st.lists(st.integers(0, 300), min_size=3, max_size=5), st.sampled_from(["{}", "0{}", "{:03}", "{}"]))
def test_ipv4(octets: list[int], form: str) -> None:
    text = ".".join(form.format(octet) for octet in octets)
    assert has(IPV4, text) == is_ipv4(text)


groups = st.sampled_from(["", "0", "1", "ab", "FFFF", "12345", "g", "1.2.3.4", "01.2.3.4", "1.2.3.256"])


@settings(max_examples=600)
@given(st.one_of(st.lists(groups, max_size=10).map(":".join), st.ip_addresses(v=6).map(str)))
def test_ipv6(text: str) -> None:
    valid = is_ipv6(text)
    assert has(IPV6, text) == valid
    assert has(URI, f"http://[{text}]/") == valid
    assert has(EMAIL, f"a@[IPv6:{text}]") == valid


@given(st.ip_addresses(v=6))
def test_forms_of_one_address(address: ipaddress.IPv6Address) -> None:
    for text in (address.exploded, address.compressed, address.exploded.upper()):
        assert has(IPV6, text)
    dotted = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    assert has(IPV6, ":".join(address.exploded.split(":")[:6]) + f":{dotted}")


def test_gaps() -> None:
    """Every number of groups before and after `::`, with and without a dotted tail."""
    for before in range(10):
        for after in range(10):
            for tail in ([], ["1.2.3.4"]):
                text = ":".join(["1"] * before) + "::" + ":".join(["2"] * after + tail)
                assert has(IPV6, text) == is_ipv6(text), text
