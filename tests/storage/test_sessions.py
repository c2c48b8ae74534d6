import json
import multiprocessing
import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from claw.core.errors import NotFoundError, StorageError, UsageError
from claw.memory.hygiene.archive import SESSIONS, old_files
from claw.memory.hygiene.archive import archive as archive_files
from claw.storage.sessions import SessionStore, file_name

HOSTILE_KEYS = [
    "work", "a/b/../../c", "..", ".", "-rf", "con:aux", "학교 숙제",
    "שלום", "🦀" * 40, "x" * 5000, "tab\there\nline", "nul\x00byte",
    "lone \ud800 surrogate", " ", "a_b", "a b", "A b",
]


def chat(text):
    return {"type": "Chat", "data": {"role": "user", "content": text}}


def archive(directory, key, *, days=0):
    """What hygiene does with a session; where it lies then."""
    now = datetime.now(UTC)
    move, = old_files(directory.parent, SESSIONS, now + timedelta(days=1),
                      {path.name for path in directory.glob("*.jsonl")
                       if path.name != file_name(key)})
    assert list(archive_files(directory.parent, SESSIONS, [move],
                              now + timedelta(days=1)))
    path = directory / "archive" / move.target
    os.utime(path, (now.timestamp() - days * 86400,) * 2)
    return path


def archive_often(directory, times):
    """Hygiene that takes every session to be old; how often it did."""
    end, moved = time.monotonic() + 30, 0
    while moved < times and time.monotonic() < end:
        before = datetime.now(UTC) + timedelta(days=1)
        moves = old_files(directory.parent, SESSIONS, before)
        moved += len(list(archive_files(directory.parent, SESSIONS, moves,
                                        before)))
    return moved


def data_of(records):
    return [{k: r[k] for k in ("type", "data")} for r in records]


def append_many(directory, worker, count):
    store = SessionStore(directory)
    for number in range(count):
        store.append("shared", [chat(f"{worker}/{number}"), chat("x" * 3000)])


@pytest.mark.parametrize("key", HOSTILE_KEYS)
def test_any_key_keeps_its_own_messages(tmp_path, key):
    store = SessionStore(tmp_path / "sessions")
    for other in HOSTILE_KEYS:
        store.append(other, [chat("of " + repr(other))])
    store.append(key, [chat("more")])

    assert data_of(store.load(key)) == [chat("of " + repr(key)),
                                        chat("more")]
    assert {info.key for info in store.list()} >= {
        k for k in HOSTILE_KEYS if "\ud800" not in k}
    assert all(path.parent == tmp_path / "sessions"
               for path in tmp_path.rglob("*.jsonl"))


def test_any_text_comes_back_equal(tmp_path):
    texts = ["", "a\nb\r\nc\u2028d", "\x00", "\ud800", "🦀" * 1000,
             '{"n": 9}', "y" * 200_000]
    store = SessionStore(tmp_path, sync=True)
    store.append("k", map(chat, texts))

    assert [r["data"]["content"] for r in store.load("k")] == texts
    assert store.list()[0].messages == len(texts)


def test_file_names_are_short_and_differ_for_keys_that_look_alike():
    names = {file_name(key) for key in HOSTILE_KEYS}

    assert len(names) == len(HOSTILE_KEYS)
    assert max(map(len, names)) < 100


def test_an_empty_key_is_refused(tmp_path):
    with pytest.raises(UsageError):
        SessionStore(tmp_path).append("", [chat("a")])


def test_reading_creates_nothing(tmp_path):
    store = SessionStore(tmp_path / "sessions")

    assert store.load("nothing") == []
    assert store.list() == []
    assert store.clear("nothing") is False
    with pytest.raises(NotFoundError):
        store.read("nothing")
    assert list(tmp_path.iterdir()) == []


def test_a_torn_last_line_is_passed_over_and_closed(tmp_path):
    store = SessionStore(tmp_path)
    store.append("k", [chat("one"), chat("two")])
    path = store.list()[0].path
    os.truncate(path, path.stat().st_size - 10)

    assert data_of(store.load("k")) == [chat("one")]
    assert store.list()[0].messages == 1

    store.append("k", [chat("three")])

    session = store.read("k")
    assert data_of(session.records) == [chat("one"), chat("three")]
    assert session.damaged == 1
    assert store.list()[0].messages == 2


