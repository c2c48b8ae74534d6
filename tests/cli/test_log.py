"""claw log: what was asked and answered, found again and removed."""

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from claw.storage.log.schema import FILE_VERSION
from claw.testing.fake_openai import FakeOpenAI, stalled

CANARY = "canarybird7731blue"


def at(server):
    return ["-p", f"custom:{server.url}", "-m", "m"]


def holding(folder, word=CANARY):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                  if path.is_file() and word.encode() in
                  path.read_bytes().lower())


@pytest.fixture
def asked(claw):
    """Three questions, in three languages."""
    with FakeOpenAI(["The tea is green.", "Um acht Uhr.", "九点。"]) as server:
        claw("ask", *at(server), "which tea?", stdin="Mina drinks tea.")
        claw("ask", *at(server), "Wann öffnen die Programme in Köln?")
        claw("ask", *at(server), "上海办公室几点开门？")


@pytest.mark.parametrize(("query", "titles"), [
    ("drinks", ["which tea?"]),
    ("green teas", ["which tea?"]),
    ("Programm koln", ["Wann öffnen die Programme in Köln?"]),
    ("办公室", ["上海办公室几点开门？"]),
    ("tea zebra", ["which tea?"]),
    ("gre*", ["which tea?"]),
    ("zebra", []),
])
def test_what_was_asked_is_found_by_its_words(claw, asked, query, titles):
    done = claw("log", "search", query, "--json")

    assert [entry["title"] for entry in done.json["entries"]] == titles
    assert done.code == (0 if titles else 1)


def test_list_show_and_export_tell_the_same(claw, asked):
    listed = claw("log", "list", "--json").json
    last = claw("log", "show", "-l", "--json").json
    first = claw("log", "show", listed["entries"][2]["id"][:10], "--json")
    lines = claw("log", "export").out.splitlines()

    assert listed["total"] == len(lines) == 3
    assert last["answer"] == "九点。"
    assert first.json["under"] == "\n\nMina drinks tea."
    assert first.json["passages"] == ["stdin"]
    assert json.loads(lines[0]) == first.json
    markdown = claw("log", "export", "--markdown").out
    assert "\n\n# which tea?" in "\n\n" + markdown
    assert markdown.count("\n\n# ") == 2  # an empty line before each
    assert claw("log", "list", "-n", "1").out.count("\n") == 1
    assert claw("log", "list", "--since", "tomorrow").out == ""


def test_what_is_removed_is_in_no_byte(claw, home):
    with FakeOpenAI([f"You said {CANARY}", "other"]) as server:
        claw("ask", *at(server), f"my code is {CANARY}")
        claw("ask", *at(server), "another one")
    found = claw("log", "list", "--json").json["entries"][1]["id"]
    before = holding(home)
    done = claw("log", "rm", found[:9])

    assert before
    assert done.code == 0, done
    assert holding(home) == []
    assert claw("log", "search", "another").code == 0
    assert claw("log", "rm", found).code == 1
    assert claw("log", "rm", "--all").code == 2
    assert claw("log", "rm", "--all", "--yes").code == 0
    assert claw("log", "list", "--json").json["total"] == 0


@pytest.mark.parametrize("command", [
    ["ask"], ["ask", "-c"], ["ask", "--json"], ["agent"],
    ["agent", "--session", "work"]])
def test_no_log_leaves_no_byte(claw, home, command):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        "default_temperature = 0.0\n"
        "[memory]\nresponse_cache_enabled = true\nauto_save = true\n")
    (home / "config.toml").chmod(0o600)
    with FakeOpenAI(["first", f"Your code is {CANARY}"]) as server:
        claw("ask", *at(server), "an open question")
        done = claw(*command, *at(server), "--no-log",
                    f"what is the code, is it {CANARY}?", stdin=CANARY)

    assert done.code == 0, done
    assert CANARY in done.out
    assert holding(home) == []


