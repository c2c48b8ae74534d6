"""The memory in PostgreSQL, against a real server: the binaries of the
wheel pgserver, started in a folder of their own, with a password."""

import importlib
import importlib.util
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claw.core.embedding import EmbeddingProvider
from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    StorageError,
    UnavailableError,
    UsageError,
)
from claw.core.memory import (
    ChecksMemory,
    ClosesMemory,
    EmbedsMemories,
    ExplainsRecall,
    Filters,
    ForgetsMany,
    MemoryDeps,
    MemoryEntry,
    PagesMemories,
    RecallsFiltered,
    RestoresMemories,
    Source,
    StoresSource,
)
from claw.memory.settings import MemorySettings
from claw.testing.contracts.memory import MemoryContract

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("CLAW_PEERS_DIR",
                            Path.home() / ".cache" / "claw-peers"))
PACKAGES = PEERS / "python"
PASSWORD = "pass/word@canary"
_ENCODED = "pass%2Fword%40canary"

# As the reference makes it (spec/memory.md 1.10).
REFERENCE_TABLE = """
CREATE TABLE "{0}" (id TEXT PRIMARY KEY, key TEXT UNIQUE NOT NULL,
    content TEXT NOT NULL, category TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL,
    session_id TEXT)"""


def _needed(name):
    """The folder of an installed package, or a skip."""
    if PACKAGES.is_dir() and str(PACKAGES) not in sys.path:
        sys.path.append(str(PACKAGES))
    spec = importlib.util.find_spec(name)
    if spec is None:
        pytest.skip(f"{name} is not installed (run {HERE / 'install.sh'})")
    return Path(spec.submodule_search_locations[0])


