"""claw memory snapshot, hydrate, and cold-boot recovery."""

import os
import shutil
import subprocess

import pytest


@pytest.fixture
def snapshot(claw, home):
    """A workspace with two core memories and a current snapshot."""
    claw("memory", "store", "colour", "green\r\n---\n### 🔑 `x`\n ")
    claw("memory", "store", "猫", "我的猫名字是咪咪")
    claw("memory", "store", "today", "rain", "--category", "daily")
    claw("memory", "snapshot")
    return home / "workspace/MEMORY_SNAPSHOT.md"


def core(claw):
    return {(m["key"], m["content"], m["created_at"], m["updated_at"])
            for m in claw("memory", "list", "--category", "core", "--json",
                          "-n", "1000").json["memories"]}


def test_snapshot_prints_where_it_is(claw, snapshot):
    done = claw("memory", "snapshot")

    assert (done.code, done.out) == (0, f"{snapshot}\n")
    assert done.err == "claw: 2 core memories\n"
    assert claw("memory", "snapshot", "--json").json == {
        "path": str(snapshot), "memories": 2}


@pytest.mark.parametrize("arguments", [
    ["list"], ["recall", "咪咪"], ["get", "colour"], ["count"], ["export"],
    ["store", "new", "text"], ["forget", "colour"]])
def test_any_command_brings_a_deleted_memory_back(claw, home, snapshot,
                                                  arguments):
    before = core(claw)
    shutil.rmtree(home / "workspace/memory")
    done = claw("memory", *arguments)

    assert done.code == 0
    assert "restored 2 memories" in done.err
    now = core(claw)
    changed = {entry for entry in before ^ now
               if entry[0] not in ("new", arguments[-1])}
    assert changed == set()


def test_check_says_whether_the_file_is_current(claw, snapshot):
    current = claw("memory", "snapshot", "--check")
    claw("memory", "store", "today", "sun", "--category", "daily")
    still = claw("memory", "snapshot", "--check", "--json")
    claw("memory", "store", "colour", "blue")
    stale = claw("memory", "snapshot", "--check")

    assert (current.code, current.out, current.err) == (0, "", "")
    assert still.json == {"path": str(snapshot), "current": True}
    assert (stale.code, stale.out) == (1, "")
    assert "not current" in stale.err


def test_a_pipe_carries_a_snapshot_to_another_workspace(claw, snapshot,
                                                        tmp_path):
    text = claw("memory", "snapshot", "-")
    other = ["-w", str(tmp_path / "other")]
    done = claw("memory", "hydrate", "-", *other, stdin=text.raw)

    assert text.raw == snapshot.read_bytes()
    assert (done.code, done.out) == (0, "2\n")
    assert claw("memory", "snapshot", "-", *other).raw == text.raw


def test_hydrate_keeps_or_replaces(claw, snapshot):
    claw("memory", "store", "colour", "mine")
    merged = claw("memory", "hydrate")
    kept = claw("memory", "get", "colour").out
    replaced = claw("memory", "hydrate", "--replace", "--json")

    assert (merged.out, kept) == ("0\n", "mine\n")
    assert replaced.json == {"path": str(snapshot), "written": 2}
    assert claw("memory", "get", "colour").out.startswith("green")


def test_hydrate_without_a_file_exits_1(claw, home):
    done = claw("memory", "hydrate")

    assert (done.code, done.out) == (1, "")
    assert "no such file" in done.err
    assert not home.exists()


def test_an_absent_memory_never_empties_the_file(claw, home, snapshot):
    (home / "config.toml").write_text("[memory]\nauto_hydrate = false\n")
    shutil.rmtree(home / "workspace/memory")
    before = snapshot.read_bytes()
    done = claw("memory", "snapshot")

    assert done.code == 1
    assert snapshot.read_bytes() == before


def test_forgetting_all_empties_the_file(claw, snapshot):
    claw("memory", "forget", "colour", "猫")
    done = claw("memory", "snapshot")

    assert done.code == 0
    assert "**Total core memories:** 0" in snapshot.read_text("utf-8")


def test_check_needs_a_file(claw):
    assert claw("memory", "snapshot", "-", "--check").code == 2


def test_a_directory_is_no_snapshot(claw, snapshot, tmp_path):
    done = claw("memory", "snapshot", str(tmp_path))

    assert (done.code, done.out) == (2, "")
    assert "is a directory" in done.err


@pytest.mark.parametrize("stdin", [b"", b"root:x:0:0\n", b"\x80\x00" * 999])
def test_what_is_no_snapshot_is_not_taken_for_an_empty_one(claw, tmp_path,
                                                           stdin):
    path = tmp_path / "file"
    path.write_bytes(stdin)

    for arguments in (["hydrate", str(path)], ["hydrate", "-"]):
        done = claw("memory", *arguments, stdin=stdin)
        assert (done.code, done.out) == (1, "")
        assert "is no snapshot" in done.err


def test_a_snapshot_of_no_memories_is_one(claw, snapshot):
    claw("memory", "forget", "colour", "猫")
    claw("memory", "snapshot")

    assert claw("memory", "hydrate").out == "0\n"


def test_a_snapshot_can_come_through_a_named_pipe(claw, snapshot, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", snapshot, pipe]):
        done = claw("memory", "hydrate", str(pipe), "-w",
                    str(tmp_path / "other"))

    assert (done.code, done.out) == (0, "2\n")


def test_a_snapshot_of_a_workspace_that_is_not_there_says_so(claw, home):
    done = claw("memory", "snapshot")

    assert (done.code, done.out) == (1, "")
    assert "no workspace" in done.err
    assert not home.exists()
