"""What the scheduler makes of due jobs."""

import asyncio

import pytest

from claw.core.errors import RequestRefusedError, UnavailableError
from claw.core.provider import ChatResponse, ToolCall
from claw.core.tool import Tool, ToolResult
from claw.core.value import replace
from claw.cron.declared import read_declared
from claw.storage.jobs.model import Delivery
from claw.storage.jobs.settings import (
    DeclaredJob,
    DeclaredSchedule,
    SchedulerSettings,
)


class Probe(Tool):
    """A tool that wants a yes."""

    name = "probe"
    description = "changes the world"

    def __init__(self):
        self.runs = 0

    def parameters_schema(self):
        return {"type": "object", "properties": {}}

    async def execute(self, args):
        self.runs += 1
        return ToolResult("probed")


CALL = ChatResponse(tool_calls=(ToolCall("1", "probe", "{}"),))
FREE = {"level": "full"}


def test_a_prompt_is_answered_where_the_job_says(shift, go):
    one = shift(["Good morning."])
    id = one.add(name="greeting")

    go(one.pass_time())

    assert one.runs(id) == [("ok", "Good morning.")]
    assert one.outbox.texts == ["Good morning."]
    assert one.provider.requests[0].last.content.endswith(
        f"[cron:{id} greeting] hello")


def test_the_outcome_goes_to_the_chat_once(shift, go):
    one = shift(["a", "b"])
    one.add()

    async def act():
        await one.pass_time()
        for _ in range(3):
            await one.pass_time(1)
    go(act())

    [(source, (channel, message))] = one.outbox.posted.items()
    assert source.endswith(":2026-01-01T00:01:00.000Z")
    assert (channel, message.recipient, message.content) == (
        "telegram", "7", "a")
    assert not message.files


def test_a_command_runs_in_the_sandbox_and_sends_no_link(shift, go):
    one = shift()
    id = one.add(command="echo see https://example.org/x; pwd")

    go(one.pass_time())

    [(status, output)] = one.runs(id)
    assert status == "ok"
    assert output.startswith("see https://example.org/x\n/")
    [(_, message)] = one.outbox.posted.values()
    assert message.links == ()


@pytest.mark.parametrize(("command", "status", "text"), [
    ("ls nothing-here", "error", "nothing-here"),
    ("rm -rf x", "denied", "not in autonomy.allowed_commands"),
    ("git push", "denied", "require_approval_for_medium_risk false"),
    ("cat /etc/shadow", "denied", "Path blocked"),
])
def test_a_command_that_fails_or_may_not_says_so(shift, go, command, status,
                                                 text):
    one = shift()
    id = one.add(command=command, name="c")

    go(one.pass_time())

    [(found, output)] = one.runs(id)
    assert (found, text in output) == (status, True), output
    assert one.outbox.texts[0].startswith("⚠️ Job c ")


def test_a_command_past_its_time_is_ended(shift, go):
    one = shift()
    id = one.add(command="sleep 30", timeout_s=1)

    go(one.pass_time())

    assert one.runs(id)[0][0] == "error"
    assert "timed out after 1s" in one.runs(id)[0][1]


# what a run may

def test_a_call_that_nobody_allows_ends_the_run_as_denied(shift, go):
    probe = Probe()
    one = shift([CALL, "I could not."], tools=[probe])
    id = one.add()

    go(one.pass_time())

    [(status, output)] = one.runs(id)
    assert (status, probe.runs) == ("denied", 0)
    assert output.startswith("I could not.\n\nnot done: probe")
    assert "claw permission" in output or "nobody could be asked" in output


def test_a_run_has_the_tools_of_its_job_alone(shift, go):
    one = shift(["done"] * 3, tools=[Probe()], autonomy=FREE)
    for more in ({"allowed_tools": ()},
                 {"policy": {"excluded_tools": ["probe"]}},
                 {"allowed_tools": ("probe",)}):
        one.add(**more)

    go(one.pass_time())

    offered = sorted(bool(asked.request.tools)
                     for asked in one.provider.requests)
    assert offered == [False, False, True]


def test_a_job_asks_the_model_that_it_names(shift, go):
    one = shift(["done"])
    one.add(model="gpt-9")

    go(one.pass_time())

    assert one.provider.requests[0].model == "gpt-9"


@pytest.mark.parametrize(("spent", "cents", "limit", "status"), [
    (0.0, 10, None, "ok"), (0.1, 10, None, "denied"),
    (0.06, 10, 5, "denied"), (0.05, 10, 5, "ok")])
