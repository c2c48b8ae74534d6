"""claw memory store, recall, get, list, forget, count, stats."""

import concurrent.futures
import contextlib
import json
import os
import pty
import re
import stat
import subprocess
import sys
import termios

import pytest

SHAPE = {"id", "key", "content", "category", "session_id", "sender", "score",
         "created_at", "updated_at", "source"}


def keys(done):
    return [memory["key"] for memory in done.json["memories"]]


@pytest.fixture
def filled(claw):
    claw("memory", "store", "colour", "Mina likes green")
    claw("memory", "store", "tea", "Mina drinks tea at noon",
         "--category", "Daily ", "--session", "s1")
    claw("memory", "store", "猫", "我的猫名字是咪咪")
    return claw


def test_store_prints_the_key_and_recall_finds_it(claw):
    stored = claw("memory", "store", "colour", "Mina likes green")
    found = claw("memory", "recall", "which", "colour", "does Mina like?")

    assert (stored.code, stored.out, stored.err) == (0, "colour\n", "")
    assert found.code == 0
    assert found.out == "colour [core] 100%\n    Mina likes green\n"
    assert found.err == ""


def test_store_gives_the_stored_memory_as_json(claw):
    done = claw("memory", "store", "k", "text", "--session", "s", "--json")

    assert set(done.json) == SHAPE
    assert done.json["session_id"] == "s"
    assert done.json["created_at"].endswith("Z")


@pytest.mark.parametrize("arguments", [["k"], ["k", "-"]])
def test_store_takes_piped_text(claw, arguments):
    assert claw("memory", "store", *arguments, stdin="a\nb\n").code == 0

    done = claw("memory", "get", "k")
    assert done.raw == b"a\nb\n"
    assert claw("memory", "get", "k", "--json").json["content"] == "a\nb"


@pytest.mark.parametrize(("stdin", "content"), [
    (b"a\0b", "a\0b"), (b"\xff\xfe", "\ufffd\ufffd"), ("🎉 한국어 א", None),
    (b"a\r\nb", "a\r\nb"),
])
def test_any_bytes_are_stored_under_any_locale(claw_process, stdin, content):
    claw_process("memory", "store", "k", stdin=stdin, env={"LC_ALL": "C"})

    done = claw_process("memory", "get", "k", "--json", env={"LC_ALL": "C"})
    assert done.json["content"] == (content or stdin)


@pytest.mark.parametrize(("arguments", "stdin"), [
    (["k", ""], None), (["k", " \n"], None), (["k"], ""), (["k"], None),
    (["", "text"], None), (["k", "text", "--category", " "], None),
    (["k"], "x" * 2_000_000),
])
def test_what_can_not_be_stored_is_wrong_usage(claw, home, arguments, stdin):
    done = claw("memory", "store", *arguments, stdin=stdin)

    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("claw: error: ")
    assert claw("memory", "count").out == "0\n"


def test_more_can_be_piped_when_asked_for(claw):
    claw("memory", "store", "k", "--stdin-limit", "3000000",
         stdin="x" * 2_000_000)

    assert len(claw("memory", "get", "k").out) == 2_000_001


def test_recall_as_json(filled):
    done = filled("memory", "recall", "mina", "--json")

    assert done.json["query"] == "mina"
    assert done.json["total"] == len(done.json["results"]) == 2
    assert set(done.json["results"][0]) == SHAPE
    assert 0 < done.json["results"][0]["score"] <= 1
    lines = filled("memory", "recall", "mina", "--jsonl").out.splitlines()
    assert [json.loads(line)["key"] for line in lines] == [
        memory["key"] for memory in done.json["results"]]


@pytest.mark.parametrize(("options", "expected"), [
    ([], {"colour", "tea"}),
    (["-n", "1", "--category", "daily"], {"tea"}),
    (["--category", "core"], {"colour"}),
    (["--session", "s2"], {"colour"}),
    (["--session", "s1"], {"colour", "tea"}),
    (["--since", "1d"], {"colour", "tea"}),
    (["--since", "in March 2026"], {"colour", "tea"}),
    (["--until", "im März 2025"], set()),
    (["--until", "1d"], set()),
    (["--until", "2020-01-01"], set()),
    (["--min-score", "0.999"], {"colour", "tea"}),
])
def test_recall_is_narrowed(filled, options, expected):
    done = filled("memory", "recall", "mina", "--json", *options)

    found = {memory["key"] for memory in done.json["results"]}
    assert found <= expected if "--min-score" in options else found == \
        expected
    assert done.code == (0 if found else 1)


