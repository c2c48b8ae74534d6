"""Dotted setting names: `memory.backend`, `model_providers."my.host".name`.

A part that holds a dot or a blank stands in quotes; entries of an array
of tables are numbered from 0 (`model_routes.0.hint`).
"""

from collections.abc import Sequence

from claw.core.errors import UsageError

Path = tuple[str, ...]

# Names of settings whose text is a secret, in any table.
_SECRET_NAMES = frozenset({
    "api_key", "api_keys", "apikey", "token", "paired_tokens", "secret",
    "password", "passwd", "private_key", "db_url", "webhook_key",
    "encrypt_key", "auth_header", "authorization", "cookie", "pair_code",
})
_SECRET_ENDINGS = ("_api_key", "_apikey", "_token", "_secret", "_password",
                   "_private_key", "_secret_key", "_access_key")

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
    return ".".join(_quoted(part) for part in path)


def is_secret(path: Sequence[str]) -> bool:
    """Whether text at this path is a secret, by the name of its key.

    An entry of a list counts under the list's name (api_keys.0).
    """
    names = [part for part in path if not part.isdigit()]
    if not names:
        return False
    name = names[-1].lower().replace("-", "_")
    return name in _SECRET_NAMES or name.endswith(_SECRET_ENDINGS)


def _quoted(part: str) -> str:
    """A part as TOML writes it: bare where it can be."""
    plain = part.replace("_", "").replace("-", "")
    if plain.isalnum() and part.isascii():
        return part
    return '"' + "".join(map(_escaped, part)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    is_control = ord(char) < 32 or char == "\x7f"
    return f"\\u{ord(char):04x}" if is_control else char


def _split_quoted(dotted: str) -> list[str]:
    parts: list[str] = []
    rest = dotted.strip()
    while True:
        if rest[:1] in ('"', "'"):
            end = _closing(rest)
            if end < 0:
                raise _bad_key(dotted)
            inner = rest[1:end]
            parts.append(_plain(inner) if rest[0] == '"' else inner)
            rest = rest[end + 1:].lstrip()
        else:
            part = rest.partition(".")[0]
            parts.append(part.strip())
            rest = rest[len(part):]
        if not rest:
            return parts
        if rest[0] != ".":
            raise _bad_key(dotted)
        rest = rest[1:].lstrip()


def _closing(text: str) -> int:
    """Where the quote that opens this text is closed; -1 if nowhere."""
    position = 1
    while position < len(text) and text[position] != text[0]:
        escapes = text[position] == "\\" and text[0] == '"'
        position += 2 if escapes else 1
    return position if position < len(text) else -1


def _plain(text: str) -> str:
    """The inside of a double-quoted part, escapes resolved."""
    if "\\" not in text:
        return text
    found, position = [], 0
    while position < len(text):
        char = text[position]
        position += 1
        if char != "\\":
            found.append(char)
            continue
        kind = text[position:position + 1]
        digits = {"u": 4, "U": 8}.get(kind, 0)
        code = text[position + 1:position + 1 + digits]
        try:
            found.append(chr(int(code, 16)) if digits
                         else _ESCAPES.get(kind, kind))
        except (ValueError, OverflowError):
            found.append(kind + code)
        position += 1 + digits
    return "".join(found)


def _bad_key(dotted: str) -> UsageError:
    return UsageError(
        f"{dotted!r} is not a setting's name",
        hint='names look like memory.backend or model_providers."my.host".'
             "base_url")
