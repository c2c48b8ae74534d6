"""What holds for every text, every question and every order of changes."""

import contextlib
import json
import shutil
import sqlite3
import tempfile
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from claw.core.errors import UsageError
from claw.core.memory import Filters, KeepsVersions, MemoryEntry
from claw.memory.importers.ndjson import parse, records
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.file import export_snapshot
from claw.memory.sqlite.backend import FILE, SqliteMemory
from claw.memory.sqlite.ephemeral import EphemeralMemory

usual = settings(deadline=None, max_examples=150, database=None,
                 suppress_health_check=[HealthCheck.too_slow,
                                        HealthCheck.data_too_large])

# --- texts ---------------------------------------------------------------

# First and last letter of blocks; each text is of one or a few of them.
SCRIPTS = {
    "latin": "azAZßøÿŁœ", "greek": "αωΩάς", "cyrillic": "аяЯёЇ",
    "hangul": "가힣한국어차", "jamo": "각ㄱㅏ", "han": "一龥茶港口綠绿々〇",
    "han beyond": "𠀀𪛖𫝀", "kana": "ぁんァヶーっｱﾝ", "thai": "กฮาเ็ไชา",
    "lao": "ກຫາ", "khmer": "កហឡា", "burmese": "ကအာ", "tibetan": "ཀཧ",
    "arabic": "ابيةشاي", "hebrew": "אתשלום", "devanagari": "कहअीक्षि",
    "bengali": "কহা", "tamil": "கஹா", "telugu": "కహా", "georgian": "აჰႠ",
    "armenian": "աֆԱ", "ethiopic": "ሀፐ", "cherokee": "ᎠᏴꭰ",
    "mongolian": "ᠠᡷ", "deseret": "𐐀𐑏", "math": "𝐀𝔷ℝ²½Ⅷ①", "digits": "09٠९๙",
    "full width": "ＡＺ０９", "ligatures": "ﬁﬆĳǆﷺ㍿",
}
BETWEEN = (" ", "  ", "\n", "\t", " - ", ", ", ". ", "'", "’", "_", "/", "@",
           "\"", " AND ", "\0", "\u200b", "\u00a0", "\u3000", "\u0301", "。",
           "🎉", "%", "*", "-", "\r\n---\r\n", "\ufeff", "\u202e", ";")
WORDS = ["the", "is", "what", "tea", "running", "gone", "went", "colour",
         "naïve", "ÅNGSTRÖM", "STRASSE", "don't", "x1", "2026-12-03",
         "report_2026_q3.xlsx", "a", "of", "的", "です", "은"]

any_text = st.text(st.characters(exclude_categories=()), max_size=200)
of_scripts = st.lists(st.sampled_from(sorted(SCRIPTS)), min_size=1,
                      max_size=3).flatmap(lambda names: st.lists(
                          st.one_of(
                              st.text("".join(SCRIPTS[n] for n in names),
                                      min_size=1, max_size=12),
                              st.sampled_from(WORDS)),
                          min_size=1, max_size=8))
sentences = st.builds(
    lambda words, gaps: "".join(
        word + gap for word, gap in zip(words, gaps, strict=False)),
    of_scripts, st.lists(st.sampled_from(BETWEEN), min_size=8, max_size=8))
texts = st.one_of(sentences, any_text)
FRAGMENTS = ['"', "'", "*", "^", "(", ")", "{", "}", ":", "+", "-", "~", "/",
             "\\", "%", "_", "?", "NEAR(", "NEAR/2", "AND", "OR", "NOT",
             "key:", "content:", "rowid", "tea*", "*tea", '"tea', "te\0a",
             "--", ";", "/*", "NULL", "\ud800", "\udfff", "\U0010ffff",
             "\ufdd0", "\u0300" * 30, "a" * 5000, "茶" * 300, "가" * 300,
             "ก" * 300, "🎉" * 300, "x " * 3000, "$1", "?1", ":a", "@a"]
queries = st.one_of(
    texts, st.lists(st.one_of(st.sampled_from(FRAGMENTS),
                              st.sampled_from(WORDS)), max_size=12
                    ).map(" ".join),
    st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join))

OTHERS = ["Mina likes green tea", "the harbour of Oslo", "a ticket for two",
          "민아는 초록색 차를 좋아한다", "小美喜欢绿茶",
          "美奈さんは緑茶が好き",
          "он пьёт зелёный чай", "يحب الشاي الأخضر", "ชาเขียว", "100 % _",
          "note\n---\n`code`", "🎉 party", "what is it?", "...", "a b c"]


