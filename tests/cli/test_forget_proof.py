"""claw memory forget --prove: a canary is in no byte that claw keeps."""

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import unicodedata
from contextlib import closing

import pytest

from claw.core.failpoint import KILLED
from claw.memory.forgetting.order import name_order
from claw.storage.jobs.model import JobSpec
from claw.storage.jobs.schedule import Schedule
from claw.storage.jobs.store import SqliteJobs
from claw.storage.log.entry import End, Start
from claw.storage.log.writer import LogWriter
from claw.testing.fake_openai import FakeOpenAI
from claw.testing.fake_telegram import FakeTelegram

TOKEN = "1234567:token-of-the-bot-that-nobody-may-see"
CANARY = "canaryBird7731blue"
TEXT = f'My locker code is {CANARY}, "upstairs" at the läst door.'


def holding(folder, word=CANARY):
    """The files with the word in them, in whatever letters."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*")
        if path.is_file() and word.lower().encode() in
        path.read_bytes().lower())


@pytest.fixture
def platform():
    with FakeTelegram(TOKEN) as fake:
        yield fake


@pytest.fixture
def model():
    with FakeOpenAI(replies=["the answer"]) as fake:
        yield fake


@pytest.fixture
def listen(environment, home, tmp_path, platform, model):
    """Start claw listen; what is returned ends it."""
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        f'default_provider = "custom:{model.url}"\n'
        'default_model = "fake-model"\n'
        "[memory]\nresponse_cache_enabled = true\n"
        f'[channels_config.telegram]\nbot_token = "{TOKEN}"\n'
        'allowed_users = ["alice"]\npoll_timeout_secs = 1\n'
        f'api_base_url = "{platform.url}"\n')
    (home / "config.toml").chmod(0o600)
    started = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-m", "claw", "listen"],
            env={**environment, "XDG_RUNTIME_DIR": str(tmp_path)},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        started.append(process)

        def end():
            process.send_signal(signal.SIGTERM)
            return process.wait(20)
        return end
    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def kept(claw, home):
    """A canary in every place that one command after the other puts it."""
    with FakeOpenAI(replies=[f"You said: {TEXT}"]) as fake:
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(
            f'default_provider = "custom:{fake.url}"\n'
            'default_model = "fake-model"\ndefault_temperature = 0.0\n'
            "[memory]\nresponse_cache_enabled = true\n"
            "snapshot_on_hygiene = true\n")
        (home / "config.toml").chmod(0o600)
        claw("memory", "store", "locker", f"Earlier: {TEXT}")
        claw("memory", "store", "locker", TEXT)
        claw("memory", "store", "copy", TEXT, "--category", "daily")
        claw("memory", "store", "gone", f"{TEXT} It was so.")
        claw("memory", "forget", "gone")
        claw("memory", "store", "tea", f"Mina drinks tea. {TEXT}")
        claw("memory", "store", "other", "Mina likes green tea")
        claw("agent", "--session", "work", f"remember: {TEXT}")
        claw("agent", "--session", "old", TEXT[:50])
        claw("memory", "snapshot")
        workspace = home / "workspace"
        archive = workspace / "sessions/archive"
        archive.mkdir()
        [old] = (workspace / "sessions").glob("old*.jsonl")
        old.rename(archive / old.name)
        (workspace / "memory/archive").mkdir()
        (workspace / "memory/archive/2024-01-01.md").write_text(
            f"# 2024\n\n- **a**: {TEXT}\n- **b**: tea\n")
        copy = workspace / "memory/migrations/zeroclaw-20260101-000000"
        copy.mkdir(parents=True)
        with closing(sqlite3.connect(workspace / "memory/brain.db")) as raw, \
                closing(sqlite3.connect(copy / "brain.db")) as target:
            raw.backup(target)
        (workspace / "memory/brain.db.corrupt-20260101").write_bytes(
            b"SQLite format 3\0" + b"\0x" * 999 + TEXT.encode() + b"\0" * 99)
        (workspace / "state/agent_history").write_text(f"+{TEXT}\n+tea\n")
        yield workspace


def test_a_canary_is_in_no_byte_that_claw_keeps(claw, kept, home):
    before = holding(home)
    done = claw("memory", "forget", "locker", "--prove", "--json")

    assert done.code == 0, done
    assert len(before) >= 9
    assert holding(home) == []
    said = json.loads(done.out)
    assert said["proven"] is True
    assert {hit["path"] for hit in said["found"]} >= {
        name.removeprefix("workspace/") for name in before
        if not name.endswith(("-wal", "-shm"))}
    assert "läst door" not in claw("session", "show", "work").out
    assert claw("memory", "history", "locker").code == 1
    assert claw("memory", "undo", "locker").code == 1


def test_what_was_not_to_go_is_as_it_was(claw, kept):
    claw("memory", "forget", "locker", "--prove")

    assert claw("memory", "get", "other").out == "Mina likes green tea\n"
    assert claw("memory", "get", "tea").out \
        == "Mina drinks tea. [forgotten]\n"
    assert claw("memory", "recall", "green tea", "--json").code == 0
    assert claw("memory", "check").code == 0
    assert claw("memory", "snapshot", "--check").code == 0
    assert claw("session", "list").out.count("\n") == 2
    assert (kept / "memory/archive/2024-01-01.md").read_text() == (
        "# 2024\n\n- **a**: [forgotten]\n- **b**: tea\n")
    assert (kept / "state/agent_history").read_text() \
        == "+[forgotten]\n+tea\n"


def test_a_backup_is_named_by_its_date_and_left(claw, kept):
    backup = kept.parent / "backup.tar.gz"
    backup.write_bytes(gzip.compress(b"ustar " + TEXT.encode()))
    os.utime(backup, (1_770_000_000, 1_770_000_000))
    (kept / "notes.txt").write_text(f"mine: {TEXT}")
    done = claw("memory", "forget", "locker", "--prove")

    assert done.code == 1
    assert f"left     {backup}  2026-02-02" in done.out
    assert "copies of 2026-02-02" in done.err
    assert "files of your own still hold it: notes.txt" in done.err
    assert backup.exists()
    assert holding(kept) == ["notes.txt"]


def test_everywhere_takes_the_owners_text_files_too(claw, kept):
    (kept / "notes.txt").write_text(f"mine: {TEXT}")
    done = claw("memory", "forget", "locker", "--prove", "--everywhere")

    assert done.code == 0, done
    assert (kept / "notes.txt").read_text() == "mine: [forgotten]"


@pytest.mark.parametrize("text", [
    "assistant", "conversation", "holidays", "2026-11-2", "17954151",
    "20261120", "custom:http"])
def test_a_common_word_damages_no_other_memory(claw, kept, text):
    """Not its category, its times nor who said it."""
    claw("memory", "store", "trip", "Oslo", "--category", "holidays")
    others = claw("memory", "export").out.splitlines()
    session = claw("session", "show", "work").out
    claw("memory", "store", "evil", text)
    claw("memory", "forget", "evil", "--prove")

    assert claw("memory", "export").out.splitlines() == others
    assert claw("session", "show", "work").out == session
    assert claw("cost").code == 0


def test_of_two_people_of_one_name_nobody_is_forgotten_by_it(
        claw, home):
    """On two channels the same name is bound to two people."""
    rows = "".join(json.dumps({
        "key": f"of-{one}", "content": f"{one} said that", "sender": one,
    }) + "\n" for one in ("1001", "1002"))
    claw("memory", "import", stdin=rows)
    people = home / "workspace/state/people.json"
    people.parent.mkdir(exist_ok=True)
    people.write_text(json.dumps({"a": {"eve": {"id": "1001"}},
                                  "b": {"Eve": {"id": "1002"}}}))
    both = claw("memory", "forget", "--who", "eve", "--prove", "--yes")
    one = claw("memory", "forget", "--who", "1002", "--prove", "--yes")

    assert both.code == 2
    assert "several people are called eve: 1001, 1002" in both.err
    assert one.code == 0, one
    assert claw("memory", "get", "of-1001").code == 0
    assert claw("memory", "get", "of-1002").code == 1


@pytest.mark.parametrize("people", ["[]", "5", "[" * 200_000])
def test_damaged_names_are_no_fault(claw, home, people):
    claw("memory", "store", "a", "b")
    (home / "workspace/state").mkdir(exist_ok=True)
    (home / "workspace/state/people.json").write_text(people)

    assert claw("memory", "forget", "--who", "x", "--prove").code in (1, 74)


WITH_FAILPOINTS = """
import sys
from claw.core.failpoint import install_from_environment
install_from_environment()
from claw.cli.app import run
sys.exit(run(["memory", "forget", "locker", "--prove"]))
"""


@pytest.mark.slow
def test_a_kill_anywhere_is_finished_by_the_second_run(
        claw, environment, kept, home, tmp_path):
    """Each failpoint once; the key can be named again."""
    def forget(**more):
        return subprocess.run(
            [sys.executable, "-c", WITH_FAILPOINTS], check=False,
            env={**environment, **more}, capture_output=True).returncode

    copy, log = tmp_path / "copy", tmp_path / "reached"
    subprocess.run(["cp", "-a", str(home), str(copy)], check=True)
    assert forget(CLAW_FAILPOINT_LOG=str(log)) == 0
    names = log.read_text().splitlines()
    assert {"forget.ordered", "forget.memories", "forget.file",
            "forget.wiped", "forget.done"} <= set(names)
    for number, name in enumerate(names, 1):
        subprocess.run(["rm", "-r", str(home)], check=True)
        subprocess.run(["cp", "-a", str(copy), str(home)], check=True)
        assert forget(CLAW_FAILPOINT=str(number)) == KILLED, name
        again = claw("memory", "forget", "locker", "--prove")

        # Where all was done but the search elsewhere, it is not known more.
        assert again.code == (1 if name == "forget.done" else 0), name
        assert holding(home) == [], name
        assert not (home / name_order(kept)).exists()
        assert claw("memory", "get", "other").code == 0


def test_what_was_not_finished_is_said_and_finished_without_a_key(
        claw, environment, kept):
    subprocess.run(
        [sys.executable, "-c", WITH_FAILPOINTS], check=False,
        env={**environment, "CLAW_FAILPOINT": "2"}, capture_output=True)
    told = claw("doctor")
    done = claw("memory", "forget", "--prove")

    assert "was to be forgotten with proof" in told.out
    assert done.code == 0, done
    assert holding(kept) == []
    assert "with proof" not in claw("doctor").out
    assert claw("memory", "forget", "--prove").code == 2


def test_it_is_forgotten_while_claw_listen_runs(
        listen, claw, home, platform, model):
    model.replies = [f"Noted: {TEXT}", "null", "What code?"]
    end = listen()
    platform.post(f"Please remember this: {TEXT}")
    platform.wait_until(lambda: len(platform.answers()) == 1)
    claw("memory", "store", "locker", TEXT)
    time.sleep(0.3)  # what follows the answer
    workspace = home / "workspace"
    assert "state/queue.db" in " ".join(holding(workspace))

    done = claw("memory", "forget", "locker", "--prove")

    assert done.code == 0, done
    assert holding(home) == []
    asked = len(model.chats)
    platform.post("What was the code of my locker again?")
    platform.wait_until(lambda: len(platform.answers()) == 2)
    assert all(CANARY not in json.dumps(chat.body)
               for chat in model.chats[asked:])
    assert end() == 0
    assert holding(home) == []


def test_all_that_somebody_said_is_forgotten(
        listen, claw, home, platform):
    end = listen()
    platform.post(f"My pin is 4711, and the code is {CANARY}.")
    platform.wait_until(lambda: len(platform.answers()) == 1)
    assert end() == 0
    claw("memory", "store", "mine", "the owner likes tea")
    asked = claw("memory", "forget", "--who", "alice", "--prove")
    done = claw("memory", "forget", "--who", "alice", "--prove", "--yes")

    assert asked.code == 2
    assert "--yes" in asked.err
    assert done.code == 0, done
    assert holding(home) == []
    assert holding(home, "pin is 4711") == []
    assert claw("memory", "get", "mine").code == 0
    assert claw("session", "list").out == ""


def test_what_the_log_alone_has_of_somebody_is_forgotten(claw, home):
    """Their entries go whole, also from a group; what others asked there
    stays, without the words."""
    said = {"one": ("1001", "telegram_1001_1001", f"my code is {CANARY}"),
            "two": ("1001", "telegram_-5_1001", "we meet at the old mill"),
            "three": ("1002", "telegram_-5_1002", "what is the weather?")}
    claw("memory", "store", "mine", "the owner likes tea")
    path = home / "workspace/state/log.db"
    path.parent.mkdir(exist_ok=True)
    with closing(LogWriter(path)) as log:
        for id, (sender, session, prompt) in said.items():
            log.begin(Start(id, "telegram:-5", prompt, session=session,
                            sender=sender))
            log.end(id, End("answered", f"You said: {prompt}"))
    (path.parent / "people.json").write_text(json.dumps(
        {"telegram": {"alice": {"id": "1001"}}}))
    before = holding(home)
    done = claw("memory", "forget", "--who", "alice", "--prove", "--yes")

    assert before
    assert done.code == 0, done
    assert holding(home) == holding(home, "old mill") == []
    assert [entry["id"] for entry in claw(
        "log", "list", "--json").json["entries"]] == ["three"]
    assert claw("memory", "get", "mine").code == 0


def test_a_name_of_people_stands_for_all_ids(listen, claw, platform):
    end = listen()
    platform.post("I keep three bees in the garden behind the house.")
    platform.wait_until(lambda: len(platform.answers()) == 1)
    assert end() == 0
    claw("config", "set", "people.mina.telegram", "1001")
    claw("config", "set", "people.mina.webhook", "m")
    claw("config", "set", "people.bob.webhook", "b")

    assert claw("memory", "forget", "--who", "bob", "--yes").code == 1
    assert claw("memory", "forget", "--who", "mina", "--yes").code == 0
    assert claw("memory", "recall", "bees").code == 1
    claw("config", "set", "people.bob.webhook", "1001")
    both = claw("memory", "forget", "--who", "mina", "--yes")
    assert (both.code, "1001 is mina" in both.err) == (2, True)


def test_what_somebody_said_comes_back_without_proof(
        listen, claw, platform):
    end = listen()
    platform.post("I keep three bees in the garden behind the house.")
    platform.wait_until(lambda: len(platform.answers()) == 1)
    assert end() == 0
    gone = claw("memory", "forget", "--who", "alice", "--yes")

    assert gone.code == 0, gone
    assert claw("memory", "recall", "bees").code == 1
    assert claw("memory", "undo", *gone.out.split()).code == 0
    assert claw("memory", "recall", "bees").code == 0


@pytest.mark.parametrize("given", [
    ["nothing"], ["--who", "nobody", "--yes"]])
def test_nothing_to_forget_is_no_success(claw, given):
    claw("memory", "store", "tea", "green")

    assert claw("memory", "forget", "--prove", *given).code == 1


def test_markdown_memories_are_forgotten_too(claw, home):
    home.mkdir()
    (home / "config.toml").write_text('[memory]\nbackend = "markdown"\n')
    claw("memory", "store", "locker", TEXT)
    claw("memory", "store", "tea", "green")
    claw("memory", "store", "pin", "4711")
    done = claw("memory", "forget", "locker", "pin", "--prove")

    assert done.code == 0, done
    assert holding(home) == []
    assert claw("memory", "list").out == "tea\tcore\tgreen\n"


@pytest.mark.parametrize("tail", ["b" * 30, ""])
def test_a_word_that_begins_like_a_forgotten_one_is_no_copy_of_it(
        claw, home, tail):
    """The index holds the first 64 letters of a word: those of another."""
    claw("memory", "store", "mine", "a" * 64 + "c" * 30)
    claw("memory", "store", "other", "a" * 64 + tail + " tea")

    assert claw("memory", "forget", "mine", "--prove").code == 0
    assert not (home / name_order(home / "workspace")).exists()
    assert "tea" in claw("memory", "get", "other").out


def test_a_document_that_would_bring_it_back_is_named(claw, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "locker.md").write_text(f"# Keys\n\n{TEXT}\n")
    (notes / "never-read.bin").write_bytes(b"\0\1\2" + TEXT.encode())
    claw("memory", "index", notes)
    claw("memory", "store", "locker", TEXT)
    done = claw("memory", "forget", "locker", "--prove", "--json")

    assert done.code == 1
    assert str(notes / "locker.md") in [
        hit["path"] for hit in done.json["left"]]
    assert TEXT in (notes / "locker.md").read_text()


def test_the_same_letters_in_another_normal_form_are_the_same_text(
        claw, home):
    text = "Der Schlüssel liegt über der großen Tür im Garten"
    claw("memory", "store", "key", text)
    claw("memory", "store", "copy", unicodedata.normalize("NFD", text))

    assert claw("memory", "forget", "key", "--prove").code == 0
    assert "Garten" not in claw("memory", "get", "copy").out


def test_a_code_in_names_goes_and_it_comes_to_an_end(claw, home):
    """In the log's columns, ids that are bound to be unique among them, in
    a session's name and its file's, in whatever letters."""
    path = home / "workspace/state/log.db"
    claw("memory", "store", "locker", TEXT)
    claw("memory", "store", f"about-{CANARY}", "tea", "--category",
         f"of-{CANARY.lower()}")
    with closing(LogWriter(path)) as log:
        for number, word in enumerate((CANARY, CANARY.upper())):
            log.begin(Start(
                word, f"agent:{word}", "what?", session=word, sender=word,
                provider=word, parent=word, system=word, passages=(word,)))
            log.end(word, End("answered", TEXT.swapcase(), model=word))
            (home / "workspace/sessions").mkdir(exist_ok=True)
            (home / f"workspace/sessions/{word}.jsonl").write_text(
                json.dumps({"session": word, "created_at": "2026-11-20"})
                + f'\n{{"n": 1, "type": "Chat", "data": {{"role": "user", '
                f'"content": "tea {number}"}}}}\n')
    done = claw("memory", "forget", "locker", "--prove")

    assert done.code == 0, done
    assert holding(home) == []
    assert not [name for name in home.rglob("*")
                if CANARY.lower() in str(name).lower()]
    assert not (home / name_order(home / "workspace")).exists()
    assert claw("log", "list", "--json").json["total"] == 2
    assert {claw("session", "show", key).out.count("tea") for key in (
        "[forgotten]", "[forgotten] 2")} == {1}
    assert claw("memory", "forget", "--prove").code == 2


def test_what_can_not_go_from_a_name_is_said_and_ends(claw, home):
    """A number is in too many names to be taken out of them."""
    claw("memory", "store", "phone", "4917012345678")
    claw("memory", "store", "tea", "green", "--category", "of-4917012345678")
    done = claw("memory", "forget", "phone", "--prove")

    assert done.code == 1
    assert "memory/brain.db" in done.out
    assert not (home / name_order(home / "workspace")).exists()
    assert claw("memory", "forget", "--prove").code == 2
    assert claw("memory", "get", "tea").code == 0


@pytest.mark.parametrize("foreign", [True, False])
def test_a_planted_order_is_not_obeyed(claw, home, foreign):
    claw("memory", "store", "tea", "Mina drinks green tea in the morning")
    claw("memory", "store", "locker", TEXT)
    planted = home / "workspace/state/forgetting.json"
    planted.parent.mkdir(exist_ok=True)
    planted.write_text(json.dumps({
        "keys": ["tea"], "people": [], "sessions": [],
        "texts": ["Mina drinks green tea in the morning"]}))

    if foreign:
        assert claw("memory", "forget", "locker", "--prove").code == 0
    else:
        assert claw("memory", "forget", "--prove").code == 2
    assert claw("memory", "get", "tea").code == 0


def test_a_copy_in_other_letters_and_lines_goes(claw, kept, home):
    """As someone else writes it, or a mail wraps it."""
    for number, copy in enumerate((
            TEXT.upper(), TEXT.replace(" ", "\n"), TEXT.replace(
                " ", "\xa0"), unicodedata.normalize("NFD", TEXT.lower()))):
        claw("memory", "store", f"copy-{number}", f"So: {copy} It is.")
        claw("ask", "--no-memory", f"So: {copy} It is.")
    done = claw("memory", "forget", "locker", "--prove")

    assert done.code == 0, done
    assert holding(home) == holding(home, "upstairs") == []
    assert claw("memory", "get", "copy-1").out == "So: [forgotten] It is.\n"


def test_a_job_that_says_it_is_removed_and_others_stay(claw, kept):
    """A command with a hole in it would be another command."""
    store = SqliteJobs(kept / "state/jobs.db")
    daily = Schedule("cron", expr="@daily")
    store.add(JobSpec(daily, "agent", prompt=f"say: {TEXT}"))
    other = store.add(JobSpec(daily, command="ls"))

    claw("memory", "forget", "locker", "--prove")

    assert store.list_jobs() == [other]
    assert TEXT.encode() not in (kept / "state/jobs.db").read_bytes()


def test_a_number_in_a_files_name_was_said_to_go_with_the_next_run(
        claw, home):
    claw("memory", "store", "phone", "4915112345678")
    notes = home / "workspace/notes/call-4915112345678.txt"
    notes.parent.mkdir()
    notes.write_text("hi")
    talk = home / "workspace/sessions/tg_4915112345678.jsonl"
    talk.parent.mkdir(exist_ok=True)
    talk.write_text('{"role": "user", "content": "hi"}\n')

    done = claw("memory", "forget", "phone", "--prove")

    assert done.code == 1
    assert "run the same command again" not in done.err
    assert "--everywhere" not in done.err
    assert ("stays in the names of files: notes/call-4915112345678.txt, "
            "sessions/tg_4915112345678.jsonl (rename or remove them)"
            ) in done.err
