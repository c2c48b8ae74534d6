"""A memory with an embedder: nothing is lost to one that fails, vectors of
another model are not compared, and English vectors harm no other language."""

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from claw.core.embedding import EmbeddingProvider
from claw.core.errors import ConfigError, UnavailableError
from claw.core.memory import Filters, MemoryDeps
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import FILE, SqliteMemory

TOPICS = {"animal": ("cat", "dog", "kitten", "puppy", "pet", "horse"),
          "food": ("soup", "bread", "dinner", "meal", "cook"),
          "travel": ("train", "flight", "journey", "trip", "ticket")}


class Topics(EmbeddingProvider):
    """A tiny embedder: a text lies where its topics lie."""

    def __init__(self, model="topics", multilingual=False):
        self._model = model
        self._multilingual = multilingual
        self.asked = []
        self.broken = False

    name = "topics"
    dimensions = 8

    @property
    def model(self):
        return self._model

    @property
    def is_multilingual(self):
        return self._multilingual

    def embed(self, texts):
        self.asked += texts
        if self.broken:
            raise UnavailableError("the embedder is away")
        return [self._vector(text.lower()) for text in texts]

    def _vector(self, text):
        vector = [0.1 + sum(word in text for word in words)
                  for words in TOPICS.values()]
        vector += [0.1 + (sum(map(ord, text)) % 7) / 30] * 5
        length = math.sqrt(sum(value * value for value in vector))
        return [value / length for value in vector]


@pytest.fixture
def opened(tmp_path):
    """open(embedder, readonly=..., **settings); closed at the end."""
    memories = []
    heard = []

    def call(embedder, *, readonly=False, **settings):
        memory = SqliteMemory.open(
            tmp_path, MemorySettings(**settings), readonly=readonly,
            notify=heard.append, deps=MemoryDeps(embedder))
        memories.append(memory)
        return memory
    call.heard = heard
    yield call
    for memory in memories:
        memory.close()


NOTES = {"pet": "We adopted a kitten called Biscuit",
         "lunch": "The soup was excellent on Tuesday",
         "trip": "Our train leaves at noon"}


def filled(memory):
    for key, text in NOTES.items():
        memory.store(key, text)
    return memory


def test_meaning_finds_what_no_word_finds(opened):
    memory = filled(opened(Topics()))

    (entry, why), *_ = memory.explain("which animal, a dog?", 3,
                                      Filters())
    assert entry.key == "pet"
    assert why.parts["cosine"] > 0.5
    assert entry.score > 0.4
    assert [e.key for e in opened(None).recall("which animal, a dog?")] == []


def test_a_failing_embedder_loses_no_memory_and_no_answer(opened):
    embedder = Topics()
    memory = filled(opened(embedder))
    embedder.broken = True
    memory.store("late", "The horse is in the stable")

    assert memory.get("late").content == "The horse is in the stable"
    assert [e.key for e in memory.recall("horse stable")] == ["late"]
    assert memory.unembedded() == 1
    assert "without its vector" in opened.heard[0]
    embedder.broken = False
    assert memory.embed_missing(lambda _: None) == 1
    assert memory.unembedded() == 0


def test_a_dead_embedder_is_asked_once_in_a_while_only(opened):
    embedder = Topics()
    memory = filled(opened(embedder))
    embedder.broken = True
    embedder.asked.clear()
    for _ in range(5):
        memory.recall("which horse?")
        memory.store("x", "another text")

    assert len(embedder.asked) == 1
    assert len(opened.heard) == 1


def test_vectors_of_another_model_are_not_compared(opened):
    filled(opened(Topics("one")))
    other = Topics("two")
    memory = opened(other)

    assert memory.unembedded() == 3
    assert memory.recall("which animal, a dog?") == []
    assert memory.embed_missing(lambda _: None) == 3
    assert memory.recall("which animal, a dog?")[0].key == "pet"


def test_a_changed_memory_gets_a_vector_of_its_new_words(opened):
    memory = filled(opened(Topics()))
    memory.store("pet", "dinner: bread and a cooked meal")

    assert memory.recall("something to cook, food")[0].key == "pet"
    memory.forget("pet")
    assert "pet" not in {e.key for e in memory.recall("cook a meal")}


