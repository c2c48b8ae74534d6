"""The doctor's findings: a cause and a next step each, nothing made."""

import os
import socket

import pytest

from claw.config.places import locate
from claw.testing.fake_openai import FakeOpenAI
from claw.testing.http_server import HttpServer, Reply
from claw.wiring.checks.doctor import run_checks


@pytest.fixture
def look(tmp_path, monkeypatch):
    """look() examines this home without any key in the environment."""
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name.startswith("CLAW_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    home = tmp_path / "home"

    def look():
        return list(run_checks(locate(str(home), env={})))
    look.home = home
    look.tmp = tmp_path / "tmp"
    return look


def failures(checks):
    return {c.id: c for c in checks if c.status == "fail"}


def test_an_empty_home_is_healthy_and_stays_empty(look):
    assert failures(look()) == {}
    assert not look.home.exists()
    assert list(look.tmp.iterdir()) == []


def test_looking_at_a_workspace_leaves_it_as_it_is(look):
    (look.home / "workspace").mkdir(parents=True)

    assert failures(look()) == {}
    assert list((look.home / "workspace").iterdir()) == []


def test_a_workspace_below_a_file_is_found(look):
    look.home.write_text("")

    found = failures(look())
    assert "is not a directory" in found["workspace.exists"].detail


@pytest.mark.parametrize(("name", "make"), [
    ("config.toml", os.mkfifo), ("config.toml", os.mkdir),
    ("config.toml", lambda p: p.write_text("a = 1\na = 2\n")),
    ("config.toml", lambda p: p.write_text('[autonomy]\nlevel = "god"\n')),
    ("config.toml", lambda p: p.write_text("[autonomy]\nzzz = 1\n")),
    ("config.toml", lambda p: p.write_text(
        "[autonomy]\nmax_actions_per_hour = -1\n")),
    ("config.toml", lambda p: p.symlink_to(p.name)),
    ("workspace", lambda p: p.write_text("")),
    ("workspace/memory", lambda p: p.write_text("")),
    ("workspace/memory/brain.db", os.mkdir),
    ("workspace/memory/brain.db", os.mkfifo),
    ("workspace/memory/brain.db", lambda p: p.write_text("junk" * 999)),
])
def test_every_failure_comes_with_a_next_step(look, name, make):
    path = look.home / name
    path.parent.mkdir(parents=True)
    make(path)

    found = failures(look())
    assert found
    assert all(check.detail and check.hint for check in found.values())


@pytest.mark.parametrize("name", [
    "USER.md", "MEMORY_SNAPSHOT.md", "memory", "state/queue.db-wal",
    "sessions/archive/old.jsonl", "outgoing"])
def test_a_link_among_claws_own_files_is_named(look, name):
    path = look.home / "workspace" / name
    path.parent.mkdir(parents=True)
    path.symlink_to("nowhere")

    found = [c for c in look() if c.id == "workspace.link"]
    assert [c.status for c in found] == ["warn"]
    assert f"{path} is a link" in found[0].detail
    assert "ls -l" in found[0].hint


def test_a_looping_key_hides_no_other_finding(look):
    look.home.mkdir()
    (look.home / ".secret_key").symlink_to(".secret_key")
    (look.home / "config.toml").write_text(
        'api_key = "enc2:00"\n[autonomy]\nlevel = "god"\n')

    found = failures(look())
    assert {"config.api_key", "config.autonomy.level"} <= set(found)


def test_a_finding_of_the_settings_keeps_its_own_next_step(look):
    look.home.mkdir()
    (look.home / "config.toml").write_text(
        'default_provider = "opnai"\n[autonomy]\nlevel = "god"\n')

    found = failures(look())
    assert found["config.default_provider"].hint.startswith(
        'did you mean "openai"?')


@pytest.mark.parametrize("asks", [False, True])
def test_no_model_is_called_unless_that_is_asked_for(look, asks):
    look.home.mkdir()
    with FakeOpenAI(["OK"], models=["m", "n"]) as server:
        (look.home / "config.toml").write_text(
            f'default_provider = "custom:{server.url}"\n'
            'default_model = "m"\n')
        found = {c.id: c for c in run_checks(
            locate(str(look.home), env={}), asks=asks)}

    assert found["providers.reach"].status == "ok"
    assert bool(server.chats) is asks
    assert ("providers.answer" in found) is asks
    assert ("no question was asked" in found["providers.reach"].detail) \
        is not asks


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("model", ["", 'default_model = "m"'])
def test_a_silent_server_is_given_up_soon(look, monkeypatch, asks, model):
    monkeypatch.setattr("claw.wiring.checks.doctor.LIST_S", 0.05)
    look.home.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        (look.home / "config.toml").write_text(
            f'default_provider = "custom:http://127.0.0.1:{port}"\n{model}')
        found = [c for c in run_checks(locate(str(look.home), env={}),
                                       asks=asks)
                 if c.group == "providers"]

    assert [c.id for c in found] == ["providers.choice", "providers.reach"]
    assert found[1].detail == "no answer within 0.05 s"
    assert "claw provider test --timeout 120" in found[1].hint


@pytest.mark.parametrize(("listing", "status"), [
    (Reply(404, b'{"detail": "Not Found"}'), "skip"),
    (Reply(200, b'{"data": []}'), "skip"),
    (Reply(404, b"<html><title>x</title></html>", "text/html"), "fail"),
    (Reply(502, b"<html><title>x</title></html>", "text/html"), "fail"),
    (Reply(401, b'{"error": "no"}'), "fail")])
def test_what_was_not_seen_is_not_said_to_be_well(look, listing, status):
    look.home.mkdir()
    server = HttpServer(lambda _: listing)
    server.start()
    (look.home / "config.toml").write_text(
        f'default_provider = "custom:http://127.0.0.1:{server.port}"\n'
        'default_model = "m"\n')
    found = [c for c in look() if c.id.startswith("providers.")]
    server.stop()

    assert found[-1].status == status
    assert found[-1].hint
