"""What is known of models, in a file that may be anything."""

import json
import multiprocessing
import os
from datetime import UTC, datetime

import pytest

from claw.providers.catalog.info import ModelInfo
from claw.providers.catalog.model_info import (
    MOST,
    ModelInfoFile,
    plain_address,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()
DAY = 86400.0
AT = "http://localhost:11434"


def at(now):
    return lambda: now


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "model_facts.json"


def test_what_was_learned_is_known_in_another_process(path):
    ModelInfoFile(path, at(NOW)).learn(
        AT, "qwen3", ModelInfo(False, ("tools",)))
    known = ModelInfoFile(path, at(NOW + DAY)).find(AT, "qwen3")

    assert known == ModelInfo(False, ("tools",), "2026-11-20T12:00:00.000Z")


def test_a_running_process_sees_what_others_learn(path):
    one, other = ModelInfoFile(path, at(NOW)), ModelInfoFile(path, at(NOW))
    assert one.find(AT, "m") == ModelInfo()
    other.learn(AT, "m", ModelInfo(True))

    assert one.find(AT, "m").native_tools is True


def test_reading_creates_nothing(tmp_path, path):
    assert ModelInfoFile(path).find(AT, "m") == ModelInfo()
    assert list(tmp_path.iterdir()) == []


def test_without_a_path_it_is_known_in_this_process():
    model_info = ModelInfoFile(None, at(NOW))
    model_info.learn(AT, "m", ModelInfo(True))

    assert model_info.find(AT, "m").native_tools is True
    assert model_info.find(AT, "other") == ModelInfo()


@pytest.mark.parametrize(("age", "known"), [
    (0, True), (29 * DAY, True), (31 * DAY, False), (-3600, True),
    (-2 * DAY, False)])
def test_after_a_month_it_is_not_believed(path, age, known):
    ModelInfoFile(path, at(NOW)).learn(AT, "m", ModelInfo(True))
    later = ModelInfoFile(path, at(NOW + age))

    assert (later.find(AT, "m") != ModelInfo()) is known


def test_a_service_that_runs_for_months_forgets_too(path):
    now = [NOW]
    model_info = ModelInfoFile(path, lambda: now[0])
    model_info.learn(AT, "m", ModelInfo(True))
    now[0] += 31 * DAY

    assert model_info.find(AT, "m") == ModelInfo()


@pytest.mark.parametrize(("address", "plain"), [
    ("https://h/v1?key=secret", "https://h/v1"),
    ("https://me:secret@h:8/v1/#secret", "https://h:8/v1"),
    ("http://[::1]:9/", "http://[::1]:9"),
    ("secret", ""), ("http://h:port", ""), ("", ""), ("http://[", ""),
])
def test_no_key_of_an_address_is_kept(path, address, plain):
    ModelInfoFile(path).learn(address, "m", ModelInfo(True))

    assert plain_address(address) == plain
    assert not path.exists() or "secret" not in path.read_text()
    assert ModelInfoFile(path).find(address, "m").native_tools is (
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
    model_info = ModelInfoFile(path, at(NOW))
    assert model_info.find("a", "m") == model_info.find(AT, "m") == ModelInfo()
    model_info.learn(AT, "m", ModelInfo(True))

    assert ModelInfoFile(path, at(NOW)).find(AT, "m").native_tools is True
    assert [e["model"] for e in json.loads(path.read_text())["entries"]] == [
        "m"]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_newest_are_kept(path):
    model_info = ModelInfoFile(None, at(NOW))
    for number in range(MOST + 10):
        model_info.learn(AT, f"m{number}", ModelInfo(
            True, (), f"2026-11-20T00:{number // 60:02}:{number % 60:02}Z"))
    kept = ModelInfoFile(path, at(NOW))
    kept._known = model_info._known
    kept.learn(AT, "last", ModelInfo(True))

    assert len(json.loads(path.read_text())["entries"]) <= MOST
    assert model_info.find(AT, "m0") == ModelInfo()
    assert model_info.find(AT, f"m{MOST + 9}").native_tools is True


@pytest.mark.parametrize("model", ["", "x" * 1000])
def test_what_is_no_name_is_not_kept(path, model):
    ModelInfoFile(path).learn(AT, model, ModelInfo(True))

    assert not path.exists()


@pytest.mark.parametrize("model", ["\ud800", "模型", "a\0b", "a\nb"])
def test_any_name_is_kept(path, model):
    ModelInfoFile(path).learn(AT, model, ModelInfo(True))

    assert ModelInfoFile(path).find(AT, model).native_tools is True


def test_where_nothing_can_be_written_it_is_known_here(tmp_path):
    (tmp_path / "state").write_text("no folder")
    model_info = ModelInfoFile(tmp_path / "state" / "f.json")
    model_info.learn(AT, "m", ModelInfo(True))

    assert model_info.find(AT, "m").native_tools is True


def test_a_link_is_replaced_and_not_followed(tmp_path, path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    path.parent.mkdir()
    path.symlink_to(precious)
    ModelInfoFile(path, at(NOW)).learn(AT, "m", ModelInfo(True))

    assert precious.read_text() == "mine"
    assert not path.is_symlink()


def test_a_pipe_in_its_place_does_not_hang(path):
    path.parent.mkdir()
    os.mkfifo(path)

    assert ModelInfoFile(path).find(AT, "m") == ModelInfo()


def _learn_many(path, who):
    model_info = ModelInfoFile(path, at(NOW))
    for number in range(20):
        model_info.learn(AT, f"{who}-{number}", ModelInfo(True))


def test_two_processes_at_once_lose_nothing(path):
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=_learn_many, args=(path, who))
            for who in "ab"]
    for process in both:
        process.start()
    for process in both:
        process.join()

    assert len(json.loads(path.read_text())["entries"]) == 40
