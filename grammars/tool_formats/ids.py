"""How the ids of calls look, where a format writes them or its models expect them."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RandomCallIds:
    """A prefix, then so many letters a-z and A-Z and digits."""

    prefix: str = ""
    length: int = 9

    @property
    def pattern(self) -> str:
        """Regular expression that every id matches as a whole."""
        return f"{re.escape(self.prefix)}[a-zA-Z0-9]{{{self.length}}}"


@dataclass(frozen=True, slots=True)
class CountedCallIds:
    """Ids with the count of the calls of the whole conversation; `template` has {count} in it, and may have {name}."""

    template: str = "{count}"

    def id(self, name: str, count: int) -> str:
        """The id of a call."""
        return self.template.replace("{count}", str(count)).replace("{name}", name)


CallIds = RandomCallIds | CountedCallIds
