"""The owner's lists of hosts that a tool may reach. Pure."""

from collections.abc import Iterable

from claw.core.errors import DeniedError
from claw.core.value import Value
from claw.security.egress import (
    InsideError,
    Target,
    check_url,
    deny,
    encode_host,
)

ANY = "*"


class HostRules(Value):
    """Which hosts a tool may reach: those of `allowed` but not of
    `blocked`; those of `private` may be on the owner's own network. An
    entry covers the names below it, "*" is any host. `table` is where the
    settings stand, `private_key` the one that lets a host be inside."""

    table: str
    allowed: tuple[str, ...] = (ANY,)
    blocked: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    private_key: str = "allowed_private_hosts"

    def check(self, url: str) -> Target:
        """`check_url`, and the lists. Raises DeniedError."""
        try:
            target = check_url(url.strip(),
                               lambda host: _matches(host, self.private))
        except InsideError as error:
            raise InsideError(f"{error.message}; the owner can allow "
                              f"it with {self.table}.{self.private_key}"
                              ) from error
        if _matches(target.host, self.blocked):
            raise deny(f"{target.host}, which {self.table}.blocked_domains "
                       "names")
        if not _matches(target.host, self.allowed):
            raise deny(f"{target.host}, which {self.table}.allowed_domains "
                       "does not name; it names "
                       + (", ".join(self.allowed)[:200] or "no host"),
                       "the owner can add it there")
        return target


def read_host(entry: str) -> str:
    """The host of an entry, however it is written: as a web address, with
    a port, as "*.example.com", with a dot at an end. Raises ValueError."""
    text = entry.strip().lower()
    if text == ANY:
        return text
    text = (text.partition("://")[2] or text).partition("/")[0]
    if text.startswith("["):
        return text[1:].partition("]")[0]
    if text.count(":") == 1:
        text = text.partition(":")[0]
    text = text.removeprefix(ANY).strip(".")
    try:
        return text if ":" in text else encode_host(text)
    except DeniedError as error:
        raise ValueError(f"{entry!r} is no host") from error


def _matches(host: str, entries: Iterable[str]) -> bool:
    return any(entry == ANY or host == entry or host.endswith(f".{entry}")
               for entry in entries)
