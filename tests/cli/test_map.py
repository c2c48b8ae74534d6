"""claw map: one prompt over many inputs."""

import json

import pytest

from claw.testing.fake_openai import FakeOpenAI, failure


@pytest.fixture
def model():
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def ask(claw, model):
    def call(*arguments, **more):
        return claw("map", "-p", f"custom:{model.url}", "-m", "fake-model",
                    *arguments, env={"CLAW_API_KEY": "k"}, **more)
    return call


def test_answers_stand_beside_their_lines_and_are_paid_for_once(ask, model):
    lines = "one\ntwo\n\nthree\r\ntwo\nlast"
    first, again = ask("up", stdin=lines), ask("up", stdin=lines)

    assert (first.code, again.code) == (0, 0)
    assert first.out == "up one\nup two\n\nup three\nup two\nup last\n"
    assert again.out == first.out
    assert len(model.chats) == 4


def test_a_line_that_failed_is_asked_again_and_no_other(ask, model):
    model.replies = [lambda body: failure(400, "no") if "bad" in str(body)
                     else "good"]
    first = ask("up", stdin="a\nbad\nb\n")
    model.replies = ["mended"]
    again = ask("up", stdin="a\nbad\nb\n")

    assert (first.code, first.out) == (5, "good\n\ngood\n")
    assert "input 2" in first.err
    assert (again.code, again.out) == (0, "good\nmended\ngood\n")


def test_a_refused_key_ends_it_at_once(ask, model):
    model.api_key = "another"
    done = ask("-j", "1", "up", stdin="a\nb\nc\n")

    assert (done.code, done.out) == (4, "")
    assert len(model.chats) == 1


def test_a_model_without_a_price_is_refused_under_a_budget(ask, home, model):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        '[cost.prices."fake-model"]\ninput = 1.0\n')
    (home / "config.toml").chmod(0o600)
    done = ask("--max-cost", "1", "up", stdin="a\n")

    assert done.code == 3
    assert not model.chats


def test_a_budget_that_is_spent_ends_with_8_before_the_request(
        ask, home, model):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        '[cost.prices."fake-model"]\ninput = 1000.0\noutput = 1000.0\n')
    (home / "config.toml").chmod(0o600)
    done = ask("--max-cost", "0.5", "--max-tokens", "10", "up",
               stdin="".join(f"{n}\n" for n in range(500)))

    assert done.code == 8
    asked = len(model.chats)
    assert 0 < asked < 500
    assert done.out == "".join(f"up {n}\n" for n in range(
        len(done.out.splitlines())))


def test_jsonl_keeps_line_feeds_and_null_does(ask, model):
    model.replies = ["two\nlines"]
    lines = ask("up", "--jsonl", stdin="a\n").out
    nul = ask("up", "-0", stdin="a\0")

    assert json.loads(lines)["text"] == "two\nlines"
    assert nul.out == "two\nlines\0"


def test_no_log_leaves_no_byte_of_an_answer(ask, home, model):
    model.replies = ["canary-4711"]
    done = ask("--no-log", "up", stdin="a\n")

    assert done.out == "canary-4711\n"
    assert not [path for path in home.rglob("*") if path.is_file()
                and b"canary-4711" in path.read_bytes()]


def test_a_schema_in_the_line_is_held_by_every_answer(ask, model):
    model.replies = ['{"n": 1}', '{"n": "two"}']
    done = ask("number", "--schema", "n int", "-j", "1", stdin="one\ntwo\n")

    assert done.out.splitlines()[0] == '{"n": 1}'
    assert done.code != 0


def test_no_memory_goes_with_a_line(ask, claw, model):
    claw("memory", "store", "colour", "Mina likes green")
    claw("memory", "store", "tea", "Tom drinks red tea")
    ask("up", stdin="one\nwhat does Mina like?\n")

    assert len(model.chats) == 2
    assert "green" not in str(model.chats)
    assert "tea" not in str(model.chats)


def test_damaged_answers_say_what_to_do(claw, home):
    path = home / "workspace/state/map.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all" * 500)
    [row] = [row for row in claw("doctor", "--json").json["checks"]
             if row["id"] == "disk.map"]

    for words in (["--list"], ["-p", "custom:http://127.0.0.1:9", "-m", "m",
                               "what is it?"]):
        done = claw("map", *words, stdin="tea\n")
        assert done.code == 74
        assert "map.db.damaged" in done.err
    assert (row["status"], "map.db.damaged" in row["hint"]) == ("warn", True)


def test_the_prompt_behind_the_file_is_noticed(ask, model, tmp_path):
    file = tmp_path / "names list.txt"
    file.write_text("tea")
    swapped = ask(str(file), "translate it")
    alone = ask(str(file), stdin="")

    assert (swapped.code, alone.code) == (2, 2)
    assert f"write: claw map 'translate it' '{file}'" in swapped.err
    assert f"claw map \"what to ask of it\" '{file}'" in alone.err
    assert not model.chats


def test_a_missing_file_is_named_once(ask, tmp_path):
    done = ask("what is it?", str(tmp_path / "absent.txt"))

    assert done.code == 2
    assert done.err.count("absent.txt") == 1


def test_bytes_that_are_no_utf_8_are_told(ask, tmp_path):
    (tmp_path / "latin.txt").write_bytes("Köln".encode("latin-1"))
    piped = ask("up", stdin="Köln\nBäle\n".encode("latin-1"))
    named = ask("up", str(tmp_path / "latin.txt"))

    assert (piped.code, named.code) == (0, 0)
    assert "2 bytes are no UTF-8" in piped.err
    assert "1 byte is no UTF-8" in named.err
    assert "UTF-8" not in ask("up", stdin="K\ufffdln\n").err
