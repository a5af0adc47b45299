"""The engine: grammars, their automata over a vocabulary, and matchers."""

from constrain.engine.batch import accept_tokens, fill_next_token_bitmasks
from constrain.engine.bitmask import allocate_token_bitmask, apply_token_bitmask
from constrain.engine.compiled import CompiledGrammar
from constrain.engine.grammar import Grammar, Narrowing, json_schema, regex
from constrain.engine.matcher import Matcher
from constrain.engine.matcher_batch import MatcherBatch
from constrain.engine.warm_up import warm_up

__all__ = [
    "CompiledGrammar",
    "Grammar",
    "Matcher",
    "MatcherBatch",
    "Narrowing",
    "accept_tokens",
    "allocate_token_bitmask",
    "apply_token_bitmask",
    "fill_next_token_bitmasks",
    "json_schema",
    "regex",
    "warm_up",
]
