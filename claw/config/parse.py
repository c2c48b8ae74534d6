"""config.toml as a dictionary, with errors that say where and what to do.

UTF-8, with or without a byte order mark, LF or CRLF. Imported only when
the file exists.
"""

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from claw.core.errors import ConfigError

_BOM = b"\xef\xbb\xbf"
MOST_BYTES = 1 << 20

_WAYS = "do it with: claw config edit; or take the last change back: claw " \
        "config undo"
# What a message of tomllib usually means, first match wins.
_LIKELY_FIXES = (
    ("Cannot overwrite a value", "this key is there twice: remove one"),
    ("Duplicate inline table key", "this key is there twice: remove one"),
    ("Cannot declare", "this [table] is there twice: put the keys together "
                       "under one header"),
    ("Cannot redefine namespace", "this table is already defined elsewhere:"
                                  " put the keys together"),
    ("Cannot mutate immutable namespace", "this table is already written "
                                          "as { ... }: add the keys there"),
    ("Expected '=' after a key", "write: key = value"),
    ("Expected ']", "close the [table] header with the same brackets"),
    ("Unclosed array", "put a comma between the entries and close the list "
                       "with ]"),
    ("Unclosed inline table", "write { a = 1, b = 2 } on one line"),
    ("Unescaped '\\'", "double the backslash, or use single quotes: "
                       "'C:\\path'"),
    ("Invalid hex value", "double the backslash, or use single quotes"),
    ("Unterminated string", "close the text with the quote that opens it"),
    ("Illegal character '\\n'", "close the text with the quote that opens "
                                "it"),
    ("Illegal character", "remove the invisible character"),
    ("Expected newline or end of document", "one key = value a line; text "
                                            "needs quotes"),
    ("Invalid initial character for a key", "names are letters, digits, _ "
                                            "and -; others need quotes"),
    ("Invalid value", 'text needs quotes: key = "value"; true and false are'
                      " lower-case; is a list above closed with ]?"),
    ("Invalid statement", "one key = value a line, comments start with #"),
)


def read_config(path: Path) -> tuple[dict[str, Any], str, int]:
    """(tree, text, mode bits) of a TOML file that exists.

    Raises ConfigError for a file that can't be read, isn't UTF-8 or
    isn't TOML, with line and column.
    """
    data, mode = read_file(path)
    return *parse_config(data, path), mode


def parse_config(data: bytes, path: Path) -> tuple[dict[str, Any], str]:
    """(tree, text) of the config.toml in use: its errors end with the ways
    out of them."""
    try:
        text = decode_text(data, path)
        return parse(text, str(path)), text
    except ConfigError as error:
        error.hint = f"{error.hint}; {_WAYS}"
        raise


def parse(text: str, name: str) -> dict[str, Any]:
    """The tree of a TOML text; `name` is what errors call it."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ConfigError(f"{name}: tables or lists are nested too deeply",
                          hint="flatten them") from error
    except ValueError as error:
        raise _syntax_error(text, name, str(error)) from error


def read_file(path: Path, most_bytes: int = MOST_BYTES
              ) -> tuple[bytes, int]:
    """(bytes, mode bits) of a regular file. Never waits for a pipe."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            mode = os.fstat(fd).st_mode
            if not stat.S_ISREG(mode):
                raise ConfigError(
                    f"{path} is not a regular file",
                    hint="move it away, or choose another folder with "
                         "--config-dir")
            data = file.read(most_bytes + 1)
            _refuse_much(data, path, most_bytes)
            return data, stat.S_IMODE(mode)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read: {error.strerror}",
            hint=f"look at: ls -ld '{path}'") from error


def decode_text(data: bytes, path: Path | str) -> str:
    """The text of these bytes; `path` is what errors call them."""
    _refuse_much(data, path)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ConfigError(f"{path}:1:1: the file is UTF-16, not UTF-8",
                          hint="save it as UTF-8")
    data = data.removeprefix(_BOM)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[:error.start]
        line = before.count(b"\n") + 1
        last = before.rpartition(b"\n")[2]
        column = len(last.decode("utf-8", "replace")) + 1
        raise ConfigError(
            f"{path}:{line}:{column}: byte 0x{data[error.start]:02x} is not "
            "UTF-8", hint="save the file as UTF-8") from error


def _refuse_much(data: bytes, path: Path | str, most_bytes: int = MOST_BYTES
                 ) -> None:
    if len(data) > most_bytes:
        raise ConfigError(
            f"{path} holds more than {most_bytes >> 20} MiB, which no "
            "settings do",
            hint="move it away, or take out what does not belong there")


def _syntax_error(text: str, name: str, message: str) -> ConfigError:
    """tomllib says "... (at line 3, column 5)" or "(at end of document)"."""
    reason, _, place = message.partition(" (at ")
    found = re.match(r"line (\d+), column (\d+)", place)
    if found:
        line, column = int(found[1]), int(found[2])
    else:
        lines = text.rstrip().split("\n")
        line, column = len(lines), len(lines[-1].rstrip("\r")) + 1
    hint = next((fix for start, fix in _LIKELY_FIXES
                 if reason.startswith(start)), "correct this line")
    if place == "end of document)" and reason == "Invalid value":
        hint = "write the value, and close the list or table that it is in"
    # a table's name comes as a tuple: ('a', 'b')
    reason = re.sub(r"\(('.*?'),?\)", lambda m: "[" + m[1].replace(
        "'", "").replace(", ", ".") + "]", reason[:1].lower() + reason[1:])
    if len(reason) > 200:
        reason = reason[:199] + "…"
    return ConfigError(f"{name}:{line}:{column}: {reason}", hint=hint)
