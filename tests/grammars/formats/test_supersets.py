"""What a negated format leaves: texts that certainly do not have the format are never excluded by its narrowings."""

import pytest

from constrain.grammars.formats import format_superset


@pytest.mark.parametrize("name", ["email", "idn-email"])
@pytest.mark.parametrize(
    "text", ["", "@y", ".@y", "a.@y", ".a@y", "a..b@y", "a@", "a b@y", "(a)@y", "c@.", "c@a..b", "c@.b"]
)
def test_what_is_no_mailbox_is_outside(name, text):
    language = format_superset(name)
    assert language is not None
    assert not language.matches(text.encode())


@pytest.mark.parametrize("text", ["a@y", '"a b"@y', '" "@y', "a@[127.0.0.1]", "a@xn--4gbwdl.xn--wgbh1c"])
def test_what_may_be_a_mailbox_is_inside(text):
    for name in ("email", "idn-email"):
        language = format_superset(name)
        assert language is not None
        assert language.matches(text.encode())


@pytest.mark.parametrize("text", ["", ".", "a..b", ".a", "a b", "a_b"])
def test_what_is_no_host_name_is_outside(text):
    for name in ("hostname", "idn-hostname"):
        language = format_superset(name)
        assert language is not None
        assert not language.matches(text.encode())
