"""Whether a question is answered at all, the same in every language."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from claw.memory.search.confidence import grade, judge
from claw.memory.search.scoring import Row, Words, build_term
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.ephemeral import EphemeralMemory
from claw.text.grams import cut_word
from claw.text.segment import tokens

THRESHOLD = MemorySettings().min_relevance_score
BENCH = Path(__file__).parents[3] / "bench" / "gate.py"

# What a person noted, a question for it in other endings and compounds,
# and a question that shares only how it is asked.
NOTES = {
    "de": (["Die Bibliothek der Universität wurde 1958 abgerissen",
            "Ob viele Leute kommen, ist noch offen",
            "Der Fluss fließt im Winter langsamer"],
           "Wann hat man die Universitätsbibliothek abgerissen?",
           "Wie viele Zähne hat ein Krokodil?"),
    "ru": (["Защита уступила всего триста очков",
            "Сколько стоит билет, пока неизвестно",
            "Зимой река течёт медленнее"],
           "Кому уступила защитников команда очками?",
           "Сколько зубов у крокодила?"),
    "tr": (["Annemin kedisi yedi yaşında",
            "Toplantının ne zaman olduğu belli değil",
            "Nehir kışın daha yavaş akar"],
           "Annemin kedilerinden hangisi yedi yaşında?",
           "Timsahın kaç dişi var?"),
    "fr": (["La bibliothèque universitaire a été démolie en 1958",
            "On ne sait pas combien de personnes viennent",
            "La rivière coule plus lentement en hiver"],
           "Quand les bibliothèques universitaires sont-elles démolies ?",
           "Combien de dents possède un crocodile ?"),
}


@pytest.fixture(params=NOTES)
def noted(request):
    notes, right, wrong = NOTES[request.param]
    memory = EphemeralMemory.open(Path(), MemorySettings())
    for number, note in enumerate(notes):
        memory.store(f"m{number}", note)
    yield memory, right, wrong
    memory.close()


def test_an_answer_in_other_endings_is_shown(noted):
    memory, right, _ = noted
    best, *_ = memory.recall(right)

    assert best.key == "m0"
    assert best.score >= THRESHOLD


def test_a_question_that_shares_only_how_it_is_asked_shows_nothing(noted):
    memory, _, wrong = noted

    assert [entry for entry in memory.recall(wrong)
            if entry.score >= THRESHOLD] == []


def confidence(question, text, *, total=3, usual=0, tokens=20):
    """Of words that weigh 2 each, beside rows that hold all of them."""
    terms = [build_term(word) for word in question.split()]
    held = {i: 1.0 for i, term in enumerate(terms)
            if term.text in text.split()}
    everything = dict.fromkeys(range(len(terms)), 1.0)
    return judge(terms, [2.0] * len(terms),
                 [(Row(1, "", text, None, text), held)],
                 [Words(1.0, 1.0, everything)] * usual,
                 total=total, tokens=tokens).value


def test_the_same_half_means_less_in_a_larger_store():
    small = confidence("alpha bravo", "alpha", total=3)
    large = confidence("alpha bravo", "alpha", total=3_000)

    assert small > 2 * large > 0


def test_what_every_row_holds_tells_nothing():
    assert (confidence("alpha bravo delta", "alpha bravo")
            > confidence("alpha bravo delta", "alpha bravo", usual=30))


def test_chance_finds_more_in_longer_rows():
    assert (confidence("alpha bravo", "alpha", tokens=20)
            > confidence("alpha bravo", "alpha", tokens=60)
            == confidence("alpha bravo", "alpha", tokens=5_000))


def test_a_short_word_that_is_lacking_costs_less_than_a_long_one():
    assert (confidence("abc library", "library")
            > confidence("abcdefgh library", "library"))


def test_a_word_with_another_ending_is_held_in_part():
    other = confidence("schottischen", "schottische wahl")

    assert 0.5 < other < 1
    assert confidence("schottischen", "schokolade wahl") == 0
    assert confidence("universitat", "universitatsstadt") == 1


@pytest.mark.parametrize("sure", [0.1, 0.39, 0.4, 0.7, 1.0])
def test_rows_keep_their_order_in_the_score(sure):
    scores = [grade(sure, share / 50) for share in range(51)]

    assert scores == sorted(scores)
    assert scores[-1] == pytest.approx(sure)


def test_rows_close_behind_an_answer_pass_with_it():
    assert grade(0.41, 0.5) >= THRESHOLD
    assert grade(1.0, 0.1) < THRESHOLD
    assert grade(0.39, 1.0) < THRESHOLD


def test_the_bench_prints_both_rates_and_the_hash_of_its_data(tmp_path):
    (tmp_path / "tiny.json").write_text(json.dumps({"name": "t", "groups": [{
        "docs": [{"key": f"k{n}", "id": str(n), "text": text} for n, text in
                 enumerate(["the cat is called Biscuit", "rent is due"])],
        "queries": [{"q": "what is the cat called?", "gold": ["0"]}],
        "none": [{"q": "who won the election?"}]}]}))
    lines = subprocess.run(
        [sys.executable, BENCH, tmp_path], capture_output=True, text=True,
        check=True, cwd=BENCH.parents[1]).stdout.splitlines()

    assert lines[1].split()[0] == "tiny"
    assert lines[1].split()[2:5] == ["1.000", "1.000", "0.000"]


def judge_terms(terms, held, **options):
    row = Row(1, "", "", None, "")
    return judge(terms, [2.0] * len(terms), [(row, dict.fromkeys(held, 1.0))],
                 [], total=3, tokens=20, **options).value


def test_a_lacking_word_of_many_forms_says_less():
    terms = [build_term(word, cut_word(word))
             for word in ("bibliothek", "abgerissen")]

    assert (judge_terms(terms, [0], in_pieces=1.0)
            > judge_terms(terms, [0], in_pieces=0.0))


def test_letters_that_stand_in_three_terms_do_not_count_three_times():
    thai = [build_term(term) for term in tokens("สวัสดีครับ")][:4]
    chinese = [build_term(term) for term in ("会议", "时间", "地点", "天气")]

    assert [len(term.text) for term in thai] == [3] * 4
    assert judge_terms(thai, [0, 1]) < judge_terms(chinese, [0, 1])
