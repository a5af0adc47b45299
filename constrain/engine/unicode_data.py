"""Unicode properties beyond those that Python knows, from the package `regex` where it is installed.

That package brings its own Unicode data: scripts, and the binary properties that ECMA-262 names. It takes names
loosely; ECMA-262 does not, so only its own spellings are asked for. What cannot be told stays refused by name.
"""

from __future__ import annotations

import re
from functools import lru_cache

_FIRST_SURROGATE, _SURROGATES = 0xD800, 0x800
_SCRIPT = re.compile(r"(?:Script|sc|Script_Extensions|scx)=[A-Z][A-Za-z]*(?:_[A-Z][a-z]*)*")
# Long name, then the short one of ECMA-262, where there is one.
_NAMES = """
Alphabetic Alpha|Bidi_Control Bidi_C|Bidi_Mirrored Bidi_M|Case_Ignorable CI|Cased
Changes_When_Casefolded CWCF|Changes_When_Casemapped CWCM|Changes_When_Lowercased CWL
Changes_When_Titlecased CWT|Changes_When_Uppercased CWU|Dash|Default_Ignorable_Code_Point DI|Deprecated Dep
Diacritic Dia|Emoji|Emoji_Component EComp|Emoji_Modifier EMod|Emoji_Modifier_Base EBase
Emoji_Presentation EPres|Extended_Pictographic ExtPict|Extender Ext|Grapheme_Base Gr_Base
Grapheme_Extend Gr_Ext|Hex_Digit Hex|IDS_Binary_Operator IDSB|IDS_Trinary_Operator IDST|ID_Continue IDC
ID_Start IDS|Ideographic Ideo|Join_Control Join_C|Logical_Order_Exception LOE|Math
Noncharacter_Code_Point NChar|Pattern_Syntax Pat_Syn|Pattern_White_Space Pat_WS|Quotation_Mark QMark|Radical
Regional_Indicator RI|Sentence_Terminal STerm|Soft_Dotted SD|Terminal_Punctuation Term
Unified_Ideograph UIdeo|Variation_Selector VS
"""
_BINARY = {name: names.split()[0] for names in _NAMES.strip().replace("\n", "|").split("|") for name in names.split()}
"""The long name by both. Short ones alone could be taken for those of blocks."""


def ranges(expression: str) -> list[tuple[int, int]] | None:
    r"""The code points of `\p{expression}`, first and last of each range, surrogates left out; None if not known."""
    if expression in _BINARY:
        return _ranges(f"{_BINARY[expression]}=Yes")
    return _ranges(expression) if _SCRIPT.fullmatch(expression) else None


@lru_cache(maxsize=64)
def _ranges(expression: str) -> list[tuple[int, int]] | None:
    try:
        import regex

        found = [m.span() for m in regex.finditer(rf"\p{{{expression}}}+", _every_character())]
    except ImportError:
        return None
    except regex.error:  # not a name that its data has
        return None
    out = []
    for first, stop in found:
        if first < _FIRST_SURROGATE < stop:
            out += [(first, _FIRST_SURROGATE - 1), (_FIRST_SURROGATE + _SURROGATES, stop - 1 + _SURROGATES)]
        else:
            shift = _SURROGATES if first >= _FIRST_SURROGATE else 0
            out.append((first + shift, stop - 1 + shift))
    return out


@lru_cache(maxsize=1)
def _every_character() -> str:
    return "".join(map(chr, [*range(_FIRST_SURROGATE), *range(_FIRST_SURROGATE + _SURROGATES, 0x110000)]))