def test_forgetting_with_proof_clears_the_log(claw, home):
    with FakeOpenAI([f"Noted: {CANARY}."]) as server:
        claw("ask", *at(server), f"remember my code: {CANARY}")
    claw("memory", "store", "code", f"my code: {CANARY}")
    before = holding(home)
    done = claw("memory", "forget", "code", "--prove")

    assert any("log.db" in name for name in before)
    assert done.code == 0, done
    assert holding(home) == []
    assert claw("log", "search", "remember").code == 0
    assert claw("log", "search", CANARY).code == 1


def test_a_killed_question_is_in_the_log_as_interrupted(claw, environment):
    with FakeOpenAI([stalled()]) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "claw", "ask", *at(server),
             "the one that was killed"], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not server.chats and time.monotonic() < deadline:
            time.sleep(0.02)
        running = claw("log", "show", "--json").json
        process.kill()
        process.wait()
    killed = claw("log", "show", "--json").json

    assert (running["state"], killed["state"]) == ("running", "interrupted")
    assert killed["prompt"] == "the one that was killed"


@pytest.mark.parametrize("damage", ["bytes", "newer", "folder"])
def test_a_log_that_can_not_be_written_costs_no_answer(claw, home, damage):
    claw("ask", "2+2")
    path = home / "workspace/state/log.db"
    if damage == "newer":
        with closing(sqlite3.connect(path)) as log:
            log.execute(f"PRAGMA user_version={FILE_VERSION + 1000}")
    else:
        path.unlink()
        if damage == "folder":
            path.mkdir()
        else:
            path.write_bytes(b"no database at all" * 200)
    done = claw("ask", "2+2")
    listed = claw("log", "list")

    assert (done.code, done.out) == (0, "4\n")
    assert "the log does not keep this" in done.err
    assert listed.code == 74
    assert "log.db" in listed.err


def test_an_empty_log_is_no_fault_and_is_not_made(claw, home):
    assert claw("log", "list").code == 0
    assert claw("log", "show").code == 1
    assert claw("log", "search", "tea").code == 1
    assert claw("log", "rm", "--all", "--yes").code == 0
    assert claw("log", "rm", "--older-than", "90d").code == 0
    assert claw("log", "rm", "--session", "work").code == 1
    assert not home.exists()


def test_a_log_that_is_off_keeps_nothing(claw, home):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[log]\nenabled = false\n")
    done = claw("ask", "2+2")
    continued = claw("ask", "-c", "and 3+3?")

    assert done.code == 0
    assert not (home / "workspace/state/log.db").exists()
    assert continued.code == 2
    assert "the log is off" in continued.err


def test_an_old_entry_goes_with_the_next_question(claw, home):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[log]\nkeep_days = 30\n")
    claw("ask", "2+2")
    with closing(sqlite3.connect(
            home / "workspace/state/log.db")) as log, log:
        log.execute("UPDATE entries SET at = '2020-01-01T00:00:00.000000Z'")
    claw("ask", "3+3")

    assert [entry["prompt"] for entry in claw(
        "log", "list", "--json").json["entries"]] == ["3+3"]


def test_resume_without_a_terminal_says_what_to_do(claw):
    done = claw("agent", "--resume")

    assert done.code == 2
    assert "claw session list" in done.err


def test_agent_turns_are_one_conversation(claw):
    with FakeOpenAI(["one", "two"]) as server:
        claw("agent", *at(server), "--session", "work", "first")
        claw("agent", *at(server), "--session", "work", "second")
    second, first = claw("log", "list", "--json").json["entries"]

    assert second["conversation"] == first["id"]
    assert (second["parent"], second["origin"]) == (first["id"], "agent")


NASTY = "a\nb\u2028c\x1b[31m\u202ed\r"


