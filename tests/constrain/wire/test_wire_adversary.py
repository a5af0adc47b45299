"""Whatever a model wants, its message is valid under the choice, or was honestly cut off."""

import os
import random

import pytest

from tests.constrain.wire.attacks import MODES, campaign
from tests.constrain.wire.wire_vocabularies import KINDS, NAMES

RUNS = int(os.environ.get("CONSTRAIN_ATTACKS", 5000 if os.environ.get("CONSTRAIN_FULL") == "1" else 4))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
def test_no_wish_leads_out_of_a_format(name, mode):
    kinds = KINDS if RUNS > 20 else [random.Random(f"{name} {mode}").choice(KINDS)]
    outcome = campaign(name, mode, RUNS, kinds)
    assert outcome.runs >= RUNS
    if mode == "none":
        assert not outcome.calls
    elif RUNS > 20:
        assert outcome.calls
        assert len(outcome.distinct) > outcome.runs // 3
