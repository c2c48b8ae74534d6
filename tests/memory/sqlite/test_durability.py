"""What must survive: many writers, kill -9, a full disk, a failing disk,
and the way in which SQLite loses what a process wrote when anything opens
the file of an open database beside it."""

import contextlib
import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from claw.cli.app import COMMANDS
from claw.core.errors import StorageError
from claw.core.memory import Filters, MemoryEntry
from claw.memory.sqlite.backend import FILE

BENCH = Path(__file__).parents[3] / "bench" / "memory_kills.py"


def environment(home):
    """What a process of a test sees."""
    return {"PATH": os.environ["PATH"], "HOME": str(home),
            "CLAW_HOME": str(home), "CLAW_NO_PROBE": "1",
            "PYTHONWARNINGS": "error", "PYTHONPATH": os.pathsep.join(sys.path)}


def spawn(home, code, *arguments, before=()):
    """A Python process of its own, fed through stdin."""
    return subprocess.Popen(
        [*before, sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=environment(home))


def claw(home, *arguments, stdin=None):
    """One claw command, a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "claw", *arguments], input=stdin, text=True,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True, env=environment(home), check=False, timeout=120)


def assert_clean(memory, workspace):
    """Every look at the store finds it sound; FTS5's own included."""
    assert [one for one in memory.check() if not one.ok] == []
    with contextlib.closing(sqlite3.connect(workspace / FILE)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        raw.execute("INSERT INTO memories_fts(memories_fts, rank)"
                    " VALUES ('integrity-check', 1)")


# --- many writers --------------------------------------------------------

WRITER = """
import sys
import claw
sys.stdin.readline()  # all begin at once, the making of the file included
with claw.open_memory(sys.argv[1]) as memory:
    for number in range(100):
        memory.store(f"{sys.argv[2]}-{number}", f"text {number} green tea")
        if number % 10 == 0:
            memory.store("shared", f"by {sys.argv[2]}, {number}")
            memory.recall("green tea", 3)
        if number % 25 == 24:
            memory.forget(f"{sys.argv[2]}-{number}")
            memory.store(f"{sys.argv[2]}-{number}", f"text {number} again")
"""


def test_eight_processes_that_write_at_once_lose_nothing(tmp_path,
                                                         open_memory):
    running = [spawn(tmp_path, WRITER, tmp_path, name) for name in "abcdefgh"]
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in running:
        out, err = process.communicate(timeout=180)
        assert (process.returncode, out, err) == (0, "", "")

    memory = open_memory()
    held = {entry.key: entry.content for entry in memory.list()}
    shared = held.pop("shared")
    assert held == {
        f"{name}-{number}": f"text {number} "
        + ("again" if number % 25 == 24 else "green tea")
        for name in "abcdefgh" for number in range(100)}
    assert shared.endswith(", 90")
    assert len(memory.recall("green tea", 2000)) == 8 * 96
    assert_clean(memory, tmp_path)


# --- kill -9 -------------------------------------------------------------

def test_kill_leaves_exactly_what_was_acknowledged(tmp_path):
    """A thousand rounds: bench/memory_kills.py."""
    spec = importlib.util.spec_from_file_location("memory_kills", BENCH)
    kills = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = kills
    try:
        spec.loader.exec_module(kills)
        report = kills.run(5, tmp_path, writers=2, seed=4, vectors=True)
    finally:
        del sys.modules[spec.name]

    assert report.faults == []
    assert (report.rounds, report.kills) == (5, 10)
    assert report.acknowledged > 0


# --- a full disk ---------------------------------------------------------

def fill(memory, *, size=200_000):
    """No more pages than there are."""
    connection = memory._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")
    return "x " * size


def rows(memory):
    return {entry.key: entry.content for entry in memory.list()}


@pytest.mark.parametrize("write", [
    lambda memory, long: memory.store("new", long),
    lambda memory, long: memory.store("k1", long),
    lambda memory, long: memory.restore(
        [MemoryEntry("", f"k{n}", f"{n} {long}", "core", "", "")
         for n in range(40)], overwrite=True),
    lambda memory, long: memory.restore(
        [MemoryEntry("", f"n{n}", long, "core", "", "")
         for n in range(4)], overwrite=False),
], ids=["store", "overwrite", "restore over", "restore"])
def test_a_full_disk_undoes_the_whole_write_and_says_so(
        write, memory, tmp_path):
    for number in range(20):
        memory.store(f"k{number}", f"green tea {number}", "core", "s1")
    before = rows(memory)
    long = fill(memory)

    with pytest.raises(StorageError, match="disk is full") as raised:
        write(memory, long)

    assert raised.value.exit_code == 74
    assert str(FILE) in raised.value.message
    assert raised.value.hint
    assert rows(memory) == before
    assert len(memory.recall("green tea", 100)) == 20
    memory._connection.execute("PRAGMA max_page_count=1000000")
    memory.store("after", "there is room again")
    assert memory.recall("room")[0].key == "after"
    assert_clean(memory, tmp_path)


def test_an_index_that_has_no_room_to_be_made_anew_stays_as_it_was(
        memory, tmp_path):
    words = [f"w{number}" for number in range(40_000)]
    memory.restore((MemoryEntry("", f"k{n}", " ".join(
        words[n * 100:n * 100 + 100]), "core", "", "")
        for n in range(400)), overwrite=False)
    memory._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = [entry.key for entry in memory.recall("w777 w39999", 9)]
    fill(memory)

    # Dropping the old index frees pages: it may fit or not.
    with contextlib.suppress(StorageError):
        memory.reindex()

    assert len(before) == 2
    assert [e.key for e in memory.recall("w777 w39999", 9)] == before
    assert_clean(memory, tmp_path)


FILLED = """
set -e
mount -t tmpfs -o size=2m none "$1"
cd "$1"
head -c 300000 /dev/zero > room  # what a person can remove later
python="$2"
run() { "$python" -m claw "$@"; }
run memory store first "green tea in Oslo" >/dev/null
n=0
code=0
while [ $code = 0 ] && [ $n -lt 200 ]; do
    n=$((n + 1))
    head -c 60000 /dev/zero | tr '\\0' 'y' | fold -w 50 | \\
        run memory store "big$n" - >/dev/null 2>"$3/err" || code=$?
done
count=$(run memory count 2>"$3/err2")
found=$(run memory recall --jsonl oslo 2>>"$3/err2")
got=$(run memory get first 2>>"$3/err2")
run memory export >"$3/export" 2>>"$3/err2"
rm "$1/room"
run memory store after "room again" >/dev/null
again=$(run memory count)
well=$(run memory stats --json)
printf '%s\\n' "$n" "$code" "$count" "$found" "$got" "$again" "$well"
"""


def on_a_tiny_disk(tmp_path, script):
    """Run a script as: sh DISK PYTHON NOTES; it mounts the disk."""
    disk, notes = tmp_path / "disk", tmp_path / "notes"
    disk.mkdir()
    notes.mkdir()
    own = ["unshare", "-Urm"]
    if shutil.which("unshare") is None or subprocess.run(
            [*own, "mount", "-t", "tmpfs", "none", str(disk)],
            capture_output=True, check=False).returncode:
        pytest.skip("no user namespace in which a tmpfs can be mounted")
    return subprocess.run(
        [*own, "sh", "-c", script, "sh", str(disk), sys.executable,
         str(notes)], text=True, capture_output=True, check=False,
        timeout=300, env={**environment(tmp_path), "CLAW_HOME": str(disk)})


def test_a_disk_that_is_really_full_can_still_be_read(tmp_path):
    done = on_a_tiny_disk(tmp_path, FILLED)
    notes = tmp_path / "notes"

    assert (done.returncode, done.stderr) == (0, "")
    tries, code, count, found, got, again, well = done.stdout.splitlines()
    said = (notes / "err").read_text()
    assert int(tries) < 100
    assert code == "74"
    assert "the disk is full" in said
    assert "free some space" in said
    assert count == tries  # "first" and all but the one that failed
    assert "green tea in Oslo" in found
    assert got == "green tea in Oslo"
    assert (notes / "err2").read_text() == ""
    assert len((notes / "export").read_text().splitlines()) == int(count)
    assert int(again) == int(count) + 1
    assert json.loads(well)["healthy"] is True


NO_BYTE_LEFT = """
set -e
mount -t tmpfs -o size=2m none "$1"
python="$2"
run() { "$python" -m claw "$@"; }
run memory store first "green tea in Oslo" >/dev/null
cat /dev/zero > "$1/filler" 2>/dev/null || true
code=0
run memory store second "more tea" >/dev/null 2>"$3/err" || code=$?
run memory get first
echo $code
"""


def test_a_disk_without_a_byte_left_can_still_be_read(tmp_path):
    done = on_a_tiny_disk(tmp_path, NO_BYTE_LEFT)

    assert done.stdout.splitlines() == ["green tea in Oslo", "74"]
    assert done.stderr == ""


# --- a failing disk ------------------------------------------------------

# A file that may grow no more answers EFBIG, an error like EIO to SQLite.
FAILING = """
import os, resource, sys
import claw
from claw.core.errors import ClawError
with claw.open_memory(sys.argv[1]) as memory:
    for number in range(50):
        memory.store(f"k{number}", f"green tea {number}")
    most = os.path.getsize(sys.argv[1] + "/memory/brain.db-wal") + 300_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    stored = 50
    try:
        while True:
            memory.store(f"k{stored}", f"green tea {stored} " + "y " * 500)
            stored += 1
    except ClawError as error:
        print(type(error).__name__, error.exit_code, error.message, sep="|")
    try:
        memory.restore(memory.entries(), overwrite=True)
    except ClawError as error:
        print(type(error).__name__, error.exit_code, error.message, sep="|")
    print(stored, memory.count(), len(memory.list()),
          len(memory.recall("green tea", 9999)), memory.get("k7").content,
          sep="|")
"""


def test_a_disk_that_fails_leaves_the_store_readable(tmp_path, open_memory):
    process = spawn(tmp_path, FAILING, tmp_path)
    out, err = process.communicate(timeout=120)

    assert (process.returncode, err) == (0, "")
    *errors, last = out.splitlines()
    assert len(errors) == 2
    for line in errors:
        kind, code, message = line.split("|")
        assert (kind, code) == ("StorageError", "74")
        assert "disk" in message
        assert str(tmp_path / FILE) in message
    stored, count, listed, found, one = last.split("|")
    assert stored == count == listed == found
    assert int(stored) > 50
    assert one == "green tea 7"
    memory = open_memory()
    assert memory.count() == int(stored)
    memory.store("after", "the disk is well again")
    assert memory.recall("well again")[0].key == "after"
    assert_clean(memory, tmp_path)


def test_an_import_into_a_failing_disk_is_all_or_nothing(tmp_path):
    claw(tmp_path, "memory", "store", "first", "green tea")
    lines = "".join(json.dumps({"key": f"k{n}", "content": f"{n} " + "y " * 200
                                }) + "\n" for n in range(2000))
    many = tmp_path / "many.ndjson"
    many.write_text(lines)
    done = subprocess.run(
        ["prlimit", "--fsize=200000", sys.executable, "-m", "claw", "memory",
         "import", many] if shutil.which("prlimit") else
        ["sh", "-c", 'ulimit -f 400; exec "$0" -m claw memory import "$1"',
         sys.executable, many],
        text=True, capture_output=True, check=False,
        env=environment(tmp_path))

    assert done.returncode == 74
    assert done.stdout == ""
    assert "disk" in done.stderr
    assert "Traceback" not in done.stderr
    assert claw(tmp_path, "memory", "count").stdout == "1\n"
    assert claw(tmp_path, "memory", "get", "first").stdout == "green tea\n"


# --- the accident of WAL -------------------------------------------------

# POSIX drops all locks of a process on a file when it closes any descriptor
# of it. So nothing in a process with an open memory may open brain.db: the
# whole tour runs in one such process, and every opening is heard.
TOUR = """
import json, os, sys, threading
from pathlib import Path
workspace, home, commands, others = json.loads(sys.argv[1])
brain = os.path.realpath(os.path.join(workspace, "memory", "brain.db"))
files = (brain, brain + "-wal", brain + "-shm")
heard = []

def hook(event, arguments):
    if event not in ("open", "os.remove", "os.rename", "os.truncate",
                     "os.link", "shutil.copyfile", "mmap.__new__"):
        return
    for given in arguments[:2]:
        if isinstance(given, (str, bytes, os.PathLike)):
            path = os.path.realpath(os.fsdecode(given))
            if path in files or is_brain(path):
                heard.append(f"{event} {path} in {doing}")

def is_brain(path):
    try:  # a hard link to it is it, too; stat opens nothing
        return os.path.samefile(path, brain)
    except OSError:
        return False

doing = "opening"
sys.addaudithook(hook)
import claw
from claw.cli.app import run
from claw.core.memory import Filters
from claw.memory.snapshot.file import export_snapshot, hydrate
sys.stdin = open(os.devnull)
with claw.open_memory(workspace, home) as memory:
    memory.store("colour", "Mina likes green tea", "core", "s1")
    os.link(brain, os.path.join(workspace, "hard.db"))
    heard.clear()
    memory.store("daily", "the harbour is green", "daily")
    for name in sorted(dir(memory)):
        call = getattr(memory, name)
        if name.startswith("_") or not callable(call) or name in (
                "close", "open"):
            continue
        doing = name
        for given in ((), ("colour",), ("green tea", 3, Filters()),
                      (Filters(), 3, 0), ("colour", "text"),
                      (None, None, ["daily"]), (lambda n: None,)):
            try:
                found = call(*given)
                list(found) if hasattr(found, "__next__") else None
            except (TypeError, AttributeError):
                pass
            except Exception as error:
                if "ClawError" not in str(type(error).__mro__):
                    raise
    doing = "snapshot"
    export_snapshot(memory, Path(workspace) / "MEMORY_SNAPSHOT.md")
    hydrate(memory, Path(workspace) / "MEMORY_SNAPSHOT.md")
    codes = {}
    for arguments in commands:
        doing = "claw " + " ".join(arguments)
        memory.store("colour", "Mina likes green tea", "core", "s1")
        codes[doing] = run(arguments)
    memory.store("after", "the tour")
    count = memory.count()
print("\\nHEARD " + json.dumps([heard, codes, count]))
"""


def tour(workspace):
    """Every memory command as it is usually called, every other one that
    there is with a few arguments, and all that looks at a workspace."""
    brain = str(FILE)
    known = {
        "store": [["k", "text"], ["colour", "other"]],
        "recall": [["green"], ["--explain", "green"], [""], ["zzz%"],
                   ["--json", "--since", "1d", "green*"]],
        "get": [["colour"], ["col"]], "list": [[], ["--json"]],
        "forget": [["colour"], ["--category", "daily", "--yes"]],
        "count": [[]], "stats": [[], ["--json"]],
        "snapshot": [[], ["other.md"]], "hydrate": [[], ["other.md"]],
        "export": [[], ["copy.ndjson"]], "import": [["copy.ndjson"]],
    }
    commands = [["memory", name, *more] for name, calls in known.items()
                for more in calls]
    commands += [[*name.split(), *more] for name in COMMANDS
                 if name.startswith("memory ") and len(name.split()) == 2
                 and name.split()[1] not in known
                 for more in ([], ["colour"], ["colour", "daily"],
                              ["--json"], ["--repair"], ["--yes"])]
    commands += [["doctor"], ["doctor", "--fix"], ["doctor", "--json"]]
    commands += [["tool", "run", tool, json.dumps(arguments)]
                 for path in (brain, "link.db", "hard.db", str(
                     workspace / brain))
                 for tool, arguments in (
                     ("file_read", {"path": path}),
                     ("file_write", {"path": path, "content": "x"}),
                     ("file_edit", {"path": path, "old_string": "a",
                                    "new_string": "b"}))]
    commands += [["ask", "-p", "offline", "what does Mina like?"],
                 ["session", "list"], ["config", "check"]]
    return commands


def test_nothing_opens_brain_db_beside_an_open_memory(tmp_path):
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "link.db").symlink_to(FILE)
    argument = json.dumps([str(workspace), str(tmp_path), tour(workspace),
                           None])
    process = subprocess.run(
        [sys.executable, "-c", TOUR, argument], text=True, cwd=workspace,
        capture_output=True, env=environment(tmp_path), check=False,
        timeout=300)

    assert process.returncode == 0, process.stderr[-3000:]
    heard, codes, count = json.loads(process.stdout.rsplit("\nHEARD ", 1)[1])
    assert heard == []
    assert count >= 2
    # The tour really went: what is known to work worked.
    for command in ("recall green", "get colour", "export", "stats",
                    "forget colour", "snapshot"):
        assert codes[f"claw memory {command}"] == 0, command


def test_the_ear_of_the_tour_hears_an_opening(tmp_path):
    """The check of the check: a harmless probe is heard."""
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    argument = json.dumps([str(workspace), str(tmp_path), [], None])
    probe = TOUR.replace('doing = "snapshot"',
                         'doing = "probe"; open(brain, "rb").close()')
    process = subprocess.run(
        [sys.executable, "-c", probe, argument], text=True, cwd=workspace,
        capture_output=True, env=environment(tmp_path), check=False,
        timeout=120)

    assert process.returncode == 0, process.stderr[-3000:]
    heard, _, _ = json.loads(process.stdout.rsplit("\nHEARD ", 1)[1])
    assert [line for line in heard if line.endswith("in probe")]


HOLDER = """
import sys
import claw
with claw.open_memory(sys.argv[1]) as memory:
    number = 0
    for line in sys.stdin:
        if line == "raw\\n":
            open(sys.argv[2], "rb").close()
        for _ in range(10):
            memory.store(f"k{number}", f"green tea {number}")
            number += 1
        print(number, flush=True)
"""

READERS = [["memory", "recall", "green tea"], ["memory", "recall", ""],
           ["memory", "get", "k1"], ["memory", "list"], ["memory", "count"],
           ["memory", "stats"], ["memory", "export"], ["doctor"],
           *([["memory", "check"]] if "memory check" in COMMANDS else []),
           *([["memory", "history", "k1"]]
             if "memory history" in COMMANDS else [])]


def spoken(process, word):
    process.stdin.write(word + "\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def kept_by_others(workspace):
    """What a fresh process of SQLite's sees."""
    with contextlib.closing(sqlite3.connect(workspace / FILE)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return raw.execute("SELECT count(*) FROM memories").fetchone()[0]


def test_reading_commands_beside_a_careless_writer_lose_nothing(tmp_path):
    """The accident itself, with claw as the second process: the writer has
    dropped its locks, and a command that opened for writing would remove
    the log under it when it ends."""
    workspace = tmp_path / "workspace"
    holder = spawn(tmp_path, HOLDER, workspace, workspace / FILE)
    try:
        written = spoken(holder, "go")
        for command in READERS:
            spoken(holder, "raw")
            done = claw(tmp_path, *command)
            assert "Traceback" not in done.stderr
            written = spoken(holder, "go")
            seen = claw(tmp_path, "memory", "count").stdout
            assert seen == f"{written}\n", command
    finally:
        holder.stdin.close()
        holder.wait(30)
        holder.stdout.close()
        holder.stderr.close()

    assert written == 10 * (1 + 2 * len(READERS))
    assert kept_by_others(workspace) == written


def test_writing_commands_beside_a_writer_lose_nothing(tmp_path):
    workspace = tmp_path / "workspace"
    holder = spawn(tmp_path, HOLDER, workspace, workspace / FILE)
    line = json.dumps({"key": "imported", "content": "text"})
    try:
        spoken(holder, "go")
        claw(tmp_path, "memory", "store", "mine", "text")
        spoken(holder, "go")
        claw(tmp_path, "memory", "import", "-", stdin=line)
        spoken(holder, "go")
        claw(tmp_path, "memory", "forget", "k3")
        spoken(holder, "go")
        claw(tmp_path, "memory", "hydrate")
        claw(tmp_path, "doctor", "--fix")
        written = spoken(holder, "go")
        seen = claw(tmp_path, "memory", "count").stdout
    finally:
        holder.stdin.close()
        holder.wait(30)
        holder.stdout.close()
        holder.stderr.close()

    assert seen == f"{written + 2 - 1}\n"
    assert kept_by_others(workspace) == written + 1


def test_a_memory_is_copied_by_sqlite_never_by_bytes(open_memory, tmp_path):
    """The backup of an upgrade is taken beside a writer that goes on."""
    path = tmp_path / FILE
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(
            path, isolation_level=None)) as old:
        old.execute("PRAGMA journal_mode=WAL")
        old.execute("CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT"
                    " NOT NULL UNIQUE, content TEXT NOT NULL, category TEXT,"
                    " embedding BLOB, created_at TEXT, updated_at TEXT)")
        old.executemany("INSERT INTO memories VALUES (?, ?, ?, 'core', NULL,"
                        " '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')", [
                            (str(n), f"k{n}", f"tea {n}") for n in range(50)])

        memory = open_memory()  # upgrades, with the other still there

        assert memory.page(Filters(), 1, 0)[1] == 50
        memory.store("new", "green tea")
        copies = list(path.parent.glob("brain.db.before-claw-*"))
    assert len(copies) == 1
    with contextlib.closing(sqlite3.connect(copies[0])) as copy:
        assert copy.execute("SELECT count(*) FROM memories").fetchone() == (
            50,)
    assert kept_by_others(tmp_path) == 51
