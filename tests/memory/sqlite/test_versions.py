"""What memories were: history, undo, superseding, removal for good, and
what was known at a moment."""

from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.core.errors import UsageError
from claw.core.memory import Filters, MemoryEntry, Source
from claw.memory.embeddings.cache import content_hash
from claw.memory.sqlite import as_of as past
from claw.memory.sqlite import recall, rows, schema, versions
from claw.storage.sqlite import connect, write


def day(number, hour="12"):
    """Noon of a day in 2026: day(32) is the first of February."""
    month, rest = divmod(number - 1, 31)
    return f"2026-{month + 1:02}-{rest + 1:02}T{hour}:00:00.000000Z"


class Brain:
    """A store whose clock is told."""

    def __init__(self, connection):
        self.connection = connection

    def store(self, key, content, at, *, category="core", session=None,
              source=Source()):  # noqa: B008
        return rows.upsert(self.connection, key, content, category, session,
                           namespace="default", now=day(at), source=source)

    def forget(self, key, at, *, kept=True):
        return rows.delete(self.connection, "key = ?", [key],
                           now=day(at) if kept else None)

    def undo(self, key, at=90):
        return versions.undo(self.connection, key, day(at))

    def supersede(self, key, by, at):
        return versions.supersede(self.connection, key, by, day(at))

    def history(self, key):
        return [(v.entry.content, v.valid_from, v.valid_until, v.ended_by)
                for v in versions.history(self.connection, key)]

    def get(self, key):
        row = self.connection.execute(
            f"SELECT {rows.SELECTED} FROM memories WHERE key = ?",
            (key,)).fetchone()
        return rows.read_entry(row) if row else None

    def found(self, query, **filters):
        hits = recall.search(self.connection, query, 5, Filters(**filters))
        held = rows.by_rid(self.connection, [hit.rid for hit in hits])
        return [held[hit.rid].content for hit in hits]

    def known(self, query, at, limit=5, **filters):
        moment = day(at) if isinstance(at, int) else at
        return [entry.content for entry, _ in past.search(
            self.connection, query, limit,
            Filters(as_of=moment, **filters))]

    def count(self, table):
        return self.connection.execute(
            f"SELECT count(*) FROM {table}").fetchone()[0]


@pytest.fixture
def brain():
    with closing(connect(":memory:")) as connection:
        with write(connection, ":memory:"):
            schema.ensure(connection)
        yield Brain(connection)


