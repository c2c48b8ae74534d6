"""Standing permissions: calls of one shape that the owner allows for a while.

[autonomy.permissions.ID] in config.toml holds one. A shape is a command by
its words, or a tool with each of its arguments; `*` stands for one word that
is no option, or for any text within an argument. Shells and interpreters
have none: the same words need not do the same thing again.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from claw.security.shell.lexer import Word, read
from claw.security.visible import visible

SHELL = "shell"
ANY = "*"
_COMMAND_CHARS = 300  # of one that is offered to be copied
# A * before the path of an address, in its scheme too.
_FIXED_HOST = re.compile(r"https?://[^/*\s]+/")
_OPEN_HOST = re.compile(r"\s*(?:[\w+.-]*\*[\w+.*-]*://|[\w+.-]+:/[^/]*\*"
                        r"|[\w+.-]+://[^/]*\*)")
# What sh turns into other words where it is not quoted.
_SPREADS = re.compile(r"^~|[*?\[{]")


class PermissionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[autonomy.permissions.ID]

    tool: the tool that may be called
    until: when it ends, RFC 3339
    workspace: the folder where it holds
    command: the command, for the tool shell; * stands for one word
    arguments: each argument of another tool; * stands for any text
    channel: for turns that came through this channel, not for your own
    """

    tool: str
    until: str
    workspace: str
    command: str = ""
    arguments: dict[str, str] = {}
    channel: str = ""

    def __post_init__(self) -> None:
        ends = datetime.fromisoformat(self.until)
        if ends.tzinfo is None:
            raise ValueError("until needs a time zone, as in "
                             "2026-12-01T12:00:00+00:00")
        if any(_OPEN_HOST.match(text) for text in self.arguments.values()):
            raise ValueError("a * may stand behind the host of an address, "
                             "not in it")
        address = self.arguments.get("url", "")
        if ANY in address and not _FIXED_HOST.match(address):
            raise ValueError("url says its host whole before a *, as in "
                             "https://example.com/*")

    @property
    def id(self) -> str:
        """The same for the same shape and place, whenever it ends."""
        text = json.dumps([self.tool, self.workspace, self.command,
                           self.arguments, self.channel], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def shape(self) -> str:
        """For people: what may be called."""
        return self.command if self.tool == SHELL else " ".join(
            [self.tool, *(f"{name}={text}" for name, text
                          in self.arguments.items())])

    @property
    def is_open(self) -> bool:
        """Whether a part of the shape stands for what nobody has seen."""
        return ANY in self.command or any(
            ANY in text for text in self.arguments.values())

    def is_over(self, now: datetime) -> bool:
        return datetime.fromisoformat(self.until) <= now

    def covers(self, tool: str, args: Mapping[str, Any], *, workspace: str,
               channel: str | None, now: datetime) -> bool:
        """Whether this very call is allowed."""
        if (self.tool, self.workspace, self.channel) != (
                tool, workspace, channel or "") or self.is_over(now):
            return False
        given = list_arguments(args)
        if tool == SHELL:
            command = given.pop("command", None)
            return not given and isinstance(command, str) \
                and _matches_words(self.command, command)
        return given.keys() == self.arguments.keys() and all(
            _matches_text(text, given[name])
            for name, text in self.arguments.items())


def list_arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """What a call says: models write null for what they leave out, and
    `approved` is the owner's to say."""
    return {name: value for name, value in args.items()
            if value is not None and (name, value) != ("approved", False)}


def write_command(one: PermissionSettings) -> str | None:
    """The line of a shell that allows this for a week; None for one that
    nobody would copy."""
    words = [one.command] if one.tool == SHELL else [
        f"{name}={text}" for name, text in one.arguments.items()]
    if one.channel:
        words += ["--channel", one.channel]
    if one.command.startswith("-") or any(
            name.startswith("-") or "=" in name for name in one.arguments):
        return None  # read as an option, or as another argument
    text = shlex.join(["claw", "permission", "allow", one.tool, *words])
    # fish reads a backslash before the ' that ends a word
    return text if len(text) <= _COMMAND_CHARS \
        and not {"`", "\\"}.intersection(text) \
        and text == visible(text) else None


def write_text(value: Any) -> str:
    """An argument as patterns see it."""
    return value if isinstance(value, str) else json.dumps(
        value, sort_keys=True, ensure_ascii=False, default=str)


def read_words(command: str) -> tuple[Word, ...] | None:
    """The words of one simple command; None for more than that."""
    script = read(command)
    if script.trouble is not None or len(script.segments) != 1 \
            or script.segments[0].assignments:
        return None
    return script.segments[0].words


def _matches_words(shape: str, command: str) -> bool:
    wanted, words = read_words(shape), read_words(command)
    return bool(wanted) and words is not None and wanted is not None \
        and len(wanted) == len(words) \
        and all(map(_matches_word, wanted, words))


def _matches_word(want: Word, word: Word) -> bool:
    """Whether the shell makes the same of both; `*` is one word as it
    stands, and none that it spreads out to others."""
    spreads = _SPREADS.search(word.bare) is not None
    if want.text == ANY:
        # of git +main is forced, and :main is removed
        return not spreads and not word.text.startswith(("-", "+", ":"))
    return word.text == want.text and (word.bare == want.bare or not (
        spreads or _SPREADS.search(want.bare)))


def _matches_text(shape: str, value: Any) -> bool:
    pattern = ".*".join(map(re.escape, shape.split(ANY)))
    return re.fullmatch(pattern, write_text(value), re.DOTALL) is not None
