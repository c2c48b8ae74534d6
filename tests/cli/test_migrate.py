"""claw migrate: counted, asked about, brought, taken back."""

import os
import pty
import select
import sys

import pytest

from tests.wiring.setup.migrate import folders


@pytest.fixture
def user(tmp_path):
    return tmp_path / "user"


def test_a_dry_run_counts_and_writes_nothing(claw, user, home):
    folders.zeroclaw(user / ".zeroclaw")

    done = claw("migrate", "zeroclaw", "--dry-run")

    assert done.code == 0
    assert "settings: 9 new, 5 held back, 1 there already, 4 left out" \
        in done.out
    assert "! autonomy.level = full: it lets the agent do more unasked" \
        in done.out
    assert "memories: 3 new" in done.out
    assert "  - node_transport.enabled = true: claw has no such setting" \
        in done.out
    assert "telegram-token" not in done.out + done.err
    assert not home.exists()


def test_without_a_terminal_a_flag_decides(claw, user):
    folders.zeroclaw(user / ".zeroclaw")

    done = claw("migrate", "zeroclaw")

    assert (done.code, done.out) == (2, "")
    assert "--yes" in done.err
    assert "--dry-run" in done.err


def test_it_ends_with_what_to_do_and_how_to_go_back(claw, user):
    folders.zeroclaw(user / ".zeroclaw")

    done = claw("migrate", "zeroclaw", "--yes")

    assert done.code == 0
    assert "next: claw doctor" in done.err
    assert "next: claw skill accept tea" in done.err
    assert "to take it back, skills: claw skill remove tea" in done.err
    assert "Mina likes green" in claw("memory", "recall", "colour").out
    assert claw("config", "check").code == 0

    again = claw("migrate", "zeroclaw", "--yes")
    assert again.code == 0
    assert "there is nothing new to bring" in again.out
    assert "take it back" not in again.err


def test_json_is_one_document_with_masked_secrets(claw, user):
    home = folders.openclaw(user / ".openclaw")

    found = claw("migrate", "openclaw", "--yes", "--json").json

    assert found["agent"] == "openclaw"
    assert found["home"] == str(home)
    assert found["version"] == "2026.3.2"
    parts = {part["name"]: part for part in found["parts"]}
    assert parts["memories"]["by_category"] == {"core": 1, "daily": 1}
    assert parts["settings"]["counts"]["held"] == 2
    assert "claw doctor" in found["next"]
    assert "lab-secret" not in str(found)
    assert "sk-ant-openclaw" not in str(found)


def test_some_parts_alone(claw, user, home):
    folders.zeroclaw(user / ".zeroclaw")

    done = claw("migrate", "zeroclaw", "--only", "memories, skills", "--yes")

    assert done.code == 0
    assert not (home / "config.toml").exists()
    assert (home / "skills" / "tea").exists()
    assert not (home / "workspace" / "AGENTS.md").exists()


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["zeroclaw", "--dry-run"], 1, "there is no zeroclaw in"),
    (["openclaw"], 1, "there is no openclaw in"),
    (["hermes", "/etc/passwd"], 2, "/etc/passwd is no folder"),
    (["picoclaw", "--dry-run"], 2, "zeroclaw, openclaw, nanobot, hermes"),
    (["hermes", "/nowhere", "--dry-run"], 2, "there is no folder /nowhere"),
    (["zeroclaw", "--only", "x", "--yes"], 2, "the parts are"),
    (["zeroclaw", "--only", ",", "--yes"], 2, "--only names no part"),
    ([], 2, "missing argument")])
def test_what_is_wrong_says_what_would_be_right(claw, arguments, code, said):
    done = claw("migrate", *arguments)

    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_claws_own_folder_is_no_other_agents(claw, home):
    claw("memory", "store", "colour", "green")

    done = claw("migrate", "zeroclaw", str(home), "--dry-run")

    assert done.code == 2
    assert "claw's own folder" in done.err


def test_a_part_that_cannot_be_compared_is_a_negative_answer(claw, user,
                                                             home):
    folders.zeroclaw(user / ".zeroclaw")
    home.mkdir()
    (home / "config.toml").write_text("this is no TOML")

    done = claw("migrate", "zeroclaw", "--dry-run")

    assert done.code == 3
    assert "config.toml" in done.err


def test_at_a_terminal_the_plan_is_shown_and_asked_about(
        environment, user, home, tmp_path):
    folders.zeroclaw(user / ".zeroclaw")

    assert "nothing was brought" in answer(environment, tmp_path, b"n\n")
    assert not (home / "config.toml").exists()

    shown = answer(environment, tmp_path, b"y\n")
    assert "memories: 3 new" in shown
    assert "Bring this to claw? [y/N]" in shown
    assert (home / "config.toml").exists()


def answer(environment, folder, keys):
    """What a person sees who gives this answer."""
    pid, file = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "claw", "migrate",
                                   "zeroclaw"], {
            **environment, "PYTHONPATH": os.pathsep.join(sys.path),
            "TERM": "dumb"})
    shown = b""
    while select.select([file], [], [], 60)[0]:
        try:
            part = os.read(file, 65_536)
        except OSError:  # the other end is closed
            break
        shown += part
        if keys and b"[y/N]" in shown:
            os.write(file, keys)
            keys = b""
    os.waitpid(pid, 0)
    os.close(file)
    return shown.decode()
