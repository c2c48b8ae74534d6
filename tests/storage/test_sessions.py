import json
import multiprocessing
import os

import pytest

from claw.core.errors import NotFoundError, StorageError, UsageError
from claw.storage.sessions import SessionStore, file_name

HOSTILE_KEYS = [
    "work", "a/b/../../c", "..", ".", "-rf", "con:aux", "학교 숙제",
    "שלום", "🦀" * 40, "x" * 5000, "tab\there\nline", "nul\x00byte",
    "lone \ud800 surrogate", " ", "a_b", "a b", "A b",
]


def chat(text):
    return {"type": "Chat", "data": {"role": "user", "content": text}}


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
