"""What every memory backend must do.

    from claw.testing.contracts.memory import MemoryContract

    class TestMine(MemoryContract):
        def make(self, tmp_path):
            return MyMemory(tmp_path)

`make` gives an empty memory; calling it again with the same path opens the
same store when `persists` is true. A store that never takes anything back
says so with `appends_only`. pytest collects the rest.
"""

from pathlib import Path

from claw.core.errors import UsageError
from claw.core.memory import (
    ClosesMemory,
    ExplainsRecall,
    Filters,
    ForgetsMany,
    Memory,
    MemoryEntry,
    PagesMemories,
    RecallsFiltered,
    RestoresMemories,
    Source,
    StoresSource,
)

TEXTS = {
    "colour": "Mina likes green.",
    "언어": "민아는 한국어와 영어를 말합니다",
    "猫": "我的猫名字是咪咪",
    "食べ物": "私はカレーが好きです",
    "شاي": "يحب الشاي الأخضر",
    "café": "Größe des Cafés: naïve, ÅNGSTRÖM",
    "rule\n---\n`x`": "line\r\n### 🔑 `no`\n---\n*Created: x | Updated: y*\n",
    "nul\0key": "before\0after",
    "blank": " \n\t two blanks at the end  ",
    "emoji 🎉": "👩‍👩‍👧 🎉",
    "long": "word " * 20_000,
}


