"""Settings and environment -> the secrets of this installation, and what
takes them out of texts."""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from claw.config.keys import Path, is_secret
from claw.config.tree import Tree
from claw.core.errors import ConfigError
from claw.security.redact.redactor import Redactor

SHORTEST_SECRET = 8


def build_redactor(tree: Tree, *, quick: bool = False) -> Redactor:
    """What takes this installation's secrets out of texts."""
    return Redactor(partial(collect_secrets, tree), quick=quick)


def collect_secrets(tree: Tree, env: Mapping[str, str] = os.environ
                    ) -> list[str]:
    """Every secret of the settings and of variables that are named like
    one, and the key of the encrypted ones. One that can't be decrypted is
    none that we could tell."""
    found = read_variables(env)
    with suppress(OSError, ValueError):
        found.append(tree.places.key_file.read_text("ascii").strip())

    def walk(value: Any, path: Path) -> None:
        if isinstance(value, dict):
            for key, below in value.items():
                walk(below, (*path, key))
        elif isinstance(value, list):
            for index, below in enumerate(value):
                walk(below, (*path, str(index)))
        elif isinstance(value, str) and is_secret(path):
            with suppress(ConfigError):
                found.append(tree.plain(path, value))
    walk(tree.raw, ())
    return list(dict.fromkeys(
        secret for secret in found if len(secret) >= SHORTEST_SECRET))


def read_variables(env: Mapping[str, str] = os.environ) -> list[str]:
    """The values of variables that are named like a secret."""
    return [value.strip() for name, value in env.items()
            if is_secret((name,)) and _is_key(value)]


def _is_key(value: str) -> bool:
    """Whether it is more than a word such as "not-needed", which local
    servers are given for a key."""
    return not value.replace("-", "").replace("_", "").isalpha()
