"""The modes of the automaton, and the fields of the tables that say what it does.

A state is five integers; see `step.py` for what they mean in each mode.
"""

from __future__ import annotations

NO_BLANKS, BOUNDED_BLANKS, SPACED = range(3)  # WHITESPACE of the context
VALUE, ARRAY_FIRST, OBJECT_FIRST, OBJECT_NEXT, KEY, COLON, STRING, ATOM, AFTER, END, RAW, LITERAL = range(1, 13)
OK, DEAD, MISS, FULL = 1, 0, -1, -2

# Fields of a set of alternatives (FST).
S_KIND, S_ALT, S_ALTS, S_OUTCOME, S_NAMES, S_NAME_COUNT, S_WORDS, S_SATURATE, S_PREFIX, S_KEYS = range(10)
FST_WIDTH = 10
OBJECT_KIND, ARRAY_KIND, ROOT_KIND = 1, 2, 3
UNIQUE_KIND = 4  # an array of strings that differ: its items are read as an object's names are
# Fields of an alternative (ALT).
A_MIN, A_MAX, A_OPEN, A_ALLOWED, A_REQUIRED, A_REQUIRED_COUNT = range(6)
ALT_WIDTH = 6
CLOSED, OPEN_ALL, OPEN_SOME = range(3)  # A_OPEN: no free names, all, those of some classes
VIEWED = 3  # A_OPEN of an array that counts: what it may do is looked up
# Fields of a slot: the set of alternatives it belongs to, the set of variables its value is read for.
L_FST, L_VSET, L_NEXT = range(3)
SLOT_WIDTH = 3
# Fields of an automaton state (STATE).
#   Q_FREE: 1 + the state of free text that it stands for, or 0; Q_FREE_OUTCOME: the outcome of ending there
#   Q_LOOP, Q_DEAD, Q_LIMIT, Q_LOOP_ROW: see `loops.py`
#   Q_PAD: so many code points suffice to complete the text after any others; -1 where that is not known
#   Q_FAR, Q_ENDED: see `loops.py`
#   Q_KEY: what free names can go on from here, see `key_walk.py`
#   Q_READY: 1 + the row of the tokens that stay within the string, where it is kept from before; minus 1 + the mask
#     row of a position in the state, which has the same ones; 0 for none
Q_FLAGS, Q_OUTCOME, Q_ENTRY, Q_ENTRIES, Q_SHORTEST, Q_FREE, Q_FREE_OUTCOME = range(7)
Q_LOOP, Q_DEAD, Q_LIMIT, Q_LOOP_ROW, Q_PAD, Q_FAR, Q_KEY, Q_READY, Q_ENDED = range(7, 16)
STATE_WIDTH = 16
BOUNDARY, UNIVERSAL, COUNTED, HAS_NEXT, SIMPLE = 1, 2, 4, 8, 16
EXACT = 32  # up to Q_LIMIT code points, and no further, the characters of the loop can follow
CALL = 64  # a JSON value begins here
COLLECT, DIFFER, COLLECTED = 128, 256, 512  # the byte belongs to a word; ends one that must differ; follows a word
# Fields of an entry: one string alternative at one state.
E_ACCEPT, E_MIN, E_MAX, E_LENGTHS, E_OUTCOME = range(5)
ENTRY_WIDTH = 5
# Starts of a vset by type (VSET).
V_OBJECT, V_ARRAY, V_STRING, V_ATOM = range(4)
VSET_WIDTH = 4
LITERAL_BIT = 1 << 30  # a string's start that names a set of literals instead of an automaton state
LITERALS_WIDTH = 2  # fields of a set of literals: its first member, number of members

# Escapes, in register x: kind | high surrogate << 8 | digits << 20 | value << 24.
X_NONE, X_BACKSLASH, X_HEX, X_HIGH, X_HIGH_BACKSLASH, X_LOW = range(6)

MARK_SHIFT = 40
LOW_40 = (1 << MARK_SHIFT) - 1
FORBIDDEN = -1  # in MARKS: the byte completes a text that strings must not hold

# Register q of a key: low | high << 20 | depth << 40. Register n: name | state of its scanner << 24 | open << 60.
LOW_20 = (1 << 20) - 1
LOW_24 = (1 << 24) - 1
LOW_30 = (1 << 30) - 1
LOW_32 = (1 << 32) - 1
FREE_BIT = 1 << 30  # marks a free name's outcome among the ways to open a member