def utf8(text):
    """The text as any store can hold it: lone surrogates are U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode(
        "utf-16-le", "replace")


@pytest.fixture(scope="module")
def crowd():
    """A memory with a few others in it."""
    memory = EphemeralMemory.open(Path(), MemorySettings())
    for number, text in enumerate(OTHERS):
        memory.store(f"other{number}", text, "core",
                     (None, "s1", "s2")[number % 3])
    yield memory
    memory.close()


# --- what is stored ------------------------------------------------------

@given(key=texts.filter(bool), text=texts, category=texts,
       session=st.none() | texts)
@usual
def test_any_text_comes_back_and_goes_out_and_in(crowd, key, text, category,
                                                 session):
    crowd.store(key, text, category, session)
    try:
        entry = crowd.get(key)
        assert (entry.key, entry.content, entry.category, entry.session_id
                ) == (utf8(key), utf8(text), utf8(category),
                      None if session is None else utf8(session))

        lines = [json.dumps(record).encode() for record in records(crowd)]
        with contextlib.closing(EphemeralMemory.open(
                Path(), MemorySettings())) as other:
            other.restore(parse(lines), overwrite=True)
            copied = other.get(key)
            # An empty category can't be told from none.
            assert copied in (entry, _with_core(entry))
            assert other.count() == crowd.count()
    finally:
        assert crowd.forget(key) is True
        assert crowd.get(key) is None


def _with_core(entry):
    from claw.core.value import replace
    return replace(entry, category=entry.category or "core")


@given(st.dictionaries(texts.filter(bool).map(utf8), texts, max_size=5))
@settings(usual, max_examples=60)
def test_a_snapshot_brings_every_core_memory_back(held):
    with tempfile.TemporaryDirectory() as directory:
        workspace = Path(directory)
        with contextlib.closing(SqliteMemory.open(
                workspace, MemorySettings())) as memory:
            for key, text in held.items():
                memory.store(key, text)
            memory.store("not core", "text", "daily")
            export_snapshot(memory, workspace / "MEMORY_SNAPSHOT.md")
            held = {entry.key: (entry.content, entry.created_at,
                                entry.updated_at)
                    for entry in memory.list("core")}
        shutil.rmtree(workspace / "memory")

        with contextlib.closing(SqliteMemory.open(
                workspace, MemorySettings())) as memory:
            assert {entry.key: (entry.content, entry.created_at,
                                entry.updated_at)
                    for entry in memory.list()} == held


# --- what is found -------------------------------------------------------

def own_words(text):
    """The first five words: letters and digits with the marks on them and
    what is invisible between them."""
    kinds = [unicodedata.category(letter) for letter in utf8(text)]
    spaced = "".join(letter if kind[0] in "LNM" or kind == "Cf" else " "
                     for letter, kind in zip(utf8(text), kinds, strict=True))
    return [word for word in spaced.split()
            if any(unicodedata.category(c)[0] in "LN" for c in word)][:5]


@given(texts)
@example("the is of")
@example("a" * 70 + " " + "a" * 64 + "b")
@example("ﷺ")
@example("２０２６年１２月")
@example("_")
@example("ᄒ\u1161ᆫ국")
@example("İstanbul ıssız")
@example("²")
@example("ﾃﾞｽｸ")
@settings(usual, max_examples=500)
def test_a_memory_is_found_by_its_own_first_words(crowd, text):
    words = own_words(text)
    if not words:
        return
    crowd.store("mine", text)
    try:
        for query in (" ".join(words), words[0], " ".join(words).upper()
                      if words[0].isascii() else words[-1]):
            found = crowd.recall(query, 100)
            note(f"asked {query!r}")
            assert "mine" in [entry.key for entry in found]
    finally:
        crowd.forget("mine")


@given(texts.filter(lambda text: own_words(text)))
@settings(usual, max_examples=200)
def test_a_memory_is_found_by_its_own_key(crowd, key):
    crowd.store(key, "text")
    try:
        found = crowd.recall(" ".join(own_words(key)), 100)
        assert utf8(key) in [entry.key for entry in found]
    finally:
        crowd.forget(key)


@given(queries, st.integers(-2, 40),
       st.builds(Filters, st.sampled_from((None, "core", "nothing")),
                 st.sampled_from((None, "s1", "s2", "", "%"))))
@settings(usual, max_examples=400)
def test_no_question_raises_and_every_answer_is_in_order(crowd, query, limit,
                                                         filters):
    found = crowd.recall_filtered(query, limit, filters)

    assert len(found) <= max(0, limit)
    assert len({entry.key for entry in found}) == len(found)
    scores = [entry.score for entry in found]
    if query.strip() not in ("", "*"):
        assert all(isinstance(s, float) and 0 <= s <= 1 for s in scores)
        assert scores == sorted(scores, reverse=True)
    else:
        assert set(scores) <= {None}
    for entry in found:
        assert filters.category in (None, entry.category)
        assert filters.session_id is None \
            or entry.session_id in (None, filters.session_id)
    explained = crowd.explain(query, limit, filters)
    assert [entry for entry, _ in explained] == found
    json.dumps([why.parts for _, why in explained])


@given(st.sampled_from(FRAGMENTS), st.integers(1, 60_000))
@settings(usual, max_examples=25)
def test_a_huge_question_is_answered_in_reasonable_time(crowd, piece, times):
    query = (piece + " tea ") * max(1, min(times, 500_000 // (len(piece) + 5)))
    begun = time.process_time()

    crowd.recall(query, 5)

    assert time.process_time() - begun < 10


@given(st.text(st.characters(exclude_categories=()), max_size=30))
@usual
def test_what_is_no_time_is_refused_and_nothing_else(crowd, bound):
    for since, until in ((bound, None), (None, bound)):
        with contextlib.suppress(UsageError):
            crowd.recall("tea", 5, None, since, until)
            crowd.recall("", 5, None, since, until)


# --- scopes --------------------------------------------------------------

SESSIONS = (None, "s1", "s2", "S1", "s", "s1 ", "")
scoped = st.lists(st.tuples(
    st.sampled_from(["green tea", "tea ☂☂", "초록색 차", "绿茶 茶", "緑茶です",
                     "a long evening", "☂☂☂", "te"]),
    st.sampled_from(SESSIONS), st.sampled_from(("core", "daily")),
    st.integers(1, 28)), min_size=1, max_size=25)


@given(scoped, st.sampled_from(["tea", "te*", "☂☂", "☂", "차", "茶", "緑", "",
                                "*", "evening of tea", "long", "zzz"]),
       st.sampled_from(SESSIONS), st.sampled_from((None, "core", "daily")),
       st.none() | st.integers(1, 28), st.none() | st.integers(1, 28),
       st.integers(1, 30))
@settings(usual, max_examples=250)
def test_every_recall_keeps_to_its_filters(rows, query, session, category,
                                           since, until, limit):
    with contextlib.closing(EphemeralMemory.open(
            Path(), MemorySettings())) as memory:
        memory.restore([MemoryEntry(
            "", f"k{n}", text, kind, f"2026-01-{day:02}T12:00:00Z",
            f"2026-01-{day:02}T12:00:00Z", owner)
            for n, (text, owner, kind, day) in enumerate(rows)],
            overwrite=False)
        filters = Filters(category, session,
                          since and f"2026-01-{since:02}",
                          until and f"2026-01-{until:02}")

        def allowed(entry):
            day = int(entry.created_at[8:10])
            return (category in (None, entry.category)
                    and (session is None
                         or entry.session_id in (None, session))
                    and (since is None or day >= since)
                    and (until is None or day <= until))

        found = memory.recall_filtered(query, limit, filters)
        pages, total = memory.page(filters, limit, 0)
        everything = memory.list()

        assert all(map(allowed, found))
        assert all(map(allowed, pages))
        assert total == sum(map(allowed, everything))
        if query in ("", "*"):
            assert found == pages
            assert len(found) == min(limit, total)
        elif query in ("tea", "te*"):  # found through words: none is missed
            may = {entry.key for entry in everything if allowed(entry)
                   and ("tea" in entry.content
                        or (query == "te*" and entry.content == "te"))}
            assert len({entry.key for entry in found} & may) == min(
                limit, len(may))


# --- any order of changes ------------------------------------------------

KEYS = [f"k{n}" for n in range(6)] + ["키", "鍵", "k0 "]
keys = st.sampled_from(KEYS)
contents = st.one_of(st.sampled_from(OTHERS), sentences, st.just(""))
categories = st.sampled_from(("core", "daily", "conversation", "own"))
sessions = st.sampled_from((None, "s1", "s2"))


class Changes(RuleBasedStateMachine):
    """A store on disk beside a dictionary: key -> (content, category,
    session); `replaced` are keys that another memory took the place of."""

    def __init__(self):
        super().__init__()
        self.workspace = Path(tempfile.mkdtemp())
        self.memory = SqliteMemory.open(self.workspace, MemorySettings())
        self.model = {}
        self.replaced = set()

    def _put(self, key, row):
        self.model[key] = row
        self.replaced.discard(key)

    @rule(key=keys, text=contents, category=categories, session=sessions)
    def store(self, key, text, category, session):
        self.memory.store(key, text, category, session)
        self._put(key, (utf8(text), category, session))

    @rule(key=keys)
    def forget(self, key):
        assert self.memory.forget(key) is (key in self.model)
        self.model.pop(key, None)
        self.replaced.discard(key)

    @rule(category=categories, some=st.none() | st.lists(keys, max_size=4))
    def forget_where(self, category, some):
        gone = [key for key, row in self.model.items()
                if row[1] == category and (some is None or key in some)]
        assert self.memory.forget_where(category, None, some) == len(gone)
        for key in gone:
            del self.model[key]
            self.replaced.discard(key)

    @rule(rows=st.lists(st.tuples(keys, contents, categories, sessions),
                        max_size=8), overwrite=st.booleans())
    def restore(self, rows, overwrite):
        written = self.memory.restore(
            [MemoryEntry("", key, text, category, "", "", session)
             for key, text, category, session in rows], overwrite=overwrite)
        expected = 0
        for key, text, category, session in rows:
            if overwrite or key not in self.model:
                self._put(key, (utf8(text), category, session))
                expected += 1
        assert written == expected

    @rule(key=keys)
    def forget_and_undo(self, key):
        if isinstance(self.memory, KeepsVersions) and key in self.model \
                and key not in self.replaced:
            self.memory.forget(key)
            assert self.memory.undo(key) is not None

    @rule(key=keys, text=contents)
    def overwrite_and_undo(self, key, text):
        if isinstance(self.memory, KeepsVersions) and key in self.model \
                and key not in self.replaced \
                and self.model[key][0] != utf8(text):
            self.memory.store(key, text, "other", "s9")
            assert self.memory.undo(key).content == self.model[key][0]

    @rule(key=keys, by=keys)
    def supersede(self, key, by):
        if not isinstance(self.memory, KeepsVersions) or key == by \
                or by in self.replaced or key in self.replaced:
            return
        both = key in self.model and by in self.model
        assert self.memory.supersede(key, by) is both
        if both:
            self.replaced.add(key)

    @precondition(lambda self: self.replaced)
    @rule(data=st.data())
    def hold_again(self, data):
        key = data.draw(st.sampled_from(sorted(self.replaced)))
        assert self.memory.undo(key).superseded_by is None
        self.replaced.discard(key)

    @rule()
    def reindex(self):
        assert self.memory.reindex() == len(self.model) - len(self.replaced)

    @rule()
    def reopen(self):
        self.memory.close()
        self.memory = SqliteMemory.open(self.workspace, MemorySettings())

    @rule(query=queries, session=sessions)
    def ask(self, query, session):
        for entry in self.memory.recall(query, 50, session):
            assert self.model[entry.key] == (entry.content, entry.category,
                                             entry.session_id)
            assert entry.key not in self.replaced
            assert session is None or entry.session_id in (None, session)

    @rule(key=keys)
    def find(self, key):
        if key in self.model and own_words(self.model[key][0]):
            found = [entry.key for entry in self.memory.recall(
                " ".join(own_words(self.model[key][0])), 50)]
            assert (key in found) is (key not in self.replaced)

    @invariant()
    def the_same_as_the_model(self):
        live = {key: row for key, row in self.model.items()
                if key not in self.replaced}
        assert {entry.key: (entry.content, entry.category, entry.session_id)
                for entry in self.memory.list()} == live
        for key in KEYS:
            assert (self.memory.get(key) is None) is (key not in self.model)

    def teardown(self):
        try:
            findings = self.memory.check()
            assert [one for one in findings if not one.ok] == []
            self.memory.close()
            with contextlib.closing(sqlite3.connect(
                    self.workspace / FILE)) as raw:
                raw.execute("INSERT INTO memories_fts(memories_fts, rank)"
                            " VALUES ('integrity-check', 1)")
                assert raw.execute("SELECT count(*) FROM memories_fts"
                                   ).fetchone()[0] == len(
                    self.model) - len(self.replaced)
        finally:
            self.memory.close()
            shutil.rmtree(self.workspace)


TestChanges = Changes.TestCase
TestChanges.settings = settings(usual, max_examples=40,
                                stateful_step_count=25)
