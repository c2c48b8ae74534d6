"""Hints name the way claw was really installed."""

import json
from importlib import metadata

import pytest

from claw.core.installed import install_command, package_command


class Installed:
    def __init__(self, record):
        self._record = record

    def read_text(self, name):
        return self._record if name == "direct_url.json" else None


@pytest.mark.parametrize(("records", "ends"), [
    ([{"url": "file://{here}", "dir_info": {}}], "install '{here}[x]'"),
    ([{"url": "https://h.test/claw.git", "vcs_info": {"vcs": "git"}}],
     "install 'claw[x] @ git+https://h.test/claw.git'"),
    ([None, {"url": "file://{here}"}], "install '{here}[x]'"),
    ([None], 'its extra "x" again the way it was installed'),
    ([], 'its extra "x" again the way it was installed'),
    (["{"], 'its extra "x" again the way it was installed'),
    ([{"url": "file:///no/such/folder"}],
     'its extra "x" again the way it was installed'),
])
def test_the_command_names_where_claw_came_from(monkeypatch, tmp_path,
                                                records, ends):
    def text(record):
        return (record if isinstance(record, str | None)
                else json.dumps(record).replace("{here}", str(tmp_path)))
    monkeypatch.setattr(metadata, "distributions", lambda name: [
        Installed(text(record)) for record in records])

    assert install_command("x").endswith(
        ends.replace("{here}", str(tmp_path)))


def test_another_package_goes_beside_claw():
    command = package_command("httpx[socks]")

    assert command.endswith("'httpx[socks]'")
    assert "python" in command
