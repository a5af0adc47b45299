"""The constraint as a logits processor for Hugging Face `generate`.

`generate` tells a processor nothing but the rows so far and their scores. It reorders rows between steps (beam search),
goes back to shorter prefixes (assisted decoding), lets a draft model call the same processor in between, and goes on
calling with rows that ended long ago. So nothing is kept per row: a row's state is looked up by its grammar and by its
tokens after the prompt (`constrain.prefixes`), and the only thing remembered is where the prompt ends.

What a row gets:

- live: scores bit for bit as they came where the grammar allows the token, -inf elsewhere. Where other processors left
  no allowed token, the allowed ones get 0: the grammar wins, with one warning.
- over (the grammar ended, or refused a token: padding after a stop string, a rejected draft, a beam without a legal
  continuation): finite and hugely negative everywhere, so that softmax stays defined and the row loses to every live
  beam. The end-of-sequence ids are the least negative, so that a loop that does not know that the row is over ends it.

This module needs torch. It works without transformers, in any loop that calls it with whole rows.
"""

from __future__ import annotations

import math
import sys
import threading
import warnings
import weakref
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from constrain.engine.batch import fill_next_token_bitmasks
from constrain.engine.bitmask import apply_on_host
from constrain.engine.device_rows import device_rows_of
from constrain.engine.matcher import Matcher
from constrain.errors import (
    GenerationError,
    LogitsWidthError,
    NoAllowedTokenError,
    ProcessorReuseError,
    TokenBudgetError,
)
from constrain.kernels.apply import LEAVE, any_allowed
from constrain.kernels.apply import over as over_code
from constrain.kernels.device import bits_of, over_bits
from constrain.mass_recorder import Ended, MassRecorder, RecordedRows
from constrain.prefixes import TOKEN_BYTES, PrefixState, PrefixStates

if TYPE_CHECKING:
    from constrain.engine import CompiledGrammar
    from constrain.mass import MassRecord
    from constrain.vocabulary import Vocabulary


_MOST_BEYOND = 100
"""One token of text in so many may lie beyond the logits: tokenizers get some tokens more, and heads stay as they were.
The model cannot write those, and the rest are its own."""

_MOST_PADDING = 4096
"""Logits beyond the vocabulary that padding explains: heads are padded by a few thousand at most."""


class _Usage:
    """Whether a processor was ever called. Kept apart from it, to be asked when the processor is gone."""

    def __init__(self) -> None:
        self.called = False

    def warn_if_unused(self) -> None:
        if not self.called:
            _warn(
                "a ConstrainedLogitsProcessor was dropped without ever being called: a generation it was passed to ran "
                "WITHOUT its constraint (paged and continuous-batching generation ignore logits processors)"
            )


