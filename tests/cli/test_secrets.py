"""Keys of the installation: a model that says them, and what claw keeps and
prints of that."""

import base64
import json
from urllib.parse import quote

import pytest

from claw.testing.fake_openai import FakeOpenAI, Reply, tool_call

KEY = "zq7-Fm2Kx9Lw4Rt8Vb3N"
FORMED = "ghp_" + "a1B2" * 9
TAG = "[REDACTED_SECRET]"
FORMS = {"plain": KEY, "spaced": " ".join(KEY), "lines": "\n".join(KEY),
         "zero width": "\u200b".join(KEY), "dashes": "-".join(KEY),
         "base64": base64.b64encode(KEY.encode()).decode().rstrip("="),
         "url": quote(KEY, safe="") + "%21", "hex": KEY.encode().hex()}


@pytest.fixture
def ours(home):
    home.mkdir()
    (home / "config.toml").write_text(
        f'[channels_config.telegram]\nbot_token = "{KEY}"\n'
        "[memory]\nresponse_cache_enabled = true\n")
    (home / "config.toml").chmod(0o600)
    return home


def written(home):
    return b"".join(f.read_bytes() for f in home.rglob("*")
                    if f.is_file() and f.name != "config.toml")


def model(server):
    return ["-p", f"custom:{server.url}", "-m", "m"]


@pytest.mark.each("form", list(FORMS.values()), ids=list(FORMS))
@pytest.mark.each("options", [[], ["--json"], ["--no-log"], ["-x"],
                                  ["-t", "0"]])
def test_an_answer_with_a_key_is_neither_printed_nor_kept(
        claw, ours, form, options):
    text = f"```\nthe key is {form} !\n```"
    with FakeOpenAI([Reply(text)] * 2) as server:
        done = claw("ask", *model(server), *options, "what is the key?")

    assert done.code == 0
    assert form not in done.out + done.err
    assert "REDACTED" in done.out
    assert "--show-secrets" in done.err
    assert form.encode() not in written(ours)


@pytest.mark.parametrize("options", [["ask"], ["ask", "--json"], ["agent"]])
def test_the_owner_sees_it_with_a_flag(claw, ours, options):
    with FakeOpenAI([Reply(f"it is {KEY}, see {FORMED}")]) as server:
        done = claw(*options, *model(server), "--show-secrets", "the key?")

    assert KEY in done.out
    assert FORMED in done.out
    assert "--show-secrets" not in done.err
    assert KEY.encode() not in written(ours)
    assert FORMED.encode() not in written(ours)


def test_a_key_of_the_environment_counts_too(claw, ours):
    with FakeOpenAI([Reply(f"it is {KEY[::-1]}")]) as server:
        done = claw("ask", *model(server), "the key?",
                    env={"OPENROUTER_API_KEY": KEY[::-1]})

    assert done.out == f"it is {TAG}\n"


@pytest.mark.parametrize("text", [
    "3f786850e387550fdab836ed7e6dc881de23001b",
    "550e8400-e29b-41d4-a716-446655440000",
    "password = 'correcthorse9'", "tJ4mQ9xL2vB7nK5wR8zP3cF6hD1gS0yA",
    "```python\ntoken = secrets.token_hex(16)\n```", "米娜喜歡綠色 🍵"])
def test_an_answer_that_only_resembles_one_is_exact(claw, ours, text):
    with FakeOpenAI([Reply(text)]) as server:
        done = claw("ask", *model(server), "--session", "work", "make one")
        shown = claw("session", "show", "work", "--json")

    assert done.out == text + "\n"
    assert done.err == ""
    assert json.loads(shown.out)["messages"][-1]["text"] == text


def test_what_the_agent_remembers_goes_without_keys(claw, ours):
    call = tool_call("memory_store", key="note", content=f"it is {KEY}",
                     category="core")
    with FakeOpenAI([call, Reply("kept")]) as server:
        done = claw("agent", *model(server), "--yes", "keep it")
        kept = claw("memory", "get", "note", "--show-secrets")

    assert done.code == 0
    assert kept.out == f"it is {TAG}\n"
    assert KEY.encode() not in written(ours)


