"""What the doctor says of the memory: what makes vectors is tried, what
lacks them is counted, and what lies beside the store is named."""

import json
import time
from types import SimpleNamespace

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.memory import MemoryCheck
from claw.testing.http_server import HttpServer, Reply
from claw.wiring.checks import memory as checks
from claw.wiring.checks.memory import MEMORY, seen_as_check
from claw.wiring.memory import open_backend


@pytest.fixture
def look(tmp_path):
    """look("key = value", ...) is what is found with these lines in
    [memory], by id; look.tree() the settings."""
    home = tmp_path / "home"

    def tree(*lines):
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text("\n".join(["[memory]", *lines]))
        return load(locate(str(home), env={"HOME": str(tmp_path)}))

    def look(*lines):
        found = list(MEMORY.run(tree(*lines)))
        assert all(c.hint for c in found if c.status not in ("ok", "skip"))
        return {check.id: check for check in found}
    look.tree, look.workspace = tree, home / "workspace"
    return look


@pytest.fixture
def endpoint():
    """An embedding server; `reply` is what it answers in place of
    vectors."""
    made = SimpleNamespace(reply=None)

    def handle(request):
        if made.reply is not None:
            return made.reply
        texts = json.loads(request.body)["input"]
        return Reply(body=json.dumps({"data": [
            {"index": n, "embedding": [1.0, 0.0, 0.5]}
            for n, _ in enumerate(texts)]}).encode())
    server = HttpServer(handle)
    server.start()
    made.lines = (
        f'embedding_provider = "custom:http://127.0.0.1:{server.port}/v1"',
        'embedding_model = "m"', "embedding_dimensions = 3")
    yield made
    server.stop()


def store(tree, *keys):
    with open_backend(tree) as memory:
        for key in keys:
            memory.store(key, f"text of {key}")


def test_without_an_embedder_nothing_is_said_of_one(look):
    assert not {"memory.embedder", "memory.unembedded"} & set(look())


def test_an_embedder_that_answers_and_has_made_all_is_well(look, endpoint):
    store(look.tree(*endpoint.lines), "a")
    found = look(*endpoint.lines)

    assert found["memory.embedder"].status == "ok"
    assert "vectors of 3 numbers" in found["memory.embedder"].detail
    assert found["memory.unembedded"].status == "ok"


def test_missing_vectors_are_counted_with_what_makes_them(look, endpoint):
    store(look.tree(), "a", "b")
    store(look.tree(*endpoint.lines), "c")
    found = look(*endpoint.lines)["memory.unembedded"]

    assert found.status == "warn"
    assert found.detail.startswith("2 of 3 memories have no vector")
    assert found.hint == "claw memory reindex"


def test_an_embedder_that_refuses_is_a_failure_with_its_reason(look,
                                                               endpoint):
    store(look.tree(), "a")
    endpoint.reply = Reply(401, b'{"error": {"message": "bad key"}}')
    found = look(*endpoint.lines)

    assert found["memory.embedder"].status == "fail"
    assert "embedding_api_key" in found["memory.embedder"].hint
    assert found["memory.unembedded"].hint == (
        "fix memory.embedder, then: claw memory reindex")


def test_a_silent_embedder_is_not_waited_for(look, endpoint, monkeypatch):
    monkeypatch.setattr(checks, "EMBEDDER_S", 0.15)
    endpoint.reply = Reply(ending="silence")
    begun = time.monotonic()
    found = look(*endpoint.lines)["memory.embedder"]

    assert time.monotonic() - begun < 5
    assert found.status == "fail"
    assert "has not answered" in found.detail


def test_a_model_that_is_not_installed_says_how_it_is(look):
    found = look('embedding_provider = "local"')["memory.embedder"]

    assert (found.status, found.hint) == ("fail", "claw memory model install")


def test_an_embedder_that_nothing_is_called_is_named(look):
    look('embedding_provider = "opnai"')
    found = look('embedding_provider = "opnai"')["memory.embedder"]

    assert found.status == "warn"
    assert "found by words alone" in found.detail


def test_a_backend_without_vectors_says_that_they_have_no_effect(look):
    found = look('backend = "markdown"', 'embedding_provider = "local"')

    assert found["memory.embedder"].status == "warn"
    assert "markdown" in found["memory.embedder"].detail


def test_a_damaged_file_kept_aside_is_named_until_it_is_removed(look):
    store(look.tree(), "a")
    aside = look.workspace / "memory/brain.db.corrupt-20261121T000000000000Z"
    aside.write_bytes(b"x")
    aside.with_name(aside.name + "-wal").write_bytes(b"")
    found = look()["memory.aside"]

    assert found.status == "warn"
    assert f"claw memory import {aside}" in found.hint
    aside.unlink()
    assert "memory.aside" not in look()


def test_a_store_that_can_not_be_opened_hides_no_file_beside_it(look):
    brain = look.workspace / "memory/brain.db"
    brain.mkdir(parents=True)
    brain.with_name("brain.db.corrupt-1").write_bytes(b"x")
    found = look()

    assert found["memory.storage"].status == "fail"
    assert "memory.aside" in found


def test_what_looking_restored_is_told(look):
    look.workspace.mkdir(parents=True)
    (look.workspace / "MEMORY_SNAPSHOT.md").write_text(
        "### 🔑 `a`\n\ntext\n\n---\n", "utf-8")
    found = look()["memory.note"]

    assert (found.status, "restored 1" in found.detail) == ("warn", True)


@pytest.mark.parametrize(("command", "status"), [
    ("/nowhere/lucid", "warn"), ("/bin/sh", "ok")])
def test_a_missing_lucid_is_told(look, monkeypatch, command, status):
    monkeypatch.setenv("CLAW_LUCID_CMD", command)

    assert look('backend = "lucid"')["memory.lucid"].status == status
    assert "memory.lucid" not in look()


def test_what_sqlite_says_stays_on_one_short_line():
    found = seen_as_check(MemoryCheck(
        "integrity", False, "*** in database main ***\n"
        + "On tree page 86: Rowid out of order\n" * 90, "export it"))

    assert "\n" not in found.detail
    assert len(found.detail) == 200
    assert found.hint.startswith("claw memory check --repair")
