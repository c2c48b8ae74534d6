"""claw memory import from elsewhere, and the progress line."""

import contextlib
import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from claw.cli.commands.memory import common as memory_io
from claw.cli.commands.memory.common import Progress, show_progress
from claw.config.places import locate
from claw.config.tree import load
from claw.memory.hygiene.state import Uptime
from claw.memory.importers import guess
from claw.testing.reference_brain import reference_brain
from claw.wiring.memory.hygiene import maintain_memory


@pytest.fixture
def workspace(tmp_path):
    """OpenClaw's usual workspace in the home of the test."""
    path = tmp_path / "user" / ".openclaw" / "workspace"
    (path / "memory").mkdir(parents=True)
    (path / "MEMORY.md").write_text("- **tea**: oolong\n- likes walks\n")
    return path


def copies(home):
    return sorted((home / "workspace/memory/migrations").glob("*/brain.db"))


def test_a_brain_of_the_reference_comes_over_by_its_name(claw, tmp_path):
    brain = reference_brain(tmp_path / "other" / "brain.db")
    done = claw("memory", "import", str(brain))

    assert (done.code, done.out) == (0, "4\n")
    assert "4 memories written, 1 times that are none" in done.err
    assert claw("memory", "get", "colour").out == "Mina likes green\n"
    again = claw("memory", "import", str(brain), "--from", "zeroclaw")
    assert (again.code, again.out) == (0, "4\n")


def test_openclaws_usual_workspace_is_found(claw, home, workspace):
    claw("memory", "store", "tea", "black")
    dry = claw("memory", "import", "--from", "openclaw", "--dry-run")
    assert (dry.code, dry.out) == (0, "2\n")
    assert "would be written, 1 under another key" in dry.err
    assert claw("memory", "count").out == "1\n"
    assert copies(home) == []

    done = claw("memory", "import", "--from", "openclaw", "--json")
    copy, = copies(home)
    assert done.json == {
        "written": 2, "read": 2, "renamed": 1, "unchanged": 0,
        "duplicates": 0, "blank": 0, "odd_times": 0, "dry_run": False,
        "backup": str(copy), "sources": [
            {"name": str(workspace / "MEMORY.md"), "kind": "markdown",
             "agent": "openclaw"}]}
    assert copy.parent.name.startswith("openclaw-2")
    assert claw("memory", "get", "tea__openclaw_1").out == "oolong\n"
    with contextlib.closing(sqlite3.connect(copy)) as before:
        assert before.execute("SELECT key FROM memories").fetchall() == [
            ("tea",)]


def test_a_second_migration_leaves_no_second_copy(claw, home, workspace):
    claw("memory", "store", "tea", "black")
    claw("memory", "import", "--from", "openclaw")
    again = claw("memory", "import", str(workspace))

    assert (again.code, again.out) == (0, "0\n")
    assert "2 were there" in again.err
    assert len(copies(home)) == 1


def test_an_empty_store_and_our_own_lines_need_no_copy(claw, home,
                                                       workspace):
    assert claw("memory", "import", str(workspace)).out == "2\n"
    claw("memory", "import", stdin='{"key": "a", "content": "b"}')

    assert copies(home) == []


def test_a_dry_run_makes_no_store(claw, home, workspace):
    assert claw("memory", "import", str(workspace), "--dry-run").out == "2\n"
    done = claw("memory", "import", "--dry-run",
                stdin='{"key": "a", "content": "b"}\n{"key": 1}')

    assert done.code == 2
    assert "line 2" in done.err
    assert not home.exists()


def test_what_was_piped_in_does_not_stay_open_when_the_backend_refuses(
        claw, monkeypatch, tmp_path):
    kept = open(tmp_path / "kept", "w+b")  # noqa: SIM115
    monkeypatch.setattr(guess, "TemporaryFile", lambda: kept)
    claw("config", "set", "memory.backend", "none")

    done = claw("memory", "import", stdin='{"key": "a", "content": "b"}')

    assert '"none" keeps nothing' in done.err
    assert kept.closed


@pytest.mark.parametrize("path", [
    "home/workspace/memory/brain.db", "home/workspace", "link"])
def test_the_workspaces_own_memory_is_refused(claw, home, tmp_path, path):
    claw("memory", "store", "a", "text")
    os.link(home / "workspace/memory/brain.db", tmp_path / "link")
    done = claw("memory", "import", str(tmp_path / path))

    assert (done.code, done.out) == (2, "")
    assert "is the memory of this workspace" in done.err
    assert claw("memory", "get", "a").out == "text\n"


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (["none"], 2, "no such file"), (["--from", "mars"], 2, "auto, ndjson"),
    (["--from", "openclaw"], 1, "no such file"),
    (["--from", "zeroclaw", "-"], 2, "no standard input"),
    (["."], 1, "no memories in"), (["junk.db"], 74, "junk.db"),
])
def test_what_can_not_be_imported_says_why(claw, tmp_path, arguments, code,
                                           words):
    (tmp_path / "junk.db").write_bytes(
        b"SQLite format 3\0" + b"\xff" * 5000)
    done = claw("memory", "import", *arguments, "--json")

    assert (done.code, done.json["error"]["message"] != "") == (code, True)
    assert words in done.err
    assert claw("memory", "count").out == "0\n"


def test_a_pipe_is_read_as_lines(claw, tmp_path, environment):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(
            [sys.executable, "-m", "claw", "memory", "import",
             str(tmp_path / "pipe")], env=environment,
            stdout=subprocess.PIPE) as process:
        (tmp_path / "pipe").write_text('{"key": "a", "content": "b"}')
        assert process.communicate(timeout=60)[0] == b"1\n"


