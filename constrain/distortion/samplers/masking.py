"""Plain masking: what engines do."""

from __future__ import annotations

from typing import ClassVar

from constrain.distortion.samplers.sampler import Sample, Sampler


class Masking(Sampler):
    """Renormalise over the allowed tokens at every step; begin again when a draw dies or is cut.

    Converges to nothing but q, however many draws are taken. Cost: one forward pass a token.
    """

    converges_to: ClassVar[str] = "q, the masked sampler's own law, given that it finishes"

    def draw(self) -> Sample:
        """One draw of q."""
        return self.finished_masked_draw()
