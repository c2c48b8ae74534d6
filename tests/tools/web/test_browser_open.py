"""browser_open: what is handed to the browser of the owner, and what not."""

import pytest

from claw.tools.web.browser.window import BrowserOpen
from claw.tools.web.settings import BrowserSettings


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """A program that writes down what it is to open."""
    program, said = tmp_path / "bin/xdg-open", tmp_path / "opened"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$1" >> {said}\n'
                       'case "$1" in *broken*) exit 4;; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("sys.platform", "linux")
    return lambda: said.read_text().split() if said.exists() else []


def call(room, url, hosts=("example.com",), **more):
    settings = BrowserSettings(**{"enabled": True, **more},
                               allowed_domains=list(hosts))
    return room.call(BrowserOpen(room.deps(sandbox=False), settings), url=url)


def test_a_page_of_an_allowed_host_is_opened(room, opened):
    assert call(room, " https://example.com/a?b=c ").success
    assert opened() == ["https://example.com/a?b=c"]


@pytest.mark.parametrize(("url", "said"), [
    ("http://example.com/", "only https"),
    ("file:///etc/passwd", "only https"),
    ("--version", "only https"), ("javascript:alert(1)", "only https"),
    ("https://other.example/", "does not name"),
    ("https://example.com@evil.example/", ""),
    ("https://127.0.0.1/", ""), ("https://", ""),
    ("https://example.com/broken", "exit 4")])
def test_what_is_not_opened(room, opened, url, said):
    result = call(room, url)

    assert not result.success
    assert said in result.error
    assert opened() == (["https://example.com/broken"]
                        if "broken" in url else [])


def test_where_nothing_can_be_shown_it_says_so(room, opened, monkeypatch):
    assert "switched off" in call(room, "https://example.com/",
                                  enabled=False).error
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert "no screen" in call(room, "https://example.com/").error
    monkeypatch.setenv("PATH", "/nowhere")
    assert "no xdg-open" in call(room, "https://example.com/").error
