"""poll and reaction: what a chat is shown."""

import pytest

from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.tools.people.poll import Poll
from claw.tools.people.reaction import Reaction


class Outbox:
    channels = ("chat",)

    def __init__(self):
        self.rows = []

    async def send_text(self, source, target, text):
        raise AssertionError("a poll is no text")

    async def send_poll(self, source, target, question, options):
        self.rows.append((target, question, list(options)))
        return "Sent"

    async def react(self, emoji, *, add):
        self.rows.append((emoji, add))


@pytest.fixture
def outbox():
    return Outbox()


@pytest.fixture
def poll(room, outbox):
    return Poll(replace(room.deps(sandbox=False), send=outbox))


def test_a_poll_goes_to_the_chat_of_the_turn_or_where_it_is_told(
        room, poll, outbox):
    turn = TurnContext("channel", channel="chat:home", reply_target="-7:3")
    tea = {"question": "Which\n tea?", "options": ["green", " black "]}

    assert room.call(poll, turn, **tea).success
    assert room.call(poll, None, to="chat:9", **tea).success
    assert outbox.rows == [
        ("chat:-7:3", "Which tea?", ["green", "black"]),
        ("chat:9", "Which tea?", ["green", "black"])]
    assert room.call(poll, None, **tea).error \
        == "this turn has no chat; say where with: to"


@pytest.mark.parametrize("options", [
    ["one"], ["x"] * 2, list("abcdefghijk"), ["a", "b" * 101], ["a", " "],
    ["a", 1], "a or b", ["a\u202e", "a"]])
def test_options_that_no_poll_can_have_are_refused(room, poll, outbox,
                                                   options):
    assert room.call(poll, None, to="chat:9", question="?",
                     options=options).error
    assert not outbox.rows


@pytest.mark.parametrize("question", ["", " \n", "x" * 251])
def test_a_question_has_some_words_and_not_too_many(room, poll, question):
    assert room.call(poll, None, to="chat:9", question=question,
                     options=["a", "b"]).error


@pytest.mark.parametrize("emoji", ["👍", "❤️", "👨‍👩‍👧‍👦", "🇩🇪", " ✅ "])
def test_an_emoji_is_shown_and_taken_back(room, outbox, emoji):
    tool = Reaction(replace(room.deps(sandbox=False), reacts=outbox))

    assert room.call(tool, emoji=emoji).success
    assert room.call(tool, emoji=emoji, action="remove").success
    assert outbox.rows == [(emoji.strip(), True), (emoji.strip(), False)]


@pytest.mark.parametrize("emoji", ["ok", "👍 to all", "x", "1", "好", "\u202e",
                                   "👍" * 17])
def test_words_are_no_reaction(room, outbox, emoji):
    tool = Reaction(replace(room.deps(sandbox=False), reacts=outbox))

    assert room.call(tool, emoji=emoji).error == "that is no single emoji"
    assert not outbox.rows


def test_without_a_message_there_is_nothing_to_react_to(room):
    assert room.call(Reaction(room.deps(sandbox=False)), emoji="👍").error \
        == "there is no message here to react to"
