"""Names of MCP tools, as every model vendor takes them. Pure."""

import hashlib
import re
from collections.abc import Collection

_LONGEST = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


def name_tool(server: str, tool: str, taken: Collection[str] = ()) -> str:
    """`server__tool` in [A-Za-z0-9_-], at most 64 characters. One that is
    too long, or `taken`, ends in a hash of the two names."""
    name = f"{_OTHER.sub('_', server)}__{_OTHER.sub('_', tool)}"
    if len(name) <= _LONGEST and name not in taken:
        return name
    return f"{name[:_LONGEST - 9]}_{_digest(server, tool)}"


def name_file(server: str) -> str:
    """What the files of a server are called: of its letters, digits, _ and
    -; a hash is added where there is anything else in its name."""
    plain = _OTHER.sub("_", server)[:40]
    return plain if plain == server else f"{plain}-{_digest(server)}"


def _digest(*names: str) -> str:
    return hashlib.sha256("\0".join(names).encode(
        errors="surrogatepass")).hexdigest()[:8]