def test_a_run_that_would_pass_its_months_budget_is_not_begun(
        shift, go, spent, cents, limit, status):
    one = shift(["done"])
    id = one.add(monthly_cents=cents, policy=limit and {
        "max_cost_per_turn_cents": limit})
    run = one.jobs.begin_run(id, "before")
    one.jobs.end_run(run, "", cost_usd=spent)

    go(one.pass_time())

    assert one.statuses(id)[1] == status
    assert len(one.provider.requests) == (status == "ok")
    if status == "denied":
        assert "Budget exceeded" in one.outbox.texts[0]


def test_the_next_month_has_a_budget_of_its_own(shift, go):
    one = shift(["done"] * 3)
    one.costs["any"] = 0.06
    id = one.add(86_400 * 20, monthly_cents=5)

    async def act():
        for _ in range(3):
            await one.pass_time(86_400 * 20)
    go(act())  # 21 January, 10 February, 2 March

    assert one.statuses(id) == ["ok", "ok", "ok"]
    assert one.jobs.get(id).month_usd == 0.06


# prechecks

@pytest.mark.parametrize(("precheck", "status", "asked"), [
    ("test -e nothing", "skipped", 0), ("ls nothing", "skipped", 0),
    ("echo three new", "ok", 1), ("nosuchprogram", "denied", 0),
    ("python3 -c 'exit(127)'", "denied", 0)])
def test_a_precheck_comes_before_any_model(shift, go, precheck, status,
                                           asked):
    one = shift(["done"])
    id = one.add(precheck=precheck)

    go(one.pass_time())

    assert one.statuses(id) == [status]
    assert len(one.provider.requests) == asked
    assert bool(one.outbox.posted) == (status != "skipped")


def test_what_a_precheck_says_is_read_as_foreign_text(shift, go):
    probe = Probe()
    one = shift(["done"], tools=[probe])
    one.add(precheck="echo three new mails")
    one.add(precheck="test -e nothing")

    go(one.pass_time())

    assert one.provider.requests[0].last.content.endswith(
        "hello\n\nOutput of `echo three new mails`:\nthree new mails\n")
    [(_, end)] = [one_turn for one_turn in one.turns
                  if hasattr(one_turn[1], "labels")]
    assert "command" in end.labels


# conversations

def test_a_job_may_go_on_where_it_ended(shift, go):
    one = shift(["one", "two", "three", "four"])
    one.add(session_target="own")
    one.add(seconds=120)

    async def act():
        await one.pass_time()
        await one.pass_time()
    go(act())

    lengths = sorted(len([m for m in asked.messages if m.role != "system"])
                     for asked in one.provider.requests)
    assert lengths == [1, 1, 3]


# trouble

def test_a_model_that_is_away_is_asked_again(shift, go):
    one = shift([UnavailableError("away"), UnavailableError("away"), "here"])
    id = one.add()

    go(one.pass_time())

    assert one.runs(id) == [("ok", "here")]


def test_nothing_is_repeated_once_a_tool_ran(shift, go):
    probe = Probe()
    one = shift([CALL, UnavailableError("away"), "again"], tools=[probe],
                autonomy=FREE)
    id = one.add()

    go(one.pass_time())

    assert one.runs(id) == [("error", "away")]
    assert probe.runs == 1


@pytest.mark.parametrize("error", [
    RequestRefusedError("no such model", hint="choose another"),
    ValueError("a fault"), UnavailableError("away")])
def test_a_run_that_fails_ends_no_other(shift, go, error):
    one = shift([error] * 3, retries=0)
    ids = [one.add(), one.add()]

    go(one.pass_time())

    assert [one.statuses(id) for id in ids] == [["error"], ["error"]]
    assert all("failed" in text for text in one.outbox.texts)


@pytest.mark.parametrize(("best_effort", "status"), [
    (True, "ok"), (False, "error")])
def test_a_failure_to_send_is_one_of_the_run_where_it_counts(
        shift, go, best_effort, status):
    one = shift(["done", "done"])
    there = one.add(delivery=Delivery("announce", "telegram", "7",
                                      best_effort))
    gone = one.add(delivery=Delivery("announce", "telegram", "8",
                                     best_effort))
    one.outbox.state = "failed"

    async def act():
        await one.pass_time()
        one.outbox.channels = []
        await one.pass_time(1)
    go(act())

    assert {one.statuses(id)[0] for id in (there, gone)} == {status}
    assert one.jobs.list_owed() == []


