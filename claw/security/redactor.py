"""What takes secrets out of everything that is kept or printed.

Light to load: the rules themselves come in when a text has something that
could be a secret, the secrets of the settings (some have to be decrypted)
when one could be theirs.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

# What every secret with a form of its own has in it (leaks.redact).
_FORMED = re.compile(r"[!-~]{20}|://|PRIVATE KEY")
# What every key of ours has in it: letters beside digits, no blank for
# long, or pieces of three at most, one after the other.
_KEYLIKE = re.compile(r"[A-Za-z][0-9]|[0-9][A-Za-z]|[!-~]{16}"
                      r"|(?:[!-~]{1,3}[^!-~]+){6}")
# What a provider gave to be given back as it is: no rule by form there.
_OPAQUE = "replay"


class Redactor:
    """Text without the secrets that are certain: this installation's own,
    which `collect` gives when first needed, and those with a form of their
    own.

    `hits` counts the texts that had one. With `quick`, own secrets are
    looked for only where something looks like a key: what is read from
    where nothing was written unredacted need not load more.
    """

    def __init__(self, collect: Callable[[], Sequence[str]] = tuple, *,
                 quick: bool = False) -> None:
        self._collect = collect
        self._quick = quick
        self.hits = 0

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        return tuple(self._collect())

    def __call__(self, text: str) -> str:
        clean = self._take_out(text)
        if _FORMED.search(clean):
            from claw.security.leaks import redact
            clean = redact(clean)
        return self._count(text, clean)

    def own(self, text: str) -> str:
        """Without this installation's secrets; others stay."""
        return self._count(text, self._take_out(text))

    def record(self, value: Any, name: object = None) -> Any:
        """A JSON value with each of its texts redacted."""
        if isinstance(value, str):
            return self.own(value) if name == _OPAQUE else self(value)
        if isinstance(value, Mapping):
            return {key: self.record(below, key)
                    for key, below in value.items()}
        if isinstance(value, list | tuple):
            return [self.record(below, name) for below in value]
        return value

    def _take_out(self, text: str) -> str:
        if (self._quick and not _KEYLIKE.search(text)) or not self.secrets:
            return text
        from claw.security.own import take_out
        return take_out(text, self.secrets)

    def _count(self, before: str, after: str) -> str:
        self.hits += before != after
        return after
