"""Make ahead of time what is made once in a process, with a message where someone is watching."""

from __future__ import annotations

import sys
import time

import numpy as np

_STATES = 300
"""States of a format, the nearest ones, that are made ahead: all of most formats."""


def warm_up(*, quiet: bool = False) -> float:
    """Compile all kernels, or load them from numba's cache, and make what many grammars share; returns the seconds it
    took.

    The first time on a machine takes a while, which is announced on standard error when that is a terminal. Where there
    are two cores and a folder for the kernels, a second process compiles some of them.
    """
    from constrain.engine.batch import accept_tokens, fill_next_token_bitmasks
    from constrain.engine.bitmask import apply_token_bitmask
    from constrain.engine.class_loops import class_members
    from constrain.engine.grammar import json_schema
    from constrain.engine.scanners import make_ahead
    from constrain.engine.usual_atoms import prepare
    from constrain.grammars.formats import KNOWN_FORMATS, OLD_HOSTNAME, split_format
    from constrain.kernels.ahead import compile_ahead
    from constrain.kernels.apply import any_allowed
    from constrain.kernels.share import share_out
    from constrain.vocabulary import Vocabulary

    begun = time.perf_counter()
    if not quiet and sys.stderr.isatty():
        print("constrain: preparing kernels (ten to twenty seconds, once per machine) ...", file=sys.stderr)
    share_out()
    vocabulary = Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [b'"a', b"<end>"], eos_token_ids=257)
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^[a-z]+$"}},
        "patternProperties": {"b+": True},
        "minProperties": 1,
    }
    matcher = json_schema(schema).compile(vocabulary).matcher()
    bitmask = np.zeros((1, vocabulary.bitmask_words), dtype=np.int32)
    for text in (b"", b'{"a', b'":"x'):  # before a value, in a key, in a string
        matcher.accept_bytes(text)
        matcher.fill_next_token_bitmask(bitmask)
    accept_tokens([matcher], [ord('"')])
    fill_next_token_bitmasks([matcher], bitmask)
    matcher.fill_next_token_bitmask(bitmask, max_tokens=1)
    matcher.forced_bytes()
    logits = np.zeros((1, vocabulary.size), dtype=np.float32)
    apply_token_bitmask(logits, bitmask)
    apply_token_bitmask(logits[0], bitmask[0])  # which takes the kernel for any layout
    found = np.zeros(1, dtype=np.bool_)
    any_allowed(bitmask, vocabulary.size, found)
    compile_ahead()
    prepare()
    for name in (*KNOWN_FORMATS, OLD_HOSTNAME):  # which would fall on the first tokens that get to one
        if not name.startswith("idn"):  # these take longer, and are rare
            of_format = split_format(name)
            assert of_format is not None
            make_ahead(of_format[0], _STATES)
    class_members()
    return time.perf_counter() - begun
