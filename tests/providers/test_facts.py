"""What is known of models, in a file that may be anything."""

import json
import multiprocessing
import os
from datetime import UTC, datetime

import pytest

from claw.providers.connection import Facts
from claw.providers.facts import MOST, ModelFacts, plain_address

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()
DAY = 86400.0
AT = "http://localhost:11434"


def at(now):
    return lambda: now


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "model_facts.json"


def test_what_was_learned_is_known_in_another_process(path):
    ModelFacts(path, at(NOW)).learn(AT, "qwen3", Facts(False, ("tools",)))
    known = ModelFacts(path, at(NOW + DAY)).facts(AT, "qwen3")

    assert known == Facts(False, ("tools",), "2026-11-20T12:00:00.000Z")


def test_a_running_process_sees_what_others_learn(path):
    one, other = ModelFacts(path, at(NOW)), ModelFacts(path, at(NOW))
    assert one.facts(AT, "m") == Facts()
    other.learn(AT, "m", Facts(True))

    assert one.facts(AT, "m").native_tools is True


def test_reading_creates_nothing(tmp_path, path):
    assert ModelFacts(path).facts(AT, "m") == Facts()
    assert list(tmp_path.iterdir()) == []


def test_without_a_path_it_is_known_in_this_process():
    facts = ModelFacts(None, at(NOW))
    facts.learn(AT, "m", Facts(True))

    assert facts.facts(AT, "m").native_tools is True
    assert facts.facts(AT, "other") == Facts()


@pytest.mark.parametrize(("age", "known"), [
    (0, True), (29 * DAY, True), (31 * DAY, False), (-3600, True),
    (-2 * DAY, False)])
def test_after_a_month_it_is_not_believed(path, age, known):
    ModelFacts(path, at(NOW)).learn(AT, "m", Facts(True))
    later = ModelFacts(path, at(NOW + age))

    assert (later.facts(AT, "m") != Facts()) is known


def test_a_service_that_runs_for_months_forgets_too(path):
    now = [NOW]
    facts = ModelFacts(path, lambda: now[0])
    facts.learn(AT, "m", Facts(True))
    now[0] += 31 * DAY

    assert facts.facts(AT, "m") == Facts()


@pytest.mark.parametrize(("address", "plain"), [
    ("https://h/v1?key=secret", "https://h/v1"),
    ("https://me:secret@h:8/v1/#secret", "https://h:8/v1"),
    ("http://[::1]:9/", "http://[::1]:9"),
    ("secret", ""), ("http://h:port", ""), ("", ""), ("http://[", ""),
])
def test_no_key_of_an_address_is_kept(path, address, plain):
    ModelFacts(path).learn(address, "m", Facts(True))

    assert plain_address(address) == plain
    assert not path.exists() or "secret" not in path.read_text()
    assert ModelFacts(path).facts(address, "m").native_tools is (
        True if plain else None)


@pytest.mark.parametrize("damage", [
    b"", b"{", b"\xff\xfe", b"[]", b"3", b'{"entries": 3}', b"[" * 100_000,
    b'{"entries": [null, {}, {"address": 1, "model": [], "checked_at": "x"},'
    b'{"address": "a", "model": "m", "checked_at": "2026-11-20",'
    b' "native_tools": "yes"}]}',
    b" " * 5_000_000,
])
def test_a_damaged_file_is_empty_and_replaced(path, damage):
    path.parent.mkdir()
    path.write_bytes(damage)
    facts = ModelFacts(path, at(NOW))
    assert facts.facts("a", "m") == facts.facts(AT, "m") == Facts()
    facts.learn(AT, "m", Facts(True))

    assert ModelFacts(path, at(NOW)).facts(AT, "m").native_tools is True
    assert [e["model"] for e in json.loads(path.read_text())["entries"]] == [
        "m"]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_newest_are_kept(path):
    facts = ModelFacts(None, at(NOW))
    for number in range(MOST + 10):
        facts.learn(AT, f"m{number}", Facts(
            True, (), f"2026-11-20T00:{number // 60:02}:{number % 60:02}Z"))
    kept = ModelFacts(path, at(NOW))
    kept._known = facts._known
    kept.learn(AT, "last", Facts(True))

    assert len(json.loads(path.read_text())["entries"]) <= MOST
    assert facts.facts(AT, "m0") == Facts()
    assert facts.facts(AT, f"m{MOST + 9}").native_tools is True


@pytest.mark.parametrize("model", ["", "x" * 1000])
def test_what_is_no_name_is_not_kept(path, model):
    ModelFacts(path).learn(AT, model, Facts(True))

    assert not path.exists()


@pytest.mark.parametrize("model", ["\ud800", "模型", "a\0b", "a\nb"])
def test_any_name_is_kept(path, model):
    ModelFacts(path).learn(AT, model, Facts(True))

    assert ModelFacts(path).facts(AT, model).native_tools is True


def test_where_nothing_can_be_written_it_is_known_here(tmp_path):
    (tmp_path / "state").write_text("no folder")
    facts = ModelFacts(tmp_path / "state" / "f.json")
    facts.learn(AT, "m", Facts(True))

    assert facts.facts(AT, "m").native_tools is True


def test_a_link_is_replaced_and_not_followed(tmp_path, path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    path.parent.mkdir()
    path.symlink_to(precious)
    ModelFacts(path, at(NOW)).learn(AT, "m", Facts(True))

    assert precious.read_text() == "mine"
    assert not path.is_symlink()


def test_a_pipe_in_its_place_does_not_hang(path):
    path.parent.mkdir()
    os.mkfifo(path)

    assert ModelFacts(path).facts(AT, "m") == Facts()


def _learn_many(path, who):
    facts = ModelFacts(path, at(NOW))
    for number in range(20):
        facts.learn(AT, f"{who}-{number}", Facts(True))


def test_two_processes_at_once_lose_nothing(path):
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=_learn_many, args=(path, who))
            for who in "ab"]
    for process in both:
        process.start()
    for process in both:
        process.join()

    assert len(json.loads(path.read_text())["entries"]) == 40
