"""claw session: looking at kept conversations and removing them."""

import json

import pytest

from claw.storage.sessions import SessionStore


def chat(role, text):
    return {"type": "Chat", "data": {"role": role, "content": text}}


TALK = [
    chat("user", "[Memory context]\n- a: b\n\n[2026-03-22 15:30:00 UTC] "
                 "What is in notes.txt?"),
    {"type": "AssistantToolCalls", "data": {"text": "I look.", "tool_calls": [
        {"id": "c1", "name": "file_read",
         "arguments": '{"path": "notes.txt"}'}]}},
    {"type": "ToolResults", "data": [
        {"tool_call_id": "c1", "content": "tea " * 200}]},
    chat("assistant", "It speaks of tea. 茶"),
]


@pytest.fixture
def store(home):
    store = SessionStore(home / "workspace" / "sessions")
    store.append("work", TALK)
    store.append("학교/숙제\n", [chat("user", "hi")])
    return store


def test_list_shows_a_line_for_each(claw_process, store):
    done = claw_process("session", "list", env={"LC_ALL": "C"})

    rows = [line.split("\t") for line in done.out.splitlines()]
    assert done.code == 0
    assert sorted((count, name) for _, count, name, _ in rows) == [
        ("1", "학교/숙제\\n"), ("4", "work")]


def test_list_as_json(claw, store):
    listed = claw("session", "list", "--json").json

    assert listed["total"] == 2
    assert {s["name"]: s["messages"] for s in listed["sessions"]} == {
        "work": 4, "학교/숙제\n": 1}


def test_an_empty_house_lists_nothing_and_creates_nothing(claw, home):
    done = claw("session", "list")

    assert (done.code, done.out) == (0, "")
    assert "claw ask --session NAME begins one" in done.err
    assert not home.exists()


def test_show_reads_like_a_conversation(claw, store):
    shown = claw("session", "show", "work").out

    assert shown.startswith("you: What is in notes.txt?\n\nclaw: I look.\n"
                            '[file_read {"path": "notes.txt"}]\n\n'
                            "result: tea tea")
    assert "...\n\nclaw: It speaks of tea. 茶\n" in shown
    assert "Memory context" not in shown


def test_show_the_last_messages_as_json(claw, store):
    shown = claw("session", "show", "work", "-n", "1", "--json").json

    assert shown["total"] == 4
    assert [m["text"] for m in shown["messages"]] == ["It speaks of tea. 茶"]


@pytest.mark.parametrize("verb", ["show", "export", "clear"])
def test_an_unknown_session_is_a_negative_answer(claw, store, verb):
    done = claw("session", verb, "nothing")

    assert done.code == 1
    assert done.out == ""
    assert "claw session list" in done.err


def test_export_gives_back_every_record(claw, store):
    lines = claw("session", "export", "work").out.splitlines()

    head, *records = map(json.loads, lines)
    assert head["session"] == "work"
    assert [{"type": r["type"], "data": r["data"]} for r in records] == TALK


def test_clear_removes_what_is_named(claw, store):
    assert claw("session", "clear", "학교/숙제\n").code == 0
    assert [info.key for info in store.list()] == ["work"]


def test_clear_all_must_be_meant(claw, store):
    refused = claw("session", "clear", "--all")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert len(store.list()) == 2

    assert claw("session", "clear", "--all", "--yes", "--json").json[
        "total"] == 2
    assert store.list() == []


def test_clear_of_a_missing_one_is_one_document(claw, store):
    done = claw("session", "clear", "work", "none", "--json")

    assert done.code == 1
    assert done.json == {"cleared": ["work"], "missing": ["none"],
                         "total": 1}


def test_clear_without_a_name_is_wrong_usage(claw, store):
    assert claw("session", "clear").code == 2


def test_a_damaged_line_is_said_and_passed_over(claw, store):
    path = next(i.path for i in store.list() if i.key == "work")
    with path.open("ab") as file:
        file.write(b"garbage\n")

    done = claw("session", "show", "work")
    assert done.code == 0
    assert "1 damaged" in done.err
    assert "It speaks of tea." in done.out
