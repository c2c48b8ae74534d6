"""claw memory history, undo, forget --for-good, recall --as-of, and who
said a memory."""

import json

import pytest


@pytest.fixture
def changed(claw):
    """colour: green, said by mina, then blue."""
    claw("memory", "store", "colour", "Mina likes green", "--sender", "mina",
         "--source", "telegram:1:2")
    claw("memory", "store", "colour", "Mina likes blue")
    return claw


def versions(done):
    return [(v["content"], v["ended_by"]) for v in done.json["versions"]]


def test_history_tells_each_state_the_latest_first(changed):
    done = changed("memory", "history", "colour")

    now, before = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert now.split("  ")[1:] == ["now", "-", "-", "Mina likes blue"]
    assert before.split("  ")[1:] == [
        now.split("  ")[0], "updated", "mina telegram:1:2",
        "Mina likes green"]


def test_history_as_json(changed):
    done = changed("memory", "history", "colour", "--json").json
    lines = changed("memory", "history", "colour", "--jsonl").out.splitlines()

    now, before = done["versions"]
    assert (done["key"], done["total"]) == ("colour", 2)
    assert [json.loads(line) for line in lines] == done["versions"]
    assert now["valid_until"] is None
    assert before["valid_until"] == now["valid_from"] == now["updated_at"]
    assert (before["sender"], before["source"]) == ("mina", "telegram:1:2")


def test_history_takes_a_unique_beginning(changed):
    done = changed("memory", "history", "col")
    changed("memory", "store", "coat", "blue")
    unclear = changed("memory", "history", "co")

    assert done.code == 0
    assert done.err == "claw: key: colour\n"
    assert unclear.code == 1
    assert "coat, colour" in unclear.err


def test_history_of_a_forgotten_memory_stays(changed):
    changed("memory", "forget", "colour")

    done = changed("memory", "history", "colour", "--json")

    assert versions(done) == [("Mina likes blue", "forgotten"),
                              ("Mina likes green", "updated")]


def test_history_of_an_unknown_key_exits_1(claw, home):
    plain = claw("memory", "history", "zebra")
    as_json = claw("memory", "history", "", "--json")

    assert (plain.code, plain.out) == (1, "")
    assert "zebra" in plain.err
    assert as_json.code == 1
    assert as_json.json["error"]["kind"] == "not_found"
    assert not home.exists()


def test_undo_of_nothing_at_all_exits_1(changed):
    changed("memory", "forget", "colour")
    plain = changed("memory", "undo")
    as_json = changed("memory", "undo", "--json")

    assert (plain.code, plain.out) == (1, "")
    assert "claw memory undo KEY" in plain.err
    assert as_json.code == 1
    assert as_json.json["error"]["kind"] == "not_found"


def test_undo_brings_a_forgotten_memory_back(changed):
    forgotten = changed("memory", "forget", "colour")
    done = changed("memory", "undo", "colour")

    assert forgotten.err == ("claw: claw memory undo colour brings it back "
                             "(30 days)\n")
    assert (done.code, done.out) == (0, "colour\n")
    assert done.err == "claw: colour is back: Mina likes blue\n"
    assert changed("memory", "recall", "blue").code == 0


def test_undo_goes_back_until_nothing_is_left(changed):
    back = changed("memory", "undo", "colour", "--json")
    again = changed("memory", "undo", "colour", "--json")

    assert back.code == 0
    assert back.json["missing"] == []
    undone, = back.json["undone"]
    assert (undone["change"], undone["content"], undone["sender"]) == (
        "updated", "Mina likes green", "mina")
    assert again.code == 1
    assert again.json == {"undone": [], "missing": ["colour"]}
    assert versions(changed("memory", "history", "colour", "--json")) == [
        ("Mina likes green", None), ("Mina likes blue", "undone")]


def test_undo_of_some_that_never_changed_does_the_rest(changed):
    changed("memory", "store", "tea", "black")
    done = changed("memory", "undo", "tea", "colour", "zebra")

    assert (done.code, done.out) == (1, "colour\n")
    assert "nothing to take back for 'tea'" in done.err
    assert "nothing to take back for 'zebra'" in done.err
    assert "colour is again what it was: Mina likes green" in done.err