class TestHistory:
    def test_nothing_is_known_of_an_unknown_key(self, brain):
        assert versions.history(brain.connection, "none") == []

    def test_tells_each_state_the_latest_first(self, brain):
        brain.store("tea", "green", 1)
        brain.store("tea", "black", 2)
        brain.forget("tea", 3)
        brain.store("tea", "white", 4)

        assert brain.history("tea") == [
            ("white", day(4), None, None),
            ("black", day(2), day(3), "forgotten"),
            ("green", day(1), day(2), "updated")]

    def test_the_same_words_again_are_one_state(self, brain):
        for at in (1, 2, 3):
            brain.store("tea", "green", at)
        brain.store("tea", "black", 4)

        assert brain.history("tea") == [
            ("black", day(4), None, None),
            ("green", day(1), day(4), "updated")]

    def test_the_same_words_again_and_again_take_no_room(self, brain):
        for at in range(1, 20):
            brain.store("tea", "green", at)

        assert brain.count("memory_versions") == 1

    def test_another_category_is_another_state(self, brain):
        brain.store("tea", "green", 1, category="daily")
        brain.store("tea", "green", 2, category="core")

        assert len(brain.history("tea")) == 2

    def test_says_who_said_it_and_where(self, brain):
        brain.store("tea", "green", 1, source=Source("mina", "tg:1:2"))
        brain.store("tea", "black", 2)

        old = versions.history(brain.connection, "tea")[1].entry

        assert (old.sender, old.source) == ("mina", "tg:1:2")

    def test_a_superseded_memory_ended_when_it_was(self, brain):
        brain.store("old", "Mina lives in Oslo", 1)
        brain.store("new", "Mina lives in Rome", 2)
        brain.supersede("old", "new", 3)

        assert brain.history("old") == [
            ("Mina lives in Oslo", day(1), day(3), "superseded")]

    def test_a_superseded_memory_stored_again_keeps_its_end(self, brain):
        brain.store("old", "Oslo", 1)
        brain.store("new", "Rome", 2)
        brain.supersede("old", "new", 3)
        brain.store("old", "Oslo again", 9)

        assert brain.history("old") == [
            ("Oslo again", day(9), None, None),
            ("Oslo", day(1), day(3), "superseded")]


    def test_an_import_of_what_is_there_changes_nothing(self, brain):
        brain.store("old", "Oslo", 1)
        brain.store("new", "Rome", 2)
        brain.supersede("old", "new", 3)
        before = [brain.history(key) for key in ("old", "new")]

        rows.restore(brain.connection, [brain.get("old"), brain.get("new")],
                     overwrite=True, now=day(9))

        assert [brain.history(key) for key in ("old", "new")] == before

    def test_an_import_that_says_else_keeps_what_was(self, brain):
        brain.store("old", "Oslo", 1)
        brain.store("new", "Rome", 2)
        brain.supersede("old", "new", 3)

        rows.restore(brain.connection, [MemoryEntry(
            "", "old", "Oslo", "core", day(1), day(5))],
            overwrite=True, now=day(9))

        assert brain.history("old") == [
            ("Oslo", day(5), None, None),
            ("Oslo", day(1), day(3), "superseded")]

    def test_what_is_forgotten_for_good_has_none(self, brain):
        brain.store("tea", "green", 1)
        brain.store("tea", "black", 2)
        brain.forget("tea", 3, kept=False)

        assert brain.history("tea") == []


