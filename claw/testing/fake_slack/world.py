"""What a workspace holds: people, channels, messages and files."""

import itertools
import time
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


class ApiError(Exception):
    """A refusal; `extra` stands beside "error" in the answer."""

    def __init__(self, code: str, **extra: Any) -> None:
        super().__init__(code)
        self.code = code
        self.extra = extra


@dataclass
class Upload:
    """A file that a bot brings."""

    file_id: str
    name: str
    length: int
    content: bytes | None = None
    done: bool = False


@dataclass
class World:
    """A workspace. `clock` gives Slack's time in seconds."""

    bot: Json
    clock: Any = time.time
    people: dict[str, Json] = field(default_factory=dict)
    channels: dict[str, Json] = field(default_factory=dict)
    messages: dict[str, list[Json]] = field(default_factory=dict)
    uploads: dict[str, Upload] = field(default_factory=dict)
    files: dict[str, Json] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    reactions: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    statuses: list[Json] = field(default_factory=list)
    updated: list[Json] = field(default_factory=list)
    keeps_metadata: bool = True
    _last: float = 0.0
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def next_ts(self) -> str:
        """Unique and growing, as Slack's are."""
        self._last = max(self.clock(), self._last + 0.000_001)
        return f"{self._last:.6f}"

    def number(self, letter: str) -> str:
        return f"{letter}{next(self._numbers):010d}"

    def channel(self, channel: str) -> Json:
        """A channel, made where it is not there; D... is private."""
        if channel not in self.channels:
            self.channels[channel] = {
                "id": channel, "is_archived": False,
                **({"is_im": True, "user": "U" + channel[1:]}
                   if channel.startswith("D") else
                   {"name": channel.lower(), "is_channel": True,
                    "is_member": True})}
            self.messages[channel] = []
        return self.channels[channel]

    def person(self, user: str, name: str = "") -> Json:
        return self.people.setdefault(user, {
            "id": user, "name": name or user.lower(), "is_bot": False,
            "profile": {"display_name": name or user.lower(),
                        "real_name": (name or user).title()}})

    def find(self, channel: str, ts: str) -> Json | None:
        return next((m for m in self.messages.get(channel, ())
                     if m["ts"] == ts), None)

    def add(self, channel: str, message: Json) -> Json:
        """A message, with its ts."""
        self.channel(channel)
        message = {"type": "message", "ts": self.next_ts(), **message}
        self.messages[channel].append(message)
        parent = self.find(channel, message.get("thread_ts", ""))
        if parent is not None and parent is not message:
            parent["thread_ts"] = parent["ts"]
            parent["reply_count"] = parent.get("reply_count", 0) + 1
            parent["latest_reply"] = message["ts"]
        return message
