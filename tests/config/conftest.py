"""Places in a temporary folder, and config.toml files in them."""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from claw.config.places import Places, locate
from claw.config.tree import Tree, load

importlib.import_module("claw.channels")  # its channels bring their keys


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A home that does not exist yet."""
    return locate(str(tmp_path / "home"), env={"HOME": str(tmp_path)})


@pytest.fixture
def write(places: Places) -> Callable[[str | bytes], Places]:
    """Put a text in config.toml, private as claw writes it."""

    def put(text: str | bytes) -> Places:
        data = text.encode() if isinstance(text, str) else text
        places.home.mkdir(exist_ok=True)
        places.config_file.write_bytes(data)
        places.config_file.chmod(0o600)
        return places

    return put


@pytest.fixture
def tree_of(write: Callable[[str | bytes], Places]) -> Callable[..., Tree]:
    """tree_of(text, env={...}, overrides={...})."""

    def make(text: str | bytes, env: Mapping[str, str] | None = None,
             overrides: Mapping[str, Any] | None = None) -> Tree:
        return load(write(text), env or {}, overrides)

    return make
