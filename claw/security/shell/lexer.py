"""Reads a command line the way sh does, without running anything.

Quotes, escapes, operators, comments and line continuations are told
apart, so that policy looks at what the shell would run and not at
characters. Grammar: POSIX.1-2017, Shell Command Language, 2.2 to 2.4.
What claw never lets through (expansions, redirections to files,
background jobs) is named in `Script.trouble`.
"""

import re
from dataclasses import dataclass, field

from claw.core.value import Value

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_EXPANDS = re.compile(r"[A-Za-z0-9_{(\[#?!$*@\-'\"]")
# Nothing is written or read by these: 2>&1, >/dev/null, </dev/null. Not
# &>/dev/null: to a plain sh that is a background job.
_HARMLESS_REDIRECT = re.compile(
    r"(?:>&[12]|>>?[ \t]*/dev/null|<[ \t]*/dev/null)(?=[\s;|&)]|\Z)")


class Word(Value):
    """One word after quote removal; `bare` holds its unquoted
    characters only, with a NUL where a quoted one stood."""

    text: str
    bare: str


class Segment(Value):
    """One simple command; `after` is the operator before it."""

    after: str
    assignments: tuple[str, ...]
    words: tuple[Word, ...]


class Script(Value):
    """All simple commands, and the first thing that no policy allows."""

    segments: tuple[Segment, ...]
    trouble: str | None = None


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    after: str = ""
    words: list[Word] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    value: list[str] | None = None
    bare: list[str] = field(default_factory=list)
    trouble: str | None = None

    def blame(self, reason: str) -> None:
        self.trouble = self.trouble or reason

    def add(self, char: str, *, quoted: bool) -> None:
        self.begin_word()
        assert self.value is not None
        self.value.append(char)
        self.bare.append("\0" if quoted else char)

    def begin_word(self) -> None:
        """Quotes make a word, even an empty one."""
        if self.value is None:
            self.value = []

    def end_word(self) -> None:
        if self.value is not None:
            self.words.append(Word("".join(self.value), "".join(self.bare)))
        self.value, self.bare = None, []

    def drop_number(self) -> None:
        """A descriptor's number before a redirection is no word."""
        text = "".join(self.bare)
        if text.isascii() and text.isdigit():
            self.value, self.bare = None, []

    def end_segment(self, operator: str) -> None:
        self.end_word()
        names = 0
        while (names < len(self.words)
               and _ASSIGNMENT.match(self.words[names].bare)):
            names += 1
        if self.words:
            self.segments.append(Segment(
                self.after, tuple(w.text for w in self.words[:names]),
                tuple(self.words[names:])))
        self.words, self.after = [], operator


def read(command: str) -> Script:
    """The simple commands of `command`. Total: any text gives a Script."""
    reader = _Reader(command)
    for sign, reason in (("\0", "a NUL byte"), ("`", "command substitution"),
                         ("<(", "process substitution"),
                         (">(", "process substitution")):
        if sign in command:
            reader.blame(reason)
    while reader.at < len(command):
        _step(reader, command[reader.at])
    reader.end_segment("")
    return Script(tuple(reader.segments), reader.trouble)


def _step(reader: _Reader, char: str) -> None:
    reader.at += 1
    if char == "\\":
        _escape(reader)
    elif char == "'":
        _single(reader)
    elif char == '"':
        _double(reader)
    elif char in " \t":
        reader.end_word()
    elif char == "#" and reader.value is None:
        end = reader.text.find("\n", reader.at)
        reader.at = len(reader.text) if end < 0 else end
    elif char in "\n;|&()<>":
        _operator(reader, char)
    else:
        if char == "$":
            _dollar(reader)
        reader.add(char, quoted=False)


def _escape(reader: _Reader) -> None:
    if reader.at >= len(reader.text):
        reader.add("\\", quoted=True)
        return
    char = reader.text[reader.at]
    reader.at += 1
    if char != "\n":  # a continued line
        reader.add(char, quoted=True)


def _single(reader: _Reader) -> None:
    end = reader.text.find("'", reader.at)
    if end < 0:
        reader.blame("an unterminated quote")
        end = len(reader.text)
    reader.begin_word()
    for char in reader.text[reader.at:end]:
        reader.add(char, quoted=True)
    reader.at = end + 1


def _double(reader: _Reader) -> None:
    reader.begin_word()
    while reader.at < len(reader.text):
        char = reader.text[reader.at]
        reader.at += 1
        if char == '"':
            return
        if char == "\\" and reader.text[reader.at:reader.at + 1] in tuple(
                '$`"\\\n'):
            _escape(reader)
            continue
        if char == "$" and reader.text[reader.at:reader.at + 1] != '"':
            _dollar(reader)
        reader.add(char, quoted=True)
    reader.blame("an unterminated quote")


def _dollar(reader: _Reader) -> None:
    if _EXPANDS.match(reader.text, reader.at):
        reader.blame("an expansion with $")


def _operator(reader: _Reader, char: str) -> None:
    text, start = reader.text, reader.at - 1
    if char in "<>" or text.startswith("&>", start):
        _redirect(reader, start)
        return
    if char in "()":
        reader.blame("a subshell or function")
        reader.end_segment(char)
        return
    if char in "&|" and text.startswith(char, reader.at):
        reader.at += 1
        reader.end_segment(char * 2)
        return
    if char == "&":
        reader.blame("a background job (&)")
    reader.end_segment("|" if char == "|" else ";")


def _redirect(reader: _Reader, start: int) -> None:
    """Skip a redirection; all but the harmless ones are trouble."""
    reader.drop_number()
    reader.end_word()
    harmless = _HARMLESS_REDIRECT.match(reader.text, start)
    if harmless is None:
        reader.blame("a redirection")
        if reader.text.startswith("&>", start):
            reader.at = start + 2
        return
    reader.at = harmless.end()