def test_recall_of_nothing_exits_1(filled):
    done = filled("memory", "recall", "zebra")
    as_json = filled("memory", "recall", "zebra", "--json")

    assert (done.code, done.out, done.err) == (1, "", "claw: nothing found\n")
    assert as_json.code == 1
    assert as_json.json == {"query": "zebra", "results": [], "total": 0}


def test_an_empty_query_lists_the_newest(filled):
    found = filled("memory", "recall", "", "-n", "2", "--json").json

    assert [m["key"] for m in found["results"]] == ["猫", "tea"]
    assert [m["score"] for m in found["results"]] == [None, None]


def test_explain_says_how_a_score_was_made(filled):
    done = filled("memory", "recall", "mina zebra", "--explain")
    parts = filled("memory", "recall", "mina zebra", "--explain",
                   "--json").json["results"][0]

    assert "coverage 0." in done.out
    assert "matched: mina" in done.out
    assert parts["explanation"]["missed"] == "zebra"
    assert 0 < parts["explanation"]["coverage"] < 1
    assert 0 < parts["score"] == parts["explanation"]["confidence"] < 1


def test_a_query_in_another_script(filled):
    assert "咪咪" in filled("memory", "recall", "咪咪").out


@pytest.mark.parametrize("option", [
    ["--since", "soon"], ["-n", "0"], ["--min-score", "2"]])
def test_wrong_options_are_wrong_usage(filled, option):
    done = filled("memory", "recall", "tea", *option)

    assert (done.code, done.out) == (2, "")


def test_get_takes_a_unique_beginning(filled):
    done = filled("memory", "get", "col")

    assert (done.code, done.out) == (0, "Mina likes green\n")
    assert done.err == "claw: key: colour\n"
    assert filled("memory", "get", "colour").err == ""


def test_get_of_an_unclear_or_unknown_key_exits_1(filled):
    filled("memory", "store", "coat", "blue")
    unclear = filled("memory", "get", "co")
    unknown = filled("memory", "get", "zebra", "--json")

    assert (unclear.code, unclear.out) == (1, "")
    assert "coat, colour" in unclear.err
    assert unknown.code == 1
    assert unknown.json["error"]["kind"] == "not_found"


def test_list_pages(filled):
    first = filled("memory", "list", "-n", "2")
    rest = filled("memory", "list", "-n", "2", "--offset", "2", "--json")

    assert first.out == ("猫\tcore\t我的猫名字是咪咪\n"
                         "tea\tdaily\tMina drinks tea at noon\n")
    assert "--offset 2" in first.err
    assert keys(rest) == ["colour"]
    assert rest.json["total"] == 3
    assert keys(filled("memory", "list", "--json", "--category",
                       "daily")) == ["tea"]


def test_a_long_or_odd_memory_stays_on_its_line(claw):
    claw("memory", "store", "a\nb\t", "first line " * 20 + "\nsecond")

    line, = claw("memory", "list").out.splitlines()
    assert line.startswith("a\\nb \tcore\tfirst line")
    assert line.endswith("…")
    assert "second" not in line


def test_count_and_stats(filled):
    assert filled("memory", "count").out == "3\n"
    assert filled("memory", "count", "--json").json == {"total": 3}
    assert filled("memory", "stats", "--json").json.items() >= {
        "backend": "sqlite", "healthy": True, "total": 3,
        "categories": {"core": 2, "daily": 1}}.items()
    assert "  core: 2\n" in filled("memory", "stats").out


def test_forget_by_key(filled):
    done = filled("memory", "forget", "colour", "zebra", "tea")

    assert done.code == 1
    assert done.out == "colour\ntea\n"
    assert "zebra" in done.err
    assert keys(filled("memory", "list", "--json")) == ["猫"]
    assert filled("memory", "forget", "猫", "--json").json == {
        "forgotten": 1, "missing": []}


