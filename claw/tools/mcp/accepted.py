"""Which tools of an MCP server the owner has accepted, and in what form.

<home>/mcp/NAME.json holds each accepted tool whole, with the hash of what
was accepted, and what the server has said since where that is something
else. A turn is offered what stands there: no server has to run for it. A
tool that is new, or has changed, is not offered until `claw mcp accept`.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from claw.core.errors import StorageError
from claw.security.files import nofollow
from claw.security.files.accepted import read_accepted, write_accepted
from claw.security.watched.diff import compare
from claw.tools.mcp.names import name_file
from claw.tools.mcp.settings import McpServerSettings

_FOLDER = "mcp"
# What the owner's yes is bound to, beside where the server is.
_REACH = ("env", "network", "folders", "readable", "reads", "private")
State: TypeAlias = Literal["accepted", "new", "changed", "gone"]


class ListedTool(msgspec.Struct, frozen=True, dict=True):
    """A tool as its server lists it, word for word."""

    name: str
    description: str = ""
    schema: dict[str, Any] = {}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that is shown to a model, in hexadecimal."""
        return hashlib.sha256(self.render().encode(
            errors="surrogatepass")).hexdigest()

    def render(self) -> str:
        """Name, description and schema in one form, over several lines."""
        return json.dumps(
            {"name": self.name, "description": self.description,
             "schema": self.schema}, sort_keys=True, indent=1,
            ensure_ascii=False)


class Acceptance(msgspec.Struct):
    """What is known of one server's tools, by their names.

    `server` is the hash of where it is found and of what it may do: another
    program under the same name is another server, and so is one that may
    use the network now. `seen` are tools as the server listed them
    last, `digests` the hashes of `tools`, which the owner accepted.
    """

    server: str
    tools: dict[str, ListedTool] = {}
    digests: dict[str, str] = {}
    seen: dict[str, ListedTool] = {}
    listed_at: float = 0.0
    ttl_ms: int = 0

    @property
    def offered(self) -> list[ListedTool]:
        """The tools that a model may be told of."""
        return [tool for name, tool in self.tools.items()
                if self.state(name) == "accepted"]

    def state(self, name: str) -> State:
        """How a tool of `tools` or `seen` stands."""
        known, now = self.tools.get(name), self.seen.get(name)
        if known is None or self.digests.get(name) != known.digest:
            return "new"
        if now is None:
            return "gone"
        return "accepted" if now.digest == known.digest else "changed"

    def states(self) -> dict[str, State]:
        """Every tool that is or was there."""
        return {name: self.state(name) for name in (*self.seen, *(
            name for name in self.tools if name not in self.seen))}

    def is_current(self, now: float) -> bool:
        """Whether the server has said that its list still holds."""
        return self.listed_at <= now < self.listed_at + self.ttl_ms / 1000

    def note(self, tools: Iterable[ListedTool], ttl_ms: int, now: float
             ) -> None:
        """What the server lists now."""
        self.seen = {tool.name: tool for tool in tools}
        self.listed_at, self.ttl_ms = now, ttl_ms

    def accept(self, shown: "Acceptance | None" = None) -> None:
        """The owner's yes to all that the server lists, or listed when it
        was `shown` to him."""
        self.tools = dict((shown or self).seen)
        self.digests = {name: tool.digest
                        for name, tool in self.tools.items()}

    def diff(self, name: str) -> list[str]:
        """What has changed of a tool, as lines of a diff."""
        before, after = (tools[name].render().encode(
            errors="surrogatepass") if name in tools else b""
            for tools in (self.tools, self.seen))
        return compare(before, after)


class AcceptedTools:
    """The file of one server below `home`, the folder of the settings."""

    def __init__(self, home: Path, server: McpServerSettings,
                 clock: Callable[[], float] = time.time) -> None:
        self._home = home
        self._name = f"{_FOLDER}/{name_file(server.name)}.json"
        self._server = server
        self.clock = clock

    @property
    def folder(self) -> Path:
        """Where a server's program may keep files of its own: its HOME."""
        return self._home / _FOLDER / name_file(self._server.name)

    def load(self) -> Acceptance:
        """What is known; nothing where the server is another one now.
        Raises StorageError for a file that can't be read."""
        server = fingerprint(self._server)
        found = read_accepted(
            self._home, self._name, Acceptance,
            hint=f"remove it, then: claw mcp accept {self._server.name}")
        return found if found is not None and found.server == server \
            else Acceptance(server)

    def update(self, change: Callable[[Acceptance], None]) -> Acceptance:
        """What is known after a change, which no other writer undoes: a
        running agent notes what a server lists while its owner says yes.
        Raises StorageError."""
        try:
            lock = nofollow.open_file(self._home, f"{_FOLDER}/.lock",
                                      os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise StorageError(f"{self._home / _FOLDER}/.lock can't be "
                               f"opened: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # for the length of one write
            found = self.load()
            change(found)
            self.save(found)
        finally:
            os.close(lock)
        return found

    def save(self, found: Acceptance) -> None:
        """Raises StorageError."""
        write_accepted(self._home, self._name, found)


def fingerprint(server: McpServerSettings) -> str:
    """The hash of where a server is found, its program and arguments or
    its address, and of what it may do beyond the least."""
    where = ([server.url] if server.transport == "http"
             else [server.command, *server.args])
    least = McpServerSettings()
    wider = {name: value for name in _REACH
             if (value := getattr(server, name)) != getattr(least, name)}
    return hashlib.sha256(json.dumps(
        [server.transport, where, *([wider] if wider else ())],
        sort_keys=True).encode()).hexdigest()
