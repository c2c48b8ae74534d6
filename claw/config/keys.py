"""Dotted setting names: `memory.backend`, `model_providers."my.host".name`.

A part that holds a dot or a blank stands in quotes; entries of an array
of tables are numbered from 0 (`model_routes.0.hint`).
"""

import re
from collections.abc import Sequence

from claw.core.errors import UsageError

Path = tuple[str, ...]

# Names of settings whose text is a secret, in any table.
_SECRET_NAMES = frozenset({
    "api_key", "api_keys", "apikey", "token", "paired_tokens", "secret",
    "password", "passwd", "private_key", "db_url", "webhook_key",
    "encrypt_key", "auth_header", "authorization", "cookie", "pair_code",
    "user_key",
})
_SECRET_ENDINGS = ("_api_key", "_apikey", "_token", "_secret", "_password",
                   "_private_key", "_secret_key", "_access_key")

# How an encrypted value begins.
SEALED = ("enc2:", "enc:")

# One part and the dot behind it; compiled only where a name has quotes.
_PART = r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|((?![\s"'])[^.]*))\s*(\.|\Z)"""
_ESCAPE = (r"\\(?:u([0-9a-fA-F]{4})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})"
           r"|(.?))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def split_key(dotted: str | Sequence[str]) -> Path:
    """The parts of a dotted name; "" is the empty path.

    Raises UsageError for an empty part or an open quote.
    """
    if not isinstance(dotted, str):
        return tuple(dotted)
    if not dotted.strip():
        return ()
    if '"' not in dotted and "'" not in dotted:
        parts = [part.strip() for part in dotted.split(".")]
    else:
        parts = _split_quoted(dotted)
    if "" in parts:
        raise _bad_key(dotted)
    return tuple(parts)


def join_key(path: Sequence[str]) -> str:
    """The dotted name of a path, with quotes where a part needs them."""
    return ".".join(_quote(part) for part in path)


def is_secret(path: Sequence[str]) -> bool:
    """Whether text at this path is a secret, by the name of its key.

    An entry of a list counts under the list's name (api_keys.0).
    """
    name = next((part for part in reversed(path) if not part.isdigit()), "")
    name = name.lower().replace("-", "_")
    return name in _SECRET_NAMES or name.endswith(_SECRET_ENDINGS)


def _quote(part: str) -> str:
    """A part as TOML writes it: bare where it can be."""
    plain = part.replace("_", "").replace("-", "")
    return (part if plain.isalnum() and part.isascii()
            else '"' + "".join(map(_escape, part)) + '"')


def _escape(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    is_control = ord(char) < 32 or char == "\x7f"
    return f"\\u{ord(char):04x}" if is_control else char


def _split_quoted(dotted: str) -> list[str]:
    part = re.compile(_PART, re.DOTALL)
    parts: list[str] = []
    position = 0
    while found := part.match(dotted, position):
        basic, literal, bare, dot = found.groups()
        parts.append(_resolve_escapes(basic) if basic is not None
                     else (literal or "") if bare is None else bare.strip())
        if not dot:
            return parts
        position = found.end()
    raise _bad_key(dotted)


def _resolve_escapes(text: str) -> str:
    """The inside of a double-quoted part, escapes resolved."""
    def resolve(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2]
        return (chr(int(code, 16)) if code
                else _ESCAPES.get(escape[3], escape[3]))
    return re.sub(_ESCAPE, resolve, text, flags=re.DOTALL)


def _bad_key(dotted: str) -> UsageError:
    return UsageError(
        f"{dotted!r} is not a setting's name",
        hint='names look like memory.backend or model_providers."my.host".'
             "base_url")
