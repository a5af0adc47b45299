"""`compare`: one question, four ways to answer it.

| method | answers | needs |
|---|---|---|
| exact | numbers | a finite language that fits the budget, or a model with memory and an automaton |
| trie | certified intervals | nothing; they shrink with the budget |
| sampling | points with intervals, certified part included | nothing; refuses where the sample is too small |
| two_sided | log Z from both sides, proofs of missing support | a language to compare the mask with |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from constrain.distortion.divergences import Sums, total_variation
from constrain.distortion.draws import draw_masked
from constrain.distortion.estimate import Estimate
from constrain.distortion.importance import importance
from constrain.distortion.language import Language
from constrain.distortion.localisation import of_trie
from constrain.distortion.matcher_language import as_language
from constrain.distortion.model import Model, as_model
from constrain.distortion.numerics import binary_divergence, safe_log
from constrain.distortion.process import MaskedProcess
from constrain.distortion.product import NotFinitelyMany, Product
from constrain.distortion.report import Report
from constrain.distortion.spellings import split_spellings
from constrain.distortion.trie import Trie
from constrain.distortion.two_sided import two_sided

Method = Literal["auto", "exact", "trie", "sampling", "two_sided"]

_QUALITY = "low distortion is not task quality: the model's own law given validity may be a poor answer"
_ENDS = "every masked draw finishes: no dead ends, no endless sequences"


def compare(
    model: Any,
    language: Any,
    method: Method = "auto",
    *,
    budget: int = 2000,
    samples: int = 1000,
    seed: int = 0,
    max_tokens: int | None = None,
    lossless: bool | None = None,
    floor: float | None = None,
    batch_size: int = 32,
    max_states: int = 4000,
    mask: Any = None,
    trie: Trie | None = None,
    canonical: Callable[[bytes], Sequence[int]] | None = None,
    rescore: int = 0,
    progress: Callable[[Trie], bool | None] | None = None,
    draw_tokens: int | None = None,
    on_draws: Callable[[float, int], None] | None = None,
) -> Report:
    """Measure how far masked sampling is from the model given validity.

    Args:
        model: a `Model` (`TableModel`, `NGramModel`, `HFModel`, `CallableModel`).
        language: a compiled grammar, or a `Language`.
        method: "auto" is exact where the budget or the automaton allows it, else sampling below the trie.
        budget: forward passes (prefixes) of the trie. With "sampling", 0 means plain importance sampling.
        samples: masked draws of "sampling"; draws of either kind of "two_sided".
        seed: of all randomness.
        max_tokens: the target is p(. | valid, at most so many tokens, the end included). None for no limit.
        lossless: masked draws surely finish. None: assumed when there is no `max_tokens`, and then stated.
        floor: a number that every step's allowed mass is known to exceed. With `max_tokens` it bounds KL(q || p*).
        batch_size: prefixes of one call of the model.
        max_states: states of the product of model and automaton.
        mask: for "two_sided", the language whose masks are measured against `language`; by default the same.
        trie: a trie to go on with, of this model and language; its own settings hold.
        canonical: text to a tokenizer's own ids, for figures on canonical encodings.
        rescore: so many masked draws are computed again one by one, and the largest difference of a log-probability
            stands in the report: no figure of this model is better than that. For models with `rescoring_spread`.
        progress: called with the trie after each batch; True stops the search.
        draw_tokens: where `max_tokens` is None and draws are needed, condition on so many tokens; what is enumerated or
            solved keeps no limit. Raised to twice the longest prefix of the trie; the report's `target` says to what.
        on_draws: called with the draws that are done, parts of them included, and their number.

    Raises:
        ValueError: method "exact" where neither way is open, probabilities that are none, or `rescore` for a model
            that has no other way to compute them.
        TypeError: no model, or no language.
    """
    if rescore:
        spread = getattr(model, "rescoring_spread", None)
        if spread is None:
            raise ValueError(f"{type(model).__name__} cannot be rescored: it has no rescoring_spread")
        report = compare(
            model, language, method, budget=budget, samples=samples, seed=seed, max_tokens=max_tokens,
            lossless=lossless, floor=floor, batch_size=batch_size, max_states=max_states, mask=mask, trie=trie,
            canonical=canonical, progress=progress, draw_tokens=draw_tokens, on_draws=on_draws,
        )  # fmt: skip
        process = MaskedProcess(as_model(model), as_language(language))
        limit = (max_tokens if trie is None else trie.max_tokens) or draw_tokens
        drawn = draw_masked(process, rescore, np.random.default_rng(seed), max_tokens=limit, batch_size=batch_size)
        largest = Estimate(
            float(spread(drawn.sequences)), 0.0, math.inf, "heuristic", (f"{rescore:,} sequences computed again",)
        )
        return replace(report, extra=report.extra | {"rescoring spread of a sequence, nats": largest})
    p: Model = as_model(model)
    valid: Language = as_language(language)
    if method not in ("auto", "exact", "trie", "sampling", "two_sided"):
        raise ValueError(f"there is no method {method!r}")
    rng = np.random.default_rng(seed)
    if method == "two_sided":
        other: Language = valid if mask is None else as_language(mask)
        return _two_sided(p, valid, other, samples, rng, max_tokens or draw_tokens, batch_size, on_draws)
    if mask is not None:
        raise ValueError('a mask of its own is compared by the method "two_sided"')
    if trie is None:
        trie = Trie(p, valid, max_tokens=max_tokens, lossless=lossless, batch_size=batch_size, floor=floor)
    trie.run(budget, progress=progress)
    if trie.is_exhausted:
        return _exhausted(p, trie, "trie" if method == "trie" else "exact", canonical)
    if method == "trie":
        return _certified(p, trie, "trie")
    if method in ("auto", "exact"):
        try:
            product = Product(p, valid, max_tokens=trie.max_tokens, max_states=max_states)
        except NotFinitelyMany as error:
            if method == "exact":
                raise ValueError(f"{error}, or a budget that exhausts the language") from error
        else:
            if product.is_closed or method == "exact":
                return _from_product(p, trie, product)
    if trie.max_tokens is None and draw_tokens is not None:
        trie.limit(max(draw_tokens, 2 * (1 + max(trie.depths, default=0))))
    return _sampled(p, trie, samples, rng, on_draws)


def _target(max_tokens: int | None) -> str:
    return "p given validity" if max_tokens is None else f"p given validity within {max_tokens} tokens, end included"


def _warnings(trie: Trie) -> list[str]:
    out = [_QUALITY]
    if trie.dead_q > 0:
        out.append(f"at least {trie.dead_q:.3g} of masked draws die: the mask allows tokens that lead nowhere")
    if trie.truncated_q > 0:
        out.append(f"at least {trie.truncated_q:.3g} of masked draws are cut; q is the law of the others")
    return out


def _exhausted(model: Model, trie: Trie, method: str, canonical: Callable[[bytes], Sequence[int]] | None) -> Report:
    log_p, log_w = trie.log_p, trie.log_w
    dead, cut = Estimate.exact(trie.dead_q), Estimate.exact(trie.truncated_q)
    why = ("all sequences are enumerated",)
    if not log_p.size:
        none = Estimate(None, 0.0, math.inf, "exact", why, "no sequence finishes")
        log_z = Estimate(-math.inf, -math.inf, -math.inf, "exact", why)
        return Report(
            method, model.description, _target(trie.max_tokens), log_z, none, none, none, none, none, dead, cut,
            trie.forward_passes, warnings=tuple(_warnings(trie)),
        )  # fmt: skip
    sums = Sums.of(log_p, log_w)
    spellings = split_spellings(trie, canonical)
    extra = {
        "KL(q || p*) of texts": Estimate.exact(spellings.kl_texts),
        "KL(q || p*) of tokenisations within texts": Estimate.exact(spellings.kl_within),
    }
    if spellings.kl_canonical is not None:
        extra["KL(q || p*) on canonical encodings"] = Estimate.exact(spellings.kl_canonical)
    return Report(
        method,
        model.description,
        _target(trie.max_tokens),
        Estimate.exact(sums.log_z, *why),
        Estimate.exact(sums.kl_masked_to_exact, *why),
        Estimate.exact(sums.kl_exact_to_masked, *why),
        Estimate.exact(total_variation(log_p, log_w, sums.z, sums.finished), *why),
        Estimate.exact(sums.chi2, *why),
        Estimate.exact(sums.tax, *why),
        dead,
        cut,
        trie.forward_passes,
        spellings=spellings,
        contributions=tuple(of_trie(trie)),
        warnings=tuple(_warnings(trie)),
        extra=extra,
    )


def _certified(model: Model, trie: Trie, method: str) -> Report:
    known = trie.certified()
    why = [f"{trie.forward_passes:,} prefixes expanded"]
    if trie.lossless:
        why.append(_ENDS)
    upper = list(why)
    warnings = _warnings(trie)
    if trie.floor is not None and trie.max_tokens is not None:
        upper.append(f"every step keeps at least {trie.floor:.3g} of the mass")
    else:
        warnings.append("KL(q || p*) has no upper bound without a floor on one-step mass and a limit of tokens")
    nodes, mass, log_r = trie.frontier()
    open_q = float((mass * np.exp(-log_r)).sum()) if nodes.size else 0.0
    lost = 0.0 if trie.lossless else open_q

    def interval(ends: tuple[float, float], reasons: list[str] = why) -> Estimate:
        return Estimate.certified(*ends, *reasons)

    return Report(
        method,
        model.description,
        _target(trie.max_tokens),
        Estimate.certified(safe_log(known.z[0]), min(safe_log(known.z[1]), 0.0), *why),
        interval(known.kl_masked_to_exact, upper),
        interval(known.kl_exact_to_masked),
        interval(known.tv),
        interval(known.chi2),
        interval(known.tax, upper),
        Estimate.certified(trie.dead_q, trie.dead_q + lost, *why),
        Estimate.certified(trie.truncated_q, trie.truncated_q + (lost if trie.max_tokens else 0.0), *why),
        trie.forward_passes,
        warnings=tuple(warnings),
    )


def _from_product(model: Model, trie: Trie, product: Product) -> Report:
    """Solved figures; total variation, which no linear system gives, stays the trie's interval."""
    passes = trie.forward_passes + product.states
    tv = _certified(model, trie, "trie").tv
    low, high = product.sums.low, product.sums.high
    warnings = [_QUALITY]
    if product.dead_q > 1e-15:
        warnings.append(f"{product.dead_q:.3g} of masked draws die")
    if product.truncated_q > 1e-15:
        warnings.append(f"{product.truncated_q:.3g} of masked draws are cut; q is the law of the others")
    if product.is_closed:
        why = (f"linear systems over {product.states:,} states of model and automaton",)
        if low.z <= 0.0:
            raise ValueError("the model gives the language probability 0")
        return Report(
            "exact",
            model.description,
            _target(trie.max_tokens),
            Estimate.exact(low.log_z, *why),
            Estimate.exact(max(low.kl_masked_to_exact, 0.0), *why),
            Estimate.exact(max(low.kl_exact_to_masked, 0.0), *why),
            tv,
            Estimate.exact(max(low.chi2, 0.0), *why),
            Estimate.exact(low.tax, *why),
            Estimate.exact(product.dead_q, *why),
            Estimate.exact(product.truncated_q, *why),
            passes,
            contributions=tuple(product.contributions()),
            warnings=tuple(warnings),
        )
    assumptions = [f"linear systems over {product.states:,} states, the rest open"]
    warnings.append(
        "the product of model and automaton is cut at max_states: KL(q || p*) is bounded from below only, and may be "
        "infinite"
    )
    if trie.lossless:
        assumptions.append(_ENDS)
    else:
        return _certified(model, trie, "trie")
    z_low, z_high = low.z, min(high.z, 1.0)
    slack = 1e-12
    kl_low = safe_log(z_low) - high.q_log_w - slack
    at = min(max(-low.p_log_w, z_low), z_high)
    forward_high = low.p_log_w / at - math.log(at) + slack
    inside = low.p_log_w / z_low - math.log(z_low) + math.log(low.finished)
    share_low = z_low / z_high
    forward_low = min(
        (binary_divergence(b, low.finished) if low.finished < 1.0 else 0.0) + b * inside for b in (share_low, 1.0)
    )
    if share_low < low.finished:  # the minimum may lie between the two
        shrunk = low.finished * math.exp(-inside)
        b = min(max(shrunk / (1.0 - low.finished + shrunk), share_low), 1.0)
        forward_low = min(forward_low, binary_divergence(b, low.finished) + b * inside)
    return Report(
        "exact",
        model.description,
        _target(trie.max_tokens),
        Estimate.certified(safe_log(z_low) - slack, safe_log(z_high) + slack, *assumptions),
        Estimate.certified(max(kl_low, 0.0), math.inf, *assumptions),
        Estimate.certified(max(forward_low - slack, 0.0), max(forward_high, 0.0), *assumptions),
        tv,
        Estimate.certified(
            max(low.p_w / z_high**2 - 1.0 - slack, 0.0), high.p_w / z_low**2 - 1.0 + slack, *assumptions
        ),
        Estimate.certified(-high.q_log_w - slack, math.inf, *assumptions),
        Estimate.exact(0.0, _ENDS),
        Estimate.exact(0.0, _ENDS),
        passes,
        warnings=tuple(warnings),
    )