def test_garbage_in_the_middle_costs_only_its_own_line(tmp_path):
    store = SessionStore(tmp_path)
    store.append("k", [chat("one")])
    with store.list()[0].path.open("ab") as file:
        file.write(b"\xff\xfe not json\n[1]\n" + b"[" * 5000 + b"\n")
    store.append("k", [chat("two")])

    session = store.read("k")
    assert data_of(session.records) == [chat("one"), chat("two")]
    assert session.damaged == 3


def test_listing_counts_when_the_last_line_is_longer_than_a_block(tmp_path):
    store = SessionStore(tmp_path)
    store.append("k", [chat("a"), chat("b" * 300_000)])
    store.append("k", [chat("c"), chat("d" * 65_536)])

    assert store.list()[0].messages == 4


def test_writers_in_several_processes_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=append_many, args=(tmp_path, w, 25))
               for w in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    session = SessionStore(tmp_path).read("shared")
    texts = [r["data"]["content"] for r in session.records]
    assert session.damaged == 0
    assert [r["n"] for r in session.records] == list(range(1, 201))
    for worker in range(4):
        mine = [t for t in texts if t.startswith(f"{worker}/")]
        assert mine == [f"{worker}/{n}" for n in range(25)]


def test_replace_keeps_the_key_and_the_time_of_creation(tmp_path):
    store = SessionStore(tmp_path)
    store.append("a/b", [chat("one"), chat("two")])
    created = store.read("a/b").created_at

    store.replace("a/b", [chat("three")])

    session = store.read("a/b")
    assert (session.key, session.created_at) == ("a/b", created)
    assert data_of(session.records) == [chat("three")]
    assert len(list(tmp_path.iterdir())) == 1


def test_an_append_after_a_replace_reaches_the_new_file(tmp_path):
    store = SessionStore(tmp_path)
    store.append("k", [chat("one")])
    with store.list()[0].path.open("rb") as held_open:
        store.replace("k", [chat("two")])
        store.append("k", [chat("three")])

        assert b"three" not in held_open.read()
    assert data_of(store.load("k")) == [chat("two"), chat("three")]


def test_clear_removes_and_a_new_session_starts_at_one(tmp_path):
    store = SessionStore(tmp_path)
    store.append("k", [chat("one")])

    assert store.clear("k") is True
    assert store.list() == []
    store.append("k", [chat("new")])
    assert [r["n"] for r in store.load("k")] == [1]


def test_a_file_without_a_header_is_read_under_its_own_name(tmp_path):
    lines = [{"role": "user", "content": "hi"},
             {"role": "assistant", "content": "hello"}]
    (tmp_path / "telegram_42.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines))
    store = SessionStore(tmp_path)

    assert store.load("telegram_42") == lines
    info = store.list()[0]
    assert (info.key, info.messages) == ("telegram_42", 2)


def test_export_gives_the_header_and_every_record(tmp_path):
    store = SessionStore(tmp_path)
    store.append("k", [chat("one")])

    head, record = store.export("k")
    assert head["session"] == "k"
    assert record["data"]["content"] == "one"


def test_a_directory_where_the_file_should_be_is_a_storage_error(tmp_path):
    (tmp_path / file_name("k")).mkdir()

    with pytest.raises(StorageError):
        SessionStore(tmp_path).append("k", [chat("one")])
    assert SessionStore(tmp_path).list() == []


def test_files_are_for_the_owner_only(tmp_path):
    store = SessionStore(tmp_path / "sessions")
    store.append("k", [chat("one")])

    assert store.list()[0].path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("count", "most"), [
    (0, 5), (1, 5), (5, 5), (7, 5), (400, 50)])
def test_the_end_of_a_session_is_what_the_whole_ends_with(
        tmp_path, count, most):
    store = SessionStore(tmp_path)
    for number in range(count):
        store.append("work", [chat(f"{number} " + "x" * (number * 40))])

    assert store.tail("work", most) == store.load("work")[-most:]


def test_the_end_of_a_session_passes_over_what_is_damaged(tmp_path):
    store = SessionStore(tmp_path)
    store.append("work", [chat("one"), chat("two")])
    path = tmp_path / file_name("work")
    with path.open("ab") as file:
        file.write(b'{"n": 3, "type": "Ch')

    assert data_of(store.tail("work", 5)) == [chat("one"), chat("two")]


# -- archived by hygiene


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "sessions")


@pytest.fixture
def sessions(tmp_path):
    return tmp_path / "sessions"