class TestUndo:
    def test_of_what_never_changed_is_nothing(self, brain):
        brain.store("tea", "green", 1)

        assert brain.undo("tea") is None
        assert brain.undo("none") is None
        assert brain.get("tea").content == "green"

    def test_brings_a_forgotten_memory_back_as_it_was(self, brain):
        brain.store("tea", "green tea", 1, category="daily", session="s",
                    source=Source("mina", "tg:1:2"))
        before = brain.get("tea")
        brain.forget("tea", 2)

        assert brain.undo("tea") == before
        assert brain.get("tea") == before
        assert brain.found("green") == ["green tea"]
        assert brain.history("tea") == [("green tea", day(1), None, None)]

    def test_brings_back_what_was_overwritten(self, brain):
        brain.store("tea", "green tea", 1)
        before = brain.get("tea")
        brain.store("tea", "black tea", 2)

        assert brain.undo("tea", 3) == before
        assert brain.found("green") == ["green tea"]
        assert brain.found("black") == []
        assert brain.count("memories_fts") == 1

    def test_brings_back_who_a_memory_belonged_to(self, brain):
        brain.store("tea", "green", 1, session="ana")
        brain.store("tea", "green", 2)

        assert brain.undo("tea").session_id == "ana"

    def test_twice_goes_back_two_changes_and_then_stops(self, brain):
        for at, content in enumerate(["one", "two", "three"], 1):
            brain.store("n", content, at)

        steps = [brain.undo("n", at) for at in (4, 5, 6)]

        assert [s and s.content for s in steps] == ["two", "one", None]
        assert brain.get("n").content == "one"

    def test_loses_nothing_of_what_it_replaces(self, brain):
        brain.store("n", "one", 1)
        brain.store("n", "two", 2)
        brain.undo("n", 3)

        assert brain.history("n") == [
            ("one", day(1), None, None), ("two", day(2), day(3), "undone")]

    def test_after_undo_a_new_change_can_be_undone(self, brain):
        brain.store("n", "one", 1)
        brain.store("n", "two", 2)
        brain.undo("n", 3)
        brain.store("n", "three", 4)

        assert brain.undo("n", 5).content == "one"
        assert brain.undo("n", 6) is None

    def test_skips_the_same_words_stored_again(self, brain):
        brain.store("n", "one", 1)
        for at in (2, 3, 4):
            brain.store("n", "two", at)

        assert brain.undo("n", 5).content == "one"
        assert brain.undo("n", 6) is None

    def test_prefers_what_was_forgotten_to_what_came_after(self, brain):
        brain.store("tea", "green", 1)
        brain.forget("tea", 2)
        brain.store("tea", "black", 3)

        assert brain.undo("tea", 4).content == "green"
        assert ("black", day(3), day(4), "undone") in brain.history("tea")

    def test_never_passes_a_forgetting_that_was_not_kept(self, brain):
        brain.store("tea", "green", 1)
        brain.store("tea", "black", 2)
        brain.forget("tea", 3)
        brain.connection.execute("DELETE FROM memory_versions"
                                 " WHERE ended_by = 'forgotten'")

        assert brain.undo("tea") is None
        assert brain.get("tea") is None

    def test_lets_a_superseded_memory_hold_again(self, brain):
        brain.store("old", "Mina lives in Oslo", 1)
        brain.store("new", "Mina lives in Rome", 2)
        brain.supersede("old", "new", 3)

        restored = brain.undo("old")

        assert restored == brain.get("old")
        assert restored.superseded_by is None
        assert brain.found("Oslo") == ["Mina lives in Oslo"]
        assert brain.history("old") == [
            ("Mina lives in Oslo", day(1), None, None)]

    def test_brings_a_superseded_memory_back_superseded(self, brain):
        brain.store("old", "Oslo", 1)
        brain.store("new", "Rome", 2)
        brain.supersede("old", "new", 3)
        brain.forget("old", 9)
        brain.store("new", "Rome, Italy", 10)  # its id is another now

        assert brain.undo("old").superseded_by == brain.get("new").id
        assert brain.found("Oslo") == []
        assert brain.history("old") == [("Oslo", day(1), day(3),
                                         "superseded")]

    def test_a_memory_whose_successor_is_gone_holds_again(self, brain):
        brain.store("old", "Oslo", 1)
        brain.store("new", "Rome", 2)
        brain.supersede("old", "new", 3)
        brain.forget("old", 4)
        brain.forget("new", 5)

        assert brain.undo("old").superseded_by is None
        assert brain.found("Oslo") == ["Oslo"]

    def test_what_points_at_the_memory_follows_its_id(self, brain):
        brain.store("old", "Oslo", 1)
        brain.store("new", "Rome", 2)
        brain.store("new", "Roma", 3)
        brain.supersede("old", "new", 4)

        brain.undo("new", 5)

        assert brain.get("old").superseded_by == brain.get("new").id

    def test_an_id_that_another_memory_has_by_now_is_left_to_it(self, brain):
        brain.store("a", "text", 1)
        before = brain.get("a")
        brain.forget("a", 2)
        rows.restore(brain.connection, [MemoryEntry(
            before.id, "b", "other", "core", day(1), day(1))],
            overwrite=True, now=day(3))

        restored = brain.undo("a")

        assert restored.content == "text"
        assert restored.id != before.id
        assert brain.get("b").id == before.id

    def test_drops_the_vector_of_what_it_replaces(self, brain):
        brain.store("tea", "green", 1)
        rid = brain.store("tea", "black", 2)
        brain.connection.execute(
            "INSERT INTO vectors VALUES (?, 1, x'00')", (rid,))

        brain.undo("tea")

        assert brain.count("vectors") == 0


