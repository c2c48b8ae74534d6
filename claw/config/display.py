"""Settings as people see them: TOML text, secrets masked."""

import json
from typing import Any

from claw.config.keys import SEALED, Path, is_secret, join_key

_MASK = "********"
# Whatever a header is called, its value may be a key.
_HEADERS = (("extra_headers",), ("headers",))


def to_toml(value: Any) -> str:
    """A value on one line of TOML. Raises ValueError for what TOML can't
    say (None, a lone surrogate)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError("a lone surrogate is no text") from error
        # JSON's escapes are TOML's; DEL is the one JSON leaves bare
        return json.dumps(value, ensure_ascii=False).replace(
            "\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        pairs = (f"{join_key([str(k)])} = {to_toml(v)}"
                 for k, v in value.items() if v is not None)
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    if isinstance(value, list | tuple | set | frozenset):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    if value is None:
        raise ValueError("TOML has no null")
    return str(value)  # dates and times


def mask(path: Path, value: Any) -> Any:
    """The value with its secrets hidden but for their last characters.

    Passwords inside URLs (http://user:pass@host) are hidden too.
    """
    if isinstance(value, dict):
        return {key: mask((*path, str(key)), below)
                for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [mask(path, below) for below in value]
    if not isinstance(value, str) or not value:
        return value
    if value.startswith("enc2:"):
        return _MASK + " (encrypted)"
    if is_secret(path) or path[-2:-1] in _HEADERS:
        return _MASK + (value[-4:] if len(value) >= 16 else "")
    return _without_password(value)


def _without_password(text: str) -> str:
    scheme, mark, rest = text.partition("://")
    host = rest.partition("/")[0]
    user, at, _ = host.rpartition("@")
    if not (mark and at and ":" in user):
        return text
    name = user.partition(":")[0]
    return f"{scheme}://{name}:{_MASK}@{rest[len(user) + 1:]}"


def find_open_secrets(node: Any, path: Path = ()) -> list[tuple[Path, str]]:
    """(path, text) of each secret that stands there in plain text."""
    if isinstance(node, dict):
        return [found for key, below in node.items()
                for found in find_open_secrets(below, (*path, key))]
    if isinstance(node, list):
        return [found for i, below in enumerate(node)
                for found in find_open_secrets(below, (*path, str(i)))]
    is_open = (isinstance(node, str) and node and is_secret(path)
               and not node.startswith(SEALED))
    return [(path, node)] if is_open else []
