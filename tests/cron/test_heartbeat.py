"""The tasks of HEARTBEAT.md."""

import pytest

from claw.cron.heartbeat import list_tasks, says_nothing, write_prompt

FILE = """# Heartbeat

- look at the mail
* [low] water the plants
- [paused] tidy up
- [ ] call Mina
- [x] buy tea
- [high] read the alarm
- [high|paused] nothing
  - [urgent] below another
<!--
- an example
-->
```
- code
```
-
-nothing
"""


def test_tasks_are_the_lines_that_are_on_the_urgent_ones_first():
    assert list_tasks(FILE) == [
        "read the alarm", "below another", "look at the mail",
        "water the plants", "call Mina"]


@pytest.mark.parametrize("text", [
    "", "# Heartbeat\n\nNothing to do.\n", "<!-- - an example", "- ",
    "- [x] done", "```\n- code", "\0\ufffd",
])
def test_a_file_without_tasks_has_none(text):
    assert list_tasks(text) == []


def test_the_prompt_holds_each_task_and_a_word_for_nothing():
    prompt = write_prompt(["look at the mail", "call Mina"])
    assert "- look at the mail\n- call Mina\n" in prompt
    assert "HEARTBEAT_OK" in prompt


@pytest.mark.parametrize(("answer", "nothing"), [
    ("HEARTBEAT_OK", True), (" **heartbeat_ok**.\n", True),
    ("`HEARTBEAT_OK`", True), ("HEARTBEAT OK", True),
    ("", False), ("HEARTBEAT_OK, but the disk is full", False), ("OK", False),
])
def test_an_answer_that_says_nothing_is_known(answer, nothing):
    assert says_nothing(answer) is nothing
