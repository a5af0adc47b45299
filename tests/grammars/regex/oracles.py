"""Independent answers to "does this pattern match?", and texts to ask about.

Three engines: Python's `re` for patterns written twice, jsonschema-rs, and an ECMAScript engine where one is installed.
"""

from __future__ import annotations

import json
import lzma
import random
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import jsonschema_rs
import numpy as np
from hypothesis import strategies as st

from constrain.grammars.languages.base import TextLanguage

NODE = shutil.which("node")
CORPUS = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "maskbench-dev.jsonl.xz"

SPACES = "\\t\\n\\x0b\\f\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
# ECMA-262 on the left, Python with re.ASCII on the right.
_ATOMS = [
    *((c, c) for c in "abc-_é😀"),
    ("[ab]", "[ab]"),
    ("[^a]", "[^a]"),
    ("[^\\d_]", "[^\\d_]"),
    ("[a-cé-\\u{1F600}]", "[a-cé-\U0001f600]"),
    ("\\d", "\\d"),
    ("\\w", "\\w"),
    ("\\W", "\\W"),
    ("\\s", f"[{SPACES}]"),
    ("\\S", f"[^{SPACES}]"),
    ("[\\S\\d]", f"[^{SPACES}]"),
    (".", "[^\\n\\r\\u2028\\u2029]"),
    ("[]", "(?!)"),
    ("[^]", "[\\s\\S]"),
    ("\\-", "\\-"),
    ("\\n", "\\n"),
]
_CONDITIONS = [("^", "\\A"), ("$", "\\Z"), ("\\b", "\\b"), ("\\B", "\\B")]
_COUNTS = ["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "{1,2}?"]
ALPHABET = "ab-_ \n\ré\u2028😀0"

Pair = tuple[str, str]


def patterns(conditions: bool, looks: bool = False) -> st.SearchStrategy[Pair]:
    """Pairs of one pattern as ECMA-262 and as Python write it.

    Python's is for the lookbehinds that it allows, which are those of one width.
    """
    leaves = st.sampled_from(_ATOMS + (_CONDITIONS if conditions else []))

    def extend(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
        several = st.lists(inner, min_size=0, max_size=4)
        lookarounds = st.tuples(st.sampled_from(["?=", "?!", "?<=", "?<!"]), inner)
        return st.one_of(
            *([lookarounds.map(lambda kp: (f"({kp[0]}{kp[1][0]})", f"({kp[0]}{kp[1][1]})"))] * (2 * looks)),
            several.map(lambda ps: ("".join(p[0] for p in ps), "".join(p[1] for p in ps))),
            st.lists(inner, min_size=1, max_size=3).map(
                lambda ps: (f"({'|'.join(p[0] for p in ps)})", f"(?:{'|'.join(p[1] for p in ps)})")
            ),
            st.tuples(inner, st.sampled_from(_COUNTS)).map(
                lambda pc: (f"(?:{pc[0][0]}){pc[1]}", f"(?:{pc[0][1]}){pc[1]}")
            ),
        )

    return st.recursive(leaves, extend, max_leaves=8)


def python_finds(pattern: str, text: str, whole: bool = False) -> bool:
    """Python's `re`, for a pattern in its own syntax."""
    compiled = re.compile(pattern, re.ASCII)
    return (compiled.fullmatch(text) if whole else compiled.search(text)) is not None


@lru_cache(maxsize=4096)
def _validator(pattern: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"type": "string", "pattern": pattern})


def rust_finds(pattern: str, text: str) -> bool:
    """jsonschema-rs; raises `jsonschema_rs.ValidationError` for a pattern it refuses."""
    return bool(_validator(pattern).is_valid(text))


def node_finds(cases: list[tuple[str, list[str]]]) -> list[list[bool] | None]:
    """An ECMAScript engine, with the `u` flag where it allows the pattern, else without.

    It interprets: V8's compiler gets lookaheads in loops wrong, as in `^(?:(?=[^])a)+(?:(?<!\\w).|b)-$` on "aab-" (seen
    in 11.3, with `--no-regexp-tier-up`). And it is asked at each character: by itself V8 also searches within those
    that are two units of UTF-16, and finds `\\B` there, which the standard's steps from one to the next do not.

    None where it refuses both, and where it backtracks for more than half a second.
    """
    assert NODE is not None
    script = """
    const vm = require('vm'), context = vm.createContext({regex: null, texts: null}), out = [];
    const asked = new vm.Script(`texts.map(text => {
      for (let at = 0; at <= text.length; at += regex.unicode && text.codePointAt(at) > 0xFFFF ? 2 : 1) {
        regex.lastIndex = at;
        if (regex.test(text)) return true;
      }
      return false;
    })`);
    const cases = JSON.parse(require('fs').readFileSync(0));
    for (const [pattern, texts] of cases) {
      let regex = null;
      for (const flags of ['uy', 'y']) { try { regex = new RegExp(pattern, flags); break; } catch (error) {} }
      context.regex = regex; context.texts = texts;
      try { out.push(regex && asked.runInContext(context, {timeout: 500})); } catch (error) { out.push(null); }
    }
    console.log(JSON.stringify(out));
    """
    done = subprocess.run(
        [NODE, "--regexp-interpret-all", "-e", script],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    answers: list[list[bool] | None] = json.loads(done.stdout)
    return answers


def corpus_patterns() -> list[str]:
    """The distinct values of `pattern` and keys of `patternProperties` in the corpus, in order of appearance."""
    found: dict[str, None] = {}

    def walk(value: object) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("pattern"), str):
                found[value["pattern"]] = None
            if isinstance(value.get("patternProperties"), dict):
                found.update(dict.fromkeys(value["patternProperties"]))
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    with lzma.open(CORPUS, "rt", encoding="utf-8") as lines:
        for line in lines:
            walk(json.loads(line)["schema"])
    return list(found)


def texts_near(language: TextLanguage, rng: random.Random, count: int) -> list[str]:
    """Texts that are mostly words of `language`, or one edit away from one."""
    out = ["", "a", "0", "\n"]
    for _ in range(count):
        state, text = language.start, bytearray()
        goal = rng.randrange(1, 50)
        while state and not (language.accepting(state) and len(text) >= goal):
            row = language.row(state)
            if len(text) < goal:
                choices = np.flatnonzero(row)
                plain = choices[(choices >= 32) & (choices < 127)]
                if len(plain) and rng.random() < 0.7:
                    choices = plain
            else:
                nearest = language.shortest(state) - 1
                choices = [b for b in np.flatnonzero(row) if language.shortest(int(row[b])) == nearest]
            if not len(choices):
                break
            byte = int(rng.choice(choices))
            text.append(byte)
            state = int(row[byte])
        if state == 0:
            continue
        word = text.decode()
        out.append(word)
        if word:
            at = rng.randrange(len(word))
            other = rng.choice([*"aA0_- .\n\r\u2028é٥\ufeff😀/$", rng.choice(word)])
            out.append(
                rng.choice(
                    [word[:at] + word[at + 1 :], word[:at] + other + word[at:], word[:at] + other + word[at + 1 :]]
                )
            )
    return out
