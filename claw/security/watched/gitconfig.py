"""git's configuration: what a file says, and what of it runs programs.

The grammar is git's own (config.c), which is stricter than it looks;
what can't be read so is an error here too. Source: git-config(1), 2.51.
"""

import re
from collections.abc import Callable

from claw.core.value import Value

# Sections whose every key names or selects a program, or another file.
_SECTIONS = frozenset((
    "alias", "browser", "credential", "difftool", "filter", "guitool",
    "hook", "imap", "include", "includeif", "instaweb", "man", "mergetool",
    "pager", "protocol", "sendemail", "tig"))
# The last part of keys that do, in whatever section: tools of others name
# theirs alike.
_KEYS = re.compile(
    r".*(?:command|cmd|program|helper|hook|path|editor|pager|askpass|proxy|"
    r"browser|templatedir|uploadpack|receivepack)|"
    r"driver|textconv|external|clean|smudge|process|tunnel|vcs|difffilter|"
    r"fsmonitor|virtualfilesystem")
_SWITCHES = ("true", "false", "yes", "no", "on", "off", "0", "1", "")
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"'}
_SPACE = " \t\r\n"


class Entry(Value):
    """One setting: `name` is section.subsection.key, section and key in
    lower case; value None stands for true. `start` and `end` are where
    key and value stand in the text."""

    name: str
    value: str | None
    start: int
    end: int

    @property
    def section(self) -> str:
        return self.name.partition(".")[0]

    @property
    def key(self) -> str:
        return self.name.rpartition(".")[2]

    def runs_program(self) -> bool:
        """Whether git, or a tool that keeps its settings with it, runs
        what is said here, or reads more settings from there."""
        value = self.value or ""
        if value.startswith(("!", "ext::", "fd::")) or ".ext::" in self.name:
            return True
        if self.key == "fsmonitor" or self.section == "pager":
            return self.value is not None \
                and value.lower() not in _SWITCHES
        return (self.section in _SECTIONS
                or _KEYS.fullmatch(self.key) is not None)


def decode(data: bytes) -> str:
    """A file's text, a character a byte: nothing gets lost."""
    return data.decode("latin-1")


def parse(text: str) -> list[Entry]:
    """All settings in order. Raises ValueError for what git refuses."""
    return _Parser(text).parse()


def remove(text: str, bad: Callable[[Entry], bool]) -> str:
    """The text without its bad settings. Raises ValueError."""
    for entry in reversed(parse(text)):
        if bad(entry):
            text = text[:entry.start] + text[entry.end:]
    return text


class _Parser:
    """Reads a character at a time, as git does."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 3 if text.startswith("\xef\xbb\xbf") else 0

    def parse(self) -> list[Entry]:
        found: list[Entry] = []
        section = ""
        while char := self._next():
            if char in "#;":
                self._skip_line()
            elif char == "[":
                section = self._read_section()
            elif char.isascii() and char.isalpha():
                found.append(self._read_entry(section))
            elif char not in _SPACE:
                raise ValueError(f"unexpected {char!r}")
        return found

    def _next(self) -> str:
        """The next character, "" at the end; CR LF is one line end."""
        if self._text.startswith("\r\n", self._at):
            self._at += 1
        char = self._text[self._at:self._at + 1]
        self._at += 1
        return char

    def _skip_line(self) -> None:
        while self._next() not in ("\n", ""):
            pass

    def _read_section(self) -> str:
        name = ""
        while (char := self._next()) != "]":
            if char and char in _SPACE:
                return name + "." + self._read_subsection(char)
            if not _is_key_char(char) and char != ".":
                raise ValueError("a broken section")
            name += char.lower()
        if not name:
            raise ValueError("a broken section")
        return name

    def _read_subsection(self, char: str) -> str:
        while char and char in _SPACE:
            if char == "\n":
                raise ValueError("a broken section")
            char = self._next()
        if char != '"':
            raise ValueError("a broken section")
        name = ""
        while (char := self._next()) != '"':
            if char == "\\":
                char = self._next()
            if char in ("\n", ""):
                raise ValueError("a broken section")
            name += char
        if self._next() != "]":
            raise ValueError("a broken section")
        return name

    def _read_entry(self, section: str) -> Entry:
        start = self._at - 1
        while _is_key_char(char := self._next()):
            pass
        key = self._text[start:start + self._key_length(start)].lower()
        while char in (" ", "\t"):
            char = self._next()
        value = None
        if char not in ("\n", ""):
            if char != "=":
                raise ValueError(f"{key} without a value")
            value = self._read_value()
        end = min(self._at, len(self._text))
        if self._text[end - 1:end] == "\n":
            end -= 1
        return Entry(f"{section}.{key}" if section else key, value, start,
                     end)

    def _key_length(self, start: int) -> int:
        length = 0
        while _is_key_char(self._text[start + length:start + length + 1]):
            length += 1
        return length

    def _read_value(self) -> str:
        value, spaces = "", ""
        quoted = False
        while (char := self._next()) not in ("\n", ""):
            if char in _SPACE and not quoted:
                spaces += char if value else ""
                continue
            if char in ";#" and not quoted:
                self._skip_line()
                return value
            value, spaces = value + spaces, ""
            if char == "\\":
                escaped = self._next()
                if escaped not in ("\n", ""):
                    if escaped not in _ESCAPES:
                        raise ValueError("an unknown escape")
                    value += _ESCAPES[escaped]
            elif char == '"':
                quoted = not quoted
            else:
                value += char
        if quoted:
            raise ValueError("a quote without its end")
        return value


def _is_key_char(char: str) -> bool:
    return bool(char) and char.isascii() and (char.isalnum() or char == "-")
