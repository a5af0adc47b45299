"""A network's logits after many prefixes that share their beginnings, in one forward pass.

The prefixes of a trie are a tree, and a transformer can read a tree at once: all its tokens stand in one row, each at
the position it has in its own prefix, and a mask lets each see the prompt, its ancestors and itself (tree attention, as
in SpecInfer, Miao et al. 2024). Keys and values are kept per tree node, so a prefix costs one token when its parent was
read before, whatever its length and that of the prompt, and prefixes of different lengths share a pass. The price is
attention over the whole tree of a pass: the ancestors of one pass are limited, and rows beyond go to the next.

It asks more of a network than a padded batch does: masks of its own and positions as arguments, attention that is full
in every layer. `supports` says whether a network takes them; `HFModel` checks the first result against a plain pass.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

from constrain.distortion.model import Prefix

MOST_ANCESTORS = 1024
"""Stored tokens that one pass attends to besides the prompt."""


def supports(model: Any) -> bool:
    """Whether a transformers model takes a mask and positions of its own and attends fully in every layer."""
    config = getattr(model, "config", None)
    if config is None or getattr(config, "is_encoder_decoder", False):
        return False
    text = config.get_text_config(decoder=True)
    accepted = inspect.signature(model.forward).parameters
    return (
        {"position_ids", "attention_mask", "logits_to_keep"} <= set(accepted)
        and getattr(text, "_attn_implementation", None) in ("sdpa", "eager")
        and all(kind == "full_attention" for kind in getattr(text, "layer_types", None) or ())
        and getattr(text, "sliding_window", None) is None
        and not getattr(text, "attention_chunk_size", None)
    )


class PrefixTree:
    """Logits after a prompt and prefixes, with the keys and values of prefixes kept.

    Args:
        model: a transformers model that `supports` accepts.
        prompt: token ids, at least one.
        past_name: the name of the cache among the arguments of the model's `forward`.
        cache_bytes: bound on the keys and values kept, those of the prompt not counted.
    """

    def __init__(self, model: Any, prompt: Sequence[int], past_name: str, cache_bytes: int) -> None:
        self._model, self._prompt, self._past_name, self._cache_bytes = model, list(prompt), past_name, cache_bytes
        self._head: list[tuple[Any, Any]] = []  # the prompt's keys and values by layer, (1, heads, length, size)
        self._pool: list[tuple[Any, Any]] = []  # those of prefixes' last tokens, (1, heads, slots, size)
        self._slots: OrderedDict[Prefix, int] = OrderedDict()
        self._capacity = 0
        self._root: Any = None

    def logits(self, prefixes: Sequence[Prefix]) -> Any:
        """float32 logits on the model's device, shape (len(prefixes), width). The prefixes are distinct."""
        import torch

        if self._root is None:
            self._read_prompt()
        rows: dict[Prefix, Any] = {(): self._root}
        for part in self._parts(sorted(prefix for prefix in prefixes if prefix)):
            rows.update(zip(part, self._pass(part), strict=True))
        return torch.stack([rows[prefix] for prefix in prefixes])

    def _parts(self, prefixes: Sequence[Prefix]) -> Iterator[list[Prefix]]:
        """Neighbours in the tree together, and not too many ancestors in one part."""
        part: list[Prefix] = []
        ancestors: set[Prefix] = set()
        for prefix in prefixes:
            own = {prefix[:n] for n in range(1, len(prefix))}
            if part and len(ancestors | own) > MOST_ANCESTORS:
                yield part
                part, ancestors = [], set()
            part.append(prefix)
            ancestors |= own
        if part:
            yield part

    def _read_prompt(self) -> None:
        import torch

        device = self._model.get_input_embeddings().weight.device
        ids = torch.tensor([self._prompt], device=device)
        output = self._model(input_ids=ids, use_cache=True, logits_to_keep=1)
        self._head = _states(output)
        self._root = output.logits[0, -1].float()
        size = sum(x.shape[1] * x.shape[3] * x.element_size() for pair in self._head for x in pair)
        self._capacity = max(1, self._cache_bytes // size)

        def room(x: Any) -> Any:
            return x.new_empty((1, x.shape[1], self._capacity, x.shape[3]))

        self._pool = [(room(keys), room(values)) for keys, values in self._head]

    def _pass(self, wanted: list[Prefix]) -> Any:
        """One forward pass: the wanted prefixes, and those of their ancestors that are not stored."""
        import torch
        from transformers import DynamicCache

        device, dtype = self._root.device, self._head[0][0].dtype
        chosen = set(wanted)
        ancestors = dict.fromkeys(prefix[:n] for prefix in wanted for n in range(1, len(prefix)))
        new = [u for u in ancestors if u not in chosen and u not in self._slots] + wanted
        stored = [u for u in ancestors if u not in chosen and u in self._slots]
        for u in stored:
            self._slots.move_to_end(u)
        length = len(self._prompt)
        columns = {u: length + i for i, u in enumerate([*stored, *new])}
        seen = torch.zeros((len(new), length + len(columns)), dtype=torch.bool)
        seen[:, :length] = True
        for i, u in enumerate(new):
            seen[i, [columns[u[:n]] for n in range(1, len(u) + 1)]] = True
        mask = torch.zeros(seen.shape, dtype=dtype).masked_fill_(~seen, torch.finfo(dtype).min)
        slots = torch.tensor([self._slots[u] for u in stored], device=device, dtype=torch.long)
        past = DynamicCache()
        for i, (head, pool) in enumerate(zip(self._head, self._pool, strict=True)):
            past.update(*(torch.cat([h, p.index_select(2, slots)], dim=2) for h, p in zip(head, pool, strict=True)), i)
        output = self._model(
            input_ids=torch.tensor([[u[-1] for u in new]], device=device),
            position_ids=torch.tensor([[length + len(u) - 1 for u in new]], device=device),
            attention_mask=mask[None, None].to(device),
            use_cache=True,
            logits_to_keep=len(wanted),
            **{self._past_name: past},
        )
        self._store(new, _states(output))
        return output.logits[0].float()

    def _store(self, new: list[Prefix], states: list[tuple[Any, Any]]) -> None:
        """Keep the last keys and values, one for each new prefix, the longest-unused of others giving way."""
        import torch

        first = states[0][0].shape[2] - len(new)
        places: list[int] = []
        sources: list[int] = []
        for i, u in enumerate(new):
            if u in self._slots or len(places) == self._capacity:
                continue
            slot = len(self._slots) if len(self._slots) < self._capacity else self._slots.popitem(last=False)[1]
            self._slots[u] = slot
            places.append(slot)
            sources.append(first + i)
        device = self._root.device
        to, of = (torch.tensor(x, device=device, dtype=torch.long) for x in (places, sources))
        for pool, pair in zip(self._pool, states, strict=True):
            for kept, fresh in zip(pool, pair, strict=True):
                kept[:, :, to] = fresh.index_select(2, of)


def _states(output: Any) -> list[tuple[Any, Any]]:
    """Keys and values by layer. Raises TypeError where a layer keeps anything else."""
    past = getattr(output, "past_key_values", None) or output.cache
    found: list[tuple[Any, Any]] = [
        (getattr(layer, "keys", None), getattr(layer, "values", None)) for layer in past.layers
    ]
    if any(keys is None or keys.dim() != 4 or keys.shape[2] != values.shape[2] for keys, values in found):
        raise TypeError("the model keeps something else than keys and values")
    return found
