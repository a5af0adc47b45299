"""Samplers of valid sequences, one interface: what each converges to, and what a draw costs.

| sampler | law of a draw | cost of a draw |
|---|---|---|
| `Masking` | q, always | its tokens |
| `Rejection` | p*, exactly | 1 / Z attempts |
| `CARS` | p*, exactly | 1 / Z attempts at first, falling towards 1 |
| `ASAp` | q at first, p* in the limit of many draws | its tokens |
| `ImportanceResampling` | p* in the limit of many candidates | candidates x its tokens |
| `IndependenceMH` | p* in the limit of many steps | steps x its tokens |
| `SMC` | p* in the limit of many particles | particles x its tokens, batched |
| `AWRS` | as SMC | as SMC, with token checks in place of masks |

Every sampler says so itself (`converges_to`), and counts what it spends: `forward_passes` (rows), `batches` (calls of
the model), `attempts`. `score_all` puts them on one bench; `SamplerGenerate` runs any of them inside `generate`.
"""

from __future__ import annotations

from constrain.distortion.samplers.asap import ASAp
from constrain.distortion.samplers.awrs import AWRS, weighted_rejection
from constrain.distortion.samplers.cars import CARS
from constrain.distortion.samplers.custom_generate import SamplerGenerate
from constrain.distortion.samplers.harness import Score, score, score_all
from constrain.distortion.samplers.invalid_mass import InvalidMass
from constrain.distortion.samplers.masking import Masking
from constrain.distortion.samplers.metropolis import IndependenceMH
from constrain.distortion.samplers.rejection import Rejection
from constrain.distortion.samplers.resampling import ImportanceResampling
from constrain.distortion.samplers.sampler import Sample, Sampler
from constrain.distortion.samplers.smc import SMC

__all__ = [
    "AWRS",
    "CARS",
    "SMC",
    "ASAp",
    "ImportanceResampling",
    "IndependenceMH",
    "InvalidMass",
    "Masking",
    "Rejection",
    "Sample",
    "Sampler",
    "SamplerGenerate",
    "Score",
    "score",
    "score_all",
    "weighted_rejection",
]