class MemoryContract:
    """Tests of one backend; subclass and write `make`."""

    persists = True
    appends_only = False

    def setup_method(self) -> None:
        """What `make` gives in a test is closed after it."""
        self._opened: list[Memory] = []
        make = self.make

        def remembered(tmp_path: Path) -> Memory:
            self._opened.append(make(tmp_path))
            return self._opened[-1]
        self.__dict__["make"] = remembered

    def teardown_method(self) -> None:
        for memory in self._opened:
            if isinstance(memory, ClosesMemory):
                memory.close()

    def make(self, tmp_path: Path) -> Memory:
        raise NotImplementedError

    def filled(self, tmp_path: Path) -> Memory:
        memory = self.make(tmp_path)
        for key, content in TEXTS.items():
            memory.store(key, content)
        return memory

    def test_has_a_name_and_is_well(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)

        assert memory.name == memory.name.strip().lower() != ""
        assert memory.health_check() is True

    def test_an_empty_memory_answers_everything(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)

        assert memory.count() == 0
        assert memory.list() == memory.recall("tea") == memory.recall("") == []
        assert memory.get("key") is None
        assert memory.forget("key") is False

    def test_any_text_comes_back_as_it_was(self, tmp_path: Path) -> None:
        memory = self.filled(tmp_path)

        for key, content in TEXTS.items():
            entry = memory.get(key)
            assert entry is not None, key
            assert (entry.key, entry.content) == (key, content)
            assert entry.score is None
        assert memory.count() == len(TEXTS)

    def test_where_a_text_comes_from_is_kept(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        if not isinstance(memory, StoresSource):
            return
        memory.store_from("colour", "Mina likes green", "core", None,
                          Source("al", "chat:7:1", "file,web"))
        if self.persists:
            memory = self.make(tmp_path)

        for entry in (memory.get("colour"), *memory.recall("green"),
                      *memory.list()):
            assert entry is not None
            assert (entry.sender, entry.source, entry.origin) == (
                "al", "chat:7:1", "file,web")

    def test_storing_again_overwrites(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        memory.store("key", "old words", "core", "s1")
        first = memory.get("key")
        memory.store("key", "new text", "daily", None)
        second = memory.get("key")

        assert first is not None
        assert second is not None
        assert (second.content, second.category) == ("new text", "daily")
        assert second.session_id is None
        assert second.id != first.id
        assert second.created_at == first.created_at
        assert second.updated_at >= first.updated_at
        assert memory.count() == 1
        assert memory.recall("old words") == []

    def test_an_empty_key_is_refused(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        try:
            memory.store("", "text")
        except UsageError:
            return
        raise AssertionError("an empty key was taken")

    def test_forgotten_is_gone_everywhere(self, tmp_path: Path) -> None:
        memory = self.filled(tmp_path)
        if self.appends_only:
            self.check_nothing_is_forgotten(memory)
            return

        assert memory.forget("colour") is True
        assert memory.forget("colour") is False
        assert memory.get("colour") is None
        assert memory.recall("Mina green") == []
        assert memory.count() == len(TEXTS) - 1

    def check_nothing_is_forgotten(self, memory: Memory) -> None:
        """An append-only store says that nothing was removed, and keeps
        its word."""
        assert memory.forget("colour") is False
        assert not isinstance(memory, ForgetsMany)
        assert memory.get("colour") is not None
        assert [e.key for e in memory.recall("Mina green")] == ["colour"]
        assert memory.count() == len(TEXTS)

    def test_a_part_of_a_text_finds_it_in_any_script(
            self, tmp_path: Path) -> None:
        memory = self.filled(tmp_path)

        for query, key in {
                "what does Mina like?": "colour", "영어를": "언어",
                "咪咪": "猫", "カレー": "食べ物", "الشاي": "شاي",
                "cafe angstrom": "café", "CAFÉS": "café",
                "🎉": "emoji 🎉"}.items():
            found = memory.recall(query)
            assert found, query
            assert found[0].key == key, query

    def test_scores_are_shares_best_first(self, tmp_path: Path) -> None:
        memory = self.filled(tmp_path)
        memory.store("partly", "green is a colour")
        found = memory.recall("Mina likes green")
        scores = [entry.score for entry in found]

        assert None not in scores
        assert scores == sorted(scores, reverse=True, key=lambda s: s or 0)
        assert all(0 <= (score or 0) <= 1 for score in scores)
        assert found[0].key == "colour"

    def test_the_limit_holds(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        for number in range(8):
            memory.store(f"k{number}", "the same words")

        assert len(memory.recall("same words", 3)) == 3
        assert len(memory.recall("", 3)) == 3
        assert memory.recall("same", 0) == []

    def test_a_blank_query_gives_the_newest(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        for key in "abc":
            memory.store(key, "text")
        memory.store("a", "changed")

        for query in ("", " \n", "*"):
            found = memory.recall(query, 2)
            assert [entry.key for entry in found] == ["a", "c"]
            assert [entry.score for entry in found] == [None, None]

    def test_no_query_raises(self, tmp_path: Path) -> None:
        memory = self.filled(tmp_path)

        for query in ('"', "'", "AND", "a OR", "NEAR(", "foo:bar", "-x", "*",
                      "a*", "^a", "\0", "a\0b", "%", "_", "\\", "\ud800",
                      "(((", "word " * 5000, "🎉" * 2000, "key:", "{a b}"):
            memory.recall(query)

    def test_a_session_sees_its_own_and_the_common(
            self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        memory.store("mine", "tea with milk", "core", "s1")
        memory.store("theirs", "tea with sugar", "core", "s2")
        memory.store("common", "tea is a drink")

        def keys(found: list[MemoryEntry]) -> set[str]:
            return {entry.key for entry in found}

        for query in ("tea", ""):
            assert keys(memory.recall(query, session_id="s1")) == {
                "mine", "common"}
            assert keys(memory.recall(query)) == {"mine", "theirs", "common"}
        assert keys(memory.list(session_id="s2")) == {"theirs", "common"}

    def test_listing_by_category_is_exact(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        memory.store("a", "text", "core")
        memory.store("b", "text", "Recipes")

        assert [entry.key for entry in memory.list("Recipes")] == ["b"]
        assert memory.list("recipes") == []

    def test_listing_has_no_cap(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        for number in range(1100):
            memory.store(f"k{number}", "text")

        assert len(memory.list()) == 1100

    def test_it_is_there_after_opening_again(self, tmp_path: Path) -> None:
        memory = self.filled(tmp_path)
        if not self.persists:
            return
        if isinstance(memory, ClosesMemory):
            memory.close()

        again = self.make(tmp_path)
        assert {entry.key: entry.content for entry in again.list()} == TEXTS

    def test_time_bounds_compare_instants(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        if not isinstance(memory, RestoresMemories):
            return
        memory.restore([
            _entry("early", "2026-01-01T08:30:00+09:00"),   # 23:30 UTC
            _entry("late", "2026-01-01T00:30:00Z")], overwrite=False)

        for query in ("text", ""):
            for since, until, expected in (
                    ("2026-01-01T00:00:00Z", None, ["late"]),
                    (None, "2026-01-01T01:00:00+01:00", ["early"]),
                    ("2026-01-01T00:30:00+00:00",
                     "2026-01-01T09:30:00+09:00", ["late"])):
                found = memory.recall(query, since=since, until=until)
                assert [entry.key for entry in found] == expected

    def test_orders_compare_instants(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        if not isinstance(memory, RestoresMemories):
            return
        in_order = ["2026-02-28T23:20Z", "2026-03-01T08:30+09:00",
                    "2026-02-28T18:45:00-05:00", "2026-03-01T00:00Z",
                    "2026-03-01T05:35:00.5+05:30"]
        memory.restore([_entry(at, at) for at in (
            in_order[3], in_order[1], in_order[4], in_order[0], in_order[2])],
            overwrite=False)

        assert [one.key for one in memory.entries()] == in_order
        newest_first = in_order[::-1]
        assert [one.key for one in memory.recall("", 5)] == newest_first
        assert [one.key for one in memory.list()] == newest_first
        if isinstance(memory, PagesMemories):
            assert [one.key for one in memory.page(Filters(), 2, 1)[0]] \
                == newest_first[1:3]
        if isinstance(memory, RecallsFiltered):
            try:
                then = memory.recall_filtered(
                    "text", 5, Filters(as_of="2026-02-28T23:45:00Z"))
            except UsageError:
                return  # it can't look back
            assert {one.key for one in then} == {*in_order[:3]}

    def test_restoring_keeps_ids_and_times(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        if not isinstance(memory, RestoresMemories):
            return
        entry = MemoryEntry("id-1", "k", "text", "daily",
                            "2020-01-01T00:00:00.000001Z",
                            "2021-01-01T00:00:00.000002Z", "s1", None, "ann",
                            "ns", 0.25, None)

        assert memory.restore([entry], overwrite=False) == 1
        assert memory.restore([entry], overwrite=False) == 0
        assert memory.restore([entry], overwrite=True) == 1
        assert list(memory.entries()) == [entry]

    def test_entries_come_oldest_first(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        if not isinstance(memory, RestoresMemories):
            return
        memory.restore([_entry(f"k{n}", f"2020-01-01T{n:02}:00:00Z")
                        for n in reversed(range(24))], overwrite=False)

        assert [entry.key for entry in memory.entries()] == [
            f"k{n}" for n in range(24)]

    def test_filters_narrow_before_the_cut(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        if not isinstance(memory, RecallsFiltered):
            return
        for number in range(300):
            memory.store(f"busy{number}", "tea " * 3, "daily", "busy")
        memory.store("quiet", "a long evening with tea and cake", "core",
                     "quiet")

        for filters in (Filters(session_id="quiet"), Filters("core")):
            found = memory.recall_filtered("tea", 5, filters)
            assert [entry.key for entry in found] == ["quiet"]

    def test_pages_join_to_the_whole(self, tmp_path: Path) -> None:
        memory = self.filled(tmp_path)
        if not isinstance(memory, PagesMemories):
            return
        pages = [memory.page(Filters(), 4, offset) for offset in (0, 4, 8)]

        assert [entry for page, _ in pages for entry in page] == memory.list()
        assert {total for _, total in pages} == {len(TEXTS)}
        assert [entry.key for entry in memory.with_prefix("c", 9)] == [
            "café", "colour"]
        assert memory.stats() == {"core": len(TEXTS)}

    def test_explanations_agree_with_recall(self, tmp_path: Path) -> None:
        memory = self.filled(tmp_path)
        if not isinstance(memory, ExplainsRecall):
            return
        explained = memory.explain("Mina likes green", 5, Filters())

        assert [entry for entry, _ in explained] == memory.recall(
            "Mina likes green", 5)
        assert all(entry.score == why.score and why.key == entry.key
                   for entry, why in explained)

    def test_removal_by_rule_needs_all_of_it(self, tmp_path: Path) -> None:
        memory = self.make(tmp_path)
        if not (isinstance(memory, ForgetsMany)
                and isinstance(memory, RestoresMemories)):
            return
        memory.restore([_entry("old", "2020-01-01T00:00:00Z"),
                        _entry("new", "2026-01-01T00:00:00Z")],
                       overwrite=False)
        memory.store("daily", "text", "daily")

        assert memory.forget_where("core", None, ["daily", "nothing"]) == 0
        assert memory.forget_where(None, None, []) == 0
        assert memory.forget_where("core", "2025-01-01T00:00:00+09:00") == 1
        assert {entry.key for entry in memory.list()} == {"new", "daily"}
        assert [e.key for e in memory.recall("text")] == ["daily", "new"]


def _entry(key: str, time: str) -> MemoryEntry:
    return MemoryEntry("", key, "text", "core", time, time)