@pytest.mark.parametrize("change", [
    *(f"{name} = 'not a number'" for name in (
        "cost", "input_tokens", "output_tokens", "duration_ms")),
    "cost = 9e999", "cost = x'00ff'", "output_tokens = 1.5", "at = 'never'",
    "at = 7", "prompt = x'fffe'", "answer = CAST(x'c328' AS TEXT)",
    "owner = '[1, 2, 3, 4, 5]', outcome = NULL", "owner = 5",
    "outcome = 'odd'", "rounds = '[{\"type\": \"AssistantToolCalls\"}]'",
    "rounds = '[{\"type\": \"AssistantToolCalls\","
    " \"data\": {\"tool_calls\": [5, {\"name\": 7}]}}]'",
    "passages = '{}', labels = 'x'", "id = x'41', root = 5, model = 7"])
def test_a_damaged_row_is_shown_as_far_as_it_goes(claw, home, change):
    claw("ask", "2+2")
    with closing(sqlite3.connect(home / "workspace/state/log.db")) as log, \
            log:
        log.execute(f"UPDATE entries SET {change}")

    for command in (["list"], ["show"], ["list", "--json"],
                    ["show", "--json"], ["search", "2"], ["export"],
                    ["export", "--markdown"]):
        done = claw("log", *command)
        assert done.code in (0, 1), (command, done)
        assert "fault" not in done.err
        if "--json" in command:
            assert done.json


@pytest.mark.parametrize("name", [
    "id", "session", "model", "provider", "sender", "at", "origin",
    "prompt"])
def test_a_name_with_a_line_feed_makes_no_line_of_its_own(claw, home, name):
    claw("ask", "2+2")
    with closing(sqlite3.connect(home / "workspace/state/log.db")) as log, \
            log:
        log.execute(f"UPDATE entries SET {name} = ?", [NASTY])
    listed = claw("log", "list").out
    shown = claw("log", "show").out.splitlines()[0]

    assert len(listed.splitlines()) == 1
    assert not {"\x1b", "\u202e", "\r"} & set(listed + shown)


def test_a_damaged_log_says_what_to_do(claw, home):
    with FakeOpenAI(["tea " * 4000]) as server:
        claw("ask", *at(server), "tea? " * 4000)
    path = home / "workspace/state/log.db"
    with closing(sqlite3.connect(path)) as log:
        log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xaa" * (len(data) - 4096))

    for command in (["list"], ["show"], ["search", "tea"], ["export"]):
        done = claw("log", *command)
        assert done.code == 74, command
        assert "log.db.damaged" in done.err
    [row] = [row for row in claw("doctor", "--json").json["checks"]
             if row["id"] == "disk.log"]
    assert row["status"] == "warn"
    assert "log.db.damaged" in row["hint"]


def test_the_answer_alone_is_shown_as_it_came(claw, asked, home):
    assert claw("log", "show", "--answer").out == "九点。\n"
    assert claw("log", "show", "-r", "--json").json["answer"] == "九点。"
    with closing(sqlite3.connect(home / "workspace/state/log.db")) as log, \
            log:
        log.execute("UPDATE entries SET answer = NULL, outcome = 'failed'")
    none = claw("log", "show", "-r")

    assert none.code == 1
    assert (none.out, "failed" in none.err) == ("", True)


PNG = b"\x89PNG\r\n\x1a\n" + CANARY.encode() + bytes(20)


@pytest.mark.parametrize("command", [["ask"], ["agent"],
                                     ["agent", "--session", "work"]])
def test_no_log_leaves_no_byte_of_what_is_shown(
        claw, home, tmp_path, command):
    """Files and images are no more kept than words."""
    home.mkdir(mode=0o700)
    for folder in (tmp_path, home / "workspace"):
        folder.mkdir(exist_ok=True)
        (folder / "shot.png").write_bytes(PNG)
    (tmp_path / "notes.txt").write_text(f"the code: {CANARY}")
    files = ["-f", str(tmp_path / "notes.txt"), "-f",
             str(tmp_path / "shot.png")] if command == ["ask"] else []
    with FakeOpenAI([f"It is {CANARY}"]) as server:
        done = claw(*command, *at(server), *files, "--no-log",
                    "look: [IMAGE:shot.png]", stdin=CANARY)

    assert done.code == 0, done
    assert "image_url" in json.dumps(server.chats[-1].body)
    assert holding(home) == ["workspace/shot.png"]
