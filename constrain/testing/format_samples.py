"""Texts for the standard formats: a few of each, chosen at the edges, among them near misses.

They are candidates only: whether one has the format is always asked of a validator.
"""

from __future__ import annotations

from constrain.testing.choices import Choices

SAMPLES: dict[str, tuple[str, ...]] = {
    "date": ("2024-02-29", "1999-12-31", "2000-02-29", "2023-01-01"),
    "time": ("00:00:00Z", "23:59:59.999+23:59", "12:30:45-08:00", "08:05:01z", "23:59:60Z", "15:59:60-08:00"),
    "date-time": (
        "2024-02-29T23:59:59Z",
        "1990-12-31T15:59:60-08:00",
        "2023-07-09t08:05:01.25z",
        "0001-01-01T00:00:00+00:00",
        "1985-04-12T23:20:50.52Z",
    ),
    "duration": ("P1W", "P4DT12H30M5S", "PT0S", "P1Y2M3D", "P1M", "PT36H", "P1YT1S"),
    "email": ("a@b.c", "joe.bloggs@example.com", "te~st@example.com", "a.b+c@x-y.org"),
    "idn-email": ("a@b.c", "실례@실례.테스트"),
    "hostname": ("a", "www.example.com", "a-b.c1", "xn--4gbwdl.xn--wgbh1c", "1host"),
    "idn-hostname": ("a", "www.example.com", "实例.测试", "ab-1"),
    "ipv4": ("0.0.0.0", "255.255.255.255", "192.168.1.1", "1.20.103.9"),
    "ipv6": ("::", "::1", "2001:db8::8a2e:370:7334", "1:2:3:4:5:6:7:8", "::ffff:192.0.2.128", "ABCD:ef01::"),
    "uri": ("http://a", "http://example.com/a?b=c#d", "urn:x:y", "mailto:a@b", "ftp://[::1]:8080/%20", "a:"),
    "uri-reference": ("", "/a/b", "../x", "#frag", "?q", "http://a/b", "//host/p"),
    "iri": ("http://a", "http://ƒøø.ßår/?∂éœ=πîx#πîüx", "urn:x:y"),
    "iri-reference": ("", "/âππ", "#ƒrägmênt", "../x"),
    "uuid": ("00000000-0000-0000-0000-000000000000", "2EB8AA08-aa98-11ea-b4aa-73b441d16380"),
    "uri-template": ("", "http://a/{x}", "{+x,y}", "/a{?q*}", "{#frag:3}", "plain"),
    "json-pointer": ("", "/", "/a/b", "/~0~1", "/foo/0", "//"),
    "relative-json-pointer": ("0", "1/a", "0#", "10/b/c", "2/~01"),
    "regex": ("", "^a+$", "[a-z]", "a|b", "(?=x)", "\\d{2,}"),
}
"""Texts that have the format."""

NEAR_MISSES: dict[str, tuple[str, ...]] = {
    "date": ("2023-02-29", "2024-2-29", "2024-02-30", "20240229", "2024-13-01", "2024-02-29\n"),
    "time": ("24:00:00Z", "12:30:45", "12:60:00Z", "22:59:60Z", "12:30:45+24:00", "1:00:00Z"),
    "date-time": ("2023-02-29T00:00:00Z", "2024-02-29 23:59:59Z", "2024-02-29T23:59:59", "2024-02-29"),
    "duration": ("P", "PT", "P1Y2D", "P1W2D", "PT1.5S", "-P1D", "P1D2H", "PT1H2S"),
    "email": ("a", "a@", "@b", ".a@b", "a..b@c", "a@b c", "a.@b"),
    "idn-email": ("a", "@x", "실례"),
    "hostname": ("", "-a", "a-", "a..b", "a_b", "a.", "a" * 64),
    "idn-hostname": ("", "-a", "a b"),
    "ipv4": ("1.2.3", "256.0.0.1", "01.2.3.4", "1.2.3.4.5", "1.2.3.4/8", ""),
    "ipv6": (":", ":::", "1::2::3", "12345::", "::1%eth0", "[::1]", "1:2:3:4:5:6:7", "::1.2.3"),
    "uri": ("", "a", "//a", "http://a b", "http://a/%2", "1x:y", "http://[a", ":a"),
    "uri-reference": ("a b", "%", "\\a", "1:x y", "<x>"),
    "iri": ("", "a", "http://a b"),
    "iri-reference": ("a b", "\\x", "<"),
    "uuid": ("", "2EB8AA08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa73b441d16380", "g" * 36),
    "uri-template": ("{", "}", "{x", "http://{a b}"),
    "json-pointer": ("a", "#", "/~", "/~2", "#/a"),
    "relative-json-pointer": ("", "/a", "01", "-1", "0##", "a"),
    "regex": ("(", "[", "*", "a)", "(?"),
}
"""Texts that just fail to have it."""


def sample(name: str, choices: Choices) -> str | None:
    """A text of a format; None for a format that no draft defines."""
    texts = SAMPLES.get(name)
    return choices.pick(texts) if texts else None


def near_miss(name: str, choices: Choices) -> str | None:
    """A text that just fails to have a format; None for a format that no draft defines."""
    texts = NEAR_MISSES.get(name)
    return choices.pick(texts) if texts else None