def test_what_is_awaited_is_looked_for_until_it_is_sent(shift, go):
    one = shift(["done"])
    id = one.add(delivery=Delivery("announce", "telegram", "7", False))
    one.outbox.state = "waiting"

    go(one.pass_time())
    assert one.jobs.list_runs(id)[0].delivery == "awaited"
    one.outbox.state = "sent"
    go(one.pass_time(1))

    assert one.jobs.list_runs(id)[0].delivery == "sent"


# limits

def test_no_more_jobs_run_at_once_than_allowed(shift, go, monkeypatch):
    one = shift(scheduler=SchedulerSettings(max_concurrent=2))
    for _ in range(5):
        one.add()
    busy, chat = [], one.provider.chat

    async def act():
        looked = asyncio.Event()

        async def wait(*request):
            await looked.wait()
            return await chat(*request)
        monkeypatch.setattr(one.provider, "chat", wait)
        one.now += 60
        runner = one.begin()
        await runner.begin()
        for _ in range(3):
            looked.clear()
            await runner.look()
            busy.append(runner.busy)
            looked.set()
            await runner.wait()
    go(act())

    assert busy == [2, 2, 1]
    assert len(one.provider.requests) == 5


def test_a_scheduler_that_is_off_runs_nothing(shift, go):
    one = shift(scheduler=SchedulerSettings(enabled=False))
    id = one.add()

    go(one.pass_time())

    assert one.runs(id) == []


# silence

def test_a_silent_job_is_told_of_once_and_its_return_too(shift, go):
    one = shift([RequestRefusedError("no"), RequestRefusedError("no"),
                 RequestRefusedError("no"), "well", "well"], retries=0)
    one.add(seconds=60, name="pulse", max_silence_s=100)

    async def act():
        for _ in range(5):
            await one.pass_time()
    go(act())

    told = [text for text in one.outbox.texts if "success since" in text
            or "succeeds again" in text]
    assert told == ["⚠️ Job pulse has had no success since "
                    "2026-01-01T00:00:00.000Z.",
                    "Job pulse succeeds again."]


def test_a_silent_job_without_a_chat_stands_in_the_health(shift, go):
    one = shift([RequestRefusedError("no")] * 9, retries=0)
    one.add(name="pulse", max_silence_s=10, delivery=Delivery())

    go(one.pass_time())

    assert one.notes["job:pulse"].startswith("no success since")


# the end of a process

class Waits(Probe):
    """A tool that does not come back."""

    def __init__(self):
        super().__init__()
        self.begun = asyncio.Event()

    async def execute(self, args):
        self.begun.set()
        await asyncio.Event().wait()


def hang(shift):
    tool = Waits()
    one = shift([CALL], tools=[tool], autonomy=FREE)
    return one, tool, one.add()


async def start(one, tool):
    one.now += 60
    runner = one.begin()
    await runner.begin()
    await runner.look()
    await tool.begun.wait()
    return runner


def test_a_run_that_takes_too_long_at_the_end_is_interrupted(shift, go):
    one, tool, id = hang(shift)

    async def act():
        runner = await start(one, tool)
        await runner.drain(0.01)
    go(act())

    assert one.statuses(id) == ["interrupted"]
    assert "was interrupted" in one.outbox.texts[0]


def test_a_run_is_given_time_to_end(shift, go):
    one = shift(["done"])
    id = one.add()

    async def act():
        one.now += 60
        runner = one.begin()
        await runner.look()
        await runner.drain(5)
    go(act())

    assert one.runs(id) == [("ok", "done")]
    assert one.outbox.texts == ["done"]


@pytest.mark.parametrize(("channel", "chat", "ended"), [
    ("telegram", "7", 1), ("telegram", "8", 0), ("discord", "7", 0)])
def test_stop_in_its_chat_ends_a_run(shift, go, channel, chat, ended):
    one, tool, id = hang(shift)

    async def act():
        runner = await start(one, tool)
        count = runner.stop(channel, chat)
        await runner.wait(0.1)
        await runner.drain(0)
        return count

    assert go(act()) == ended
    assert one.runs(id)[0][1].startswith("/stop") == bool(ended)


def test_the_emergency_stop_ends_all_and_starts_nothing(shift, go):
    one, tool, id = hang(shift)

    async def act():
        runner = await start(one, tool)
        runner.stop_all()
        await runner.wait()
        one.now += 600
        await runner.look()
        return runner.busy

    assert go(act()) == 0
    assert one.statuses(id) == ["interrupted"]


