"""A Hugging Face causal model after a prompt.

Prefixes of a batch are read as one tree (`prefix_tree`): what they share is computed once and kept. Where a network
does not take that, rows are computed in batches of equal length, so that padding never enters, on top of the prompt's
keys and values. Rows are kept up to a number of bytes: estimators come back to the same prefixes. The log-softmax is
taken in float32 over the full width of the head. Which distribution is measured is a choice that changes every number:
p before the warpers (temperature, top-p, ...) by default, or after those passed in.
"""

from __future__ import annotations

import copy
import inspect
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from constrain.distortion.model import Prefix
from constrain.distortion.numerics import Floats
from constrain.distortion.prefix_tree import PrefixTree, supports

_TREE_TOLERANCE = {"torch.float32": 0.01, "torch.float64": 1e-6}
"""Nats by which the likely tokens may differ from a plain pass; coarser types may by half a nat."""


class HFModel:
    """Next-token log-probabilities of a transformers model, given a prompt.

    Args:
        model: a `PreTrainedModel` with a language-model head, in evaluation mode.
        prompt: token ids of the prompt, at least one.
        warpers: transformers `LogitsWarper`/`LogitsProcessor` objects applied to the scores in this order, or none.
        batch_size: rows of one forward pass.
        cache_bytes: bound on the rows kept, and again on the keys and values kept.
        share_prefixes: read a batch as one tree. None: where the network takes it, which is checked on the first batch.

    Attributes:
        description: says before or after which warpers the probabilities are.
        forward_passes: rows computed by the network, not answered from the cache.

    Raises ValueError for an empty prompt.
    """

    def __init__(
        self,
        model: Any,
        prompt: Sequence[int],
        *,
        warpers: Sequence[Any] = (),
        batch_size: int = 32,
        cache_bytes: int = 1 << 28,
        share_prefixes: bool | None = None,
    ) -> None:
        self._prompt = [int(t) for t in prompt]
        if not self._prompt:
            raise ValueError("the prompt has no tokens")
        self._model, self._warpers, self._batch_size = model, list(warpers), batch_size
        self.width = int(model.get_output_embeddings().weight.shape[0])
        names = ", ".join(type(w).__name__ for w in self._warpers)
        self.description = f"{type(model).__name__}, float32 log-softmax, " + (
            f"after {names}" if names else "before any warper"
        )
        self.forward_passes = 0
        self._rows: OrderedDict[Prefix, np.ndarray] = OrderedDict()
        self._capacity = max(batch_size, cache_bytes // (4 * self.width))
        self._past: Any = None
        accepted = inspect.signature(model.forward).parameters
        # transformers renamed the argument in the 5.2x series.
        self._past_name = "cache" if "cache" in accepted else "past_key_values"
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        shared = supports(model) if share_prefixes is None else share_prefixes
        self._tree = PrefixTree(model, self._prompt, self._past_name, cache_bytes) if shared else None
        self._tree_is_checked = share_prefixes is not None

    @property
    def shares_prefixes(self) -> bool:
        """Whether batches are read as trees."""
        return self._tree is not None

    def context(self, prefix: Prefix) -> Hashable | None:  # noqa: ARG002
        """None: the network reads all of it."""
        return None

    def log_probs(self, prefixes: Sequence[Prefix]) -> Floats:
        """float64 (from float32), shape (len(prefixes), width)."""
        found: dict[Prefix, np.ndarray] = {}
        groups: dict[int, list[Prefix]] = {}
        for prefix in dict.fromkeys(prefixes):
            row = self._rows.get(prefix)
            if row is None:
                groups.setdefault(0 if self._tree is not None else len(prefix), []).append(prefix)
            else:
                self._rows.move_to_end(prefix)
                found[prefix] = row
        for group in groups.values():
            for i in range(0, len(group), self._batch_size):
                part = group[i : i + self._batch_size]
                for prefix, row in zip(part, self._compute_any(part), strict=True):
                    found[prefix] = self._rows[prefix] = row
        while len(self._rows) > self._capacity:
            self._rows.popitem(last=False)
        return np.stack([found[prefix] for prefix in prefixes]).astype(np.float64)

    def rescoring_spread(self, sequences: Sequence[Prefix]) -> float:
        """The largest difference, in nats, of a sequence's log-probability between batches of one and full batches.

        Networks in low precision give slightly different rows for different batch shapes; no figure is better than
        that. Each sequence costs two rows a token, not taken from the cache.
        """
        steps = list(dict.fromkeys((y[:i], y[i]) for y in sequences for i in range(len(y))))
        prefixes = sorted(dict.fromkeys(prefix for prefix, _ in steps), key=len)
        differences: dict[tuple[Prefix, int], float] = {}
        for i in range(0, len(prefixes), self._batch_size):
            part = prefixes[i : i + self._batch_size]
            together = dict(zip(part, self._compute_any(part), strict=True))
            alone = {prefix: self._compute([prefix])[0] for prefix in part}
            for prefix, token in steps:
                if prefix in together:
                    differences[prefix, token] = float(alone[prefix][token]) - float(together[prefix][token])
        return max((abs(sum(differences[y[:i], y[i]] for i in range(len(y)))) for y in sequences), default=0.0)

    def _compute_any(self, prefixes: Sequence[Prefix]) -> np.ndarray:
        """float32 rows of distinct prefixes, as a tree where that is possible."""
        if self._tree is not None:
            rows = self._compute_tree(prefixes)
            if rows is not None:
                return rows
        rows = np.empty((len(prefixes), self.width), dtype=np.float32)
        lengths = np.array([len(prefix) for prefix in prefixes])
        for length in np.unique(lengths):
            where = np.flatnonzero(lengths == length)
            rows[where] = self._compute([prefixes[i] for i in where])
        return rows

    def _compute_tree(self, prefixes: Sequence[Prefix]) -> np.ndarray | None:
        """The same in one pass; None, now and from then on, where the network proves not to take it."""
        import torch

        assert self._tree is not None
        try:
            with torch.inference_mode():
                rows = self._finished(prefixes, self._tree.logits(prefixes))
        except (TypeError, ValueError, RuntimeError):
            if self._tree_is_checked:
                raise
            self._tree = None
            return None
        self.forward_passes += len(prefixes)
        longest = max(range(len(prefixes)), key=lambda i: len(prefixes[i]))
        if not self._tree_is_checked and prefixes[longest]:
            plain = self._compute([prefixes[longest]])[0]
            self.forward_passes -= 1
            likely = plain > plain.max() - 10.0
            tolerance = _TREE_TOLERANCE.get(str(self._model.get_input_embeddings().weight.dtype), 0.5)
            if not np.abs(rows[longest][likely] - plain[likely]).max() < tolerance:
                self._tree = None
                self._rows.clear()
                return None
            self._tree_is_checked = len(prefixes[longest]) > 1  # only then has it attended to an ancestor
        return rows

    def _finished(self, prefixes: Sequence[Prefix], logits: Any) -> np.ndarray:
        """Warped and normalised."""
        import torch

        scores = logits.float()
        if self._warpers:
            rows = []
            for prefix, score in zip(prefixes, scores, strict=True):
                ids = torch.tensor([[*self._prompt, *prefix]], device=scores.device)
                one = score[None]
                for warper in self._warpers:
                    one = warper(ids, one)
                rows.append(one[0])
            scores = torch.stack(rows)
        return torch.log_softmax(scores, dim=-1).cpu().numpy()

    def _compute(self, prefixes: Sequence[Prefix]) -> np.ndarray:
        """float32 rows of prefixes of one length."""
        import torch

        device = self._model.get_input_embeddings().weight.device
        rows = len(prefixes)
        with torch.inference_mode():
            if self._past is None and len(self._prompt) > 1:
                head = torch.tensor([self._prompt[:-1]], device=device)
                output = self._model(input_ids=head, use_cache=True, **self._last_only)
                self._past = getattr(output, "past_key_values", None) or output.cache
            ids = torch.tensor([[self._prompt[-1], *prefix] for prefix in prefixes], device=device)
            past: Any = None
            if self._past is not None:
                past = copy.deepcopy(self._past)
                past.batch_repeat_interleave(rows)
            length = len(self._prompt) + len(prefixes[0])
            mask = torch.ones((rows, length), dtype=torch.long, device=device)
            output = self._model(
                input_ids=ids,
                attention_mask=mask,
                use_cache=past is not None,
                **{self._past_name: past},
                **self._last_only,
            )
            result = self._finished(prefixes, output.logits[:, -1, :])
        self.forward_passes += rows
        return result
