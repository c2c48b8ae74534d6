"""What takes secrets out of everything that is kept or printed.

Light to load: the rules themselves come in when a text has something that
could be a secret, the secrets of the settings (some have to be decrypted)
when one could be theirs.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

# What every secret with a form of its own has in it (leaks.redact): a long
# word and one of these, but for addresses and private keys.
_LONG = "[!-~]{20}"  # patterns are compiled when a text needs them
_MARKS = ("sk-", "sk_", "pk_", "xai-", "hf_", "ghp_", "gho_", "ghu_", "ghs_",
          "ghr_", "github_pat_", "glpat-", "xox", "xapp-", "AIza", "AKIA",
          "r8_", "pplx-", "nvapi-", "zc_", "eyJ")
_BOT = "[0-9]:[A-Za-z0-9_-]{30}"
# Ids and times, which claw makes by the thousand.
_MADE = "[0-9a-f-]{36}|[0-9-]{10}T[0-9:.+Z-]{1,30}"
# What every key of ours has in it: letters beside digits, no blank for
# long, or pieces of three at most, one after the other.
_KEYLIKE = ("[A-Za-z][0-9]|[0-9][A-Za-z]|[!-~]{16}"
            "|(?:[!-~]{1,3}[^!-~]+){6}")
# What a provider gave to be given back as it is: no rule by form there.
_OPAQUE = "replay"


class Redactor:
    """Text without the secrets that are certain: this installation's own,
    which `collect` gives when first needed, and those with a form of their
    own.

    `hits` counts the texts that had one. With `quick`, own secrets are
    looked for only where something looks like a key: for what prints texts
    that were redacted when they were written. With `words`, of secrets with
    a form those alone that are one word.
    """

    def __init__(self, collect: Callable[[], Sequence[str]] = tuple, *,
                 quick: bool = False, words: bool = False) -> None:
        self._collect = collect
        self._quick = quick
        self._words = words
        self.hits = 0

    def for_approval(self) -> "Redactor":
        """For what a person says yes to: whoever writes it could dress any
        part of it as a private key or a login, and what is not seen is not
        approved."""
        return Redactor(lambda: self.secrets, words=True)

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        return tuple(self._collect())

    def __call__(self, text: str) -> str:
        clean = self._take_out(text)
        if _has_form(clean):
            from claw.security.redact.leaks import redact, redact_words
            clean = (redact_words if self._words else redact)(clean)
        return self._count(text, clean)

    def own(self, text: str) -> str:
        """Without this installation's secrets; others stay."""
        return self._count(text, self._take_out(text))

    def record(self, value: Any, name: object = None) -> Any:
        """A JSON value with each of its texts redacted."""
        if isinstance(value, str):
            if re.fullmatch(_MADE, value):
                return value
            return self.own(value) if name == _OPAQUE else self(value)
        if isinstance(value, Mapping):
            return {key: self.record(below, key)
                    for key, below in value.items()}
        if isinstance(value, list | tuple):
            return [self.record(below, name) for below in value]
        return value

    def _take_out(self, text: str) -> str:
        if self._quick and "secrets" not in self.__dict__ \
                and not re.search(_KEYLIKE, text):
            return text
        if not self.secrets:
            return text
        from claw.security.redact.own import take_out
        return take_out(text, self.secrets)

    def _count(self, before: str, after: str) -> str:
        self.hits += before != after
        return after


def _has_form(text: str) -> bool:
    return (("://" in text and "@" in text) or "PRIVATE KEY" in text
            or (len(text) >= 20 and re.search(_LONG, text) is not None
                and (any(mark in text for mark in _MARKS)
                     or "aws" in text.lower()
                     or re.search(_BOT, text) is not None)))