class TestSupersede:
    def test_takes_a_memory_out_of_recall_and_keeps_it(self, brain):
        rid = brain.store("old", "Mina lives in Oslo", 1)
        brain.store("new", "Mina lives in Rome", 2)
        brain.connection.execute(
            "INSERT INTO vectors VALUES (?, 1, x'00')", (rid,))

        assert brain.supersede("old", "new", 3)
        assert brain.found("Mina") == ["Mina lives in Rome"]
        assert brain.get("old").superseded_by == brain.get("new").id
        assert brain.count("vectors") == 0
        assert brain.count("memories_fts") == 1

    @pytest.mark.parametrize(("key", "by"), [
        ("a", "none"), ("none", "a"), ("a", "a")])
    def test_wants_two_memories_that_are_there(self, brain, key, by):
        brain.store("a", "text", 1)

        assert not brain.supersede(key, by, 2)
        assert brain.found("text") == ["text"]

    def test_never_goes_in_a_circle(self, brain):
        for at, key in enumerate("abc", 1):
            brain.store(key, f"text {key}", at)

        assert brain.supersede("a", "b", 4)
        assert not brain.supersede("b", "a", 5)
        assert brain.supersede("b", "c", 6)
        assert not brain.supersede("c", "a", 7)
        assert brain.found("text") == ["text c"]

    def test_a_second_time_changes_only_by_what(self, brain):
        for at, key in enumerate("abc", 1):
            brain.store(key, f"text {key}", at)
        brain.supersede("a", "b", 4)

        assert brain.supersede("a", "c", 8)
        assert brain.get("a").superseded_by == brain.get("c").id
        assert brain.history("a")[0][2] == day(4)

    def test_ends_even_where_a_circle_is_stored_already(self, brain):
        for at, key in enumerate("abc", 1):
            brain.store(key, f"text {key}", at)
        for key, by in ("ab", "ba"):
            brain.connection.execute(
                "UPDATE memories SET superseded_by ="
                " (SELECT id FROM memories WHERE key = ?) WHERE key = ?",
                (by, key))

        assert brain.supersede("c", "a", 9)


class TestPurge:
    def test_leaves_nothing_behind(self, brain):
        rid = brain.store("tea", "green", 1)
        brain.store("tea", "black", 2)
        brain.store("other", "white", 3)
        brain.connection.execute(
            "INSERT INTO vectors VALUES (?, 1, x'00')", (rid,))
        brain.connection.execute(
            "INSERT INTO vector_shards VALUES (1, 1, 0, ?)",
            (b"\xff" * 8 * schema.SHARD,))
        for content in ("green", "black", "white"):
            brain.connection.execute(
                "INSERT INTO embedding_cache VALUES (?, 'm', x'00', '', '')",
                (content_hash(content),))

        assert versions.purge(brain.connection, "tea")
        assert brain.history("tea") == []
        assert brain.get("tea") is None
        assert brain.undo("tea") is None
        assert [brain.count(table) for table in (
            "memories", "memories_fts", "memory_versions", "vectors",
            "embedding_cache")] == [1, 1, 0, 0, 1]
        bits, = brain.connection.execute(
            "SELECT bits FROM vector_shards").fetchone()
        assert bits[:24] == b"\xff" * 8 + b"\0" * 8 + b"\xff" * 8  # rid 1
        assert len(bits) == 8 * schema.SHARD
        assert bits.count(0) == 8

    def test_takes_what_was_forgotten_before(self, brain):
        brain.store("tea", "green", 1)
        brain.forget("tea", 2)

        assert versions.purge(brain.connection, "tea")
        assert not versions.purge(brain.connection, "tea")
        assert brain.undo("tea") is None

    def test_overwrites_the_rows_in_the_file(self, tmp_path):
        path = tmp_path / "brain.db"
        secret = "the number of the safe is 4711-canary"
        with closing(connect(path)) as connection:
            connection.execute("PRAGMA secure_delete=OFF")
            with write(connection, path):
                schema.ensure(connection)
            for content in (secret, "nothing"):
                with write(connection, path):
                    rows.upsert(connection, "safe", content, "core", None,
                                namespace="default", now=day(1))
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            held = secret.encode() in path.read_bytes()
            with write(connection, path):
                versions.purge(connection, "safe")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            after = connection.execute("PRAGMA secure_delete").fetchone()

        assert held
        assert secret.encode() not in path.read_bytes()
        assert after == (0,)


