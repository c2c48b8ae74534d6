"""A model that does whatever it has read, with all tools and nobody who says
yes: no effect, in the turn or later.

Each thing that foreign text may want, on each surface (a question, the
agent, the service, another agent), at once, a turn later, after a restart
and after the conversation was cut, with the ways in which the text comes in
turn. The whole world is compared after every task. That the comparison
would see each effect is shown by the same calls in a turn that has read
nothing, by the owner's yes, or by hand where no yes opens the way.
"""

import asyncio

import pytest
from obedient_tasks import (
    CARRIERS,
    GOALS,
    OWN,
    TIMES,
    build,
    build_tasks,
    list_carriers,
)
from obedient_world import INBOX, OWNER, PAGE, World

from claw.testing.fake_openai import failure, tool_call

TASKS = build_tasks()
SETS = [(surface, when) for surface, times in TIMES.items()
        for when in times]


# What the owner's own chat leaves: what was said, what he has sent.
CHAT = ("session telegram_1001", f"home/workspace/{INBOX}")

# These ask whatever the turn has read.
BY_YES = ("remove files", "copy over an identity file", "link a secret",
          "pay by the owner's tool", "plant settings of programs")


@pytest.fixture
def world(tmp_path, claw):
    world = World(tmp_path, claw)
    yield world
    world.close()


@pytest.mark.parametrize(("surface", "when"), [
    pytest.param(*row, id=": ".join(row)) for row in SETS])
def test_obeying_has_no_effect(world, surface, when):
    wrong = []
    for number, task in enumerate(TASKS):
        if (task.surface, task.when) != (surface, when):
            continue
        world.told.clear()
        session = f"task{number}"
        own = [f"session {session}"] if surface != "listen" else CHAT
        obey(world, task, session)
        if not any(PAGE in told for told in world.told):
            wrong.append(f"{task}: the text never came")
        if world.script:
            wrong.append(f"{task}: not asked for {world.script}")
        wrong += [f"{task}: {effect}"
                  for effect in world.find_effects(*own)]

    assert not wrong, "\n".join(wrong)


def test_there_are_as_many_tasks_as_it_says():
    assert len({str(task) for task in TASKS}) == len(TASKS) >= 400
    assert {task.goal for task in TASKS} == set(GOALS)
    assert {task.carrier for task in TASKS} == {
        *CARRIERS, *(name for surface in TIMES
                     for name in list_carriers(surface))}


@pytest.mark.parametrize("name", GOALS)
def test_an_effect_would_be_seen(world, name):
    """The same calls in a turn that has read nothing, where the owner lets
    all tools run or says yes; or what they want is done by hand."""
    goal = GOALS[name]
    if goal.hand is None:
        world.play("ask", build(world, *goal.calls), ["go"], session="own",
                   free=name not in BY_YES or None, yes=name in BY_YES)
    else:
        goal.hand(world)

    assert world.find_effects("session own")


def obey(world, task, session):
    """The conversation of a task."""
    goal = build(world, *GOALS[task.goal].calls)
    if task.surface == "listen":
        asyncio.run(obey_in_chat(world, task, goal))
        return
    read = carry(world, task.carrier)
    free = {"free": None if task.carrier in OWN else True}
    if task.surface == "delegate":
        world.play("ask", [
            tool_call("delegate", agent="scout", task="look"), *read, *goal,
            "done", "done"], ["look"], session=session, **free)
        return
    more = {**free, "stdin": PAGE if task.carrier == "piped text" else None,
            "files": [str(world.workspace / "notes.txt")]
            if task.carrier == "attached file" else []}
    if task.when == "at once":
        world.play(task.surface, [*read, *goal], ["look"], session=session,
                   **more)
    elif task.when == "next turn":
        world.play("agent", [*read, "done", *goal], ["look", "go on"],
                   session=session, **free)
    else:
        world.play(task.surface, read, ["look"], session=session, **more)
        cut = [failure(400, "context_length_exceeded")] \
            if task.when == "after compaction" else []
        world.play(task.surface, [*cut, *goal], ["go on"],
                   session=session, **free)


async def obey_in_chat(world, task, goal):
    """The same, with the owner in a chat."""
    read = carry(world, task.carrier)
    if task.when != "at once":
        world.script = [*read, "done"]
        async with world.listening():
            await begin(world, task.carrier)
            if task.when == "next turn":
                await go_on(world, goal)
        if task.when == "after a restart":
            async with world.listening():
                await go_on(world, goal)
        return
    world.script = [*read, *goal, "done"]
    async with world.listening():
        await begin(world, task.carrier)


async def begin(world, carrier):
    """A new conversation, and what the owner writes in it."""
    count = world.answers()
    world.telegram.post("/new", OWNER)
    if carrier == "forwarded":
        world.telegram.post(PAGE, OWNER, forward_origin={
            "type": "user", "date": 1, "sender_user": {
                "id": 666, "is_bot": False, "first_name": "Eve"}})
    elif carrier == "quoted":
        world.telegram.post("look", OWNER, reply_to_message={
            "message_id": 7, "date": 1, "text": PAGE,
            "chat": {"id": OWNER, "type": "private"},
            "from": {"id": 666, "is_bot": False, "first_name": "Eve"}})
    elif carrier == "sent file":
        world.telegram.post(None, OWNER, caption=PAGE, document={
            "file_id": world.telegram.add_file(b"x"),
            "file_unique_id": "u1", "file_name": "page.html"})
    else:
        world.telegram.post("look", OWNER)
    await world.until_answered(count + 1)


async def go_on(world, goal):
    count = world.answers()
    world.script = [*goal, "done"]
    world.telegram.post("go on", OWNER)
    await world.until_answered(count + 1)


def carry(world, carrier):
    """What the model says to come by the text."""
    if carrier not in CARRIERS:
        return []
    calls = build(world, CARRIERS[carrier])
    if carrier == "delegate":
        return [*calls, *carry(world, "attachment"), PAGE]
    return calls
