"""A file of NAME=value lines. Pure."""

import re

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")


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
