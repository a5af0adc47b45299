"""`warm_up`: what is made once in a process is made by it, and not in the middle of the first text that needs it."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import sys
from numba.core.dispatcher import Dispatcher
import constrain
from constrain.grammars import formats

constrain.warm_up(quiet=True)

def made():
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("constrain.")]
    kernels = {id(k): k for m in modules for k in list(vars(m).values()) if isinstance(k, Dispatcher)}
    return {(k.__name__, len(k.overloads)) for k in kernels.values()} | set(formats._languages)

before = made()
vocabulary = constrain.Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [None], eos_token_ids=256)
value = {"type": ["string", "null"]}
closed = [{"type": "object", "properties": {name: value}, "additionalProperties": False} for name in "ab"]
differing = {"type": "array", "items": {"type": ["string", "number"]}, "uniqueItems": True}
named = {"type": "object", "patternProperties": {"^x": {"type": "integer"}, "y$": {"format": "email"}}}
for schema, text in (
    ({"anyOf": closed}, b'{"b":null}'),
    (differing, b'["a",1,"b"]'),
    (named, b'{"x1":1,"zy":"a@b.c","q":[{}]}'),
    ({"type": "string", "format": "date-time"}, b'"2020-02-02T'),
):
    matcher = constrain.json_schema(schema).compile(vocabulary).matcher()
    words = __import__("numpy").zeros(vocabulary.bitmask_words, dtype="int32")
    for byte in text:
        matcher.fill_next_token_bitmask(words)
        assert matcher.accept_token(byte), (schema, text, byte)
assert made() <= before, made() - before
"""


def test_nothing_is_loaded_or_made_after_it_that_all_grammars_share() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
