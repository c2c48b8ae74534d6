"""The tasks of HEARTBEAT.md as the prompt of a job.

A line "- text" is a task; "- [high] text" comes first; "- [paused] text",
"- [x] text" and what stands in a comment (<!-- -->) or a code block is none.
Pure.
"""

import re

FILE = "HEARTBEAT.md"
ID = "heartbeat"
NOTHING = "HEARTBEAT_OK"  # an answer that says no more is sent nowhere
NO_TASKS = f"{FILE} holds no task"
_OFF = ("paused", "completed", "done", "off", "x")
_FIRST = ("high", "urgent")
_MOST_CHARS = 20_000
_unseen = re.compile(r"<!--.*?(?:-->|\Z)|^(```|~~~).*?(?:^\1|\Z)",
                     re.DOTALL | re.MULTILINE)
_task = re.compile(
    r"^[ \t]*[-*+][ \t]+(?:\[([^\]\n]*)\][ \t]*)?(\S.*?)[ \t\r]*$",
    re.MULTILINE)


def list_tasks(text: str) -> list[str]:
    """The tasks that are on, the urgent ones first."""
    first: list[str] = []
    rest: list[str] = []
    for mark, task in _task.findall(_unseen.sub("", text)):
        words = re.split(r"[\s,|/:]+", mark.strip().lower())
        if not set(words).intersection(_OFF):
            (first if set(words).intersection(_FIRST) else rest).append(task)
    return first + rest


def write_prompt(tasks: list[str]) -> str:
    """What the agent is asked of them."""
    listed = "\n".join(f"- {task}" for task in tasks)[:_MOST_CHARS]
    return (
        f"It is time for the tasks of {FILE}. Look after each one that is "
        "due now, and tell me only what I should know or do.\n\n"
        f"{listed}\n\nWhen there is nothing to tell, answer {NOTHING} and "
        "no other word.")


def says_nothing(answer: str) -> bool:
    """Whether an answer is HEARTBEAT_OK, however it is set."""
    return re.sub(r"[\s*_`\"'.!]+", "", answer).upper() \
        == NOTHING.replace("_", "")
