"""Token ids to exact bytes.

Read `vocabulary.py` for what the rest of the library sees, `source.py` for how a tokenizer is recognised, the files
named after tokenizer families for where bytes come from, `self_check.py` for the proof that they are right.
"""

from constrain.kernels.trie import Trie
from constrain.vocabulary.vocabulary import Vocabulary

__all__ = ["Trie", "Vocabulary"]
