"""Lines of IRC: read from any bytes, written so that no text can become a
command of its own. Pure.

    @time=2026-11-23T10:00:00.000Z :al!a@host PRIVMSG #room :hello

Source: RFC 2812 section 2.3, ircv3.net/specs/extensions/message-tags,
modern.ircdocs.horse/formatting.
"""

import re
from collections.abc import Mapping

from claw.core.value import Value, made

_UNESCAPED = {":": ";", "s": " ", "r": "\r", "n": "\n"}
_ESCAPED = str.maketrans({";": r"\:", " ": r"\s", "\r": r"\r", "\n": r"\n",
                          "\\": r"\\"})
_FORMATS = re.compile(
    "\x03(?:[0-9]{1,2}(?:,[0-9]{1,2})?)?"
    "|\x04(?:[0-9a-fA-F]{6}(?:,[0-9a-fA-F]{6})?)?")
_CONTROLS = re.compile("[\0-\x1f\x7f]")
_UPPER = "".join(map(chr, range(65, 91)))
_LOWER = _UPPER.lower()
_FOLDS = {
    "ascii": str.maketrans(_UPPER, _LOWER),
    "rfc1459": str.maketrans(_UPPER + "[]\\~", _LOWER + "{}|^"),
    "rfc1459-strict": str.maketrans(_UPPER + "[]\\", _LOWER + "{}|"),
}


class Line(Value):
    """A line that came. `source` is its prefix, `command` in capitals."""

    command: str
    params: tuple[str, ...] = ()
    source: str = ""
    tags: Mapping[str, str] = made(factory=dict)

    @property
    def nick(self) -> str:
        return self.source.partition("!")[0]

    @property
    def last(self) -> str:
        return self.params[-1] if self.params else ""

    def param(self, number: int) -> str:
        """"" where there are not so many."""
        return self.params[number] if number < len(self.params) else ""


def read_line(raw: bytes) -> Line | None:
    """A line without its end; None for a blank one."""
    text = decode(raw).replace("\0", "")
    tags: dict[str, str] = {}
    if text.startswith("@"):
        head, _, text = text[1:].partition(" ")
        tags = dict(map(_read_tag, filter(None, head.split(";"))))
    text = text.lstrip(" ")
    source = ""
    if text.startswith(":"):
        source, _, text = text[1:].partition(" ")
    middle, trail, trailing = f" {text}".partition(" :")
    words = [word for word in middle.split(" ") if word]
    if not words:
        return None
    params = (*words[1:], *([trailing] if trail else ()))
    return Line(words[0].upper(), params, source, tags)


def _read_tag(tag: str) -> tuple[str, str]:
    name, _, value = tag.partition("=")
    return name, re.sub(r"\\(.?)", lambda m: _UNESCAPED.get(m[1], m[1]),
                        value)


def decode(raw: bytes) -> str:
    """UTF-8, perhaps cut off inside a character by a server that counts
    bytes; else the single bytes that Windows wrote."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        if error.end == len(raw) > error.start > len(raw) - 4 \
                and not raw[:error.start].isascii():
            return raw[:error.start].decode()
    try:
        return raw.decode("cp1252")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def write_line(command: str, *params: str,
               tags: Mapping[str, str] | None = None) -> bytes:
    """A line with its end; the last parameter may hold blanks. No control
    character of a parameter ends it or begins another. Raises ValueError
    where one but the last would not stay one."""
    *middle, last = map(strip_controls, params or ("",))
    if any(not p or " " in p or p.startswith(":") for p in middle):
        raise ValueError("a parameter is empty or holds a blank")
    head = "" if not tags else "@" + ";".join(
        f"{name}={value.translate(_ESCAPED)}"
        for name, value in tags.items()) + " "
    words = [command, *middle]
    if params:
        bare = last and " " not in last and not last.startswith(":")
        words.append(last if bare and command != "PRIVMSG" else f":{last}")
    return (head + " ".join(words)).encode("utf-8", "replace") + b"\r\n"


def write_ctcp(nick: str, command: str, text: str) -> bytes:
    """An answer to a CTCP question."""
    return (f"NOTICE {strip_controls(nick)} :\x01{command} "
            f"{strip_controls(text)}\x01\r\n").encode("utf-8", "replace")


def strip_controls(text: str) -> str:
    return _CONTROLS.sub("", text)


def strip_formats(text: str) -> str:
    """What a person reads, without colours and other formats."""
    return strip_controls(_FORMATS.sub("", text).replace("\t", "    "))


def fold(name: str, casemapping: str) -> str:
    """The one spelling of a name on a server."""
    return name.translate(_FOLDS.get(casemapping, _FOLDS["rfc1459"]))


def read_ctcp(text: str) -> tuple[str, str] | None:
    """(command, argument) of a CTCP message; None for other texts."""
    if not text.startswith("\x01"):
        return None
    command, _, argument = text.strip("\x01").partition(" ")
    return command.upper(), argument