def test_texts_that_come_again_are_not_embedded_again(opened):
    embedder = Topics()
    memory = filled(opened(embedder))
    memory.recall("which animal?")
    embedder.asked.clear()
    memory.recall("which animal?")
    memory.store("again", NOTES["pet"])

    assert embedder.asked == []


def test_a_reader_makes_no_vectors_and_still_compares(opened):
    filled(opened(Topics()))
    embedder = Topics()
    memory = opened(embedder, readonly=True)

    assert memory.recall("which animal, a dog?")[0].key == "pet"
    assert embedder.asked == ["which animal, a dog?"]


def test_a_store_without_vectors_asks_no_embedder_about_a_question(opened):
    filled(opened(None))
    embedder = Topics()

    opened(embedder).recall("which animal?")
    assert embedder.asked == []


def test_progress_hears_every_batch(opened):
    filled(opened(None))
    heard = []

    assert opened(Topics()).embed_missing(heard.append) == 3
    assert heard[-1] == 3


CHINESE = {"c1": "米娜的貓叫餅乾", "c2": "我們星期二喝了湯",
           "c3": "火車中午出發", "c4": "她最喜歡的顏色是綠色"}


@pytest.mark.parametrize("query", ["米娜的貓叫什麼名字", "火車幾點出發",
                                   "最喜歡的顏色"])
def test_english_vectors_change_no_answer_in_chinese(opened, query):
    plain = opened(None)
    for key, text in {**CHINESE, **NOTES}.items():
        plain.store(key, text)
    before = [e.key for e in plain.recall(query)]
    memory = opened(Topics())
    memory.embed_missing(lambda _: None)

    assert [e.key for e in memory.recall(query)] == before


def test_a_question_in_two_languages_finds_both(opened):
    memory = opened(Topics())
    for key, text in {**CHINESE, **NOTES}.items():
        memory.store(key, text)

    found = {e.key for e in memory.recall("kitten Biscuit 貓叫餅乾", 3)}
    assert {"c1", "pet"} <= found


def test_weights_of_the_settings_count(opened):
    memory = filled(opened(Topics(), vector_weight=0.0, keyword_weight=1.0))

    assert memory.recall("which animal, a dog?") == []


@pytest.mark.parametrize("merge", ["measured", "seed"])
def test_explain_shows_what_words_and_meaning_gave(opened, merge):
    memory = filled(opened(Topics(multilingual=True), merge=merge))
    found = memory.explain("kitten Biscuit", 5, Filters())

    assert len(found) > 1
    for entry, why in found:
        parts = why.parts
        both = parts["by_words"] + parts["by_meaning"]
        assert parts["by_words"] <= 0.3
        assert parts["by_meaning"] <= 0.7
        if merge == "seed":
            assert entry.score == pytest.approx(both)
            assert parts["by_meaning"] == pytest.approx(
                0.7 * max(0, parts["cosine"]))


def test_the_seed_s_formula_orders_by_it_alone(opened):
    memory = filled(opened(Topics(multilingual=True), merge="seed"))
    found = memory.recall("kitten Biscuit", 5)

    assert [one.score for one in found] == sorted(
        (one.score for one in found), reverse=True)
    assert 0.9 < found[0].score <= 1.0


def test_weights_that_are_both_zero_are_refused(opened):
    with pytest.raises(ConfigError, match="both 0"):
        opened(Topics(), vector_weight=0.0, keyword_weight=0.0)


def test_filters_hold_for_meaning_too(opened):
    memory = opened(Topics())
    memory.store("mine", "a kitten of mine", "core", "me")
    memory.store("yours", "a puppy of yours", "core", "you")

    assert [e.key for e in memory.recall("animal dog", 5, "me")] == ["mine"]


def test_the_vectors_of_an_unfinished_run_are_kept(opened):
    class Stops(Topics):
        def embed(self, texts):
            if len(self.asked) >= 256:
                raise UnavailableError("away")
            return super().embed(texts)

    plain = opened(None)
    for number in range(300):
        plain.store(f"k{number}", f"text {number} about a cat")
    memory = opened(Stops())

    with pytest.raises(UnavailableError):
        memory.embed_missing(lambda _: None)
    assert memory.unembedded() == 44


def test_the_workspace_holds_no_other_files(opened, tmp_path):
    filled(opened(Topics()))

    assert {path.name.split("-")[0] for path in
            Path(tmp_path, "memory").iterdir()} == {"brain.db"}