class PgServer:
    """One cluster. Root can't run PostgreSQL: then `nobody` does, on a
    copy of the binaries that it may read."""

    def __init__(self, package, folder):
        self.folder = folder
        self._user = {}
        if os.geteuid() == 0:
            copy = folder / package.name
            shutil.copytree(package, copy, symlinks=True)
            shutil.copytree(package.parent / "pgserver.libs",
                            folder / "pgserver.libs", symlinks=True)
            package = copy
            folder.chmod(0o755)
            shutil.chown(folder, "nobody")
            self._user = {"user": "nobody", "extra_groups": []}
        self._programs = package / "pginstall" / "bin"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        word = folder / "password"
        word.write_text(PASSWORD + "\n")
        word.chmod(0o644)
        self._run("initdb", "-D", folder / "data", "-U", "claw", "-E", "UTF8",
                  "--no-locale", "--no-sync", "-A", "scram-sha-256",
                  "--pwfile", word)

    def _run(self, program, *arguments):
        done = subprocess.run(
            [str(self._programs / program), *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            stdin=subprocess.DEVNULL, cwd=self.folder, check=False,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, **self._user)
        if done.returncode:
            pytest.skip(f"PostgreSQL does not work here: {done.stdout}")

    def start(self):
        self._run("pg_ctl", "-D", self.folder / "data", "-w", "-l",
                  self.folder / "log", "-o",
                  "-c listen_addresses=127.0.0.1 -c fsync=off"
                  f" -c port={self.port}"
                  f" -c unix_socket_directories={self.folder}", "start")

    def stop(self):
        self._run("pg_ctl", "-D", self.folder / "data", "-w", "-m", "fast",
                  "stop")

    def url(self, database="postgres", user="claw", password=_ENCODED):
        return (f"postgresql://{user}:{password}@127.0.0.1:{self.port}"
                f"/{database}")


@pytest.fixture(scope="session")
def pg():
    _needed("psycopg")
    _needed("psycopg_pool")
    package = _needed("pgserver")
    # Not below pytest's folder, which `nobody` may not enter.
    with tempfile.TemporaryDirectory(prefix="claw-pg-",
                                     ignore_cleanup_errors=True) as folder:
        server = PgServer(package, Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture
def table():
    """A name that no other test has."""
    return f"t_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def open_memory(pg, table):
    """open_memory(readonly=..., embedder=..., **storage): all on the table
    of this test; closed at its end."""
    opened = []

    def call(*, readonly=False, embedder=None, notify=lambda _: None,
             **storage):
        opened.append(opened_at(
            pg, storage.pop("table", table), readonly=readonly, notify=notify,
            embedder=embedder, **storage))
        return opened[-1]

    yield call
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory):
    return open_memory()


def opened_at(pg, table, *, readonly=False, embedder=None,
              notify=lambda _: None, **storage):
    room = importlib.import_module(
        "claw.memory.postgres.backend").PostgresMemory
    return room.open(
        Path("unused"), MemorySettings(), readonly=readonly, notify=notify,
        deps=MemoryDeps(embedder, {"db_url": pg.url(), "table": table,
                                   **storage}))


@contextmanager
def connected(pg):
    psycopg = importlib.import_module("psycopg")
    with psycopg.connect(pg.url(), autocommit=True) as connection:
        yield connection


def keys(found):
    return [entry.key for entry in found]


def entry(key, content="text", time="2026-01-01T00:00:00.000000Z", **more):
    return MemoryEntry("", key, content, "core", time, time, **more)


class TestPostgres(MemoryContract):
    """The contract, each test in a table of its own."""

    @pytest.fixture(autouse=True)
    def _server(self, pg, table):
        self._pg, self._table = pg, table

    def make(self, tmp_path):
        return opened_at(self._pg, self._table)


def test_it_can_do_what_the_house_asks_of_a_large_store(memory):
    for protocol in (RecallsFiltered, ExplainsRecall, PagesMemories,
                     RestoresMemories, ForgetsMany, StoresSource,
                     EmbedsMemories, ChecksMemory, ClosesMemory):
        assert isinstance(memory, protocol)


# Opening


def test_the_reference_s_table_is_upgraded_and_loses_nothing(
        pg, table, open_memory):
    with connected(pg) as connection:
        connection.execute(REFERENCE_TABLE.format(table))
        connection.execute(
            f"INSERT INTO {table} VALUES"
            " ('id-1', 'colour', 'Mina likes green', 'core',"
            "  '2025-05-01 10:00:00.5+09', '2025-06-01 10:00:00+09', NULL),"
            " ('id-2', '猫', '我的猫名字是咪咪', 'daily',"
            "  '2025-05-02 10:00:00+00', '2025-05-02 10:00:00+00', 's1')")
    memory = open_memory()

    assert list(memory.entries()) == [
        MemoryEntry("id-1", "colour", "Mina likes green", "core",
                    "2025-05-01T01:00:00.500000Z",
                    "2025-06-01T01:00:00.000000Z", importance=0.5),
        MemoryEntry("id-2", "猫", "我的猫名字是咪咪", "daily",
                    "2025-05-02T10:00:00.000000Z",
                    "2025-05-02T10:00:00.000000Z", "s1", importance=0.5)]
    assert keys(memory.recall("what does Mina like")) == ["colour"]
    assert keys(memory.recall("咪咪")) == ["猫"]
    assert all(finding.ok for finding in memory.check())


def test_a_reader_takes_the_reference_s_table_as_it_is(
        pg, table, open_memory):
    with connected(pg) as connection:
        connection.execute(REFERENCE_TABLE.format(table))
        connection.execute(
            f"INSERT INTO {table} VALUES ('id-1', 'colour',"
            " 'Mina likes green', 'core', now(), now(), NULL)")
    reader = open_memory(readonly=True)

    assert keys(reader.recall("green")) == ["colour"]
    assert keys(reader.entries()) == keys(reader.list()) == ["colour"]
    assert reader.get("colour").namespace == "default"
    assert [finding.ok for finding in reader.check()] == [False, False]
    with connected(pg) as connection:
        columns = connection.execute(
            "SELECT count(*) FROM information_schema.columns"
            " WHERE table_name = %s", (table,)).fetchone()
    assert columns == (7,)


def test_what_the_reference_writes_later_is_found_after_the_next_start(
        pg, table, open_memory):
    open_memory().store("ours", "tea")
    with connected(pg) as connection:
        connection.execute(
            f"INSERT INTO {table} (id, key, content, category, created_at,"
            " updated_at) VALUES ('x', 'theirs', 'リモートワークの日', 'core',"
            " now(), now())")

    assert keys(open_memory().recall("リモート")) == ["theirs"]


def test_a_reader_creates_nothing(pg, table, open_memory):
    reader = open_memory(readonly=True, schema="not_there")

    assert reader.count() == 0
    assert reader.recall("tea") == reader.list() == list(
        reader.entries()) == []
    assert (reader.get("key"), reader.stats(), reader.unembedded()) == (
        None, {}, 0)
    assert reader.page(Filters(), 5, 0) == ([], 0)
    assert [finding.ok for finding in reader.check()] == [True]
    assert reader.health_check() is True
    with connected(pg) as connection:
        assert connection.execute("SELECT to_regnamespace('not_there')"
                                  ).fetchone() == (None,)


def test_a_reader_sees_a_table_that_is_made_later(open_memory):
    reader = open_memory(readonly=True)
    assert reader.count() == 0
    open_memory().store("key", "text")

    assert reader.count() == 1


def test_a_reader_refuses_to_write(open_memory):
    open_memory().store("key", "text")
    reader = open_memory(readonly=True)

    for write in (lambda: reader.store("key", "other"),
                  lambda: reader.forget("key"), reader.reindex,
                  lambda: reader.forget_where("core", None),
                  lambda: reader.restore([], overwrite=True)):
        with pytest.raises(StorageError, match="reading only"):
            write()
    assert reader.get("key").content == "text"


def test_a_table_of_a_newer_claw_is_refused(pg, table, open_memory):
    open_memory().store("key", "text")
    with connected(pg) as connection:
        connection.execute(
            f"COMMENT ON COLUMN {table}.words IS 'claw 99.1'")

    with pytest.raises(StorageError, match="newer claw"):
        open_memory().count()


def test_another_segmentation_makes_the_index_anew(pg, table, open_memory):
    open_memory().store("key", "green tea")
    with connected(pg) as connection:
        connection.execute(f"UPDATE {table} SET words = ''")
        connection.execute(f"COMMENT ON COLUMN {table}.words IS 'claw 1.0'")
    memory = open_memory()

    found = memory.explain("tea", 5, Filters())
    assert [why.parts["method"] for _, why in found] == ["words"]


def test_names_in_any_case_and_of_full_length_are_kept_apart(pg, open_memory):
    long = "T" + uuid.uuid4().hex + "x" * 30
    one, two = long[:62] + "a", long[:62] + "b"
    schema = "S" + uuid.uuid4().hex[:8]
    first = open_memory(schema=schema, table=one)
    first.store("key", "one")
    second = open_memory(schema=schema, table=two)
    second.store("key", "two")

    assert (first.get("key").content, second.get("key").content) == (
        "one", "two")
    with connected(pg) as connection:
        made = dict(connection.execute(
            "SELECT tablename, count(*) FROM pg_indexes"
            " WHERE schemaname = %s GROUP BY tablename", (schema,)))
    assert made[one] == made[two] > 5


def test_many_may_start_and_write_at_once(open_memory):
    """Threads with a memory of their own, and one that they share."""
    common = open_memory()
    problems = []
    barrier = threading.Barrier(8)

    def work(number):
        try:
            own = open_memory() if number % 2 else common
            barrier.wait(30)
            for each in range(25):
                own.store(f"k{number}-{each}", "the same words")
                own.store("contested", f"by {number}")
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert problems == []
    assert common.count() == 8 * 25 + 1


WRITER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[4:]
from claw.core.memory import MemoryDeps
from claw.memory.postgres.backend import PostgresMemory
from claw.memory.settings import MemorySettings
memory = PostgresMemory.open(Path("."), MemorySettings(), deps=MemoryDeps(
    None, {"db_url": sys.argv[1], "table": sys.argv[2]}))
for number in range(50):
    memory.store(f"{sys.argv[3]}-{number}", "tea and cake")
memory.close()
"""


def test_two_processes_that_make_the_table_at_once_lose_nothing(
        pg, table, open_memory):
    running = [subprocess.Popen(
        [sys.executable, "-W", "error", "-c", WRITER, pg.url(), table, name,
         *sys.path[1:]],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for name in ("one", "two", "three")]
    said = [process.communicate(timeout=60)[0] for process in running]

    assert said == [b""] * 3
    assert open_memory().count() == 150


def test_a_program_that_forgets_to_close_ends_without_a_word(pg, table):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c",
         WRITER.replace("memory.close()", ""), pg.url(), table, "x",
         *sys.path[1:]], capture_output=True, check=False, timeout=60)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# Texts


@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1), st.text(st.one_of(
    st.characters(), st.sampled_from("\0\U0010fffd01%_\\'\"{}"))))
def test_any_text_comes_back(memory, key, content):
    memory.store(key, content, content[:9], key)
    found = memory.get(key)

    def readable(text):
        return text.encode("utf-16-le", "surrogatepass").decode(
            "utf-16-le", "replace")
    assert (found.key, found.content, found.category, found.session_id) == (
        *map(readable, (key, content, content[:9], key)),)
    memory.recall(content)
    assert found.key in keys(memory.with_prefix(key[:1], 1000))
    assert memory.forget(key) is True


@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from(
    "abc xyz tea 我的猫 カレー が 영어를 말 شاي सं café Ø1 9"), min_size=1
    ).filter(lambda text: any(map(str.isalnum, text))))
def test_a_text_is_found_by_its_own_words(memory, content):
    memory.store("the key", content)
    memory.store("another", "unlike it in all")

    assert "the key" in keys(memory.recall(content))


def test_chinese_japanese_and_korean_are_found_by_parts(memory):
    for key, content in {
            "zh": "我的猫名字是咪咪，牠喜歡在窗台上曬太陽",
            "ja": "私は毎朝カレーを食べます",
            "ko": "민아는 한국어와 영어를 말합니다",
            "en": "the cat sits at the window"}.items():
        memory.store(key, content)

    for query, key in {"曬太陽": "zh", "猫叫什么": "zh", "カレー": "ja",
                       "毎朝何を食べますか": "ja", "한국어": "ko",
                       "windows": "en"}.items():
        found = memory.recall(query)
        assert keys(found)[:1] == [key], query
        assert found[0].score > 0.1


def test_a_very_long_text_is_kept_whole_and_found(memory):
    text = " ".join(f"word{number}" for number in range(200_000))
    memory.store("long", text)

    assert memory.get("long").content == text
    assert keys(memory.recall("word77")) == ["long"]


def test_a_key_that_no_index_takes_is_refused_by_name(memory):
    key = "".join(map(chr, range(0x4E00, 0x4E00 + 9000)))

    with pytest.raises(UsageError, match="too large"):
        memory.store(key, "text")
    assert memory.count() == 0


# Recall


def test_the_gate_parts_what_answers_from_what_does_not(memory):
    memory.store("colour", "Mina likes green")
    memory.store("sofa", "the sofa in the office is green")
    for number in range(200):
        memory.store(f"note{number}", f"a note about day {number}")
    found = {entry.key: entry.score
             for entry in memory.recall("Does Mina like green tea?", 10)}

    assert found["colour"] > 0.5
    assert found.get("sofa", 0) < 0.4
    assert memory.recall("Mina likes green")[0].score > 0.99


def test_signs_of_patterns_are_plain_characters(memory):
    memory.store("rate", "★ 50% ★")
    memory.store("other", "☆ 50 ☆")
    memory.store("name", "★snake_case★")

    assert keys(memory.recall("★%")) == []
    assert keys(memory.recall("%")) == ["rate"]
    assert keys(memory.recall("_")) == ["name"]
    memory.store("a_b", "x")
    memory.store("axb", "x")
    assert keys(memory.with_prefix("a_", 9)) == ["a_b"]


def test_words_as_they_are_written_are_the_last_resort(memory):
    memory.store("party", "🎉🎊 at nine")
    found = memory.explain("🎉", 5, Filters())

    assert [why.parts["method"] for _, why in found] == ["pieces"]
    assert [entry.score for entry, _ in found] == [0.5]


def test_a_star_looks_for_beginnings(memory):
    memory.store("one", "mountaineering")
    memory.store("two", "a mount of old")

    assert set(keys(memory.recall("mountain*"))) == {"one"}


def test_an_explanation_names_what_was_found_and_missed(memory):
    memory.store("tea", "green tea")
    memory.store("note", "something else")
    [(found, why)] = memory.explain("green dragon", 5, Filters())

    assert (found.key, why.parts["matched"], why.parts["missed"]) == (
        "tea", "green", "dragon")
    assert math.isclose(found.score, why.parts["confidence"])


def test_all_filters_together_narrow_before_the_cut(memory):
    memory.restore(
        [entry(f"k{n}", "tea tea", session_id="busy") for n in range(400)]
        + [entry("early", "tea", "2020-01-01T00:00:00Z", session_id="s"),
           entry("late", "tea", "2024-01-01T00:00:00Z", session_id="s"),
           entry("none", "tea", "2024-01-01T00:00:00.000001Z")],
        overwrite=False)

    for query in ("tea", "", "★ tea"):
        found = memory.recall_filtered(query, 5, Filters(
            "core", "s", "2023-01-01", "2024-01-01"))
        assert sorted(keys(found)) == ["late", "none"], query
        assert keys(memory.recall_filtered(query, 5, Filters(
            until="2024-01-01T00:00:00Z", since="2021-01-01"))) == ["late"]


def test_a_rare_word_is_found_among_many_common_ones(memory):
    memory.restore((entry(f"k{n}", f"tea note {n}") for n in range(3000)),
                   overwrite=False)
    memory.store("rare", "tea with cardamom")

    assert keys(memory.recall("tea cardamom", 1)) == ["rare"]


def test_among_common_words_alone_those_that_hold_all_are_found(
        memory, monkeypatch):
    module = importlib.import_module("claw.memory.postgres.recall")
    monkeypatch.setattr(module, "MANY", 100)
    memory.restore((entry(f"k{n}", "tea cake milk" if n % 50 == 7
                          else ("tea", "cake tea", "milk tea")[n % 3])
                    for n in range(600)), overwrite=False)
    found = memory.recall("milk cake tea", 12)

    assert {entry.content for entry in found} == {"tea cake milk"}
    assert {round(entry.score, 6) for entry in found} == {1.0}


def test_what_was_said_beside_an_answer_comes_with_it(memory):
    def said(key, content, minute, session="talk"):
        return entry(key, content, f"2026-01-01T{minute // 60:02}:"
                     f"{minute % 60:02}:00Z", session_id=session)
    memory.restore([
        said("asked", "which train do you take", 0),
        said("answer", "the one at nine", 1),
        said("far", "good night", 200),
        said("elsewhere", "hello", 1, "other")], overwrite=False)

    assert keys(memory.recall("train")) == ["asked", "answer"]
    assert keys(memory.recall_filtered(
        "train", 5, Filters(until="2026-01-01T00:00:30Z"))) == ["asked"]


def test_the_person_whom_a_question_names_is_heard_first(memory):
    for sender in ("ann", "bob"):
        memory.store_from(f"of {sender[0]}", "I moved to a new house", "core",
                          None, Source(sender))

    for name, key in (("Ann", "of a"), ("Bob", "of b")):
        found = memory.explain(f"did {name} move house", 5, Filters())
        assert found[0][0].key == key
        assert "speaker" in found[0][1].parts


def test_what_was_superseded_is_kept_and_not_found(memory):
    memory.restore([entry("old", "tea", superseded_by="id-2")],
                   overwrite=False)
    memory.store("new", "tea")

    for query in ("tea", "", "te"):
        assert "old" not in keys(memory.recall(query))
    assert keys(memory.list()) == ["new"]
    assert memory.get("old").superseded_by == "id-2"
    assert memory.count() == 2


def test_a_moment_of_the_past_is_refused(memory):
    for ask in (lambda: memory.recall_filtered("tea", 5, Filters(
            as_of="2026-01-01")),
            lambda: memory.page(Filters(as_of="2026-01-01"), 5, 0)):
        with pytest.raises(UsageError, match="said before"):
            ask()


def test_a_time_that_is_none_is_refused(memory):
    with pytest.raises(UsageError, match="since: 'soon' is not a time"):
        memory.recall("tea", since="soon")
    with pytest.raises(UsageError, match="older_than: 'soon'"):
        memory.forget_where(None, "soon")
    with pytest.raises(UsageError, match="nothing was named"):
        memory.forget_where(None, None)


# Bulk


def test_restoring_keeps_all_of_it_and_reads_as_it_goes(memory):
    given = [MemoryEntry(f"id-{n}", f"k{n}", f"text {n}\0", "daily",
                         f"2020-01-01T00:00:00.{n:06}Z",
                         "2021-01-01T00:00:00.000002Z", "s1", None, "ann",
                         "ns", 0.25, None, "telegram:1:2")
             for n in range(1234)]

    assert memory.restore(iter(given), overwrite=False) == 1234
    assert list(memory.entries()) == given


def test_a_bad_line_undoes_the_whole_restore(memory):
    with pytest.raises(UsageError, match="'never' is not a time"):
        memory.restore([*(entry(f"k{n}") for n in range(700)),
                        entry("bad", time="never")], overwrite=False)

    assert memory.count() == 0


def test_an_id_that_another_memory_has_is_replaced(memory):
    memory.restore([MemoryEntry("same", "a", "1", "core", "", "")],
                   overwrite=False)
    written = memory.restore(
        [MemoryEntry("same", key, "2", "core", "", "") for key in "bc"],
        overwrite=False)

    assert written == 2
    assert len({memory.get(key).id for key in "abc"}) == 3
    assert memory.get("a").id == "same"


def test_restoring_over_a_memory_changes_what_finds_it(memory):
    memory.store("key", "green tea")
    memory.restore([entry("key", "black coffee")], overwrite=True)

    assert memory.recall("green tea") == []
    assert keys(memory.recall("coffee")) == ["key"]


def test_two_restores_of_the_same_wait_for_each_other(open_memory):
    given = [MemoryEntry(f"id-{n}", f"k{n}", "text", "core", "", "")
             for n in range(600)]
    memories = [open_memory(), open_memory()]
    memories[0].count()
    written, threads = [], []
    for one in memories:
        threads.append(threading.Thread(target=lambda one=one: written.append(
            one.restore(given, overwrite=False))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(written) == [0, 600]


def test_pointers_follow_a_memory_that_is_stored_again(memory):
    memory.restore([
        MemoryEntry("new", "now", "1", "core", "", ""),
        MemoryEntry("old", "then", "0", "core", "", "",
                    superseded_by="new")], overwrite=False)
    memory.store("now", "2")

    assert memory.get("then").superseded_by == memory.get("now").id != "new"


def test_a_source_is_kept_with_the_memory(memory):
    memory.store_from("key", "text", "core", None,
                      Source("ann", "telegram:1:2"))
    assert (memory.get("key").sender, memory.get("key").source) == (
        "ann", "telegram:1:2")
    memory.store("key", "text")
    assert (memory.get("key").sender, memory.get("key").source) == (
        None, None)


def test_many_keys_are_forgotten_at_once(memory):
    memory.restore((entry(f"k{n}") for n in range(6000)), overwrite=False)

    assert memory.forget_where(None, None, [
        f"k{n}" for n in range(1, 7000)]) == 5999
    assert keys(memory.list()) == ["k0"]


def test_a_damaged_index_is_told_and_made_anew(pg, table, memory):
    for number in range(450):
        memory.store(f"k{number}", "tea")
    with connected(pg) as connection:
        connection.execute(f"UPDATE {table} SET words = NULL")

    assert [(f.id, f.ok) for f in memory.check()] == [
        ("integrity", True), ("index", False)]
    assert memory.reindex() == 450
    assert all(finding.ok for finding in memory.check())


# Vectors


class TinyEmbedder(EmbeddingProvider):
    """Three topics as three numbers. Knows synonyms, fails on command."""

    topics = (("tea", "drink", "茶"), ("cat", "animal", "猫"),
              ("rent", "money"))

    def __init__(self, model="tiny", multilingual=False, length=3):
        self._model, self._multilingual = model, multilingual
        self._length = length
        self.broken = False

    name = "tiny"

    @property
    def dimensions(self):
        return self._length

    @property
    def model(self):
        return self._model

    @property
    def is_multilingual(self):
        return self._multilingual

    def embed(self, texts):
        if self.broken:
            raise UnavailableError("the embedder is away")
        vectors = ([sum(word in text for word in topic) + 0.01
                    for topic in self.topics] for text in texts)
        return [(vector + [0.01] * self._length)[:self._length]
                for vector in vectors]


def test_a_question_that_names_a_day_looks_there_first(memory):
    yesterday = (datetime.now().astimezone() - timedelta(days=1)).replace(
        hour=12).astimezone(UTC).isoformat()
    memory.restore([
        MemoryEntry("", "old", "lunch with Ann at the harbour", "core",
                    "2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        MemoryEntry("", "new", "lunch with Ben at the harbour cafe", "core",
                    yesterday, yesterday)], overwrite=True)

    assert memory.recall("who had lunch at the harbour yesterday?")[
        0].key == "new"
    assert [found.key for found in memory.recall("what did I do yesterday?")
            ] == ["new"]


@pytest.fixture
def with_vectors(open_memory):
    def call(embedder=None, **more):
        return open_memory(embedder=embedder or TinyEmbedder(),
                           pgvector_enabled=True, **more)
    return call


def test_a_meaning_finds_what_no_word_does(with_vectors):
    memory = with_vectors()
    memory.store("one", "she has a cat")
    memory.store("two", "a cup of tea")
    memory.store("three", "pays the rent")
    found = memory.explain("which animal", 5, Filters())

    assert found[0][0].key == "one"
    assert found[0][1].parts["method"] == "meaning"
    assert found[0][0].score > 0.6
    assert [entry.key for entry, _ in found] == ["one"]
    assert memory.unembedded() == 0


def test_both_scores_are_completed_and_weighed(with_vectors):
    memory = with_vectors()
    memory.store("both", "a drink of tea")
    memory.store("words", "drinks, a cat, the rent")
    [(best, why), *_] = memory.explain("drink", 5, Filters())

    assert best.key == "both"
    assert why.parts["method"] == "words and meaning"
    assert why.parts["cosine"] > 0.99
    assert why.parts["matched"] == "drink"


def test_filters_hold_for_meanings_too(with_vectors):
    memory = with_vectors()
    for number in range(260):
        memory.store(f"b{number}", ("tea", "the rent")[number % 2], "core",
                     "busy")
    memory.store("quiet", "something to drink", "core", "quiet")

    assert keys(memory.recall_filtered(
        "tea", 5, Filters(session_id="quiet"))) == ["quiet"]


def test_vectors_of_another_model_are_not_compared(with_vectors):
    first = with_vectors()
    first.store("one", "a cat")
    second = with_vectors(TinyEmbedder("another, \"it's\"", length=5))

    assert second.unembedded() == 1
    assert second.recall("animal") == []
    seen = []
    assert second.embed_missing(seen.append) == 1
    assert seen == [1]
    assert keys(second.recall("animal")) == ["one"]
    assert (first.unembedded(), second.unembedded()) == (1, 0)


def test_all_that_is_missing_is_embedded_in_batches(with_vectors,
                                                    open_memory):
    open_memory().restore([
        *(entry(f"k{n}", f"tea {n}") for n in range(150)),
        entry("blank", " \n")], overwrite=False)
    memory = with_vectors()
    seen = []

    assert memory.unembedded() == 150
    assert memory.embed_missing(seen.append) == 150
    assert seen == [64, 128, 150]
    assert memory.embed_missing(seen.append) == 0


def test_a_failing_embedder_loses_no_memory_and_no_recall(with_vectors):
    notes = []
    embedder = TinyEmbedder()
    memory = with_vectors(embedder, notify=notes.append)
    embedder.broken = True
    memory.store("key", "green tea")
    memory.store("other", "a cat")

    assert keys(memory.recall("tea")) == ["key"]
    assert len(notes) == 1
    assert "the embedder is away" in notes[0]
    assert memory.unembedded() == 2
    with pytest.raises(UnavailableError):
        memory.embed_missing(lambda _: None)


def test_a_changed_text_waits_for_its_new_vector(with_vectors):
    embedder = TinyEmbedder()
    memory = with_vectors(embedder)
    memory.store("key", "a cat")
    embedder.broken = True
    memory.store("key", "pays the rent")
    embedder.broken = False

    assert memory.recall("animal") == []
    assert memory.unembedded() == 1


def test_a_model_of_english_does_not_judge_chinese(with_vectors):
    memory = with_vectors()
    memory.store("zh", "我的猫名字是咪咪")
    memory.store("en", "猫 is the word for a cat in Chinese, I was told")
    found = memory.explain("咪咪", 5, Filters())

    assert [(e.key, why.parts["method"]) for e, why in found] == [
        ("zh", "words")]
    assert found[0][0].score > 0.9


def test_vectors_too_long_for_an_index_are_compared_all_the_same(
        with_vectors):
    notes = []
    memory = with_vectors(TinyEmbedder("long", length=3000),
                          notify=notes.append)
    memory.store("one", "a cat")

    assert keys(memory.recall("animal")) == ["one"]
    assert notes == []


def test_without_the_extension_words_have_to_do(pg, open_memory, table):
    name = f"plain_{uuid.uuid4().hex[:8]}"
    with connected(pg) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'plain'")
        connection.execute(f"CREATE DATABASE {name}")
        connection.execute(f"ALTER DATABASE {name} OWNER TO {name}")
    notes = []
    memory = open_memory(
        embedder=TinyEmbedder(), pgvector_enabled=True, notify=notes.append,
        db_url=pg.url(name, user=name, password="plain"), schema="own")
    memory.store("key", "green tea")

    assert keys(memory.recall("tea")) == ["key"]
    assert len(notes) == 1
    assert "pgvector can't be used" in notes[0]
    assert memory.embedder is None
    assert (memory.unembedded(), memory.embed_missing(notes.append)) == (0, 0)


# The server


def test_a_server_that_was_restarted_is_found_again(pg, open_memory):
    memory = open_memory()
    memory.store("before", "tea")
    held = memory.entries()
    pg.stop()
    try:
        assert memory.health_check() is False
        with pytest.raises(UnavailableError) as caught:
            open_memory(connect_timeout_secs=2).count()
        assert f"127.0.0.1:{pg.port}" in caught.value.message
    finally:
        pg.start()
    memory.store("after", "tea")

    assert keys(held) == ["before", "after"]
    assert memory.health_check() is True


def failure(memory):
    with pytest.raises(ClawError) as caught:
        memory.count()
    error = caught.value
    assert "canary" not in f"{error.message} {error.hint}"
    assert "canary" not in f"{error.__cause__} {error.__context__}"
    return error


def test_a_wrong_password_is_told_at_once_and_never_shown(pg, open_memory):
    error = failure(open_memory(db_url=pg.url(password="wrong-canary")))

    assert isinstance(error, AuthError)
    assert "'claw'" in error.message
    assert "config set storage.provider.config.db_url" in error.hint


def test_an_unknown_database_is_named(pg, open_memory):
    error = failure(open_memory(db_url=pg.url("nowhere")))

    assert isinstance(error, ConfigError)
    assert "no database 'nowhere'" in error.message
    assert error.hint == "make it: createdb nowhere"


def test_a_database_that_is_not_in_utf8_is_refused(pg, open_memory):
    name = f"latin_{uuid.uuid4().hex[:8]}"
    with connected(pg) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1'"
                           " TEMPLATE template0")
    error = failure(open_memory(db_url=pg.url(name)))

    assert isinstance(error, ConfigError)
    assert "not in UTF8" in error.message


def test_a_user_without_rights_is_told_which(pg, table, open_memory):
    name = f"guest_{uuid.uuid4().hex[:8]}"
    open_memory().store("key", "text")
    with connected(pg) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'guest'")
    guest = open_memory(db_url=pg.url(user=name, password="guest"))
    error = failure(guest)

    assert isinstance(error, ConfigError)
    assert f"permission denied for table {table}" in error.message


def test_a_user_who_may_only_use_the_table_is_enough(pg, table, open_memory):
    name = f"writer_{uuid.uuid4().hex[:8]}"
    open_memory().store("key", "text")
    with connected(pg) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'w'")
        connection.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON"
                           f" {table} TO {name}")
    memory = open_memory(db_url=pg.url(user=name, password="w"))
    memory.store("other", "green tea")

    assert keys(memory.recall("tea")) == ["other"]


def test_a_table_that_was_dropped_is_told_and_made_anew(
        pg, table, open_memory):
    memory = open_memory()
    memory.store("key", "text")
    with connected(pg) as connection:
        connection.execute(f"DROP TABLE {table}")

    with pytest.raises(StorageError, match="is gone"):
        memory.count()
    memory.store("key", "again")
    assert memory.count() == 1


def test_after_closing_calls_are_refused(memory):
    memory.store("key", "text")
    memory.close()
    memory.close()

    with pytest.raises(StorageError, match="closed"):
        memory.count()


def test_pages_are_read_while_others_write(memory):
    memory.restore((entry(f"k{n}", time=f"2020-01-01T00:00:00.{n:06}Z")
                    for n in range(1200)), overwrite=False)
    seen = []
    for found in memory.entries():
        seen.append(found.key)
        if len(seen) == 600:
            memory.forget("k0")
            memory.store("new", "text")

    assert seen == [*(f"k{n}" for n in range(1200)), "new"]


def test_all_connections_go_back_to_the_pool_after_errors(memory):
    for _ in range(20):
        with pytest.raises(UsageError):
            memory.restore([entry("bad", time="never")], overwrite=False)
        with closing(memory.entries()) as entries:
            next(entries, None)

    assert memory.count() == 0


def test_age_counts_from_the_day_a_row_came_and_imports_stay(
        pg, table, open_memory):
    memory = open_memory()
    for key in ("old", "new", "brought", "pinned"):
        memory.store(key, "text", "conversation")
    memory.restore([MemoryEntry(
        "", "brought", "text", "conversation", *2 * [
            "2020-01-01T00:00:00.000000Z"], kept_by="import")],
        overwrite=True)
    assert memory.pin(["pinned", "none"], None, on=True) == ["pinned"]
    with connected(pg) as connection:
        connection.execute(f"UPDATE {table} SET updated_at = '2020-01-01'")
        connection.execute(f"UPDATE {table} SET arrived_at = '2020-01-01'"
                           " WHERE key <> 'new'")
    at = "2026-01-01T00:00:00.000000Z"

    assert memory.expire("conversation", at, kept_at=at, dry=True) == 1
    assert memory.expire("conversation", at, kept_at=at) == 1
    assert sorted(keys(memory.list())) == ["brought", "new", "pinned"]
    memory.store("pinned", "other", "conversation")
    assert memory.get("pinned").kept_by == "pin"
    assert memory.get("brought").kept_by == "import"


def test_rows_of_a_table_before_count_from_its_upgrade(pg, table,
                                                       open_memory):
    open_memory().store("old", "text", "conversation")
    with connected(pg) as connection:
        connection.execute(f"UPDATE {table} SET updated_at = '2020-01-01'")
        connection.execute(f"ALTER TABLE {table} DROP COLUMN arrived_at,"
                           " DROP COLUMN kept_by")
        connection.execute(f"COMMENT ON COLUMN {table}.words IS 'claw 2.1'")
    at = "2026-01-01T00:00:00.000000Z"

    assert open_memory(readonly=True).expire(
        "conversation", at, kept_at=None, dry=True) == 0
    memory = open_memory()
    memory.store("other", "text")
    assert memory.expire("conversation", at, kept_at=None) == 0
