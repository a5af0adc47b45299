"""Many attacks on each format under each choice; what came of them, a line each.

    python -m tests.constrain.wire.attacks --runs 5000 --out attacks.txt

goes through all formats, those left out that the file has a line of.
"""

import argparse
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from constrain.testing import Validator
from constrain.tools import ArgumentChecker
from constrain.tools.parser import parse_message
from tests.constrain.wire.adversary import CHOICES, TOOLS, attack, grammar_under_attack
from tests.constrain.wire.wire_vocabularies import KINDS, NAMES, Ways

MODES = tuple(dict.fromkeys(choice.split(",")[0] for choice in CHOICES))
"""The choices that an API has; `CHOICES` has each of them with several bounds on the number of calls."""
_VALIDATORS = {tool.name: Validator(tool.argument_schema) for tool in TOOLS}
_CHECKER = ArgumentChecker(TOOLS)


@dataclass
class Outcome:
    """What the messages of some attacks were: `distinct` by their tokens, `calls` in these."""

    runs: int = 0
    ended: int = 0
    calls: int = 0
    distinct: set[tuple[int, ...]] = field(default_factory=set)

    def __str__(self):
        cut_off = self.runs - self.ended
        return f"runs {self.runs} distinct {len(self.distinct)} ended {self.ended} cut off {cut_off} calls {self.calls}"


def check(found, name, choice, vocabulary):
    """Parse a message that was written under attack; the calls in it must be what the choice allows."""
    resolved = CHOICES[choice].resolve(TOOLS)
    # Under "none" the parser is told that tools may be called, so that it would see a call that slipped through.
    told = "auto" if choice == "none" else CHOICES[choice]
    message = parse_message(found.ids, name, _CHECKER, told, vocabulary=vocabulary, errors="collect")
    kinds = [problem.error.kind for problem in message.problems]
    assert kinds == [] if found.ended else set(kinds) <= {"truncated"}, (found, message.problems)
    assert len(message.calls) <= (len(found.ids) if resolved.most is None else resolved.most), found
    if found.ended:
        assert len(message.calls) >= resolved.least, found
    assert {call.name for call in message.calls} <= {tool.name for tool in resolved.tools}, found
    ids = [call.id for call in message.calls if call.id is not None]
    assert len(set(ids)) == len(ids), found
    for call in message.calls:
        assert _VALIDATORS[call.name].is_valid(call.arguments), (found, call)
    return len(message.calls)


def campaign(name, mode, runs, kinds=KINDS):
    """Attack a format under a choice `runs` times or a few more, each way to have markers and each bound as often."""
    variants = [(choice, kind) for choice in CHOICES if choice.split(",")[0] == mode for kind in kinds]
    outcome = Outcome()
    for choice, kind in variants:
        rng, ways = random.Random(f"{name} {choice} {kind}"), Ways()
        compiled, seen = grammar_under_attack(name, kind, choice), set()
        for _ in range(-(-runs // len(variants))):
            found = attack(compiled, rng, ways)
            outcome.runs += 1
            outcome.ended += found.ended
            if (key := (found.ended, *found.ids)) not in seen:  # an equal message reads the same
                seen.add(key)
                outcome.calls += check(found, name, choice, compiled.vocabulary)
        outcome.distinct |= seen
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", default="0/1", help="which of how many parts of the work, such as 0/2")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    done = options.out.read_text() if options.out and options.out.exists() else ""
    work = [(name, mode) for name in NAMES for mode in MODES][part::parts]
    for name, mode in work:
        if f"{name} {mode}: " in done:
            continue
        begun = time.perf_counter()
        line = f"{name} {mode}: {campaign(name, mode, options.runs)} in {time.perf_counter() - begun:.0f} s"
        print(line, flush=True)
        if options.out:
            with options.out.open("a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
