"""Token bytes of every tokenizer family: what a text is encoded to must add up to the text."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.grammars.errors import VocabularyError
from constrain.vocabulary import Vocabulary

from . import tokenizers_by_hand as by_hand

EOS = {"byte-level BPE": 0, "BPE with byte fallback": 2, "Unigram with byte fallback": 1}

texts = st.one_of(
    st.text(max_size=30),
    st.text(st.sampled_from('the {}[]":,.\\0123é漢字😀\n\t\r▁<>xĠ\x00\x7f'), max_size=30),
)


@cache
def family(name: str) -> tuple[Any, Vocabulary]:
    tokenizer = by_hand.FAMILIES[name]()
    return tokenizer, Vocabulary.from_tokenizer(tokenizer, eos_token_ids=EOS.get(name), cache=False)


def encode(tokenizer: Any, text: str) -> list[int]:
    if hasattr(tokenizer, "encode_ordinary"):
        return list(tokenizer.encode_ordinary(text))
    if hasattr(tokenizer, "to_str"):
        return list(tokenizer.encode(text, add_special_tokens=False).ids)
    if hasattr(tokenizer, "n_words"):
        return list(tokenizer.encode(text, bos=False, eos=False))
    return list(tokenizer.encode(text))


def joined(vocabulary: Vocabulary, ids: list[int]) -> bytes:
    parts = [vocabulary.token_bytes[i] for i in ids]
    assert None not in parts
    return b"".join(p for p in parts if p is not None)


@pytest.mark.parametrize("name", by_hand.FAMILIES)
def test_encoded_text_adds_up(name: str) -> None:
    tokenizer, vocabulary = family(name)
    exact = name in ("byte-level BPE", "tiktoken")

    @given(texts)
    @settings(max_examples=150, deadline=None)
    def check(text: str) -> None:
        # These tokenizers write spaces as `▁`, so a `▁` in the text becomes one, and put a space before the text.
        want = text if exact else " " + text.replace("▁", " ")
        # `<tool>` and `</s>` are tokens of their own, `<0xZZ>` looks like a byte: spelling them out is tested below.
        if "<tool>" in text or "</s>" in text or not text:
            return
        got = joined(vocabulary, encode(tokenizer, text)).decode()
        assert got == want or (name == "Unigram with byte fallback" and got == want[1:] and want.startswith("  "))

    check()


@pytest.mark.parametrize(
    "file",
    ["tekken_240911.json", "tekken_240718.json", "tokenizer.model.v1", "mistral_instruct_tokenizer_240323.model.v3"],
)
def test_mistral_tokenizers(file: str) -> None:
    path = by_hand.mistral_data(file)
    if "tekken" in file:
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer

        tokenizer: Any = Tekkenizer.from_file(path)
    else:
        pytest.importorskip("sentencepiece")
        from mistral_common.tokens.tokenizers.sentencepiece import SentencePieceTokenizer

        tokenizer = SentencePieceTokenizer(path)
    vocabulary = Vocabulary.from_tokenizer(tokenizer, cache=False)
    assert vocabulary.size == tokenizer.n_words
    assert vocabulary.eos_token_ids == (tokenizer.eos_id,)
    assert set(vocabulary.special_tokens.values()) >= set(tokenizer.special_ids)
    assert all(vocabulary.token_bytes[i] is None for i in vocabulary.special_tokens.values())
    single = {t for t in vocabulary.token_bytes if t is not None and len(t) == 1}
    assert len(single) == 256

    @given(texts)
    @settings(max_examples=100, deadline=None)
    def check(text: str) -> None:
        got = joined(vocabulary, encode(tokenizer, text)).decode()
        assert got == (text if "tekken" in file or not text else " " + text.replace("▁", " "))

    check()


def test_tekken_inside_mistral_tokenizer() -> None:
    by_hand.mistral_data("tekken_240911.json")
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    vocabulary = Vocabulary.from_tokenizer(MistralTokenizer.v3(is_tekken=True), cache=False)
    assert vocabulary.size == 131072
    assert vocabulary.special_tokens["[TOOL_CALLS]"] == 9
    # Byte tokens stand right after the 1000 special ones, in tiktoken's order of bytes.
    assert vocabulary.token_bytes[1000:1256] == tuple(bytes([b]) for b in range(256))


def test_mistral_common_inside_transformers() -> None:
    path = by_hand.mistral_data("tekken_240911.json")
    module = pytest.importorskip("transformers.tokenization_mistral_common")
    tokenizer = module.MistralCommonBackend(str(path))
    assert Vocabulary.from_tokenizer(tokenizer, cache=False).special_tokens["[TOOL_CALLS]"] == 9


def test_slow_sentencepiece_tokenizer_of_transformers(tmp_path: Any) -> None:
    module = pytest.importorskip("transformers.tokenization_utils_sentencepiece")
    model = by_hand.sentencepiece_model("bpe", normalization_rule_name="identity")
    file = tmp_path / "tokenizer.model"
    file.write_bytes(model.serialized_model_proto())
    tokenizer = module.SentencePieceBackend(vocab_file=str(file), eos_token="</s>", bos_token="<s>", unk_token="<unk>")
    tokenizer.add_tokens(["<call>"])
    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    vocabulary = Vocabulary.from_tokenizer(tokenizer, cache=False)
    plain = Vocabulary.from_tokenizer(model, cache=False)
    assert vocabulary.token_bytes == (*plain.token_bytes, b"<call>", None)
    assert vocabulary.special_tokens == {**plain.special_tokens, "<pad>": plain.size + 1}


def test_smollm2() -> None:
    tokenizer = by_hand.smollm2_tokenizer()
    vocabulary = Vocabulary.from_tokenizer(tokenizer, cache=False)
    assert vocabulary.size == 49152
    assert vocabulary.eos_token_ids == (tokenizer.eos_token_id,)
    assert vocabulary.special_tokens["<|im_start|>"] == 1
    spelled = {t for t in vocabulary.token_bytes if t is not None and len(t) == 1}

    @given(texts.filter(lambda text: all(bytes([b]) in spelled for b in text.encode())))
    @settings(max_examples=100, deadline=None)
    def check(text: str) -> None:
        assert joined(vocabulary, tokenizer(text, add_special_tokens=False)["input_ids"]).decode() == text

    check()


# --- byte-level ---------------------------------------------------------------------------------------------------


def test_byte_alphabet_is_gpt2s() -> None:
    tokenizer, vocabulary = family("byte-level BPE")
    for byte, character in by_hand.BYTE_CHARACTERS.items():
        assert vocabulary.token_bytes[tokenizer.token_to_id(character)] == bytes([byte])


def test_ordinary_added_tokens_are_utf8_not_byte_alphabet() -> None:
    tokenizer = by_hand.byte_level()
    tokenizer.add_tokens(["<tool_call>", "ñandú", "Ġx!", "  \t"])
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False)
    for text in ("<tool_call>", "ñandú", "Ġx!", "  \t"):
        assert vocabulary.token_bytes[tokenizer.token_to_id(text)] == text.encode()
        assert text not in vocabulary.special_tokens


def test_added_token_over_a_piece_with_another_meaning() -> None:
    # `add_tokens` reuses the id of a piece with the same text, which then stands for " the" and for "Ġthe".
    tokenizer = by_hand.byte_level()
    piece = next(piece for piece in sorted(tokenizer.get_vocab()) if piece.startswith("Ġ") and len(piece) > 2)
    shared = tokenizer.token_to_id(piece)
    plain = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False)
    assert plain.token_bytes[shared] == piece.replace("Ġ", " ").encode()
    tokenizer.add_tokens([piece])
    assert tokenizer.token_to_id(piece) == shared
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False)
    assert vocabulary.token_bytes[shared] is None
    assert sum(a != b for a, b in zip(vocabulary.token_bytes, plain.token_bytes, strict=True)) == 1


def test_added_token_over_a_byte_is_refused() -> None:
    tokenizer = by_hand.byte_level()
    tokenizer.add_tokens(["é"])  # the piece "é" writes byte E9
    with pytest.raises(VocabularyError, match="byte E9"):
        Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False)


def test_special_token_spelled_out_stays_legal() -> None:
    tokenizer = by_hand.byte_level()
    special = tokenizer.token_to_id("<|end|>")
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=special, cache=False)
    assert vocabulary.token_bytes[special] is None
    assert vocabulary.special_tokens == {"<|end|>": special}
    single = [tokenizer.token_to_id(c) for c in "<|end|>"]
    assert joined(vocabulary, single) == b"<|end|>"


def test_normalizer_is_allowed_for() -> None:
    from tokenizers import normalizers

    tokenizer = by_hand.byte_level(normalizer=normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]))
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False)
    text = "E\u0301 ABC"
    assert joined(vocabulary, encode(tokenizer, text)).decode() == unicodedata.normalize("NFC", text).lower()


def test_prefix_space_is_allowed_for() -> None:
    tokenizer = by_hand.byte_level(prefix_space=True)
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False)
    assert joined(vocabulary, encode(tokenizer, "x")) == b" x"


def test_truncation_and_padding_do_not_disturb_the_check() -> None:
    tokenizer = by_hand.byte_level()
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=64)
    plain = Vocabulary.from_tokenizer(by_hand.byte_level(), eos_token_ids=0, cache=False)
    assert Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False).token_bytes == plain.token_bytes


def test_byte_level_without_all_bytes() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    characters = [by_hand.BYTE_CHARACTERS[b] for b in b'abc \n{}":,\xc3\xa9']
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate(characters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False)
    assert b"".join(t for t in vocabulary.token_bytes if t) == b'bc \n{}":,\xc3\xa9'  # "a" is the end of sequence


# --- ▁ for spaces ---------------------------------------------------------------------------------------------------


def test_space_marker_and_byte_pieces() -> None:
    tokenizer, vocabulary = family("BPE with byte fallback")
    by_piece = {piece: vocabulary.token_bytes[i] for piece, i in tokenizer.get_vocab().items()}
    assert by_piece["▁the"] == b" the"
    assert by_piece["▁▁"] == b"  "
    assert by_piece["<0x20>"] == b" "
    assert by_piece["<0xE9>"] == b"\xe9"
    assert by_piece["<0x0A>"] == b"\n"
    assert by_piece["é"] == "é".encode()
    assert [by_piece[s] for s in ("<unk>", "<s>", "</s>")] == [None] * 3
    # Two ids with equal bytes share a node of the trie.
    twins = {tokenizer.token_to_id("a"), tokenizer.token_to_id("<0x61>")}
    trie = vocabulary.trie
    node = next(i for i in range(trie.byte.size) if trie.depth[i] == 1 and trie.byte[i] == ord("a"))
    assert set(trie.token_ids[trie.token_offset[node] : trie.token_offset[node + 1]].tolist()) == twins


def test_byte_look_alikes_are_text() -> None:
    tokenizer, vocabulary = family("Unigram with byte fallback")
    assert vocabulary.token_bytes[tokenizer.token_to_id("<0xZZ>")] == b"<0xZZ>"
    # Without ByteFallback in the decoder, `<0x41>` is six characters of text.
    from tokenizers import decoders

    tokenizer = by_hand.space_marked_bpe(byte_fallback=False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=2, cache=False)
    assert vocabulary.token_bytes[tokenizer.token_to_id("<0x41>")] == b"<0x41>"


def test_pieces_that_look_like_other_alphabets_are_text() -> None:
    tokenizer = by_hand.space_marked_bpe(extra=("Ġ", "Ċ", "\ufffd"))
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=2, cache=False)
    for piece in ("Ġ", "Ċ", "\ufffd"):
        assert vocabulary.token_bytes[tokenizer.token_to_id(piece)] == piece.encode()


def test_added_tokens_over_space_marked_pieces() -> None:
    from tokenizers import AddedToken

    tokenizer = by_hand.space_marked_bpe()
    tokenizer.add_tokens(
        [
            AddedToken("▁▁", normalized=False),  # over a piece, as Gemma does it
            AddedToken("<tool_call>", normalized=False),
            AddedToken("a b", normalized=False),
        ]
    )
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=2, cache=False)
    for text, token in (("▁▁", b"  "), ("<tool_call>", b"<tool_call>"), ("a b", b"a b")):
        assert vocabulary.token_bytes[tokenizer.token_to_id(text)] == token


def test_without_decoder_the_preparation_of_text_says_it() -> None:
    tokenizer = by_hand.byte_level()
    want = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False)
    tokenizer.decoder = None
    assert Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False) == want
    tokenizer = by_hand.space_marked_bpe()
    want = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=2, cache=False)
    tokenizer.decoder = None
    assert Vocabulary.from_tokenizer(tokenizer, eos_token_ids=2, cache=False) == want


# --- SentencePiece, tiktoken ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_sentencepiece_types_decide(kind: str) -> None:
    model = by_hand.sentencepiece_model(kind)
    vocabulary = Vocabulary.from_tokenizer(model, cache=False)
    assert vocabulary.eos_token_ids == (model.eos_id(),)
    assert vocabulary.token_bytes[model.piece_to_id("<tool>")] == b"<tool>"  # user-defined: text
    assert vocabulary.token_bytes[model.piece_to_id("<0x0A>")] == b"\n"
    assert set(vocabulary.special_tokens) == {"<unk>", "<s>", "</s>"}


@pytest.mark.parametrize(
    "options",
    [
        {"normalization_rule_name": "nmt_nfkc"},
        {"add_dummy_prefix": False},
        {"remove_extra_whitespaces": False, "normalization_rule_name": "nfkc_cf"},
        {"byte_fallback": False},
    ],
    ids=str,
)
def test_sentencepiece_options_pass_the_check(options: dict[str, Any]) -> None:
    assert Vocabulary.from_tokenizer(by_hand.sentencepiece_model("bpe", **options), cache=False).size > 100


def test_tiktoken_holes_and_specials() -> None:
    vocabulary = Vocabulary.from_tokenizer(by_hand.tiktoken_encoding(), cache=False)
    assert vocabulary.size == 306
    assert vocabulary.eos_token_ids == (300,)
    assert vocabulary.special_tokens == {"<|endoftext|>": 300, "<|tool|>": 305}
    assert vocabulary.token_bytes[260:263] == (b"th", None, b"the")
    assert vocabulary.token_bytes[300] is vocabulary.token_bytes[305] is vocabulary.token_bytes[256] is None


# --- refused --------------------------------------------------------------------------------------------------------


def word_piece() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "the": 1, "##s": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def no_alphabet() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "the": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def end_of_word_suffix() -> Any:
    from tokenizers import Tokenizer, decoders, models

    tokenizer = Tokenizer(models.BPE({"a</w>": 0, "a": 1}, [], end_of_word_suffix="</w>"))
    tokenizer.decoder = decoders.BPEDecoder()
    return tokenizer


def wrong_decoder() -> Any:
    from tokenizers import decoders

    tokenizer = by_hand.byte_level()
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def byte_level_decoder_only() -> Any:
    from tokenizers import decoders

    tokenizer = by_hand.space_marked_bpe()
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def spaces_thrown_away() -> Any:
    from tokenizers import pre_tokenizers

    tokenizer = by_hand.metaspace_unigram()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return tokenizer


@pytest.mark.parametrize(
    ("make", "check"),
    [
        (word_piece, "model"),
        (end_of_word_suffix, "model"),
        (no_alphabet, "decoder"),
        (byte_level_decoder_only, "decoder"),
        (wrong_decoder, "self-check"),
        (spaces_thrown_away, "self-check"),
        (lambda: "gpt2", "tokenizer kind"),
        (lambda: {"a": 1}, "tokenizer kind"),
        (lambda: None, "tokenizer kind"),
    ],
)
def test_refused_rather_than_guessed(make: Callable[[], Any], check: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_tokenizer(make(), eos_token_ids=0, cache=False)
    assert caught.value.check.startswith(check)
    if check == "tokenizer kind":
        assert "tokenizers.Tokenizer" in str(caught.value)


def test_misread_bytes_fail_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """One wrong entry for a byte is enough."""
    from constrain.vocabulary import piece_bytes

    tokenizer = by_hand.byte_level()
    for wrong in ("Ġ", "Ã", "Ń", "A"):
        with monkeypatch.context() as patch:
            patch.setitem(piece_bytes.BYTE_OF, wrong, 0x7E)
            with pytest.raises(VocabularyError, match="self-check"):
                Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False)
