"""What all web tools share: whom they may reach, and what comes back.

Every text of the web is a stranger's: the turn that asks for one is labelled
"web" before the request leaves (core/labels.py), and what no reader sees is
taken out, so that nobody writes to the model alone.
"""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from claw.core.errors import ConfigError, DeniedError, UnavailableError
from claw.core.tool import ToolDeps
from claw.core.turn import current_turn
from claw.net.guarded import GuardedClient
from claw.security.hosts import HostRules, read_host
from claw.tools.offer.checked import CheckedTool

LABEL = "web"
# Control characters of the second kind, those that turn the direction of
# text, tag characters (a whole hidden alphabet), halves of characters.
_UNSEEN = re.compile("[\x80-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069"
                     "\ufeff\ud800-\udfff\U000e0000-\U000e0fff]")


class WebTool(CheckedTool):
    """A tool that asks servers. `table` is where its settings stand."""

    labels_itself = True
    table = ""

    def __init__(self, deps: ToolDeps) -> None:
        self._deps = deps
        self._policy = deps.policy

    @property
    def _http(self) -> GuardedClient:
        if self._deps.http is None:
            raise UnavailableError("this turn has no way to the web")
        client: GuardedClient = self._deps.http
        return client

    def _refuse_unless(self, enabled: bool) -> None:
        """Also where somebody names a tool that is switched off."""
        if not enabled:
            raise DeniedError(
                f"{self.name} is switched off; the owner can switch it on "
                f"with: claw config set {self.table}.enabled true")


def build_rules(table: str, allowed: Iterable[str],
                blocked: Iterable[str] = (), private: Iterable[str] = (), *,
                private_key: str = "allowed_private_hosts") -> HostRules:
    """The lists of a table. Raises ConfigError."""
    def read(entries: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(read_host, entries))
    try:
        return HostRules(table, read(allowed), read(blocked), read(private),
                         private_key)
    except ValueError as error:
        raise ConfigError(f"{table}: {error}") from error


def add_label() -> None:
    """From here on the turn reads what strangers wrote."""
    turn = current_turn.get()
    if turn is not None:
        turn.labels.add(LABEL)


def add_found(urls: Iterable[str]) -> None:
    """What a search brought may be a link in the answer."""
    turn = current_turn.get()
    if turn is not None:
        turn.found.update(urls)


def add_seen(urls: Iterable[str]) -> None:
    """What a page names may be fetched next."""
    turn = current_turn.get()
    if turn is not None:
        turn.seen.update(urls)


def clean(text: str) -> str:
    """Foreign text without what is not seen."""
    from claw.text.addresses import drop_controls  # its patterns cost 5 ms
    return _UNSEEN.sub("", drop_controls(text))


def to_line(value: Any, most: int = 500) -> str:
    """A field of a stranger's answer as one line; "" for what is no text."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    line = " ".join(clean(str(value)).split())
    return line if len(line) <= most else line[:most] + "..."


def is_web(url: str) -> bool:
    """Whether this is a web address that may be shown."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
