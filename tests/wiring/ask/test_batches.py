"""Many things put to a model, a batch a call."""

import json

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import BudgetError, ConfigError, RequestRefusedError
from claw.testing.fake_openai import FakeOpenAI
from claw.wiring.ask.batches import SIZE, Asked, ask_in_batches

SCHEMA = {"word": {"type": "string"}}


@pytest.fixture
def ask(tmp_path):
    """ask(server, number of things): what the model says, and the notes."""
    (tmp_path / "config.toml").write_text(
        '[cost.prices."m"]\ninput = 1.0\noutput = 1.0\n')

    def call(server, number, **asked):
        notes = []
        found = [one for batch in ask_in_batches(
            load(locate(str(tmp_path), None)),
            Asked(**{"provider": f"custom:{server.url}", "model": "m",
                     **asked}),
            "Say a word.", [f"thing {n}" for n in range(number)], SCHEMA,
            notes.append) for one in batch]
        return found, notes
    return call


def echo(body):
    rows = [json.loads(line) for line
            in body["messages"][-1]["content"].splitlines()
            if line.startswith('{"n"')]
    return json.dumps({"answers": [
        {"n": row["n"], "word": row["text"]} for row in rows]})


def test_each_thing_is_asked_for_once_and_keeps_its_place(ask):
    with FakeOpenAI([echo]) as server:
        found, _ = ask(server, SIZE + 3)

    assert [(one["n"], one["word"]) for one in found] == [
        (n, f"thing {n}") for n in range(SIZE + 3)]
    assert len(server.requests) == 2


def test_what_the_model_makes_up_is_dropped(ask):
    said = json.dumps({"answers": [{"n": 1, "word": "b"},
                                   {"n": 7, "word": "made up"}]})
    with FakeOpenAI([said]) as server:
        found, _ = ask(server, 3)

    assert found == [{"n": 1, "word": "b"}]


def test_an_answer_of_another_shape_is_refused(ask):
    with FakeOpenAI(["no JSON at all"]) as server, \
            pytest.raises(RequestRefusedError):
        ask(server, 3)


def test_money_that_is_spent_keeps_what_was_paid_for(ask):
    with FakeOpenAI([echo]) as server:
        ask(server, SIZE)
        found, notes = ask(server, 3 * SIZE, max_cost_usd=0.00145)

    assert len(found) == SIZE
    assert any("was not asked about" in note for note in notes), notes


def test_no_money_asks_nothing(ask):
    with FakeOpenAI([echo]) as server, pytest.raises(BudgetError):
        ask(server, 3, max_cost_usd=0.0)

    assert not server.requests


def test_a_provider_without_a_model_is_no_answer(ask):
    with FakeOpenAI([echo]) as server, pytest.raises(ConfigError):
        ask(server, 3, provider="offline", model=None)