class TestWhatWasKnown:
    def test_at_a_moment_it_is_what_was_said_till_then(self, brain):
        brain.store("home", "Mina lives in Oslo", 1)
        brain.store("home", "Mina lives in Rome", 40)
        brain.store("tea", "Mina likes tea", 50)

        assert brain.known("Mina lives", 20) == ["Mina lives in Oslo"]
        assert brain.known("Mina lives", 45) == ["Mina lives in Rome"]
        assert brain.known("tea", 45) == []
        assert brain.known("tea", 55) == ["Mina likes tea"]
        assert brain.known("Mina", "2025-12-31") == []

    def test_a_forgotten_memory_is_there_till_it_was_forgotten(self, brain):
        brain.store("tea", "green tea", 1)
        brain.forget("tea", 10)

        assert brain.known("tea", 9) == ["green tea"]
        assert brain.known("tea", 10) == []

    def test_a_superseded_memory_is_there_till_it_was(self, brain):
        brain.store("old", "Mina lives in Oslo", 1)
        brain.store("new", "Mina lives in Rome", 10)
        brain.supersede("old", "new", 20)

        assert set(brain.known("Mina", 15)) == {
            "Mina lives in Oslo", "Mina lives in Rome"}
        assert brain.known("Mina", 20) == ["Mina lives in Rome"]

    def test_a_superseded_memory_forgotten_later_stays_so(self, brain):
        brain.store("old", "Mina lives in Oslo", 1)
        brain.store("new", "Mina lives in Rome", 10)
        brain.supersede("old", "new", 20)
        brain.forget("old", 30)

        assert len(brain.known("Mina", 15)) == 2
        assert brain.known("Mina", 25) == ["Mina lives in Rome"]

    def test_words_stored_again_were_known_all_the_time(self, brain):
        for at in (1, 20, 40):
            brain.store("tea", "green tea", at)

        assert brain.known("tea", 10) == ["green tea"]
        assert brain.known("tea", 30) == ["green tea"]

    def test_what_was_undone_held_while_it_held(self, brain):
        brain.store("home", "Mina lives in Oslo", 1)
        brain.store("home", "Mina lives in Rome", 10)
        brain.undo("home", 20)

        assert brain.known("Mina", 5) == ["Mina lives in Oslo"]
        assert brain.known("Mina", 15) == ["Mina lives in Rome"]
        assert brain.known("Mina", 25) == ["Mina lives in Oslo"]
        assert brain.known("", 15) == ["Mina lives in Rome"]

    def test_a_date_is_the_end_of_its_day(self, brain):
        brain.store("tea", "green tea", 5)

        assert brain.known("tea", "2026-01-05") == ["green tea"]
        assert brain.known("tea", "2026-01-04") == []
        assert brain.known("tea", "2026-01-05T11:59:59Z") == []

    def test_a_blank_query_gives_the_newest_of_then(self, brain):
        brain.store("a", "first", 1)
        brain.store("b", "second", 2)
        brain.store("a", "third", 3)
        brain.store("c", "fourth", 4)
        brain.forget("b", 5)

        assert brain.known("", 2) == ["second", "first"]
        assert brain.known("*", 4) == ["fourth", "third", "second"]
        assert brain.known("", 4, limit=2) == ["fourth", "third"]
        assert brain.known("", 6) == ["fourth", "third"]
        assert past.search(brain.connection, "", 5, Filters(
            as_of=day(6)))[0][0].score is None

    def test_filters_hold_for_what_ended_too(self, brain):
        brain.store("a", "tea of ana", 1, session="ana")
        brain.store("b", "tea of bob", 2, session="bob", category="daily")
        brain.store("c", "tea of all", 3)
        for key in "abc":
            brain.forget(key, 10)

        def found(query="tea", **filters):
            return set(brain.known(query, 5, **filters))

        assert found() == {"tea of ana", "tea of bob", "tea of all"}
        assert found(session_id="ana") == {"tea of ana", "tea of all"}
        assert found("", session_id="bob") == {"tea of bob", "tea of all"}
        assert found(category="daily") == {"tea of bob"}
        assert found(since=day(2), until=day(2)) == {"tea of bob"}

    def test_ended_states_are_ranked_with_those_that_hold(self, brain):
        brain.store("a", "green tea with mint", 1)
        brain.store("b", "black coffee", 2)
        brain.store("c", "green walls", 3)
        brain.forget("a", 10)

        found = past.search(brain.connection, "green tea", 5,
                            Filters(as_of=day(5)))

        assert [entry.key for entry, _ in found] == ["a", "c"]
        assert 1 >= found[0][0].score > found[1][0].score > 0
        assert found[0][1].score == found[0][0].score
        assert found[0][1].parts["matched"]

    def test_newer_memories_never_push_the_old_ones_out(self, brain):
        brain.store("old", "tea", 1)
        for number in range(past.CANDIDATES + 100):
            brain.store(f"new{number}", "tea tea", 20)

        assert brain.known("tea", 10) == ["tea"]

    def test_of_very_many_ended_states_the_fitting_ones_count(
            self, brain, monkeypatch):
        monkeypatch.setattr(past, "ENDED", 3)
        brain.store("wanted", "a 猫 sleeps on the sofas", 1)
        for number in range(9):
            brain.store(f"k{number}", "something else", 2)
        for key in ("wanted", *(f"k{number}" for number in range(9))):
            brain.forget(key, 10)

        assert brain.known("sofa", 5) == ["a 猫 sleeps on the sofas"]
        assert brain.known("猫", 5) == ["a 猫 sleeps on the sofas"]

    def test_in_any_script(self, brain):
        for key, text in (("k", "私はカレーが好きです"),
                          ("z", "我的猫名字是咪咪")):
            brain.store(key, text, 1)
            brain.store(key, "gone", 10)

        assert brain.known("カレー", 5) == ["私はカレーが好きです"]
        assert brain.known("咪咪", 5) == ["我的猫名字是咪咪"]

    def test_times_that_nobody_can_read_do_no_harm(self, brain):
        rows.restore(brain.connection, [MemoryEntry(
            "1", "odd", "odd tea", "core", day(1), day(1))],
            overwrite=True, now=day(1))
        brain.connection.execute(
            "UPDATE memories SET created_at = 'long ago', updated_at = ''")

        assert brain.known("tea", 5) == []

    @pytest.mark.parametrize("moment", ["soon", "", "2026-13-01", "\0"])
    def test_a_moment_must_be_a_time(self, brain, moment):
        if not moment:
            moment = " "
        with pytest.raises(UsageError, match="as_of"):
            past.search(brain.connection, "tea", 5, Filters(as_of=moment))

    @pytest.mark.parametrize("query", [
        '"', "'", "*", "AND", "a*", "\0", "🎉", "%_", "(" * 99, "ab\ud800"])
    def test_no_query_raises(self, brain, query):
        brain.store("a", "text 🎉", 1)
        brain.forget("a", 10)

        past.search(brain.connection, query, 5, Filters(as_of=day(5)))

    def test_nothing_asked_for_is_nothing(self, brain):
        brain.store("a", "text", 1)

        assert brain.known("text", 5, limit=0) == []
        assert brain.known("", 5, limit=-1) == []

    def test_the_store_is_only_read(self, brain):
        brain.store("a", "text", 1)
        brain.store("a", "other", 10)
        changes = brain.connection.total_changes

        brain.known("text", 5)

        assert brain.connection.total_changes == changes

    @given(st.lists(st.one_of(
        st.tuples(st.just("store"), st.sampled_from("abc"),
                  st.sampled_from(["red", "blue", "green"])),
        st.tuples(st.just("forget"), st.sampled_from("abc"), st.none()),
        st.tuples(st.just("supersede"), st.sampled_from("abc"),
                  st.sampled_from("abc"))), max_size=12))
    @settings(max_examples=60, deadline=None)
    def test_is_what_could_be_found_at_each_moment(self, steps):
        with closing(connect(":memory:")) as connection:
            with write(connection, ":memory:"):
                schema.ensure(connection)
            brain = Brain(connection)
            seen = {}
            for at, (what, key, other) in enumerate(steps, 1):
                if what == "forget":
                    brain.forget(key, at)
                else:
                    getattr(brain, what)(key, other, at)
                seen[at] = {entry for (entry,) in connection.execute(
                    "SELECT key || ' ' || content FROM memories"
                    " WHERE superseded_by IS NULL")}

            for at, expected in seen.items():
                for query in ("", "red blue green"):
                    found = past.search(connection, query, 9,
                                        Filters(as_of=day(at)))
                    assert {f"{entry.key} {entry.content}"
                            for entry, _ in found} == expected

    @given(st.lists(st.sampled_from(["one", "two", "three", "forget"]),
                    max_size=10))
    @settings(max_examples=60, deadline=None)
    def test_undo_ends_at_the_first_words_and_loses_none(self, steps):
        with closing(connect(":memory:")) as connection:
            with write(connection, ":memory:"):
                schema.ensure(connection)
            brain = Brain(connection)
            for at, step in enumerate(steps, 1):
                if step == "forget":
                    brain.forget("n", at)
                else:
                    brain.store("n", step, at)
            said = {content for content, *_ in brain.history("n")}
            undone = 0
            while brain.undo("n", 40 + undone) is not None:
                undone += 1

            words = [step for step in steps if step != "forget"]
            assert undone <= len(steps)
            assert said == set(words)
            assert {content for content, *_ in brain.history("n")} == said
            assert (brain.get("n") and brain.get("n").content) == (
                words[0] if words else None)
            assert brain.count("memories_fts") == brain.count("memories")


