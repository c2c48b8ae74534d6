"""A file of NAME=value lines, and secrets that are named by one. Pure."""

import re
from collections.abc import Mapping
from typing import Any

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def parse_env(text: str) -> dict[str, str]:
    """The variables; a value may stand in quotes, what follows a blank and
    # is a comment. Nothing is expanded."""
    found = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match:
            value = match[2].strip()
            if len(value) > 1 and value[0] in "'\"" \
                    and value.find(value[0], 1) > 0:
                value = value[1:value.find(value[0], 1)]
            else:
                value = re.split(r"\s#", value, maxsplit=1)[0].strip()
            if value:
                found[match[1]] = value
    return found


class Opener:
    """Secrets that stand elsewhere: ${NAME}, or {source: env, id}."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env

    def open(self, value: Any) -> Any:
        """The value with what could be found; None for what could not."""
        if isinstance(value, dict):
            if value.get("source") in ("env", "file", "exec") \
                    and "id" in value:
                return self.env.get(str(value["id"])) \
                    if value["source"] == "env" else None
            return {key: self.open(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.open(each) for each in value]
        if isinstance(value, str) and (
                found := _VARIABLE.search(value)):
            if found[1] not in self.env:
                return None
            return _VARIABLE.sub(
                lambda match: self.env.get(match[1], match[0]), value)
        return value