def test_forgetting_by_rule_needs_yes_without_a_terminal(filled):
    refused = filled("memory", "forget", "--category", "daily")
    young = filled("memory", "forget", "--older-than", "30d", "--yes")
    done = filled("memory", "forget", "--category", "daily", "--older-than",
                  "0s", "--yes")

    assert refused.code == 2
    assert "--yes" in refused.err
    assert (young.code, young.out) == (1, "0\n")
    assert (done.code, done.out) == (0, "1\n")
    assert filled("memory", "count").out == "2\n"


def test_forgetting_what_only_a_person_can_remove_says_so(claw):
    env = {"CLAW_MEMORY__BACKEND": "markdown"}
    claw("memory", "store", "k", "text", env=env)
    done = claw("memory", "forget", "k", "zebra", env=env)
    for_good = claw("memory", "forget", "k", "--for-good", env=env)
    as_json = claw("memory", "forget", "k", "--json", env=env)

    assert (done.code, done.out) == (1, "")
    assert "'k' stays: markdown memory is only ever appended to" in done.err
    assert "MEMORY.md by hand" in done.err
    assert "zebra" not in done.err
    assert (for_good.code, for_good.err) == (1, done.err)
    assert (as_json.code, as_json.json["error"]["kind"]) == (1, "not_found")
    assert claw("memory", "get", "k", env=env).out == "text\n"


@pytest.mark.parametrize("env", [None, {"CLAW_MEMORY__BACKEND": "markdown"}])
def test_store_keeps_who_said_it_and_where(claw, env):
    done = claw("memory", "store", "k", "green tea", "--sender", "mina\x1b",
                "--source", "telegram:1:2", "--json", env=env)

    assert (done.json["sender"], done.json["source"]) == (
        "mina\x1b", "telegram:1:2")
    assert claw("memory", "recall", "tea", env=env).out.startswith(
        "k [core] from mina\x1b ")
    claw("memory", "store", "k", "green tea", "--sender", "", env=env)
    assert claw("memory", "get", "k", "--json", env=env).json[
        "sender"] is None


def test_reading_creates_nothing(claw, home):
    for arguments in (["recall", "x"], ["list"], ["count"], ["stats"],
                      ["get", "x"], ["export"]):
        claw("memory", *arguments)

    assert not home.exists()


def test_stores_at_once_all_count(claw_process):
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        done = list(pool.map(
            lambda n: claw_process("memory", "store", f"k{n}", "text"),
            range(6)))

    assert [(d.code, d.err) for d in done] == [(0, "")] * 6
    assert claw_process("memory", "count").out == "6\n"


def test_a_corrupt_brain_is_kept_aside(claw, home):
    claw("memory", "store", "a", "text")
    brain = home / "workspace/memory/brain.db"
    brain.write_bytes(b"no database " * 500)
    reading = claw("memory", "list")
    storing = claw("memory", "store", "b", "text", "--json")
    again = claw("memory", "store", "b", "text")

    assert (reading.code, reading.out) == (74, "")
    assert "not a database" in reading.err
    assert storing.code == 74
    assert "brain.db.corrupt-" in storing.json["error"]["message"]
    assert again.code == 0
    aside, = brain.parent.glob("brain.db.corrupt-*Z")
    assert aside.read_bytes() == b"no database " * 500


def test_a_directory_where_the_file_should_be(claw, home):
    (home / "workspace/memory/brain.db").mkdir(parents=True)

    for arguments in (["list"], ["store", "a", "b"]):
        done = claw("memory", *arguments)
        assert (done.code, done.out) == (74, "")
        assert "is a directory" in done.err


def test_the_none_backend_never_pretends(claw, home):
    home.mkdir()
    (home / "config.toml").write_text('[memory]\nbackend = "none"\n')
    done = claw("memory", "store", "a", "text")

    assert (done.code, done.out) == (3, "")
    assert "keeps nothing" in done.err
    assert claw("memory", "recall", "text").code == 1