def test_a_key_that_changes_every_hour_keeps_so_many_states(brain):
    """The oldest went first, and the first of all said whose it was."""
    brain.store("k", "said first", 1, source=Source("mina", "chat:1"))
    for number in range(2, 13):
        rows.upsert(brain.connection, "k", f"state {number}", "core", None,
                    namespace="default", now=day(number), most_versions=4)

    assert brain.history("k") == [
        ("state 12", day(12), None, None),
        ("state 11", day(11), day(12), "updated"),
        ("state 10", day(10), day(11), "updated"),
        ("state 9", day(9), day(10), "updated"),
        ("said first", day(1), day(2), "thinned")]
    first = versions.history(brain.connection, "k")[-1].entry
    assert (first.sender, first.source) == ("mina", "chat:1")


def test_undo_ends_where_states_are_no_longer_kept(brain):
    for number in range(1, 10):
        rows.upsert(brain.connection, "k", f"state {number}", "core", None,
                    namespace="default", now=day(number), most_versions=3)

    assert [brain.undo("k", 20 + n) and brain.get("k").content
            for n in range(3)] == ["state 8", "state 7", None]
    assert brain.get("k").content == "state 7"


def test_a_moment_beyond_what_is_kept_is_said_so(brain):
    for number in range(1, 10):
        rows.upsert(brain.connection, "k", f"tea {number}", "core", None,
                    namespace="default", now=day(number), most_versions=3)
    brain.store("other", "tea", 2)

    assert brain.known("tea 1", 1) == ["tea 1"]
    assert sorted(brain.known("tea", 4)) == ["tea"]
    assert [past.count_unknown(brain.connection, day(n))
            for n in (1, 4, 7, 8, 30)] == [0, 1, 0, 0, 0]


@pytest.mark.parametrize(("most", "left"), [(0, 30), (1, 1), (2, 2),
                                            (29, 29), (50, 30)])
def test_so_many_states_as_the_setting_says(brain, most, left):
    for number in range(31):
        brain.store("k", f"state {number}", 1 + number)

    assert rows.thin(brain.connection, "k", most) == 30 - left
    assert len(brain.history("k")) == left + 1
    assert rows.thin(brain.connection, "k", most) == 0


def test_what_was_forgotten_is_not_counted_among_them(brain):
    for number in range(1, 9, 2):
        brain.store("k", f"state {number}", number)
        brain.forget("k", number + 1)
    rows.thin(brain.connection, "k", 1)

    assert len(brain.history("k")) == 4
