"""Grammar-constrained decoding of tool calls."""
import os as _os

_here = _os.path.dirname(_os.path.abspath(__file__))
if not _os.path.isdir(_os.path.join(_here, "grammars")):
    # Imported from the repository root without an install: the other rooms stand beside this folder.
    __path__.append(_os.path.dirname(_here))