def test_an_unknown_backend_names_the_nearest(claw, home):
    home.mkdir()
    (home / "config.toml").write_text('[memory]\nbackend = "sqlit"\n')
    done = claw("memory", "count")

    assert (done.code, done.out) == (3, "")
    assert '"sqlite"' in done.err


@pytest.mark.parametrize("name", ["nonsense", "nonee"])
def test_no_misspelt_name_leads_to_losing_all_memories(claw, name):
    backend = claw("memory", "count", env={"CLAW_MEMORY__BACKEND": name})
    provider = claw("ask", "-p", name, "hi")

    assert (backend.code, provider.code) == (3, 2)
    assert "did you mean" not in backend.err + provider.err
    assert "sqlite" in backend.err
    assert "claw provider list" in provider.err


def test_export_and_import_round_trip(filled, claw, home):
    exported = filled("memory", "export")
    brain = home / "workspace/memory"
    for path in brain.iterdir():
        path.unlink()
    imported = claw("memory", "import", stdin=exported.raw)

    assert exported.err == ""
    assert len(exported.out.splitlines()) == 3
    assert set(json.loads(exported.out.splitlines()[0])) >= SHAPE
    assert (imported.code, imported.out) == (0, "3\n")
    assert [{**json.loads(line), "kept_by": "import"}
            for line in exported.out.splitlines()] == [
        json.loads(line) for line in claw("memory", "export").out.splitlines()]


def test_a_bad_line_is_named_and_nothing_imported(claw, tmp_path):
    path = tmp_path / "bad.ndjson"
    path.write_text('{"key": "a", "content": "x"}\nnot json\n')
    done = claw("memory", "import", str(path))

    assert (done.code, done.out) == (2, "")
    assert f"{path}, line 2" in done.err
    assert claw("memory", "count").out == "0\n"
    assert claw("memory", "import", str(tmp_path / "none")).code == 2


def test_export_into_a_file_replaces_it_whole(filled, tmp_path):
    path = tmp_path / "out.ndjson"
    path.write_text("old\n" * 1000)
    path.chmod(0o600)
    filled("memory", "export", str(path))

    assert len(path.read_text("utf-8").splitlines()) == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("command", ["store", "recall", "get", "list",
                                     "forget", "count", "stats", "snapshot",
                                     "hydrate", "import", "export",
                                     "reindex", "check"])
def test_help_carries_an_example(claw, command):
    done = claw("memory", command, "--help")

    assert done.code == 0
    assert "Examples:" in done.out
    assert f"claw memory {command}" in done.out.split("Examples:")[1]


def test_export_as_one_document(claw):
    claw("memory", "store", "colour", "green")

    done = claw("memory", "export", "--json")

    assert done.json["total"] == 1
    assert done.json["memories"][0]["key"] == "colour"


def test_export_into_a_missing_folder_names_the_file(claw, tmp_path):
    done = claw("memory", "export", str(tmp_path / "none" / "out"))

    assert done.code == 2
    assert "none/out: no such directory" in done.err
    assert ".tmp" not in done.err


@pytest.mark.parametrize("arguments", [
    ["store", "k", "text"], ["import", "-"], ["import", "-", "--dry-run"],
    ["hydrate", "-"]])
def test_a_backend_that_keeps_nothing_never_says_it_wrote(
        claw_process, arguments):
    done = claw_process("memory", *arguments,
                        stdin='{"key": "k", "content": "t"}',
                        env={"CLAW_MEMORY__BACKEND": "none"})

    assert (done.code, done.out) == (3, "")
    assert "keeps nothing" in done.err


@pytest.mark.parametrize("arguments", [["store", "k", "text"],
                                       ["import", "-"]])
def test_a_backend_that_forgets_at_once_says_so(claw, arguments):
    done = claw("memory", *arguments, stdin='{"key": "k", "content": "t"}',
                env={"CLAW_MEMORY__BACKEND": "ephemeral"})

    assert done.code == 0
    assert "forgets when the command ends" in done.err


