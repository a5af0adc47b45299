"""Memory for mask rows: handed on, bounded, and safe where the garbage collector gives a piece back at any moment."""

import threading

from constrain.engine import row_memory
from constrain.engine.row_memory import RowMemory


def test_a_piece_that_is_given_back_is_handed_on():
    memory = RowMemory()
    first = memory.take(1024, 32)
    memory.give_back(first)
    assert any(memory.take(1024, 32) is first for _ in range(3))


def test_what_is_kept_is_bounded():
    memory = RowMemory()
    pieces = [memory.take(1024, 32) for _ in range(20)]
    for piece in pieces:
        memory.give_back(piece)
    taken = [memory.take(1024, 32) for _ in range(20)]
    assert sum(any(t is p for p in pieces) for t in taken) <= 3


def test_a_piece_can_be_given_back_while_another_is_taken(monkeypatch):
    """As the collector does it: in the same thread, from within."""
    memory = RowMemory()
    old = memory.take(1024, 32)
    populate = row_memory.populate

    def collect(data):
        memory.give_back(old)
        populate(data)

    monkeypatch.setattr(row_memory, "populate", collect)
    taking = threading.Thread(target=lambda: memory.take(2048, 32), daemon=True)
    taking.start()
    taking.join(10)
    assert not taking.is_alive()