def _sampled(
    model: Model,
    trie: Trie,
    samples: int,
    rng: np.random.Generator,
    on_draws: Callable[[float, int], None] | None = None,
) -> Report:
    passes = trie.forward_passes
    counting: Any = trie.process.model
    before = counting.forward_passes
    found = importance(trie, samples, rng, watch=on_draws)
    warnings = _warnings(trie)
    if trie.truncated_q == 0.0 and found.truncated.value:
        warnings.append(
            f"{found.truncated.value:.1%} of masked draws are cut at {trie.max_tokens} tokens; q is the law of the "
            "others. Fewer are with a higher limit, or where the grammar ends sooner: closed objects, bounded strings "
            "and arrays"
        )
    if found.refused:
        warnings.append(f"no point estimates: {found.refused}")
    return Report(
        "sampling",
        model.description,
        _target(trie.max_tokens),
        found.log_z,
        found.kl_masked_to_exact,
        found.kl_exact_to_masked,
        found.tv,
        found.chi2,
        found.tax,
        found.dead,
        found.truncated,
        passes + counting.forward_passes - before,
        step_tax=found.step_tax,
        step_reach=found.step_reach,
        warnings=tuple(warnings),
        k_hat=found.k_hat,
    )


def _two_sided(
    model: Model,
    language: Language,
    mask: Language,
    samples: int,
    rng: np.random.Generator,
    max_tokens: int | None,
    batch_size: int,
    on_draws: Callable[[float, int], None] | None = None,
) -> Report:
    found = two_sided(
        model,
        language,
        mask,
        masked_draws=samples,
        exact_draws=samples,
        rng=rng,
        max_tokens=max_tokens,
        batch_size=batch_size,
        watch=on_draws,
    )
    why = (f"{samples:,} masked and {samples:,} exact draws", "the masked draws' language lies inside the target")
    unknown = Estimate(None, 0.0, math.inf, "heuristic", (), 'not measured by the method "two_sided"')
    share = Estimate(None, 0.0, 1.0, "heuristic", (), 'not measured by the method "two_sided"')
    warnings = [_QUALITY]
    if found.refused:
        warnings.append(
            f"the mask refuses {found.refused_share:.2%} of exact draws: it misses part of the language, and no figure "
            "taken from masked draws alone shows it"
        )
    return Report(
        "two_sided",
        model.description,
        _target(max_tokens),
        Estimate(min(max(found.from_exact, found.low), found.high), found.low, found.high, "95% confidence", why),
        unknown,
        unknown,
        share,
        unknown,
        unknown,
        share,
        share,
        found.forward_passes,
        warnings=tuple(warnings),
        witnesses=found.refused,
        extra={
            "log of the probability of what the mask reaches": Estimate(
                found.from_masked, found.low, 0.0, "95% confidence", why
            ),
            "gap between the two sides": Estimate(found.gap, -math.inf, math.inf, "heuristic", why),
        },
    )