def test_the_hint_of_forget_names_what_can_be_pasted(claw):
    claw("memory", "store", "two words", "text")
    claw("memory", "store", "b", "text")
    done = claw("memory", "forget", "two words", "b", "zebra")

    assert "claw memory undo 'two words' b brings them back" in done.err
    assert claw("memory", "forget", "--older-than", "0s", "--yes").err == ""
    claw("memory", "store", "c", "text")
    assert claw("memory", "forget", "--older-than", "0s", "--yes").err == (
        "claw: claw memory undo KEY brings one back (30 days)\n")


def test_without_an_undo_no_hint_promises_one(changed):
    env = {"CLAW_MEMORY__UNDO_RETENTION_DAYS": "0"}
    done = changed("memory", "forget", "colour", env=env)

    assert (done.code, done.err) == (0, "")
    assert changed("memory", "undo", "colour").code == 1
    assert changed("memory", "history", "colour").code == 1


def test_forget_for_good_leaves_no_way_back(changed):
    done = changed("memory", "forget", "colour", "--for-good")

    assert (done.code, done.out, done.err) == (0, "colour\n", "")
    assert changed("memory", "history", "colour").code == 1
    assert changed("memory", "undo", "colour").code == 1
    assert changed("memory", "forget", "colour", "--for-good").code == 1


def test_what_was_forgotten_can_go_for_good_later(changed):
    changed("memory", "forget", "colour")

    assert changed("memory", "forget", "colour", "--for-good",
                   "--json").json == {"forgotten": 1, "missing": []}
    assert changed("memory", "undo", "colour").code == 1


def test_forget_for_good_by_rule(changed):
    changed("memory", "store", "tea", "black", "--category", "daily")
    rule = ["--category", "core", "--older-than", "0s", "--for-good"]
    refused = changed("memory", "forget", *rule)
    done = changed("memory", "forget", *rule, "--yes")

    assert refused.code == 2
    assert (done.code, done.out, done.err) == (0, "1\n", "")
    assert changed("memory", "history", "colour").code == 1
    assert changed("memory", "count").out == "1\n"


def test_recall_as_of_tells_what_was_known(changed):
    before = changed("memory", "history", "colour",
                     "--json").json["versions"][1]["valid_from"]
    then = changed("memory", "recall", "Mina", "--as-of", before, "--json")
    never = changed("memory", "recall", "Mina", "--as-of", "2020-01-01")
    newest = changed("memory", "recall", "", "--as-of", before)

    found, = then.json["results"]
    assert found["content"] == "Mina likes green"
    assert 0 < found["score"] <= 1
    assert (never.code, never.out) == (1, "")
    assert newest.out == "colour [core] from mina\n    Mina likes green\n"


def test_recall_as_of_explains_its_scores(changed):
    before = changed("memory", "history", "colour",
                     "--json").json["versions"][1]["valid_from"]

    done = changed("memory", "recall", "green", "--as-of", before,
                   "--explain")

    assert "coverage" in done.out


@pytest.mark.parametrize("moment", ["soon", "2026-13-01", ""])
def test_as_of_must_be_a_time(changed, moment):
    done = changed("memory", "recall", "Mina", "--as-of", moment)

    assert (done.code, done.out) == (2, "")
    assert "--as-of" in done.err


def test_recall_says_who_said_it(changed):
    changed("memory", "undo", "colour")

    out = changed("memory", "recall", "green").out

    assert out.startswith("colour [core] from mina ")
    assert changed("memory", "get", "colour", "--json").json["source"] == (
        "telegram:1:2")


@pytest.mark.parametrize("arguments", [
    ["history", "k"], ["undo", "k"], ["recall", "x", "--as-of", "1d"],
    ["store", "k", "text", "--sender", "mina"],
    ["forget", "k", "--for-good"]])
def test_a_backend_that_can_not_says_so(claw, arguments):
    done = claw("memory", *arguments, env={"CLAW_MEMORY__BACKEND": "none"})

    assert (done.code, done.out) == (2, "")
    assert '"none"' in done.err


@pytest.mark.parametrize("command", ["history", "undo"])
def test_help_carries_an_example(claw, command):
    done = claw("memory", command, "--help")

    assert done.code == 0
    assert f"claw memory {command}" in done.out.split("Examples:")[1]