def test_an_archived_session_is_read_where_it_stands(store, sessions):
    store.append("work", [chat("one"), chat("two")])
    path = archive(sessions, "work")

    assert data_of(store.load("work")) == [chat("one"), chat("two")]
    assert data_of(store.tail("work", 1)) == [chat("two")]
    assert store.read("work").key == "work"
    assert len(list(store.export("work"))) == 3
    assert path.is_file()
    assert list(sessions.glob("*.jsonl")) == []


def test_who_writes_to_an_archived_session_brings_it_back(store, sessions):
    store.append("work", [chat("one")])
    created = store.read("work").created_at
    path = archive(sessions, "work")

    store.append("work", [chat("two")])

    assert not path.exists()
    session = store.read("work")
    assert data_of(session.records) == [chat("one"), chat("two")]
    assert [r["n"] for r in session.records] == [1, 2]
    assert session.created_at == created
    assert [info.archived for info in store.list()] == [False]


def test_who_begins_anew_leaves_nothing_old_in_the_archive(store, sessions):
    store.append("work", [chat("one")])
    archive(sessions, "work")

    store.replace("work", [chat("new")])

    assert data_of(store.load("work")) == [chat("new")]
    assert list((sessions / "archive").iterdir()) == []


def test_what_is_cleared_does_not_come_back_from_the_archive(store,
                                                             sessions):
    for number in (1, 2):
        store.append("work", [chat("one")])
        path = archive(sessions, "work")
        os.rename(path, path.with_name(
            path.name.replace(".jsonl", f"_{number}.jsonl")))
    (sessions / file_name("work")).write_text('{"session": "work"}\n')
    store.append("other", [chat("stays")])
    archive(sessions, "other")

    assert store.clear("work") is True
    assert store.load("work") == []
    assert store.clear("work") is False
    assert data_of(store.load("other")) == [chat("stays")]
    assert [info.key for info in store.list()] == ["other"]


def test_one_that_is_only_archived_is_cleared(store, sessions):
    store.append("work", [chat("one")])
    archive(sessions, "work")

    assert store.clear("work") is True
    assert store.list() == []


def test_a_list_shows_archived_sessions_and_each_key_once(store, sessions):
    store.append("old", [chat("one")])
    archive(sessions, "old", days=9)
    store.append("work", [chat("one")])
    path = archive(sessions, "work")
    (path.with_name(file_name("work").replace(".jsonl", "_1.jsonl"))
     ).write_bytes(path.read_bytes())
    store.append("live", [chat("one")])

    assert [(i.key, i.archived) for i in store.list()
            if i.key != "work"] == [("live", False), ("old", True)]
    assert [i.archived for i in store.list() if i.key == "work"] == [True]


def test_of_two_archived_ones_the_last_written_is_the_session(store,
                                                              sessions):
    store.append("work", [chat("older")])
    path = archive(sessions, "work", days=9)
    os.rename(path, path.with_name(
        file_name("work").replace(".jsonl", "_3.jsonl")))
    store.append("other", [chat("x")])
    store.append("work_3", [chat("another session")])
    archive(sessions, "work_3")
    newer = sessions / "archive" / file_name("work")
    newer.write_text(json.dumps({"session": "work"}) + "\n"
                     + json.dumps({"n": 1, **chat("newer")}) + "\n")

    assert data_of(store.load("work")) == [chat("newer")]
    store.append("work", [chat("more")])
    assert data_of(store.load("work")) == [chat("newer"), chat("more")]


def test_a_session_without_a_header_comes_back_under_its_name(store,
                                                              sessions):
    (sessions / "archive").mkdir(parents=True)
    (sessions / "archive" / "telegram_42.jsonl").write_text(
        '{"role": "user", "content": "hi"}\n')

    assert len(store.load("telegram_42")) == 1
    store.append("telegram_42", [chat("two")])

    assert len(store.load("telegram_42")) == 2
    assert (sessions / "telegram_42.jsonl").is_file()


@pytest.mark.parametrize("make", [
    lambda path: path.write_bytes(b""),        # a name that is reserved
    lambda path: path.symlink_to("elsewhere"),
    lambda path: path.mkdir()])
def test_what_is_no_session_in_the_archive_is_left_alone(store, sessions,
                                                         make):
    (sessions / "archive").mkdir(parents=True)
    make(sessions / "archive" / file_name("work"))

    assert store.load("work") == []
    store.append("work", [chat("new")])
    assert data_of(store.load("work")) == [chat("new")]