class ConstrainedLogitsProcessor:
    """Masks every token that cannot continue the grammar. Pass it to `generate` as `logits_processor=[processor]`.

    Works with greedy search, sampling, `num_return_sequences`, beam search, assisted decoding, prompt lookup, batches
    of left-padded prompts and encoder-decoder models, on any device. `scores` itself is never written to.

    One object can serve one `generate` call after another: a new prompt is recognised, and where that cannot be done
    safely `ProcessorReuseError` asks for a new object or `reset()`. It serves one call at a time.

    Paged generation (`cache_implementation="paged"`, `generate_batch`) never calls logits processors and says nothing.
    It cannot be constrained this way: `completed` then raises, and a processor never called warns when it is dropped.

    Args:
        compiled: one compiled grammar for all prompts, or one per prompt, all for the same vocabulary. The rows that
            `generate` makes of one prompt (beams, return sequences) share its grammar.
        prompt_length: number of leading columns of `input_ids` that are not output. By default the width of the first
            call; give it where the prompt already ends with a beginning of the output. Good for one `generate` call.
        record_mass: keep at every step how much of the model's probability the mask left, for `records`. With True a
            call on the CPU only keeps its scores (8 MiB of them, and as many at a thread that sums them while the model
            computes). So `scores` must not be changed in place after the call; where they were, the step has no mass,
            with a warning. Views, memory shared with numpy and tensors of inference mode are summed within the call,
            and with "at once" everything is: on one core some 35 microseconds a row of 131,072.
        max_new_tokens: the tokens that may be generated, as given to `generate`. When few are left, only those stay
            allowed after which the output can be completed in time, so `completed` holds for every row. An
            end-of-sequence id is not counted: it may be what no token was left for. Without it masks know no limit.
            The limit of `generate` stays its own: if that is smaller outputs are cut off at it in the midst of values,
            `completed` is False for them, and says so with a RuntimeWarning.

    Raises:
        TypeError: a grammar is not compiled.
        ValueError: no grammar, grammars for different vocabularies, or (when called) a batch that is no multiple of
            the number of grammars.
        NoAllowedTokenError: when called: a live row has no allowed token that the model can emit, or the beginning of
            the output is refused.
        LogitsWidthError: when called: the width of the logits changed, and no draft model explains it; or more than a
            hundredth of the vocabulary's tokens of text lie beyond it, so that the vocabulary is another model's. Of
            one far smaller than the width a RuntimeWarning says the same.
        ProcessorReuseError: when called: rows that neither continue this generation nor clearly start another.
        TokenBudgetError: when called: no completion is known that `max_new_tokens` are enough for.

    Example:
        >>> processor = ConstrainedLogitsProcessor(compiled)  # doctest: +SKIP
        >>> output = model.generate(**inputs, logits_processor=[processor], max_new_tokens=200)  # doctest: +SKIP
        >>> processor.completed(output)  # doctest: +SKIP
        [True]
    """

    supports_continuous_batching = False
    """Read by transformers: it warns and leaves the processor out, where it would call it without the whole rows."""

    def __init__(
        self,
        compiled: CompiledGrammar | Sequence[CompiledGrammar],
        *,
        prompt_length: int | None = None,
        record_mass: bool | Literal["at once"] = False,
        max_new_tokens: int | None = None,
    ) -> None:
        grammars: list[CompiledGrammar] = list(compiled) if isinstance(compiled, Sequence) else [compiled]
        if not grammars:
            raise ValueError("at least one compiled grammar is needed")
        if not all(hasattr(g, "matcher") for g in grammars):
            raise TypeError("a compiled grammar is needed: grammar.compile(vocabulary)")
        if prompt_length is not None and prompt_length < 0:
            raise ValueError(f"prompt_length must not be negative, got {prompt_length}")
        if record_mass not in (False, True, "at once"):
            raise ValueError(f"record_mass is False, True or 'at once', not {record_mass!r}")
        if max_new_tokens is not None and max_new_tokens < 0:
            raise ValueError(f"max_new_tokens must not be negative, got {max_new_tokens}")
        vocabulary = grammars[0].vocabulary
        if any(g.vocabulary is not vocabulary and g.vocabulary != vocabulary for g in grammars):
            raise ValueError("all compiled grammars must be for the same vocabulary")
        self._vocabulary = vocabulary
        self._vocabulary_size = int(vocabulary.size)
        self._eos_words = _packed(vocabulary.eos_token_ids, self._vocabulary_size)
        by_identity: dict[int, PrefixStates] = {}
        self._prefixes = [by_identity.setdefault(id(g), PrefixStates(g)) for g in grammars]
        self._given_prompt_length = prompt_length
        self._record_mass = record_mass is not False
        self._defers_mass = record_mass is True
        self._max_new_tokens = max_new_tokens
        self._lock = threading.Lock()
        self._usage = _Usage()
        self._warned_of_width = False
        weakref.finalize(self, self._usage.warn_if_unused)
        self._forget()

    def reset(self) -> None:
        """Forget the generation seen so far; the next call is taken for the first of a new one."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        self._prompt: torch.Tensor | None = None  # (rows, prompt length), a copy
        self._logits_width = -1
        self._end = 0  # tokens of output, those given in advance included, that max_new_tokens leads to
        self._end_of_generate: int | None = None  # those that generate itself writes at most, where it is known
        self._started = False  # whether a mask was made since the prompt is known
        self._seen: set[int] = set()  # hashes of the outputs met so far
        self._emptied: torch.Tensor | None = None  # int32, shape (): a row was emptied; not read from its device yet
        self._warned = False
        self._recorder: MassRecorder | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Mask the tokens that the grammar does not allow next.

        Args:
            input_ids: prompts and outputs so far, integer, shape (rows, length). Rows may change order between calls.
            scores: scores of the next token, floating point, shape (rows, width of the model's logits).

        Returns:
            A new tensor of the shape, dtype and device of `scores`; `scores` itself for a draft model's call that is
            about another vocabulary.
        """
        self._usage.called = True
        if input_ids.dim() != 2 or scores.dim() != 2 or input_ids.shape[0] != scores.shape[0]:
            raise ValueError(
                "expected input_ids of shape (rows, length) and scores of shape (rows, width), got "
                f"{tuple(input_ids.shape)} and {tuple(scores.shape)} (continuous batching is not supported)"
            )
        with self._lock:
            keys = self._outputs(input_ids, scores.shape[1])
            if keys is None:
                return scores
            states = self._states(keys)
            masked, words, over = self._masked(states, scores)
            if self._recorder is not None and not _inside_candidate_generator():  # a draft's scores are not the model's
                self._note_mass(RecordedRows(0, len(keys), keys, over), scores, masked, words)
            return masked

    def completed(self, sequences: torch.Tensor) -> list[bool]:
        """Whether each row's output is complete under the grammar, rather than cut off.

        An output is cut off by `max_new_tokens`, a stop string or a time limit. It ends where the grammar ends it, or
        before the first token the grammar refuses (such as padding). Where `generate` cut it off before the processor's
        own `max_new_tokens`, a RuntimeWarning names both numbers.

        Args:
            sequences: what the last `generate` call returned, prompts included: integer, shape (rows, length).

        Raises:
            GenerationError: the processor was not called, so the generation ran without its constraint.
        """
        with self._lock:
            ends = self._ends(sequences)
            self._warn_of_smaller_limit(ends)
            return [end.completed for end in ends]

    def records(self, sequences: torch.Tensor, *, labels: Sequence[str] | None = None) -> list[MassRecord]:
        """The mass that the masks kept, step by step, of each row of what the last `generate` call returned.

        Needs `record_mass=True`. The mass is that of the scores as they reach this processor, a softmax over all of
        them taken in float32. In `generate` that is after penalties, `bad_words_ids` and other processors that stand
        before it in the list, and before temperature, top-k and top-p: tokens that others had set to minus infinity
        count as having no probability, and the p that is measured is the model's own renormalised without them.

        The weights exp(log_weight) = p / q are those of sampling from that p under the mask: `do_sample=True` at
        temperature 1 without top-p, top-k and their like (transformers takes the best 50 where nothing else is said:
        pass `top_k=0`). Outputs of other ways to decode have masses too, but they are no draws from q, and
        `constrain.distortion.summarize` would take them for such.

        Args:
            sequences: prompts and outputs, integer, shape (rows, length).
            labels: names of the prompts to keep instead of digests of their ids (which know padding as part of a
                prompt): one per row, or one per prompt with the rows of each next to each other.

        Returns:
            One record per row. Tokens given in advance by `prompt_length` count 0: they were not drawn.

        Raises:
            GenerationError: no masses were recorded, or the processor was not called.
            ValueError: the rows do not begin with prompts of the last call, or labels do not fit.
        """
        with self._lock:
            ends = self._ends(sequences)
            if self._recorder is None:
                raise GenerationError("no masses were recorded: make the processor with record_mass=True")
            grammars = [self._grammar_of(row, len(ends)) for row in range(len(ends))]
            return self._recorder.records(
                sequences, ends, grammars, getattr(self._vocabulary, "token_bytes", None), labels
            )

    def _note_mass(
        self, rows: RecordedRows, scores: torch.Tensor, masked: torch.Tensor, words: NDArray[np.int32]
    ) -> None:
        assert self._recorder is not None
        if _on_host(scores):
            self._recorder.note_on_host(rows, scores, words)
        else:
            self._recorder.note(rows, scores, masked)

    def _warn_of_smaller_limit(self, ends: list[Ended]) -> None:
        """Warn where outputs go on to the last token that `generate` may write, and were to be completed after it."""
        limit = self._end_of_generate
        if limit is None or limit >= self._end or self._max_new_tokens is None:
            return
        for row, end in enumerate(ends):
            if not end.completed and len(end.key) == limit * TOKEN_BYTES:
                _warn(
                    f"row {row} is cut off: generate was to write {self._max_new_tokens - (self._end - limit)} tokens "
                    f"at most, and the processor was given max_new_tokens={self._max_new_tokens}; give both the same "
                    "number, so that outputs are completed in time"
                )
                return

    def _ends(self, sequences: torch.Tensor) -> list[Ended]:
        if self._prompt is None:
            raise GenerationError("the processor was not called: the generation ran without its constraint")
        if self._emptied is not None and bool(self._emptied):
            self._warn_emptied()
        outputs = sequences[:, self._prompt.shape[1] :].to("cpu", torch.int32).contiguous().numpy()
        keys = [row.tobytes() for row in outputs]
        ends = self._states(keys)
        keys = [key[: end.accepted * TOKEN_BYTES] for key, end in zip(keys, ends, strict=True)]
        states = self._states(keys)
        return [
            Ended(key, state.matcher is None or bool(state.matcher.is_accepting), end.status != "ended")
            for key, state, end in zip(keys, states, ends, strict=True)
        ]

    # For a loop that knows which row is which, and may write tokens without asking (`constrain.jump`).

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the grammars."""
        return self._prefixes[0].compiled.vocabulary

    def begin(self, input_ids: torch.Tensor, width: int = -1) -> list[bytes]:
        """Take rows for the prompts of a new generation: integer, shape (rows, length).

        A loop that will hand no scores over says their `width` here, for it to be checked.

        Returns the outputs that they begin with (empty unless `prompt_length` was given), as keys of prefixes: token
        ids, int32, in the machine's byte order. In this form the loop hands outputs back.
        """
        self._usage.called = True
        with self._lock:
            self._bind(input_ids, width)
            assert self._prompt is not None
            outputs = input_ids[:, self._prompt.shape[1] :].to("cpu", torch.int32).contiguous().numpy()
            return [row.tobytes() for row in outputs]

    def mask_row(self, output: bytes, row: int, rows: int, scores: torch.Tensor) -> torch.Tensor:
        """As `__call__`, for the row of number `row` of `rows`: `scores` has shape (1, width)."""
        with self._lock:
            self._take_width(scores.shape[1])
            state = self._state_of_row(output, row, rows)
            masked, words, over = self._masked([state], scores)
            if self._recorder is not None:
                self._note_mass(RecordedRows(row, rows, [output], over), scores, masked, words)
            return masked

    def grammar_of_row(self, row: int, rows: int) -> CompiledGrammar:
        """The compiled grammar of the row of number `row` of `rows`."""
        self._check_rows(rows)
        return self._prefixes[self._grammar_of(row, rows)].compiled

    def forced_after(self, output: bytes, row: int, rows: int) -> list[int]:
        """The tokens that must follow a row's output; none where too few would be left to complete it after them."""
        with self._lock:
            state = self._state_of_row(output, row, rows)
            if state.matcher is None:
                return []
            tokens = state.matcher.forced_tokens()
            left = self._left(row, state)
            if left is not None and tokens:
                after = state.matcher.fork()
                if all(map(after.accept_token, tokens)):
                    needed = after.tokens_to_end
                    if needed is None or needed > left - len(tokens):
                        return []
            return tokens

    def _state_of_row(self, output: bytes, row: int, rows: int) -> PrefixState:
        return self._prefixes[self._grammar_of(row, rows)].state(output, 4 * rows + 64)

    # Which rows are these?

    def _outputs(self, input_ids: torch.Tensor, width: int) -> list[bytes] | None:
        """The rows' tokens after the prompt, as keys of prefixes; None for a call to be passed through."""
        if width != self._logits_width and _inside_candidate_generator():
            return None  # maybe another tokenizer; what the model's own width is, its own first call tells
        if self._prompt is None:
            self._bind(input_ids, width)
        self._take_width(width)
        assert self._prompt is not None
        self._prompt = self._prompt.to(input_ids.device)
        rows, length = self._prompt.shape
        if input_ids.shape[0] != rows or input_ids.shape[1] < length:
            return None if _inside_candidate_generator() else self._bind_again(input_ids, width)
        same_prompt, output = self._read(input_ids, length)
        if not same_prompt:
            return None if _inside_candidate_generator() else self._bind_again(input_ids, width)
        keys = [row.tobytes() for row in output]
        if self._started and keys[0] and not self._seen.issuperset(self._marks([k[:-TOKEN_BYTES] for k in keys])):
            # In one generation, a row less its last token is always a row that was there before.
            if _inside_candidate_generator():
                return None
            raise ProcessorReuseError(
                "these rows begin with the prompt of an earlier generate call, but do not continue its output: make a "
                "new processor for each call, or call reset() between them"
            )
        self._seen.update(self._marks(keys))
        return keys

    def _take_width(self, width: int) -> None:
        """Bind the width of the logits where it is not bound yet, as after `begin`; it stays the same from then on."""
        if width == self._logits_width:
            return
        if self._logits_width >= 0:
            raise LogitsWidthError(
                f"logits of width {width} came after logits of width {self._logits_width}: a processor serves one "
                "model; make a new one, or call reset()"
            )
        self._check_width(width)
        self._logits_width = width

    def _check_width(self, width: int) -> None:
        """Whether the vocabulary may be that of a model with so many logits."""
        size = self._vocabulary_size
        way_out = "compile the grammar for Vocabulary.from_tokenizer(tokenizer) of this model's tokenizer"
        trie = getattr(self._vocabulary, "trie", None)  # matchers of others may have a vocabulary without
        if width < size and trie is not None:
            beyond = int(np.count_nonzero(trie.token_ids >= width))
            if beyond * _MOST_BEYOND > trie.token_ids.size:
                raise LogitsWidthError(
                    f"the vocabulary has {size:,} ids and the model {width:,} logits: {beyond:,} tokens of text lie "
                    f"beyond them, so it is the vocabulary of another model; {way_out}"
                )
        if width >= 2 * size and width - size > _MOST_PADDING and not self._warned_of_width:
            self._warned_of_width = True
            _warn(
                f"the vocabulary has {size:,} ids and the model {width:,} logits, more than padding explains: it seems "
                f"to be the vocabulary of another model, by which the output is spelled in the wrong ids; {way_out}"
            )

    def _read(self, input_ids: torch.Tensor, length: int) -> tuple[bool, NDArray[np.int32]]:
        """Whether the first `length` columns are the prompts, and the columns after them."""
        assert self._prompt is not None
        if _on_host(input_ids):
            host = input_ids.numpy()
            return np.array_equal(host[:, :length], self._prompt.numpy()), host[:, length:].astype(np.int32)
        # All that the host has to know comes in one transfer: each one waits for the device.
        same = (input_ids[:, :length] == self._prompt).all().to(torch.int32)
        emptied = torch.zeros_like(same) if self._emptied is None else self._emptied.to(same.device)
        output = input_ids[:, length:].to(torch.int32)
        packed = torch.cat([torch.stack([same, emptied]), output.flatten()]).cpu().numpy()
        self._emptied = None
        if packed[1]:
            self._warn_emptied()
        return bool(packed[0]), packed[2:].reshape(output.shape)

    def _marks(self, keys: list[bytes]) -> list[int]:
        return [hash((self._grammar_of(row, len(keys)), key)) for row, key in enumerate(keys)]

    def _bind(self, input_ids: torch.Tensor, width: int) -> None:
        """Take the rows for those of a generation's first call."""
        columns = input_ids.shape[1]
        length = columns if self._given_prompt_length is None else self._given_prompt_length
        if length > columns:
            raise ValueError(f"prompt_length is {length}, but the first call has only {columns} columns")
        self._check_rows(input_ids.shape[0])
        if width >= 0:
            self._check_width(width)
        if self._recorder is not None:
            self._defers_mass = self._recorder.defers
        self._forget()
        self._prompt, self._logits_width = input_ids[:, :length].clone(), width
        if self._record_mass:
            self._recorder = MassRecorder(
                self._prompt, columns - length, grammars=len(self._prefixes), defer=self._defers_mass
            )
        if self._max_new_tokens is not None:
            self._end = columns - length + self._max_new_tokens
            limit = getattr(local_of_generate("generation_config"), "max_length", None)
            self._end_of_generate = limit - length if isinstance(limit, int) else None

    def _bind_again(self, input_ids: torch.Tensor, width: int) -> list[bytes]:
        """Take the rows for the prompts of another `generate` call, unless they may be something else."""
        assert self._prompt is not None
        (rows, columns), (bound_rows, length) = input_ids.shape, self._prompt.shape
        doubt = ""
        if self._given_prompt_length is not None:
            doubt = "the rows have another prompt, and prompt_length was given for one generate call"
        elif columns == 1 < length:
            doubt = "the rows hold one token: at every step the processor must be given the prompt and the whole output"
        elif rows != bound_rows and columns >= length:
            begins = (input_ids[:, None, :length] == self._prompt[None]).all(dim=2)
            if bool(begins.any()):
                doubt = f"the batch changed from {bound_rows} to {rows} rows, and the prompts did not"
        if doubt:
            raise ProcessorReuseError(f"{doubt}; make a new processor for each generate call, or call reset()")
        self._bind(input_ids, width)
        keys = [b""] * rows
        self._seen.update(self._marks(keys))
        return keys

    def _check_rows(self, rows: int) -> None:
        if rows == 0 or rows % len(self._prefixes):
            raise ValueError(f"{rows} rows cannot be shared out among {len(self._prefixes)} grammars, one per prompt")

    def _grammar_of(self, row: int, rows: int) -> int:
        return row * len(self._prefixes) // rows

    # What do they get?

    def _states(self, keys: list[bytes]) -> list[PrefixState]:
        rows = len(keys)
        self._check_rows(rows)
        capacity = 4 * rows + 64  # this step and the one before, twice over, and the positions of a draft
        return [self._prefixes[self._grammar_of(row, rows)].state(key, capacity) for row, key in enumerate(keys)]

    def _masked(
        self, states: list[PrefixState], scores: torch.Tensor
    ) -> tuple[torch.Tensor, NDArray[np.int32], NDArray[np.bool_]]:
        """The masked scores, the packed masks (rows, words), and which rows are over (rows,)."""
        rows, width = scores.shape
        words = np.empty((rows, -(-self._vocabulary_size // 32)), dtype=np.int32)
        live, left = [], []
        for row, state in enumerate(states):
            room = self._left(row, state)
            if state.matcher is not None and (room is None or room > 0 or state.matcher.is_accepting):
                live.append(row)
                left.append(room)
            elif not self._started and state.status == "dead":
                raise NoAllowedTokenError(row, f"token {state.accepted} of the output given in advance is refused")
            else:  # a live row without room is a draft that will be rejected
                words[row] = self._eos_words
        matchers = [matcher for row in live if (matcher := states[row].matcher) is not None]
        if all(isinstance(matcher, Matcher) for matcher in matchers):
            fill_next_token_bitmasks(matchers, words, live, max_tokens=left)
        else:  # whatever has a matcher's methods
            for matcher, row, room in zip(matchers, live, left, strict=True):
                limit = {} if room is None else {"max_tokens": room}
                matcher.fill_next_token_bitmask(words, row, **limit)
        over = np.ones(rows, dtype=np.bool_)
        over[live] = False
        stuck = np.empty(rows, dtype=np.bool_)
        any_allowed(words, width, stuck)
        stuck = ~stuck & ~over
        if stuck.any():
            reason = "no token continues the output"
            if width < self._vocabulary_size:
                reason += f" among the model's {width} logits; the vocabulary has {self._vocabulary_size} tokens"
            raise NoAllowedTokenError(int(stuck.argmax()), reason)
        self._started = True

        masked = torch.empty(scores.shape, dtype=scores.dtype, device=scores.device)
        if not _on_host(scores):
            table = device_rows_of(self._vocabulary, scores.device)
            self._emptied = table.apply(scores, words, over, out=masked)  # read at the next call, with the tokens
            return masked, words, over
        numbers = np.arange(rows, dtype=np.int32)
        found = np.empty(rows, dtype=np.uint8)
        codes = np.where(over, over_code(numbers), numbers)
        apply_on_host(scores, words, codes, masked, over=over_bits(scores.dtype), found=found)
        if not found.all():
            self._warn_emptied()
            codes = np.where(found, np.int32(LEAVE), over_code(numbers))
            apply_on_host(masked, words, codes, masked, over=(0, bits_of(-math.inf, scores.dtype)))
        return masked, words, over

    def _left(self, row: int, state: PrefixState) -> int | None:
        """Tokens that a live row may still get; None for any number."""
        if self._max_new_tokens is None or state.matcher is None:
            return None
        left = self._end - state.accepted
        if not self._started:
            needed = state.matcher.tokens_to_end
            if needed is None or needed > left:
                raise TokenBudgetError(row, left, needed)
        return left

    def _warn_emptied(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                "other logits processors (min_new_tokens, suppress_tokens, bad_words_ids, no_repeat_ngram_size, …) "
                "left no token that the grammar allows; the grammar was followed, and all allowed tokens scored alike",
                RuntimeWarning,
                stacklevel=4,
            )


def _warn(message: str) -> None:
    """Warn of what befell this very processor.

    Python's default filter shows a warning once for each place, by what the module at that place remembers: the second
    processor would go wrong in silence. So nothing is remembered; what filters say holds all the same.
    """
    frame = sys._getframe(1)
    warnings.warn_explicit(message, RuntimeWarning, frame.f_code.co_filename, frame.f_lineno, module=__name__)


def _on_host(tensor: torch.Tensor) -> bool:
    return tensor.device.type == "cpu"


def local_of_generate(name: str) -> Any:
    """What a local variable of the `generate` that runs now holds, such as an argument of it; None where none runs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "generate" and frame.f_globals.get("__name__") == "transformers.generation.utils":
            return frame.f_locals.get(name)
        frame = frame.f_back
    return None


def _inside_candidate_generator() -> bool:
    """Whether the call comes from transformers' draft models, which may have other tokens, widths and prompts.

    They pass the main model's processors on and leave no other trace. Asked only where a call does not fit the
    generation at hand; everywhere else such a call is an error.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith("candidate_generator.py"):
            return True
        frame = frame.f_back
    return False


def _packed(token_ids: Iterable[int], size: int) -> NDArray[np.int32]:
    """One row of a bitmask that allows these tokens."""
    bits = np.zeros(-(-size // 32) * 32, dtype=np.uint8)
    bits[[i for i in token_ids if 0 <= i < size]] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)
