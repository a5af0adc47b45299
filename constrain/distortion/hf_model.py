"""A Hugging Face causal model after a prompt.

Rows are computed in batches of equal length, so that padding never enters, on top of the prompt's keys and values,
which are computed once. Results are kept up to a number of bytes: estimators come back to the same prefixes. The
log-softmax is taken in float32 over the full width of the head. Which distribution is measured is a choice that changes
every number: p before the warpers (temperature, top-p, ...) by default, or after those passed in.
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


class HFModel:
    """Next-token log-probabilities of a transformers model, given a prompt.

    Args:
        model: a `PreTrainedModel` with a language-model head, in evaluation mode.
        prompt: token ids of the prompt, at least one.
        warpers: transformers `LogitsWarper`/`LogitsProcessor` objects applied to the scores in this order, or none.
        batch_size: rows of one forward pass.
        cache_bytes: bound on the rows kept.

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
        batch_size: int = 16,
        cache_bytes: int = 1 << 28,
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

    def context(self, prefix: Prefix) -> Hashable | None:  # noqa: ARG002
        """None: the network reads all of it."""
        return None

    def log_probs(self, prefixes: Sequence[Prefix]) -> Floats:
        """float64 (from float32), shape (len(prefixes), width)."""
        found: dict[Prefix, np.ndarray] = {}
        by_length: dict[int, list[Prefix]] = {}
        for prefix in dict.fromkeys(prefixes):
            row = self._rows.get(prefix)
            if row is None:
                by_length.setdefault(len(prefix), []).append(prefix)
            else:
                self._rows.move_to_end(prefix)
                found[prefix] = row
        for group in by_length.values():
            for i in range(0, len(group), self._batch_size):
                part = group[i : i + self._batch_size]
                for prefix, row in zip(part, self._compute(part), strict=True):
                    found[prefix] = self._rows[prefix] = row
        while len(self._rows) > self._capacity:
            self._rows.popitem(last=False)
        return np.stack([found[prefix] for prefix in prefixes]).astype(np.float64)

    def rescoring_spread(self, sequences: Sequence[Prefix]) -> float:
        """The largest difference, in nats, of a sequence's log-probability between batches of one and full batches.

        Networks in low precision give slightly different rows for different batch shapes; no figure is better than
        that. Each sequence costs two rows a token, not taken from the cache.
        """
        steps = sorted({(y[:i], y[i]) for y in sequences for i in range(len(y))}, key=lambda step: len(step[0]))
        differences: dict[tuple[Prefix, int], float] = {}
        for i in range(0, len(steps), self._batch_size):
            part = steps[i : i + self._batch_size]
            for length in {len(prefix) for prefix, _ in part}:
                group = [step for step in part if len(step[0]) == length]
                together = self._compute([prefix for prefix, _ in group])
                for step, row in zip(group, together, strict=True):
                    differences[step] = float(self._compute([step[0]])[0][step[1]]) - float(row[step[1]])
        return max((abs(sum(differences[y[:i], y[i]] for i in range(len(y)))) for y in sequences), default=0.0)

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
            scores = output.logits[:, -1, :].float()
            whole = torch.tensor([[*self._prompt, *prefix] for prefix in prefixes], device=device)
            for warper in self._warpers:
                scores = warper(whole, scores)
            result = torch.log_softmax(scores, dim=-1).cpu().numpy()
        self.forward_passes += rows
        return result
