"""A home for the objects that wiring builds; no key, no probe."""

import os

import pytest

from claw.config.places import locate
from claw.config.tree import load


@pytest.fixture
def write_settings(tmp_path, monkeypatch):
    """write_settings(text) gives the settings of a home of its own."""
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name.startswith("CLAW_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CLAW_NO_PROBE", "1")
    found = locate(str(tmp_path / "home"), None, {})
    found.workspace.mkdir(parents=True)

    def write(text=""):
        found.config_file.write_text(text)
        found.config_file.chmod(0o600)
        return load(found, {})
    return write


@pytest.fixture
def ask_server(write_settings):
    """ask_server(server, more) gives settings whose provider that is."""
    def write(server, more=""):
        return write_settings(
            f'default_provider = "custom:{server.url}"\n'
            f'default_model = "m"\n{more}')
    return write
