"""A typed function is a tool."""

import asyncio
import dataclasses
import datetime
import enum
import sys
import threading
import time
from typing import Literal

import pytest

import claw
from claw.core.errors import UsageError
from claw.core.tool import ToolResult
from claw.testing.contracts.tool import ToolContract
from claw.tools.offer.checked import Denial
from claw.tools.offer.function import FunctionTool


class Order(enum.Enum):
    DUE = "due"
    TITLE = "title"


@dataclasses.dataclass
class Task:
    title: str
    due: datetime.date


@claw.reads
def find_tasks(course: str, *, until: datetime.date | None = None,
               order: Order = Order.DUE,
               tags: list[str] = []) -> list[Task]:  # noqa: B006
    """List the tasks
    of a course.

    course: the course's name
    :param tags: only with these
    """
    day = until or datetime.date(2026, 11, 30)
    return [Task(f"{course} {order.name} {'+'.join(tags)}", day)]


@claw.asks
async def hand_in(task: Task, way: Literal["mail", "upload"] = "mail"
                  ) -> ToolResult:
    """Hand a task in."""
    return ToolResult(output=f"{task.title} by {way}")


def change(number: int) -> None:
    """Change a number."""


def run(tool, **args):
    return asyncio.run(tool.execute(args))


class TestFindTasks(ToolContract):
    arguments = {"course": "maths", "tags": ["a"]}

    def make(self, deps):
        return FunctionTool(find_tasks, deps)


class TestHandIn(TestFindTasks):
    arguments = {"task": {"title": "essay", "due": "2026-12-01"}}

    def make(self, deps):
        return FunctionTool(hand_in, deps)


def test_signature_and_docstring_become_the_schema(room):
    tool = FunctionTool(find_tasks, room.deps())
    schema = tool.parameters_schema()

    assert tool.description == "List the tasks of a course."
    assert schema["required"] == ["course"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["course"] == {
        "type": "string", "description": "the course's name"}
    assert schema["properties"]["tags"]["description"] == "only with these"
    assert schema["properties"]["tags"]["default"] == []
    assert schema["$defs"]["Order"]["enum"] == ["due", "title"]


def test_arguments_arrive_in_the_types_of_the_signature(room):
    result = run(FunctionTool(find_tasks, room.deps()), course="수학",
                 until="2026-12-01", order="title", tags=None)

    assert result.output == '[{"title":"수학 TITLE ","due":"2026-12-01"}]'


def test_an_async_function_is_awaited(room):
    result = run(FunctionTool(hand_in, room.deps()),
                 task={"title": "essay", "due": "2026-12-01"})

    assert result.output == "essay by mail"


@pytest.mark.parametrize(("args", "said"), [
    ({}, "course"), ({"course": "a", "cuorse": "b"}, "cuorse"),
    ({"course": "a", "until": "soon"}, "until"),
    ({"course": "a", "order": "size"}, "order")])
def test_wrong_arguments_are_answered_before_anyone_is_asked(
        room, args, said):
    tool = FunctionTool(find_tasks, room.deps())

    assert said in tool.problem(args)
    assert said in run(tool, **args).error


def test_what_is_declared_beside_a_function(room):
    tools = [FunctionTool(f, room.deps())
             for f in (find_tasks, hand_in, change)]

    assert [(t.reads, t.asks) for t in tools] == [
        (True, False), (False, True), (False, False)]


def test_a_list_that_a_function_changes_is_new_in_the_next_call(room):
    def collect(word: str, words: list[str] = []) -> str:  # noqa: B006
        """Collect words."""
        words.append(word)
        return " ".join(words)
    tool = FunctionTool(collect, room.deps())

    assert [run(tool, word=w).output for w in "ab"] == ["a", "b"]


def test_read_only_mode_and_the_hours_actions_hold(room):
    acting = FunctionTool(change, room.deps(level="readonly"))
    counted = FunctionTool(find_tasks, room.deps(max_actions_per_hour=1))

    assert isinstance(run(acting, number=1), Denial)
    assert run(counted, course="a").success
    assert isinstance(run(counted, course="a"), Denial)


def stop() -> str:
    """Ends the process, were it let."""
    sys.exit("the disk is gone")


async def stop_later() -> str:
    """The same, awaited."""
    sys.exit("the disk is gone")


def find_first() -> str:
    """A future can't hold what this raises."""
    return next(iter([]))


async def give_up() -> str:
    """Cancels itself."""
    raise asyncio.CancelledError


def fail() -> str:
    """A plain fault."""
    raise ValueError("the disk is gone")


@pytest.mark.parametrize(("function", "said"), [
    (stop, "SystemExit: the disk is gone"),
    (stop_later, "SystemExit: the disk is gone"),
    (find_first, "StopIteration"), (give_up, "CancelledError"),
    (fail, "ValueError: the disk is gone")])
def test_whatever_a_function_raises_is_an_answer(room, function, said):
    async def call():
        async with asyncio.timeout(5):
            return await FunctionTool(function, room.deps()).execute({})
    result = asyncio.run(call())

    assert not result.success
    assert said in result.error


def test_a_function_that_hangs_does_not_keep_claw_from_ending(room):
    release = threading.Event()

    def hang() -> str:
        """Wait for ever."""
        release.wait(30)
        return ""

    async def call():
        async with asyncio.timeout(0.2):
            await FunctionTool(hang, room.deps()).execute({})
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(call())
    took = time.monotonic() - start
    release.set()

    assert took < 5


def untyped(x):
    """No type."""


def collected(*args: str):
    """Any number."""


class Odd:
    """No type of JSON."""


def custom(x: Odd):
    """A type of no JSON."""


def 과제(x: int):
    """The name is Korean."""


@pytest.mark.parametrize("function", [untyped, collected, custom, 과제])
def test_a_function_that_no_model_can_call_is_refused(room, function):
    with pytest.raises(UsageError) as caught:
        FunctionTool(function, room.deps())

    assert function.__name__ in caught.value.message
    assert caught.value.hint


def test_what_a_generator_gives_is_a_list(room):
    def count(to: int) -> list[int]:
        """Count."""
        yield from range(to)

    assert run(FunctionTool(count, room.deps()), to=3).output == "[0,1,2]"


def test_an_async_generator_is_refused(room):
    async def count(to: int):
        """Count."""
        yield to

    with pytest.raises(UsageError, match="yield"):
        FunctionTool(count, room.deps())
