"""What the ranking is made of, each part told from the others."""

import json
import math
import subprocess
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

from claw.core.memory import Filters, MemoryEntry, Source
from claw.memory.search.scoring import (
    MEASURED,
    Row,
    build_term,
    score_words,
)
from claw.memory.sqlite import recall
from claw.storage.sqlite import connect

ALPHA, BETA = build_term("alpha"), build_term("beta")


def read_shard(*texts, sender=None):
    return [Row(number, "", text, sender, text[:400])
            for number, text in enumerate(texts)]


def scores(*texts, terms=(ALPHA, BETA)):
    found = score_words(read_shard(*texts), terms, [1.0] * len(terms))
    return [found[number].bm25 for number in range(len(texts))]


@pytest.fixture
def brain_file(tmp_path):
    return tmp_path / "memory" / "brain.db"


def filled(memory, texts, category="core", first="k"):
    memory.restore([MemoryEntry(
        "", f"{first}{number}", text, category,
        f"2026-01-01T00:00:00.{number:06}Z", "")
        for number, text in enumerate(texts)], overwrite=True)


def test_who_said_it_is_a_word_of_the_row():
    terms = [build_term("mina"), build_term("tea")]
    said, = score_words(read_shard("tea", sender="Mina"), terms,
                        [1.0, 1.0]).values()
    other, = score_words(read_shard("tea", sender="Tom"), terms,
                         [1.0, 1.0]).values()

    assert said.coverage == 1.0
    assert other.coverage == 0.5


def test_the_person_named_speaks_before_those_who_speak_of_her(memory):
    memory.store_from("hers", "tea is fine at any time", "core", None,
                      Source("Mina", ""))
    memory.store_from("his", "mina tea is fine", "core", None,
                      Source("Tom", ""))

    assert [e.key for e in memory.recall("mina tea")] == ["hers", "his"]


def test_a_length_says_more_among_long_memories():
    short, long = "alpha" + " x" * 9, "alpha" + " x" * 29
    longer, longest = "alpha" + " x" * 99, "alpha" + " x" * 299
    first, second = scores(short, long, terms=[ALPHA])
    third, fourth = scores(longer, longest, terms=[ALPHA])

    assert third / fourth > 1.05 * (first / second) > 1.05


def test_a_half_answer_costs_short_memories_more_than_long_ones():
    short, = scores("alpha" + " x" * 9)
    long, = scores("alpha" + " x" * 199)

    assert short == pytest.approx(math.sqrt(0.5))
    assert long == pytest.approx(1.0)


def test_an_explanation_says_what_confidence_is_made_of(memory):
    filled(memory, ["alpha beta gamma", "delta", "epsilon", "zeta"])
    (_, half), *_ = memory.explain("alpha unheard", 5, Filters())
    (_, whole), *_ = memory.explain("alpha", 5, Filters())

    assert half.parts["found"] > half.parts["by_chance"] >= 0
    assert half.parts["lacking"] > whole.parts["lacking"] == 0
    assert half.parts["confidence"] < whole.parts["confidence"] == 1


def test_how_common_a_word_is_decides_which_row_is_first(memory):
    filled(memory, ["rare thing", "common thing"]
           + ["common other"] * 300 + ["rare other"] * 5)

    assert memory.recall("common rare thing")[0].content == "rare thing"


def test_two_common_words_that_never_meet_are_found_apart(memory):
    filled(memory, [f"{'alpha' if n % 2 else 'beta'} number{n}"
                    for n in range(3200)])
    found = memory.explain("alpha beta", 6, Filters())

    assert len(found) == 6
    assert {e.content.split()[0] for e, _ in found} == {"alpha", "beta"}
    assert {why.parts["method"] for _, why in found} == {"words"}


def test_a_narrow_filter_reads_all_that_it_leaves(memory):
    """Among rows alike in what they hold, the newest are candidates; where
    few are left, every one is."""
    filled(memory, ["alpha beta other"] * 3000)
    filled(memory, ["alpha beta"] + ["alpha beta " + "x " * 30] * 299,
           category="daily", first="d")
    best, *_ = memory.recall_filtered("alpha beta", 5,
                                      Filters(category="daily"))

    assert best.key == "d0"


class Everything:
    """A meaning that notes how far the vectors were searched."""

    is_multilingual = True
    weights = MEASURED

    def __init__(self):
        self.asked = []

    def nearest(self, pool, allowed):
        self.asked.append((pool, allowed))
        return SimpleNamespace(hits=[], mean=0.0)

    def cosines(self, rids):
        return {}


def test_vectors_are_searched_further_where_rows_are_left_out_later(
        memory, brain_file, monkeypatch):
    filled(memory, ["alpha beta"] * 30)
    meaning = Everything()
    with closing(connect(brain_file)) as brain:
        recall.search(brain, "alpha", 5, Filters(), meaning)
        recall.search(brain, "alpha", 5, Filters(category="core"), meaning)
        monkeypatch.setattr(recall, "MOST_ALLOWED", 10)
        recall.search(brain, "alpha", 5, Filters(category="core"), meaning)
    (plain, none), (narrow, rids), (late, unknown) = meaning.asked

    assert none is unknown is None
    assert len(rids) == 30
    assert plain == narrow == recall.POOL_SMALL
    assert late == 4 * plain


def test_a_slow_pipe_keeps_nobody_from_storing(tmp_path):
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin",
                   "CLAW_HOME": str(tmp_path / "home")}

    def claw(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "claw", "memory", *arguments],
            env=environment, capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL, check=False)
    claw("store", "before", "text")
    with subprocess.Popen(
            [sys.executable, "-m", "claw", "memory", "import", "-"],
            env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE) as slow:
        slow.stdin.write(b"".join(json.dumps(
            {"key": f"k{n}", "content": "x" * 50}).encode() + b"\n"
            for n in range(9000)))
        slow.stdin.flush()  # a pipe holds less: it has been reading
        stored = claw("store", "meanwhile", "text")
        counted = claw("count")
        out, _ = slow.communicate(timeout=60)

    assert (stored.returncode, stored.stdout) == (0, "meanwhile\n")
    assert counted.stdout == "2\n"
    assert out == b"9000\n"