def test_a_question_does_not_wait_for_another_writer(opened, tmp_path):
    memory = filled(opened(Topics()))
    with closing(sqlite3.connect(tmp_path / "memory" / "brain.db",
                                 isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        found = memory.explain("any pets", 3, Filters())

        other.execute("ROLLBACK")
    assert found[0][0].key == "pet"
    assert "cosine" in found[0][1].parts
    assert opened.heard == []


@pytest.mark.parametrize("vector", [[math.nan] * 8, [1.0] * 7, []])
def test_a_wrong_vector_spoils_neither_answers_nor_the_cache(opened, vector):
    embedder = Topics()
    memory = filled(opened(embedder))
    embedder.embed = lambda texts: [vector for _ in texts]

    assert memory.recall("soup today")[0].key == "lunch"
    assert "finite numbers" in opened.heard[0]
    memory._embeddings._silent_until = -math.inf
    memory.store("late", "a meal")
    assert memory.unembedded() == 1
    with pytest.raises(UnavailableError, match="finite numbers"):
        memory.embed_missing(lambda _: None)
    del embedder.embed
    assert memory.embed_missing(lambda _: None) == 1


def test_a_wrong_vector_in_the_cache_is_made_anew(opened):
    memory = filled(opened(Topics()))
    memory.recall("any pets")
    memory._connection.execute("UPDATE embedding_cache SET embedding ="
                               " zeroblob(28) || x'0000c07f'")

    assert memory.recall("any pets")[0].key == "pet"


def test_what_is_removed_while_it_is_embedded_leaves_no_vector(opened):
    embedder = Topics()
    memory = opened(embedder)
    make = embedder.embed

    def slowly(texts):
        memory.purge("secret")
        return make(texts)
    embedder.embed = slowly
    memory.store("secret", "my cat")

    assert memory.count() == 0
    for table in ("vectors", "embedding_cache"):
        assert memory._connection.execute(
            f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_what_is_undone_is_found_by_its_meaning_again(opened):
    embedder = Topics()
    memory = filled(opened(embedder))
    asked = len(embedder.asked)
    memory.forget("pet")
    memory.store("lunch", "Our train leaves at noon")
    memory.supersede("trip", "lunch")

    for key in ("pet", "lunch", "trip"):
        memory.undo(key)

    assert memory.unembedded() == 0
    assert len(embedder.asked) == asked
    assert "cosine" in memory.explain("any pets", 1, Filters())[0][1].parts


def test_what_is_redacted_leaves_its_vector_and_cached_embedding(opened):
    embedder = Topics()
    memory = filled(opened(embedder))
    memory.store("pet", "the dog is called zq7")

    assert memory.count_redactable(lambda t: t.replace("zq7", "x")) == 1
    assert memory.redact(lambda t: t.replace("zq7", "x")) == 1
    assert memory.count_redactable(lambda t: t.replace("zq7", "x")) == 0
    assert memory.unembedded() == 1
    assert memory.get("pet").content == "the dog is called x"
    assert [e.key for e in memory.recall("called x")][:1] == ["pet"]
    assert all(check.ok for check in memory.check())
    embedder.asked.clear()
    memory.store("again", "the dog is called zq7")
    assert len(embedder.asked) == 1  # nothing of it was in the cache


def test_two_keys_that_become_one_stay_two_memories(opened):
    memory = opened(None)
    memory.store("zq7", "one")
    memory.store("zq8", "two")

    assert memory.redact(lambda t: t.replace("zq7", "x").replace(
        "zq8", "x")) == 2
    assert sorted((e.key, e.content) for e in memory.list()) == [
        ("x", "one"), ("x 2", "two")]


def test_text_of_another_program_gets_a_vector_of_its_own(opened, tmp_path):
    memory = filled(opened(Topics()))
    with closing(sqlite3.connect(tmp_path / FILE)) as brain, brain:
        brain.execute("UPDATE memories SET content = 'a train to Rome'"
                      " WHERE key = 'lunch'")
        brain.execute("UPDATE memories SET category = 'daily'"
                      " WHERE key = 'pet'")
        brain.execute("DELETE FROM memories WHERE key = 'trip'")

    assert memory.recall("journey", 5)[0].key == "lunch"
    assert memory.unembedded() == 0
    assert all(check.ok for check in memory.check())
    assert memory.embedder.asked.count("a train to Rome") == 1