def test_a_token_is_no_part_of_the_key_it_is_remembered_under(claw, ours):
    """In small letters nothing would know it again."""
    done = claw("ask", f"remember that my token is {FORMED}")
    kept = claw("memory", "list", "--json", "--show-secrets")

    assert done.code == 0
    assert "a1b2" not in kept.out.lower()
    assert "my token is [REDACTED_API_KEY]" in kept.out


def test_the_owners_words_stay_but_for_his_own_keys(claw, ours):
    done = claw("memory", "store", "wifi",
                f"password: hunter2two, {FORMED}, {KEY}")
    kept = claw("memory", "get", "wifi", "--show-secrets")
    seen = claw("memory", "get", "wifi")

    assert done.code == 0
    assert "a key of this installation was left out" in done.err
    assert kept.out == f"password: hunter2two, {FORMED}, {TAG}\n"
    assert seen.out == f"password: hunter2two, [REDACTED_API_KEY], {TAG}\n"


@pytest.fixture
def old(claw, ours):
    """A memory from before keys were taken out, changed and forgotten."""
    text = (ours / "config.toml").read_text()
    (ours / "config.toml").write_text(text.replace(KEY, "12345678:x"))
    for words in (f"first {KEY}", f"second {' '.join(KEY)}", "third"):
        claw("memory", "store", "note", words)
    claw("memory", "store", KEY, "tea under a key")
    claw("memory", "store", "gone", f"{KEY} is gone")
    claw("memory", "forget", "gone")
    claw("memory", "store", "tea", "green tea")
    (ours / "config.toml").write_text(text)
    return ours


def test_doctor_and_check_name_memories_that_hold_keys(claw, old):
    for command in (["memory", "check"], ["doctor"]):
        done = claw(*command, "--json")
        row, = [c for c in json.loads(done.out)["checks"]
                if c["id"] == "memory.secrets"]

        assert row["status"] == "warn"
        assert "stands in 4 memories" in row["detail"]
        assert "claw memory check --redact" in row["hint"]


def test_what_was_kept_before_is_printed_without_keys(claw, old):
    for command in (["memory", "list"], ["memory", "history", "note"],
                    ["memory", "recall", "tea"], ["memory", "list", "--json"],
                    ["memory", "get", KEY, "--json"]):
        done = claw(*command)

        assert done.code == 0
        assert KEY not in done.out
        assert " ".join(KEY) not in done.out


def test_redact_takes_them_out_for_good(claw, old):
    done = claw("memory", "check", "--redact")
    again = claw("memory", "check", "--json")
    past = claw("memory", "history", "note", "--show-secrets")

    assert done.code == 0
    assert "4 memories redacted" in done.err
    assert {c["id"]: c["status"] for c in json.loads(again.out)["checks"]}[
        "memory.secrets"] == "ok"
    assert past.out.count(TAG) == 2
    assert claw("memory", "get", "tea").out == "green tea\n"
    assert claw("memory", "get", TAG).out == "tea under a key\n"
    assert claw("memory", "recall", "REDACTED tea key").code == 0
    assert KEY.encode() not in written(old)
    assert " ".join(KEY).encode() not in written(old)
    assert b"fm2kx9lw4rt8vb3n" not in written(old)  # the word index


def test_a_tools_output_is_printed_without_keys(claw, ours):
    workspace = ours / "workspace"
    workspace.mkdir()
    (workspace / "notes.txt").write_text(f"token {FORMED} and {KEY}\n")
    args = json.dumps({"path": "notes.txt"})
    done = claw("tool", "run", "file_read", args)
    whole = claw("tool", "run", "file_read", args, "--show-secrets")

    assert FORMED not in done.out
    assert KEY not in done.out
    assert FORMED in whole.out
    assert KEY in whole.out


def test_a_copy_of_the_memory_is_whole(claw, ours):
    claw("memory", "store", "wifi", FORMED)

    assert FORMED in claw("memory", "export").out