def test_a_run_of_a_killed_process_is_told_and_never_repeated(shift, go):
    one = shift(["done"])
    id = one.add(seconds=3600)
    one.now += 3600
    run = one.jobs.begin_run(id, one.jobs.get(id).next_run, 60)
    one.jobs.renew_run(run, 60, turn_id="t1")
    one.costs["any"] = 0.25

    async def act():
        await one.pass_time(30)
        assert one.outbox.posted == {}
        await one.pass_time(31)
        await one.pass_time(600)
    go(act())

    assert one.statuses(id) == ["interrupted"]
    assert "was interrupted" in one.outbox.texts[0]
    assert one.jobs.list_runs(id)[0].cost_usd == 0.25
    assert one.provider.requests == []


def test_a_run_that_another_took_over_is_ended(shift, go, monkeypatch):
    monkeypatch.setattr("claw.tools.cron.running.LEASE_S", 0.03)
    one, tool, id = hang(shift)

    async def act():
        runner = await start(one, tool)
        one.now += 600
        other = replace_jobs(one)
        other.recover_runs()
        await runner.wait(5)
        return runner.busy

    assert go(act()) == 0
    assert one.statuses(id) == ["interrupted"]


async def until(seen):
    while not seen():  # noqa: ASYNC110 - files and threads set no event
        await asyncio.sleep(0.01)


def replace_jobs(one):
    return type(one.jobs)(one.path, now=lambda: one.now)


def test_a_clock_that_goes_on_by_hours_ends_no_run(shift, go):
    one, tool, _ = hang(shift)

    async def act():
        runner = await start(one, tool)
        one.now += 30  # not due again
        one.now += 7 * 3600
        await runner.look()
        busy = runner.busy
        await runner.drain(0)
        return busy

    assert go(act()) == 1


# what a start does

def test_without_catching_up_nothing_that_was_missed_is_run(shift, go):
    one = shift(["done"] * 3, catches_up=False)
    id = one.add(seconds=3600, missed="all")

    go(one.pass_time(3 * 3600 + 1800))
    assert one.statuses(id) == ["skipped"]
    go(one.pass_time(1800))
    assert one.statuses(id) == ["skipped", "ok"]


def test_the_runner_wakes_for_what_others_write(shift, go):
    one = shift(["done"])

    async def act():
        runner = one.begin()
        work = asyncio.ensure_future(runner.run())
        await asyncio.sleep(0.05)
        id = await asyncio.to_thread(one.add)
        one.now += 60
        await until(lambda: one.outbox.posted)
        await runner.drain(1)
        await work
        return id

    id = go(act())
    assert one.statuses(id) == ["ok"]


def test_a_store_that_can_not_be_read_is_told_and_tried_again(shift, go):
    one = shift(["done"])
    one.path.write_bytes(b"no database " * 99)

    async def act():
        runner = one.begin()
        work = asyncio.ensure_future(runner.run())
        await until(lambda: one.notes.get("scheduler"))
        one.path.unlink()
        runner.wake()
        await until(lambda: not one.notes["scheduler"])
        await runner.drain(1)
        await work
    go(act())


def test_jobs_of_the_settings_are_made_changed_and_removed(shift, go):
    def declare(*rows):
        declared, wrong = read_declared(rows)
        return replace(one.parts, declared=declared, wrong=[
            f"cron.jobs.{number}: {text}" for number, text in wrong])
    hourly = DeclaredSchedule(kind="every", every_ms=3_600_000)
    one = shift()
    tea = DeclaredJob(id="tea", command="echo tea", schedule=hourly)
    bad = DeclaredJob(id="bad", command="echo", schedule=DeclaredSchedule())

    one.parts = declare(tea, bad, tea)
    go(one.begin().begin())
    first = one.jobs.get("tea")
    assert one.notes["scheduler:declared"].count("cron.jobs") == 2
    one.jobs.update("tea", lambda spec: replace(spec, enabled=False))
    go(one.begin().begin())
    assert not one.jobs.get("tea").spec.enabled  # paused by hand: it stays
    one.parts = declare(DeclaredJob(id="tea", prompt="tea?",
                                    schedule=hourly))
    go(one.begin().begin())
    changed = one.jobs.get("tea")
    assert (changed.spec.job_type, changed.spec.enabled,
            changed.created_at) == ("agent", True, first.created_at)
    one.parts = declare()
    go(one.begin().begin())
    assert one.jobs.list_jobs() == []
