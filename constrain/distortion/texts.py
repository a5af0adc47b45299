"""All texts of a finite grammar, and the language of a tokenizer's own encodings of them.

One text has very many tokenisations: `{"unit":"celsius"}` has tens of thousands in a vocabulary of 49,152 tokens, and a
whole tool call more than any computer counts one by one. So a language that is finite as texts is often endless in
practice as token sequences. What a tokenizer itself would write is one sequence a text, and that language can be
exhausted. It is another target than all tokenisations, and another mask: figures on it are about what is said, not
about how it is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from constrain.distortion.dfa_language import DFALanguage, finite_language
from constrain.distortion.matcher_language import MatcherLanguage


def texts(grammar: Any, *, limit: int = 20_000) -> list[bytes]:
    """Every text of a `Grammar`, the shortest first.

    Args:
        grammar: such as `constrain.json_schema` gives.
        limit: most texts, and most beginnings of one length.

    Raises ValueError when there are more, as there are where a string, a number or white space is free.
    """
    from constrain.vocabulary import Vocabulary

    end = 256
    vocabulary = Vocabulary.from_tokens([*(bytes([b]) for b in range(end)), None], eos_token_ids=[end])
    language = MatcherLanguage.of(grammar.compile(vocabulary))
    found: list[bytes] = []
    level: list[tuple[bytes, Any]] = [(b"", language.start())]
    while level:
        following: list[tuple[bytes, Any]] = []
        for text, state in level:
            for token in language.allowed(state).tolist():
                if token == end:
                    found.append(text)
                else:
                    following.append((text + bytes([token]), language.advance(state, token)))
            if len(found) + len(following) > limit:
                raise ValueError(
                    f"the grammar has more than {limit:,} texts; only a finite set can be listed, such as enumerations "
                    'with whitespace "none" or "spaced" and escapes "plain"'
                )
        level = following
    return found


def canonical_language(
    grammar: Any,
    encode: Callable[[str], Sequence[int]],
    *,
    eos_token_ids: int | Sequence[int],
    token_bytes: Sequence[bytes | None],
    limit: int = 20_000,
) -> DFALanguage:
    """The language of a tokenizer's own encodings of a finite grammar's texts.

    Args:
        grammar: as for `texts`.
        encode: text to ids, nothing added before or after.
        eos_token_ids: ids that end a sequence.
        token_bytes: bytes by token id, such as `Vocabulary.token_bytes`.
        limit: most texts.

    Raises ValueError for more texts, or an encoding that does not spell its text.
    """
    sequences = []
    for text in texts(grammar, limit=limit):
        ids = [int(t) for t in encode(text.decode("utf-8"))]
        if b"".join(token_bytes[t] or b"" for t in ids) != text:
            raise ValueError(f"the tokenizer's encoding {ids} does not spell {text!r}")
        sequences.append(ids)
    return finite_language(sequences, eos_token_ids, tokens=[b if b is not None else b"" for b in token_bytes])
