"""What formats say of themselves: none claims a template that no test holds it against."""

from pathlib import Path

from constrain.grammars.tool_formats import FORMATS

HELD = {"qwen3", "smollm2", "deepseek_v3", "mistral_v3", "mistral_v11", "mistral_v13"}
TESTS = Path(__file__).resolve().parents[1] / "constrain"


def test_the_formats_that_tests_hold_against_a_template():
    assert {name for name, format in FORMATS.items() if format.verified} == HELD
    sources = "".join(
        (TESTS / place).read_text() for place in ("tools/test_wire_templates.py", "wire/test_wire_real.py")
    )
    for family in ("qwen3s_template", "smollm2s_template", "deepseek_v3s_template", "mistrals_encoders"):
        assert family in sources


def test_the_table_says_so(capsys):
    from constrain.cli import formats

    formats.run()
    out = capsys.readouterr().out
    assert all(name in out for name in FORMATS)
    assert "unverified" in out
