from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(folder))
    return folder
