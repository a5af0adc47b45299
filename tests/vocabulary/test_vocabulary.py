"""What a `Vocabulary` promises whatever it was made from: ends of sequence, identity, immutability, pickling."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.errors import VocabularyError
from constrain.vocabulary import Vocabulary

from . import tokenizers_by_hand as by_hand


def test_ends_of_sequence_of_all_sources_together() -> None:
    transformers = pytest.importorskip("transformers")
    backend = by_hand.byte_level()
    backend.add_special_tokens(["<eos>", "<eot>"])
    end, eos, eot = (backend.token_to_id(t) for t in ("<|end|>", "<eos>", "<eot>"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>")

    def ids(**arguments: Any) -> tuple[int, ...]:
        return Vocabulary.from_tokenizer(tokenizer, cache=False, **arguments).eos_token_ids

    assert ids() == (eos,)
    assert ids(eos_token_ids=end) == tuple(sorted((end, eos)))
    config = transformers.GenerationConfig(eos_token_id=[eot, eos])
    assert ids(generation_config=config, eos_token_ids=[end, end]) == tuple(sorted((end, eos, eot)))
    assert ids(generation_config={"eos_token_id": eot}) == tuple(sorted((eos, eot)))
    assert ids(generation_config=transformers.GenerationConfig(eos_token_id=None)) == (eos,)
    assert ids(eos_token_ids=np.array([end], dtype=np.int64)) == tuple(sorted((end, eos)))


def test_no_end_of_sequence_is_refused() -> None:
    with pytest.raises(VocabularyError, match="eos_token_ids") as caught:
        Vocabulary.from_tokenizer(by_hand.byte_level(), cache=False)
    assert caught.value.check == "eos"
    with pytest.raises(VocabularyError):
        Vocabulary.from_tokenizer(by_hand.tiktoken_encoding(special={"<|tool|>": 305}), cache=False)


@pytest.mark.parametrize("wrong", [-1, 10**6, True, "0", 1.5, [0, 10**6], [None, "x"]])
def test_wrong_end_of_sequence_is_refused(wrong: Any) -> None:
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_tokenizer(by_hand.byte_level(), eos_token_ids=wrong, cache=False)
    assert caught.value.check == "eos"
    with pytest.raises(VocabularyError):
        Vocabulary.from_tokens([b"a", b"b"], eos_token_ids=wrong)


def test_end_of_sequence_ids_have_no_bytes() -> None:
    # An ordinary token may be a stop id: emitting it ends the text, so no grammar over bytes may use it.
    tokenizer = by_hand.byte_level()
    newline = tokenizer.token_to_id("Ċ")
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=[0, newline], cache=False)
    assert vocabulary.token_bytes[newline] is None
    assert newline not in vocabulary.trie.token_ids


def test_special_ids_of_the_transformers_tokenizer_are_special() -> None:
    transformers = pytest.importorskip("transformers")
    backend = by_hand.byte_level()
    pad = backend.token_to_id("Z")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>", pad_token="Z")
    vocabulary = Vocabulary.from_tokenizer(tokenizer, cache=False)
    assert vocabulary.token_bytes[pad] is None
    assert vocabulary.special_tokens == {"<|end|>": backend.token_to_id("<|end|>"), "Z": pad}


def test_from_tokens() -> None:
    tokens = [b"a", None, b"", b"abc", b"a", b"<s>", b"</s>"]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_ids=6, special_tokens={"<s>": 5})
    assert vocabulary.token_bytes == (b"a", None, None, b"abc", b"a", None, None)
    assert (vocabulary.size, len(vocabulary), vocabulary.bitmask_words, vocabulary.longest) == (7, 7, 1, 3)
    assert vocabulary.eos_token_ids == (6,)
    assert vocabulary.special_tokens == {"<s>": 5}
    assert vocabulary.trie.token_ids.tolist() == [0, 4, 3]
    assert Vocabulary.from_tokens([b"x"] * 33).bitmask_words == 2
    assert Vocabulary.from_tokens([]).size == 0


@pytest.mark.parametrize("tokens", [["a"], [b"a", 3], [bytearray(b"a")]])
def test_tokens_must_be_bytes(tokens: Any) -> None:
    with pytest.raises(VocabularyError, match="not bytes"):
        Vocabulary.from_tokens(tokens)


@pytest.mark.parametrize("token_id", [-1, 2])
def test_special_token_outside_is_refused(token_id: int) -> None:
    with pytest.raises(VocabularyError, match="outside"):
        Vocabulary.from_tokens([b"a", b"b"], special_tokens={"<s>": token_id})


def test_identity_is_content() -> None:
    tokens = [b"a", b"b", None, b"\xff"]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_ids=2)
    same = Vocabulary.from_tokens(list(tokens), eos_token_ids=[2, 2])
    assert vocabulary == same
    assert hash(vocabulary) == hash(same)
    others = [
        Vocabulary.from_tokens(tokens),
        Vocabulary.from_tokens(tokens, eos_token_ids=2, special_tokens={"<e>": 2}),
        Vocabulary.from_tokens([*tokens, None], eos_token_ids=2),
        Vocabulary.from_tokens([b"b", b"a", None, b"\xff"], eos_token_ids=2),
        Vocabulary.from_tokens([b"ab", None, None, b"\xff"], eos_token_ids=2),
    ]
    assert len({vocabulary, same, *others}) == 6


@given(st.lists(st.one_of(st.none(), st.binary(max_size=4)), min_size=1, max_size=40), st.data())
@settings(max_examples=50, deadline=None)
def test_pickle(tokens: list[bytes | None], data: st.DataObject) -> None:
    eos = data.draw(st.sets(st.integers(0, len(tokens) - 1)))
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_ids=eos)
    copied = pickle.loads(pickle.dumps(vocabulary))
    assert copied == vocabulary
    for name in ("token_bytes", "size", "eos_token_ids", "special_tokens", "longest", "bitmask_words"):
        assert getattr(copied, name) == getattr(vocabulary, name)
    for name, other in vocabulary.trie._asdict().items():
        mine = getattr(copied.trie, name)
        assert np.array_equal(mine, other)
        assert mine.dtype == other.dtype
        assert not mine.flags.writeable
    assert copy.deepcopy(vocabulary) is vocabulary


def test_immutable() -> None:
    vocabulary: Any = Vocabulary.from_tokens([b"a"])
    with pytest.raises(AttributeError):
        vocabulary.size = 3
    with pytest.raises(AttributeError):
        del vocabulary.trie
    with pytest.raises(TypeError):
        vocabulary.special_tokens["x"] = 0
    with pytest.raises(TypeError):
        Vocabulary()


def test_tokenizer_libraries_are_not_imported() -> None:
    code = (
        "import sys; from constrain.vocabulary import Vocabulary; Vocabulary.from_tokens([b'a']);"
        "print([m for m in ('torch', 'transformers', 'tokenizers', 'mistral_common', 'tiktoken', 'sentencepiece')"
        " if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_but_the_tokenizers_own_tables_is_asked() -> None:
    """`decode` must never be a source of bytes."""
    backend = by_hand.byte_level()

    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("decode was called")

    wrapper = SimpleNamespace(
        to_str=backend.to_str,
        get_added_tokens_decoder=backend.get_added_tokens_decoder,
        encode=backend.encode,
        normalizer=backend.normalizer,
        decode=forbidden,
        decode_batch=forbidden,
    )
    expected = Vocabulary.from_tokenizer(backend, eos_token_ids=0, cache=False)
    assert Vocabulary.from_tokenizer(wrapper, eos_token_ids=0, cache=False) == expected
