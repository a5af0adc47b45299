"""JSON texts of a value: member orders, whitespace, escapes, forms of numbers.

Only spellings that every grammar with the default whitespace promises to take are written, so a refusal is a fault;
except for exponents, which are written on request: under bounds and in enumerations a grammar may take a part of them
only (`Grammar.narrowings` says which).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from constrain.testing.choices import Choices
from constrain.testing.json_values import exact, is_number, plain_number

_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_MUST_ESCAPE = frozenset('"\\') | {chr(c) for c in range(32)}


@dataclass(frozen=True)
class Style:
    """How a text is written.

    Attributes:
        whitespace: "none"; "spaces", as `json.dumps` writes; "indented"; "any" mixes all that the bounds allow.
        escapes: "few", only where JSON demands it; "ascii", all of other scripts; "any" mixes all forms.
        numbers: "plain"; "zeros" adds zeros after the point; "exponents" adds exponents too.
        reorder: whether members come in any order.
    """

    whitespace: str = "none"
    escapes: str = "few"
    numbers: str = "plain"
    reorder: bool = False


def random_style(choices: Choices, *, whitespace: bool = True, zeros: bool = True, exponents: bool = False) -> Style:
    """A style within what is asked for."""
    numbers = ["plain"] + ["zeros"] * zeros + ["exponents"] * exponents
    return Style(
        choices.pick(("none", "spaces", "indented", "any")) if whitespace else "none",
        choices.pick(("few", "ascii", "any")),
        choices.pick(numbers),
        choices.chance(0.5),
    )


def spell(value: Any, choices: Choices, style: Style) -> str:
    """A JSON text of `value` in a style. The value must be spellable: no infinities, no lone surrogates."""
    out: list[str] = []
    _Writer(choices, style, out).write(value, 0)
    return "".join(out)


class _Writer:
    def __init__(self, choices: Choices, style: Style, out: list[str]) -> None:
        self._choices, self._style, self._out = choices, style, out
        self._unit = choices.pick((" ", "  ", "    ", "\t", "        ")) if style.whitespace == "indented" else ""

    def write(self, value: Any, level: int) -> None:
        if level == 0 and self._style.whitespace == "any":
            self._out.append(self._choices.pick(("", " ", "\n")))
        if isinstance(value, str):
            self._string(value)
        elif is_number(value):
            self._out.append(self._number(value))
        elif isinstance(value, dict):
            names = list(value)
            if self._style.reorder:
                names = self._choices.shuffled(names)
            self._container("{}", [(name, value[name]) for name in names], level)
        elif isinstance(value, list):
            self._container("[]", [(None, item) for item in value], level)
        else:
            self._out.append({None: "null", True: "true", False: "false"}[value])

    def _container(self, brackets: str, parts: list[tuple[str | None, Any]], level: int) -> None:
        out = self._out
        out.append(brackets[0])
        for number, (name, part) in enumerate(parts):
            if number:
                out.append(self._gap("before comma", level) + ",")
            out.append(self._gap("after comma" if number else "after bracket", level + 1))
            if name is not None:
                self._string(name)
                out.append(self._gap("before colon", level + 1) + ":" + self._gap("after colon", level + 1))
            self.write(part, level + 1)
        out.append(self._gap("before bracket" if parts else "empty", level))
        out.append(brackets[1])

    def _gap(self, place: str, level: int) -> str:
        style = self._style.whitespace
        if style == "none":
            return ""
        if style == "spaces":
            return " " if place in ("after comma", "after colon") else ""
        if style == "indented":
            if place in ("after bracket", "after comma", "before bracket"):
                return "\n" + self._unit * level
            return " " if place == "after colon" else ""
        choices = self._choices
        kind = choices.integer(0, 4)
        if kind < 2:
            return ""
        if kind < 4:
            return " "
        blanks = choices.integer(0, 8 * max(1, level))
        return choices.pick(("\n", "\r\n")) + choices.pick((" ", "\t")) * blanks

    def _string(self, text: str) -> None:
        self._out.append('"' + "".join(map(self._character, text)) + '"')

    def _character(self, char: str) -> str:
        style, choices = self._style.escapes, self._choices
        free = char not in _MUST_ESCAPE
        if free and (style == "few" or (style == "ascii" and char < "\x7f")):
            return char
        if style != "any":
            short = _SHORT_ESCAPES.get(char)
            return short if short and not free else self._unicode(char, upper=False)
        forms = [char] * (2 * free) + [self._unicode(char, upper=choices.chance(0.5))]
        if char in _SHORT_ESCAPES:
            forms.append(_SHORT_ESCAPES[char])
        return choices.pick(forms)

    @staticmethod
    def _unicode(char: str, *, upper: bool) -> str:
        data = char.encode("utf-16-be")
        units = [data[at : at + 2].hex() for at in range(0, len(data), 2)]
        return "".join("\\u" + (unit.upper() if upper else unit) for unit in units)

    def _number(self, value: Any) -> str:
        text = plain_number(value)
        style, choices = self._style.numbers, self._choices
        if style == "exponents" and choices.chance(0.6):
            return self._with_exponent(value, text)
        if style != "plain" and choices.chance(0.6):
            text += "" if "." in text else "."
            text += "0" * choices.integer(1, 3)
        return text

    def _with_exponent(self, value: Any, text: str) -> str:
        """The number with one digit before the point and an exponent: 1 is 1e0, 250 is 2.5e2, 0.5 is 5e-1."""
        choices = self._choices
        mark = choices.pick(("e", "E", "e+", "E+"))
        if exact(value) == 0:
            return f"{text}{mark}{choices.integer(0, 3)}"
        sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
        whole, _, fraction = digits.partition(".")
        significant = (whole + fraction).lstrip("0")
        exponent = len(whole.lstrip("0")) - 1 if whole != "0" else -(len(fraction) - len(fraction.lstrip("0"))) - 1
        mantissa, rest = significant[0], significant[1:].rstrip("0")
        if exponent < 0:
            mark = mark[0]
        return sign + mantissa + ("." + rest if rest else "") + f"{mark}{exponent}"
