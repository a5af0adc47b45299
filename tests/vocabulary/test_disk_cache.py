"""Tables on disk: the same as built afresh, whatever happened to the files, and with many processes at once."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from constrain.vocabulary import Vocabulary, disk_cache, self_check

from . import tokenizers_by_hand as by_hand


def files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and "vocabulary" in p.parts)


def arrays_of(vocabulary: Vocabulary) -> list[Any]:
    return list(vocabulary.trie)


def same(a: Vocabulary, b: Vocabulary) -> bool:
    return (
        a == b
        and (a.token_bytes, a.special_tokens, a.longest) == (b.token_bytes, b.special_tokens, b.longest)
        and all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(*map(arrays_of, (a, b)), strict=True))
    )


def test_loaded_is_built(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = by_hand.space_marked_bpe()
    built = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=2, cache=False)
    assert not files(cache_folder)
    assert same(Vocabulary.from_tokenizer(tokenizer, eos_token_ids=2), built)
    assert len(files(cache_folder)) == 1

    def forbidden(*_: Any) -> None:
        raise AssertionError("not taken from the disk")

    monkeypatch.setattr(self_check, "check", forbidden)
    loaded = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=2)
    assert same(loaded, built)
    assert not any(array.flags.writeable for array in loaded.trie)


def test_every_change_has_its_own_tables(cache_folder: Path) -> None:
    tokenizer = by_hand.byte_level()
    first = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
    two = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=[0, 1])
    tokenizer.add_tokens(["<tool_call>"])
    added = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
    tokenizer.add_special_tokens(["<pad>"])
    special = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
    assert (two.eos_token_ids, added.size, special.size) == ((0, 1), first.size + 1, first.size + 2)
    assert len({first, two, added, special}) == len(files(cache_folder)) == 4


def test_from_tokens_can_be_kept(cache_folder: Path) -> None:
    tokens = [b"a", None, b"ab", b"\xff", b""]
    plain = Vocabulary.from_tokens(tokens, eos_token_ids=1)
    assert files(cache_folder) == []
    for _ in range(2):
        assert same(Vocabulary.from_tokens(tokens, eos_token_ids=1, cache=True), plain)
        assert len(files(cache_folder)) == 1


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) * 2 // 3] ^= 0x10
    path.write_bytes(data)


def other_release(path: Path) -> None:
    """A sound file for the same key, from other code, with a table that would be wrong today."""
    key = path.stem
    meta: dict[str, Any] = {"eos": [2], "special": {}, "fingerprint": "0"}
    assert disk_cache.store("vocabulary", key, "another release", meta, {"text": np.zeros(3, np.uint8)})


def other_key(path: Path) -> None:
    """A sound file under the wrong name."""
    meta: dict[str, Any] = {"eos": [2], "special": {}, "fingerprint": "0"}
    assert disk_cache.store("vocabulary", "00", "", meta, {"text": np.zeros(3, np.uint8)})
    os.replace(path.parent / "00.table", path)


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        flip,
        other_release,
        other_key,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"constrain table 1\n" + b"\xff" * 200),
        lambda path: path.write_text("something else entirely"),
    ],
    ids=["cut", "flipped bit", "other release", "other key", "empty", "nonsense", "text"],
)
def test_damaged_files_are_replaced(cache_folder: Path, damage: Callable[[Path], Any]) -> None:
    tokenizer = by_hand.space_marked_bpe()
    built = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=2)
    (path,) = files(cache_folder)
    sound = path.read_bytes()
    damage(path)
    assert path.read_bytes() != sound
    assert same(Vocabulary.from_tokenizer(tokenizer, eos_token_ids=2), built)
    assert path.read_bytes() == sound


def test_every_cut_is_noticed(cache_folder: Path) -> None:
    meta = {"a": 1}
    arrays: disk_cache.Arrays = {"x": np.arange(5, dtype=np.int32), "y": np.zeros(0, np.uint8), "z": np.eye(2)}
    assert disk_cache.store("kind", "0a", "s", meta, arrays)
    path = cache_folder / "kind" / "0a.table"
    whole = path.read_bytes()
    found = disk_cache.load("kind", "0a", "s")
    assert found is not None
    assert found[0] == meta
    for name, array in arrays.items():
        assert np.array_equal(found[1][name], array)
        assert found[1][name].dtype == array.dtype
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert disk_cache.load("kind", "0a", "s") is None


@pytest.mark.parametrize("obstacle", ["a file", "under a file", "a folder in place of the table"])
def test_no_place_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obstacle: str) -> None:
    tokenizer = by_hand.byte_level()
    built = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False)
    place = tmp_path / "cache"
    if obstacle == "a folder in place of the table":
        monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(place))
        Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
        (table,) = files(place)
        table.unlink()
        (table / "x").mkdir(parents=True)
    else:
        place.write_text("")
        monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(place / "below" if obstacle == "under a file" else place))
    for _ in range(2):
        assert same(Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0), built)
    assert not [p for p in files(tmp_path) if p.suffix == ".tmp"]


def test_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = by_hand.byte_level()
    monkeypatch.delenv("CONSTRAIN_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path / "own"))
    Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
    places = [p.relative_to(tmp_path).parts[:-1] for p in files(tmp_path)]
    assert places == [
        ("home", ".cache", "constrain", "vocabulary"),
        ("own", "vocabulary"),
        ("xdg", "constrain", "vocabulary"),
    ]


def _load_one(serialised: str, start: Any, results: Any) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(serialised)
    start.wait()
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
    results.put((vocabulary.token_bytes, vocabulary.trie.end.tobytes()))


def test_many_processes_at_once(cache_folder: Path) -> None:
    """Also exercises numba's own files, which are in the same empty folder (numba issue 4807: crashes)."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    tokenizer = by_hand.byte_level()
    workers = [context.Process(target=_load_one, args=(tokenizer.to_str(), start, results)) for _ in range(3)]
    for worker in workers:
        worker.start()
    start.set()
    answers = {results.get(timeout=120) for _ in workers}
    for worker in workers:
        worker.join(timeout=60)
    assert [worker.exitcode for worker in workers] == [0] * len(workers)
    expected = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0, cache=False)
    assert answers == {(expected.token_bytes, expected.trie.end.tobytes())}
    assert len(files(cache_folder)) == 1
    assert not list(cache_folder.rglob("*.tmp*"))


@pytest.mark.usefixtures("cache_folder")
def test_second_load_of_131k_tokens_is_quick() -> None:
    path = by_hand.mistral_data("tekken_240911.json")
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    tokenizer = Tekkenizer.from_file(path)
    first = Vocabulary.from_tokenizer(tokenizer)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        again = Vocabulary.from_tokenizer(tokenizer)
        times.append(time.perf_counter() - start)
    assert again == first
    assert min(times) < 0.3
