"""The command line: `constrain demo`, `constrain generate`, `constrain check`.

Results go to standard output, everything else to standard error. A failure is one line there and a non-zero exit
status; `CONSTRAIN_DEBUG=1` shows the traceback.
"""

from constrain.cli.app import main

__all__ = ["main"]
