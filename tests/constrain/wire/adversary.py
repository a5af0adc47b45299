"""A model that wants something else than it may, as a scoring function over the tokens of a small vocabulary."""

import contextlib
import random
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from constrain import Tool, ToolCall, ToolChoice, tool_calls
from constrain.grammars.tool_formats import FORMATS
from constrain.tools.problems import RenderError
from constrain.tools.render import render_calls, render_message
from tests.constrain.wire.wire_vocabularies import close, cut, spelled, vocabulary_of

GET = Tool(
    "get",
    parameters={
        "type": "object",
        "properties": {"n": {"type": "integer"}, "ratio": {"type": "number", "minimum": -1.5}},
        "required": ["n"],
    },
)
GET_X = Tool(
    "get_x",
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1},
            "tags": {"type": "array", "items": {"enum": ["a", "ab", "b"]}, "minItems": 1, "uniqueItems": True},
            "either": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^[a-c]+$"}, {"type": "integer"}]},
        },
        "required": ["text", "tags"],
    },
)
CLOCK = Tool(
    "clock",
    parameters={
        "type": "object",
        "properties": {"at": {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}},
        "additionalProperties": {"type": ["integer", "string"]},
    },
)
TOOLS = [GET, GET_X, CLOCK]
CHOICES = {
    "none": ToolChoice("none"),
    "auto": ToolChoice("auto"),
    "auto, one": ToolChoice("auto", parallel=False),
    "auto, two": ToolChoice("auto", parallel=2),
    "required": ToolChoice("required"),
    "required, one": ToolChoice("required", parallel=False),
    "required, two": ToolChoice("required", parallel=2),
    "named": ToolChoice("named", ("get",)),
    "named, prefixed": ToolChoice("named", ("get_x",), parallel=False),
    "subset": ToolChoice("auto", ("get_x", "clock")),
    "subset, required": ToolChoice("required", ("get", "clock"), parallel=2),
}
_SAID = {
    "get": {"n": 5},
    "get_x": {"text": "hi", "tags": ["a"]},
    "clock": {"at": {"zone": "CET"}},
    "evil": {"n": 5, "rm": "-rf"},
}


@dataclass
class Wish:
    """What a model would write: a text, token by token, as soon as the next of them may come; and tokens it likes."""

    script: list[int] = field(default_factory=list)
    liked: np.ndarray | None = None  # by token, whether it is liked

    def choose(self, mask: np.ndarray, rng: random.Random) -> int:
        if self.script and mask[self.script[0]]:
            return self.script.pop(0)
        if self.liked is not None and rng.random() < 0.95:
            open_ = np.flatnonzero(mask & self.liked)
            if open_.size:
                return int(open_[rng.randrange(open_.size)])
        open_ = np.flatnonzero(mask)
        return int(open_[rng.randrange(open_.size)])


def wish(compiled, rng):
    """One of the wishes that could lead out of a format."""
    name = compiled.grammar.format.name
    kind = rng.randrange(9)
    vocabulary = compiled.vocabulary
    if kind == 0:  # prose
        return Wish(liked=_of(vocabulary, b"abcdefghijklmnopqrstuvwxyz .,"))
    if kind == 1:  # blanks
        return Wish(liked=_of(vocabulary, b" \t\n\r" if rng.random() < 0.5 else b"\t"))
    if kind == 2:  # an end
        liked = np.zeros(vocabulary.size, dtype=bool)
        liked[[*compiled.end_token_ids, *compiled.stop_token_ids]] = True
        return Wish(liked=liked)
    if kind == 3:  # a number without an end
        return Wish(script=_written(compiled, name, ["get"], rng), liked=_of(vocabulary, b"0123456789"))
    if kind == 4:  # markers, whole and in pieces
        markers = list(FORMATS[name].forbidden)
        text = "".join(rng.choice(markers) + rng.choice(["", " ", "\n"]) for _ in range(5)) if markers else "{}"
        return Wish(script=cut(compiled, text, rng) if rng.random() < 0.5 else list(text.encode()))
    if kind == 5:  # nesting
        return Wish(liked=_of(vocabulary, b'[{"\\'))
    if kind == 6:  # something at random
        return Wish()
    tools = [rng.choice([*_SAID]) for _ in range(rng.randint(1, 4))]
    return Wish(script=_written(compiled, name, tools, rng), liked=_of(vocabulary, b'"}])>\n'))


@lru_cache(maxsize=64)
def _of(vocabulary, wanted):
    texts = vocabulary.token_bytes
    return np.array([bool(text) and all(byte in wanted for byte in text) for text in texts], dtype=bool)


def _written(compiled, name, tools, rng):
    """The tokens of calls of some tools, whether they may be called or not, after some text."""
    text = _said(name, tuple(tools), rng.choice(["", "Sure. ", " \n"]))
    return cut(compiled, text, rng) if rng.random() < 0.7 else list(text.encode())


@lru_cache(maxsize=4096)
def _said(name, tools, before):
    known = [*TOOLS, Tool("evil", parameters={"type": "object", "additionalProperties": True})]
    calls = [ToolCall(None, tool, _SAID[tool]) for tool in tools]
    most = FORMATS[name].most_calls
    text = "".join(render_calls(name, calls[i : i + (most or 9)], known) for i in range(0, len(calls), most or 9))
    with contextlib.suppress(RenderError):
        text = render_message(name, (), text=before) + text
    return text


@dataclass(frozen=True)
class Attack:
    """One message that was written under a grammar against the wish of its model; `ended` or cut off."""

    ids: list[int]
    ended: bool
    text: str


def attack(compiled, rng, ways=None):
    """Let a model with one wish after another write, then end its message in a short way, or cut it off."""
    matcher, ids = compiled.matcher(), []
    size = compiled.vocabulary.size
    bitmask = np.zeros((1, compiled.bitmask_words), dtype=np.int32)
    wished, until = wish(compiled, rng), rng.randint(4, 60)
    for step in range(int(3 + 107 * rng.random() ** 2)):
        if matcher.is_terminated:
            break
        if step == until:
            wished, until = wish(compiled, rng), step + rng.randint(4, 60)
        matcher.fill_next_token_bitmask(bitmask)
        mask = np.unpackbits(bitmask.view(np.uint8), count=size, bitorder="little").view(bool)
        assert mask.any(), f"a dead end after {spelled(compiled.vocabulary, ids)!r}"
        token = wished.choose(mask, rng)
        assert matcher.accept_token(token), "a token that the mask allows was refused"
        ids.append(token)
    ended = matcher.is_terminated or rng.random() < 0.6
    if ended and not matcher.is_terminated:
        ids += close(matcher, ways=ways)
    return Attack(ids, ended, spelled(compiled.vocabulary, ids))


def grammar_under_attack(name, kind, choice):
    return tool_calls(TOOLS, format=name, tool_choice=CHOICES[choice]).compile(vocabulary_of(name, kind))