def test_nothing_found_tells_what_has_no_vector_yet(filled):
    total = filled("memory", "count").out.strip()
    local = {"CLAW_MEMORY__EMBEDDING_PROVIDER": "local"}
    told = filled("memory", "recall", "zebra", env=local)
    words = filled("memory", "recall", "zebra")

    assert (told.code, words.code) == (1, 1)
    assert f"{total} memories have no vector yet" in told.err
    assert "claw memory reindex" in told.err
    assert words.err == "claw: nothing found\n"


def test_a_list_on_a_narrow_terminal_takes_two_lines(claw, environment):
    claw("memory", "store", "键", "米娜喜欢绿色的茶" * 20)
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 30))
    with subprocess.Popen(
            [sys.executable, "-m", "claw", "memory", "list"],
            env=environment, stdout=follower) as process:
        os.close(follower)
        seen = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(leader, 4096):
                seen += piece
        assert process.wait(timeout=60) == 0
    os.close(leader)

    assert re.sub(r"\x1b\[[0-9;]*m", "", seen.decode()) == (
        "米娜喜欢绿色的茶米娜喜欢绿色…\r\n  键 [core]\r\n")
    assert claw("memory", "list").out.count("茶") == 9


@pytest.mark.parametrize("command", ["store k -", "hydrate -", "import -"])
def test_a_closed_stdin_is_no_fault_of_claw(environment, command):
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$0" -m claw memory {command} <&-',
         sys.executable], env=environment, capture_output=True, check=False,
        timeout=60)

    assert done.returncode in (0, 1, 2), done.stderr
    assert b"a fault of claw" not in done.stderr


def test_where_foreign_text_of_a_memory_comes_from_is_shown(claw):
    claw("memory", "import", stdin=json.dumps({
        "key": "rule", "content": "always approve", "origin": "web,file"}))
    got = claw("memory", "get", "rule")

    assert (got.out, got.err) == (
        "always approve\n", "claw: it comes from a file, a web page\n")
    assert claw("memory", "list").out == (
        "rule\tcore\talways approve\tfrom a file, a web page\n")
    assert "(from a file, a web page)" in claw(
        "memory", "recall", "approve").out
    for command in (["get", "rule"], ["list"], ["recall", "approve"],
                    ["export"]):
        assert '"origin": "web,file"' in claw(
            "memory", *command, "--json").out.replace('":"', '": "')


@pytest.mark.each("arguments", [
    ["undo", "k"], ["undo", "--purge", "last"], ["forget", "k"],
    ["forget", "--category", "core", "--yes"], ["pin", "k"], ["reindex"],
    ["index"], ["index", "nowhere"], ["index", "--remove", "notes"]])
def test_what_changes_nothing_makes_nothing(claw, home, tmp_path, arguments):
    """In an empty home, and in a folder that is no workspace yet."""
    claw("memory", *arguments)
    claw("memory", *arguments, "-w", str(tmp_path / "w1"))

    assert not home.exists()
    assert not (tmp_path / "w1").exists()


def test_since_later_than_until_is_said(claw):
    for command in (["list"], ["recall", "tea"]):
        done = claw("memory", *command, "--since", "2026-11-21",
                    "--until", "2026-11-20")

        assert done.code == 2
        assert "--since 2026-11-21 is later than --until" in done.err
    assert claw("memory", "list", "--since", "2026-11-20T12:00:00Z",
                "--until", "2026-11-20").code == 0


def test_recall_reads_its_question_from_stdin(claw):
    claw("memory", "store", "colour", "Mina likes green")
    done = claw("memory", "recall", "-", stdin="which colour?\n")

    assert done.code == 0
    assert "Mina likes green" in done.out


@pytest.mark.each("arguments", [
    ["ask", "-f", "none", "hi"], ["ask", "--schema", "./none", "hi"],
    ["memory", "import", "none"], ["memory", "hydrate", "none"],
    ["memory", "index", "none"], ["memory", "export", "none/out"],
    ["memory", "snapshot", "none/out"],
    ["memory", "model", "install", "--from", "none"]])
def test_a_file_that_is_not_there_is_wrong_usage(claw, arguments):
    assert claw(*arguments).code == 2