@pytest.mark.parametrize("in_the_way", ["sessions", "sessions/archive"])
def test_a_file_in_the_place_of_a_folder_holds_no_session(store, tmp_path,
                                                          in_the_way):
    path = tmp_path / in_the_way
    path.parent.mkdir(exist_ok=True)
    path.write_text("a file")

    assert store.load("work") == []
    assert store.list() == []


def test_a_kill_before_a_session_was_brought_back_loses_nothing(store,
                                                                sessions):
    """The empty file that keeps its place is all there is by then."""
    store.append("work", [chat("one")])
    archive(sessions, "work")
    (sessions / file_name("work")).touch()

    assert data_of(store.load("work")) == [chat("one")]
    store.append("work", [chat("two")])
    assert data_of(store.load("work")) == [chat("one"), chat("two")]


def test_writers_and_hygiene_side_by_side_lose_nothing(store, sessions):
    """Each append may find its session gone to the archive."""
    with ThreadPoolExecutor(4) as threads:
        hygiene = threads.submit(archive_often, sessions, 25)
        writers = []
        for worker in range(3):
            writers.append(threads.submit(append_until, sessions, worker,
                                          hygiene))
        written = sum(writer.result() for writer in writers)

    assert hygiene.result() >= 25
    session = store.read("shared")
    assert [r["n"] for r in session.records] == list(range(1, written + 1))
    assert session.damaged == 0


def append_until(directory, worker, hygiene):
    store, count = SessionStore(directory), 0
    while not hygiene.done():
        store.append("shared", [chat(f"{worker}/{count}")])
        store.load("shared")
        count += 1
    return count


def append_daily(store, key, days):
    """A message for each of so many days, the last one of today."""
    today = datetime(2026, 6, 15, 12, tzinfo=UTC)
    store.append(key, [{**chat(f"{age} days old"), "at":
                        f"{today - timedelta(days=age):%Y-%m-%dT%H:%M:%SZ}"}
                       for age in reversed(range(days))])
    return today


def test_an_old_beginning_goes_and_the_newest_messages_never_do(tmp_path):
    store = SessionStore(tmp_path / "sessions")
    today = append_daily(store, "work", 300)
    counted = store.count_old("work", today - timedelta(days=250))
    removed = store.shorten("work", today - timedelta(days=250))
    left = data_of(store.load("work"))
    spared = store.shorten("work", today + timedelta(days=1))
    store.append("work", [chat("new")])

    assert counted == removed == 49
    assert left[0] == chat("250 days old")
    assert spared == 51
    assert data_of(store.load("work")) == [
        *left[51:], chat("new")]
    assert len(left[51:]) == 200
    assert store.list()[0].messages == 201


def test_a_session_that_is_shortened_is_as_old_as_before(tmp_path):
    store = SessionStore(tmp_path / "sessions")
    today = append_daily(store, "work", 300)
    made = store.read("work").created_at
    path = store.list()[0].path
    os.utime(path, (1_700_000_000, 1_700_000_000))
    mode = path.stat().st_mode
    store.shorten("work", today)

    assert path.stat().st_mtime == 1_700_000_000
    assert path.stat().st_mode == mode
    assert store.read("work").created_at == made


def test_a_message_without_a_time_is_not_old(tmp_path):
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "bare.jsonl").write_text(
        json.dumps({"role": "user", "content": "x"}) + "\n"
        + '{"at": "2020-01-01T00:00:00Z"}\n' * 300)
    store = SessionStore(tmp_path / "sessions")

    assert store.count_old("bare", datetime.now(UTC)) == 0
    assert store.shorten("bare", datetime.now(UTC)) == 0


def test_who_waits_for_a_session_that_is_shortened_writes_to_the_new_file(
        tmp_path):
    store = SessionStore(tmp_path / "sessions")
    today = append_daily(store, "shared", 300)
    with ThreadPoolExecutor(3) as pool:
        writing = [pool.submit(append_many, tmp_path / "sessions", worker, 50)
                   for worker in range(2)]
        for age in range(100, 0, -1):
            store.shorten("shared", today - timedelta(days=age))
        for one in writing:
            one.result()

    said = [record["data"]["content"] for record in store.load("shared")]
    assert sorted(text for text in said if "/" in text) == sorted(
        f"{worker}/{number}" for worker in range(2) for number in range(50))