def test_what_claw_exports_comes_back_whatever_its_form(claw, home):
    claw("memory", "store", "猫", stdin="一\n二\u2028\0")
    document = claw("memory", "export", "--json")
    lines = claw("memory", "export")
    claw("memory", "forget", "猫")

    assert claw("memory", "import", stdin=document.raw).out == "1\n"
    back = claw("memory", "export")
    assert back.json == {**lines.json, "kept_by": "import"}
    claw("memory", "import", stdin=back.raw)
    assert claw("memory", "export").raw == back.raw


def test_an_interrupted_import_writes_nothing(claw, environment):
    """The lines have not all come when Ctrl-C does."""
    claw("memory", "store", "mine", "text")
    with subprocess.Popen(
            [sys.executable, "-m", "claw", "memory", "import"],
            env=environment, stdin=subprocess.PIPE,
            stderr=subprocess.PIPE) as process:
        process.stdin.write(b"".join(
            b'{"key": "k%d", "content": "x"}\n' % n for n in range(9000)))
        process.stdin.flush()  # a pipe holds less: some were read
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)

    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert claw("memory", "count").out == "1\n"


class Screen:
    """stderr as a terminal, and a clock that a test moves."""

    def __init__(self, columns=80):
        self.text, self.now, self.columns = "", 0.0, columns

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True

    @property
    def line(self):
        return self.text.rpartition("\r")[2].rstrip()


@pytest.fixture
def screen(monkeypatch):
    made = Screen()
    # pytest puts its own stream in sys between the phases of a test.
    monkeypatch.setattr(memory_io, "sys", SimpleNamespace(stderr=made))
    monkeypatch.setattr(memory_io, "count_columns", lambda _: made.columns)
    return made


def ticking(screen, items):
    for item in items:
        screen.now += 0.5
        yield item


def test_progress_waits_a_second_then_tells_share_rate_and_rest(screen):
    with Progress("memories", 10_000, clock=lambda: screen.now) as progress:
        screen.now = 0.9
        progress.update(100)
        assert screen.text == ""
        screen.now = 4.0
        progress.update(4000)
        assert screen.line == ("memories  40 %  4,000/10,000  1,000/s"
                               "  0:06 left")
        screen.now = 4.05
        progress.update(4100)
        assert "4,100" not in screen.text
    assert screen.line == ""


def test_progress_without_a_total_counts(screen):
    with Progress("memories", clock=lambda: screen.now) as progress:
        screen.now = 2.0
        progress.update(3000)
        assert screen.line == "memories  3,000  1,500/s"


def test_a_share_of_bytes_tells_how_much_is_left(screen):
    with Progress("memories", share=lambda: 0.25,
                  clock=lambda: screen.now) as progress:
        screen.now = 30.0
        progress.update(300)
        assert screen.line == "memories  25 %  300  10/s  1:30 left"


def test_progress_fits_a_narrow_terminal(screen):
    seen = {}
    for screen.columns in (80, 40, 20, 6):
        screen.now = 0.0
        with Progress("memories", 20_000,
                      clock=lambda: screen.now) as progress:
            screen.now = 2.0
            progress.update(5_000)
            seen[screen.columns] = screen.line

    assert seen == {
        80: "memories  25 %  5,000/20,000  2,500/s  0:06 left",
        40: "memories  25 %  5,000/20,000", 20: "memories  25 %",
        6: "mem"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_the_line_is_taken_away_when_work_ends_badly(screen, error):
    def failing():
        yield from ticking(screen, range(9))
        raise error

    with pytest.raises(error):
        list(show_progress(failing(), "memories", clock=lambda: screen.now))
    assert "memories  " in screen.text
    assert screen.line == ""


def test_a_pipe_or_a_quiet_run_sees_no_progress(capsys, screen):
    with Progress("memories", 5, quiet=True,
                  clock=lambda: screen.now) as progress:
        assert list(progress.over(ticking(screen, range(9)))) == list(
            range(9))
    assert screen.text == ""


def test_a_terminal_sees_the_progress_of_an_import(claw, environment,
                                                   tmp_path):
    path = tmp_path / "many.ndjson"
    with open(path, "w") as stream:
        for number in range(80_000):
            stream.write(json.dumps({
                "key": f"k{number}", "content": "green tea at noon " * 5
                }) + "\n")
    leader, follower = pty.openpty()
    with subprocess.Popen(
            [sys.executable, "-m", "claw", "memory", "import", str(path)],
            env=environment, stdout=subprocess.PIPE,
            stderr=follower) as process:
        os.close(follower)
        seen = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(leader, 4096):
                seen += piece
        out = process.communicate(timeout=60)[0]
    os.close(leader)

    assert out == b"80000\n"
    assert b" left" in seen
    assert seen.decode().splitlines()[-1].rpartition("\r")[2] == \
        "claw: 80,000 memories written"


def test_twenty_thousand_old_memories_are_all_there_after_months(
        claw, home, tmp_path):
    """7,477 of 20,000 were gone after the next start, past undo."""
    claw("memory", "import", stdin="\n".join(json.dumps({
        "key": f"k{n}", "content": "tea", "category": "conversation",
        "created_at": f"{2010 + n % 15}-01-01T00:00:00Z"})
        for n in range(20_000)))
    tree = load(locate(str(home), None, {"HOME": str(tmp_path)}))
    for days in (0, 1, 2, 40, 400, 4000):
        notes = []
        report = maintain_memory(
            tree, notes.append, who="terminal", uptime=Uptime(),
            now=datetime.now(UTC) + timedelta(days=days))
        assert (report.lines(), report.announced, notes) == ([], None, [])

    assert claw("memory", "count").out == "20000\n"
    assert claw("memory", "get", "k0", "--json").json["kept_by"] == "import"
