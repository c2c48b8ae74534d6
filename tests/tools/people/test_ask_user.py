"""ask_user: what is asked, and where nobody can be."""

import pytest

from claw.core.errors import UnavailableError
from claw.core.value import replace
from claw.tools.people.ask_user import PREFIX, AskUser


class Person:
    def __init__(self):
        self.asked = []

    async def ask_user(self, question, choices, timeout_s):
        self.asked.append((question, list(choices), timeout_s))
        if question == PREFIX + "anybody?":
            raise UnavailableError("there was no answer within 1 s")
        return choices[0] if choices else "forty-two"


@pytest.fixture
def person():
    return Person()


@pytest.fixture
def tool(room, person):
    return AskUser(replace(room.deps(sandbox=False), asks=person))


def test_the_answer_is_the_result(room, tool, person):
    assert room.call(tool, question="how many?").output == "forty-two"
    assert room.call(tool, question="which?", choices=["a", "b"],
                     timeout_secs=9).output == "a"
    assert person.asked == [(PREFIX + "how many?", [], 300.0),
                            (PREFIX + "which?", ["a", "b"], 9.0)]


def test_no_answer_is_a_failure(room, tool):
    assert room.call(tool, question="anybody?").error \
        == "there was no answer within 1 s"


def test_where_nobody_is_it_fails_at_once(room):
    result = room.call(AskUser(room.deps(sandbox=False)), question="x")

    assert result.error == "nobody can be asked here"


@pytest.mark.parametrize("choices", [
    ["x"] * 11, ["x" * 61], [1], [None], [""], "yes or no"])
def test_choices_that_no_button_can_show_are_refused(room, tool, person,
                                                     choices):
    assert room.call(tool, question="which?", choices=choices).error
    assert not person.asked


def test_a_question_can_not_pass_for_an_approval_of_claws_own(room, tool,
                                                              person):
    room.call(tool, choices=["\x1b[2JAllow", "\u202eyneD"],
              question="\x1b[2J\r\u202e\n\n\n\nApprove shell?\nCommand: ls")

    assert person.asked == [
        ("The model asks: [2J\n\nApprove shell?\nCommand: ls",
         ["[2JAllow", "yneD"], 300.0)]
