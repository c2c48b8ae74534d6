"""sed scripts that only print: read command by command.

Known are the commands of GNU sed 4.9 that touch nothing but the stream;
e, r, R, w, W and the flags e and w of s are not among them, and what
different seds read differently is not either.
"""

import re

from claw.security.shell.effects.options import NotListed

_ADDRESS = re.compile(r"\$|\d+(?:~\d+)?|[+~]\d+")
_PLAIN = re.compile(r"[pPdDnNgGhHx=zF{}]|[qQl][ \t]*\d*")
_BRANCH = re.compile(r"[btT][ \t]*\w*|:[ \t]*\w+")
_TEXT = re.compile(r"[aic](?:[ \t]*\\)?[ \t]*[^\s\\][^\\\n]*(?=\n|\Z)")
_FLAGS = re.compile(r"[gpiIMm\d]*")


def check(script: str) -> None:
    """Raises NotListed for what does more than print."""
    at = 0
    while (at := _skip(r"[\s;]*", script, at)) < len(script):
        end = _command(script, _addresses(script, at))
        at = _skip(r"[ \t]*", script, end)
        if script[end - 1] not in "{}" and script[at:at + 1] not in (
                "", ";", "\n", "}", "#"):
            raise _unknown(script)


def _command(script: str, at: int) -> int:
    """Where the command at `at` ends."""
    char = script[at:at + 1]
    if char == "#":
        return _skip(r"[^\n]*", script, at)
    if char in ("s", "y"):
        return _substitute(script, at)
    for pattern in (_PLAIN, _BRANCH, _TEXT):
        if found := pattern.match(script, at):
            return found.end()
    raise _unknown(script)


def _addresses(script: str, at: int) -> int:
    for _ in range(2):
        if found := _ADDRESS.match(script, at):
            at = found.end()
        elif script[at:at + 1] in ("/", "\\"):
            start = at if script[at] == "/" else at + 1
            at = _skip(r"[IM]*", script, _delimited(script, start))
        at = _skip(r"[ \t]*", script, at)
        if script[at:at + 1] != ",":
            break
        at = _skip(r"[ \t]*", script, at + 1)
    return _skip(r"[ \t!]*", script, at)


def _substitute(script: str, at: int) -> int:
    """s/regex/text/flags or y/abc/xyz/."""
    middle = _delimited(script, at + 1)
    end = _delimited(script, middle - 1)
    return end if script[at] == "y" else _skip(_FLAGS, script, end)


def _delimited(script: str, at: int) -> int:
    """Behind the delimiter that closes the one at `at`."""
    sign = script[at:at + 1]
    if not sign or sign in "\\\n" or sign.isalnum() or sign.isspace():
        raise _unknown(script)
    found = re.compile(rf"(?:\\.|(?!\\|{re.escape(sign)}).)*"
                       + re.escape(sign), re.DOTALL).match(script, at + 1)
    if found is None:
        raise _unknown(script)
    inside = found[0][:-1]
    if "\n" in inside or opens_bracket(inside):
        raise _unknown(script)
    return found.end()


def opens_bracket(regex: str) -> bool:
    """Whether [...] is still open at the end: a / in it ends the
    expression for some programs and not for others."""
    rest = re.sub(r"\\.|\[\^?\]?(?:\[:\w+:\]|[^\]])*\]", "", regex,
                  flags=re.DOTALL)
    return "[" in rest


def _skip(pattern: str | re.Pattern[str], script: str, at: int) -> int:
    found = re.compile(pattern).match(script, at)
    return found.end() if found else at


def _unknown(script: str) -> NotListed:
    return NotListed(f"sed {script[:60]!r} is not known to only print")
