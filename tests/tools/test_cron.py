"""cron_add, cron_list, cron_remove, cron_update, cron_runs, schedule."""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.security.approval import ApprovalManager, NoApprover
from claw.security.settings import NarrowerSettings
from claw.storage.jobs.model import Delivery, JobSpec
from claw.storage.jobs.schedule import parse_schedule
from claw.storage.jobs.store import SqliteJobs
from claw.tools import REGISTRY
from claw.tools.offer.checked import Denial

NOON = {"kind": "cron", "expr": "0 12 * * *", "tz": "Europe/Berlin"}
ONCE = {"kind": "at", "at": "2099-01-31T09:00:00+01:00"}
EVERY = {"kind": "every", "every_ms": 3_600_000}
CHAT = TurnContext("channel", channel="telegram:group", sender="mina",
                   reply_target="-100:7")


class Desk:
    """The tools over the jobs of one workspace."""

    def __init__(self, room, **settings):
        self.room = room
        self.store = SqliteJobs(room.workspace / "state" / "jobs.db",
                                channels=lambda: ["telegram"])
        self.deps = replace(room.deps(sandbox=False, **settings),
                            jobs=self.store)

    def build(self, name):
        return REGISTRY.build(name, self.deps)

    def call(self, tool, turn=None, /, **args):
        return self.room.call(self.build(tool), turn, **args)

    def add(self, turn=None, /, **args):
        """The kept job."""
        result = self.call("cron_add", turn,
                           **{"schedule": NOON, "command": "ls", **args})
        assert result.success, result.error
        return self.store.get(json.loads(result.output)["id"])


@pytest.fixture
def desk(room):
    return Desk(room)


def test_a_job_is_kept_and_it_is_said_who_runs_it(desk):
    result = desk.call("cron_add", schedule=NOON, command="ls -l",
                       name="look")

    told = json.loads(result.output)
    (job,) = desk.store.list_jobs()
    assert "while claw listen runs" in told.pop("note")
    assert told == {
        "id": job.id, "name": "look", "job_type": "shell", "schedule": NOON,
        "next_run": job.next_run, "enabled": True, "allowed_tools": None}
    assert job.spec.command == "ls -l"


@pytest.mark.parametrize(("args", "fields"), [
    ({"schedule": ONCE}, {"delete_after_run": True}),
    ({"schedule": ONCE, "delete_after_run": False},
     {"delete_after_run": False}),
    ({"schedule": EVERY}, {"delete_after_run": False, "job_type": "shell"}),
    ({"prompt": "hello", "command": None},
     {"job_type": "agent", "allowed_tools": None}),
    ({"prompt": "hello", "command": None, "allowed_tools": []},
     {"allowed_tools": ()}),
    ({"delivery": {"channel": "telegram", "to": "7"}},
     {"delivery": Delivery("announce", "telegram", "7")}),
    ({"delivery": {"mode": "none"}}, {"delivery": Delivery()}),
    ({"schedule": json.dumps(NOON), "delivery": '{"mode": "none"}'},
     {"delivery": Delivery()}),
])
def test_what_is_left_out_has_its_default(desk, args, fields):
    spec = desk.add(**args).spec
    assert {name: getattr(spec, name) for name in fields} == fields


@pytest.mark.parametrize(("args", "error"), [
    ({"schedule": "0 12 * * *"}, "'schedule' must be an object"),
    ({"schedule": "[" * 100_000}, "'schedule' must be an object"),
    ({"schedule": {"kind": "cron", "expr": "61 * * * *"}}, "Bad minute"),
    ({"schedule": {"kind": "at", "at": "2020-01-01T00:00:00Z"}},
     "has passed"),
    ({"schedule": {"kind": "cron", "expr": "0 0 0 1 1 * 2020"}},
     "never comes"),
    ({"command": ""}, "needs 'command'"),
    ({"prompt": "both"}, "has no 'command'"),
    ({"model": "gpt-5"}, "of jobs of type agent"),
    ({"allowed_tools": [1]}, "must be a string"),
    ({"name": "x" * 201}, "longer than 200"),
    ({"delivery": {"channel": "telegram"}}, "'channel' and 'to'"),
    ({"delivery": {"channel": "slack", "to": "7"}},
     "no channel 'slack' is set up here; known: telegram"),
    ({"delivery": {"chat": "7"}}, "the delivery must be"),
    ({"approved": True}, "Unknown parameter 'approved'"),
])
def test_a_job_that_can_not_be_is_refused(desk, args, error):
    result = desk.call("cron_add",
                       **{"schedule": NOON, "command": "ls", **args})

    assert not result.success
    assert error in result.error
    assert desk.store.list_jobs() == []


@pytest.mark.parametrize("command", [
    "rm -rf notes", "cat /etc/shadow", "curl http://example.org",
    "ls > out", "git push"])
def test_a_command_that_would_need_a_yes_is_no_job(desk, command):
    """Nobody is there to ask when it runs, whatever is approved now."""
    job = desk.add()
    for result in (
            desk.call("cron_add", schedule=NOON, command=command),
            desk.call("cron_update", job_id=job.id,
                      patch={"command": command}),
            desk.call("schedule", action="once", delay="5m",
                      command=command)):
        assert isinstance(result, Denial)
        assert "blocked by security policy" in result.error
    assert desk.store.list_jobs() == [job]


def test_an_agents_job_answers_in_the_chat_it_was_made_in(desk):
    agent = {"command": None, "prompt": "news?"}
    here = Delivery("announce", "telegram", "-100:7")

    assert desk.add(CHAT, **agent).spec.delivery == here
    assert desk.add(CHAT).spec.delivery == Delivery()
    assert desk.add(CHAT, **agent, delivery={"mode": "none"}
                    ).spec.delivery == Delivery()
    assert desk.add(TurnContext("agent"), **agent
                    ).spec.delivery == Delivery()


def test_a_frequent_job_of_the_agents_is_warned_of(desk):
    def note(**args):
        return json.loads(desk.call("cron_add", **args).output)["note"]
    often = {"kind": "cron", "expr": "* * * * *"}

    assert "every five minutes" in note(schedule=often, prompt="x")
    assert "every five minutes" not in note(schedule=often, command="ls")
    assert "every five minutes" not in note(schedule=EVERY, prompt="x")


# labels and approval

def test_a_job_made_of_foreign_text_labels_who_reads_it(desk):
    job = desk.add(TurnContext("agent", labels={"web"}))
    assert job.spec.origin == "web"

    desk.call("cron_update", TurnContext("agent", labels={"mail"}),
              job_id=job.id, patch={"enabled": False})
    reader = TurnContext("agent")
    desk.call("cron_list", reader)

    assert desk.store.get(job.id).spec.origin == "mail,web"
    assert reader.labels == {"mail", "web"}


@pytest.mark.parametrize(("name", "args"), [
    ("cron_add", {"schedule": NOON, "command": "ls"}),
    ("cron_add", {"schedule": json.dumps(NOON), "command": "ls"}),
    ("cron_update", {"job_id": "x", "patch": {"enabled": False}}),
    ("cron_update", {"job_id": "x", "patch": '{"enabled": false}'}),
    ("cron_remove", {"job_id": "x"}),
    ("schedule", {"action": "remove", "id": "x"}),
])
@pytest.mark.parametrize("settings", [
    {}, {"auto_approve": ["cron_add", "cron_update", "cron_remove",
                          "schedule"]}])
def test_a_turn_that_has_read_foreign_text_asks(room, name, args, settings):
    desk = Desk(room, **settings)
    manager = ApprovalManager(desk.deps.policy, NoApprover(),
                              interactive=False)

    refusal = asyncio.run(manager.gate(
        desk.build(name), args, TurnContext("agent", labels={"web"})))

    assert "nobody can be asked" in refusal


# a policy of its own

NARROW = {"level": "readonly", "tools": ["file_read"]}


def test_a_job_keeps_a_policy_and_shows_it(desk):
    job = desk.add(command=None, prompt="look", policy=NARROW)

    assert job.spec.policy == NARROW
    assert json.loads(desk.call("cron_list").output)["jobs"][0][
        "policy"] == NARROW


def test_a_job_has_no_more_than_the_turn_that_makes_it(room):
    desk = Desk(room, channels={"telegram": NarrowerSettings(
        excluded_tools=("message",), auto_approve=("file_write",))})

    plain = desk.add(CHAT, command=None, prompt="look")
    narrow = desk.add(CHAT, command=None, prompt="look", policy=NARROW)
    own = desk.add(command=None, prompt="look")

    assert plain.spec.policy == {"excluded_tools": ["message"]}
    assert narrow.spec.policy == {**NARROW, "excluded_tools": ["message"]}
    assert own.spec.policy is None


def test_a_change_takes_away_more_and_gives_nothing_back(desk):
    job = desk.add(command=None, prompt="look", policy=NARROW)

    desk.call("cron_update", job_id=job.id, patch={"policy": {
        "level": "supervised", "tools": ["file_read", "shell"],
        "max_actions_per_hour": 3}})

    assert desk.store.get(job.id).spec.policy == {
        **NARROW, "max_actions_per_hour": 3}


@pytest.mark.parametrize("policy", [
    {"level": "readonly"}, {"tools": ["file_read"]},
    {"excluded_tools": ["shell"]}, {"allowed_commands": ["git"]}])
def test_a_command_that_its_policy_forbids_is_refused_at_once(desk, policy):
    result = desk.call("cron_add", schedule=NOON, command="ls",
                       policy=policy)

    assert not result.success
    assert "blocked by security policy" in result.error


@pytest.mark.parametrize("policy", [
    {"auto_approve": ["shell"]}, {"levl": "readonly"}])
def test_a_policy_that_allows_something_is_none(desk, policy):
    assert not desk.call("cron_add", schedule=NOON, prompt="x",
                         policy=policy).success
    assert desk.store.list_jobs() == []


# the other verbs

def test_jobs_are_listed_with_what_was_said_of_them(desk):
    assert desk.call("cron_list").output == "No scheduled jobs."
    job = desk.add(CHAT, command=None, prompt="p" * 600, name="아침")

    (told,) = json.loads(desk.call("cron_list").output)["jobs"]

    assert told == {
        "id": job.id, "name": "아침", "job_type": "agent", "schedule": NOON,
        "next_run": job.next_run, "enabled": True,
        "prompt": "p" * 500 + "...", "session_target": "isolated",
        "delivery": {"channel": "telegram", "to": "-100:7",
                     "best_effort": True}, "created_at": job.created_at}


def test_a_change_names_what_changes(desk):
    job = desk.add()

    result = desk.call("cron_update", job_id=job.id, patch={
        "schedule": EVERY, "name": "hourly", "enabled": None})

    assert json.loads(result.output)["schedule"] == EVERY
    spec = desk.store.get(job.id).spec
    assert (spec.name, spec.command, spec.enabled) == ("hourly", "ls", True)


def test_a_job_that_the_policy_forbids_by_now_can_be_paused(desk):
    job = desk.store.add(JobSpec(parse_schedule(EVERY), command="rm x"))

    for enabled in (False, True):
        desk.call("cron_update", job_id=job.id, patch={"enabled": enabled})

        assert not desk.store.get(job.id).spec.enabled


@pytest.mark.parametrize(("patch", "error"), [
    ({}, "changes nothing"), ({"job_type": "agent"}, "Unknown parameter"),
    ({"prompt": "x"}, "has no 'prompt'"), ({"enabled": "no"}, "a boolean"),
    ({"schedule": {"kind": "every", "every_ms": -1}}, "every_ms")])
def test_a_wrong_change_leaves_the_job(desk, patch, error):
    job = desk.add()

    result = desk.call("cron_update", job_id=job.id, patch=patch)

    assert not result.success
    assert error in result.error
    assert desk.store.get(job.id) == job


def test_runs_are_told_newest_first_and_are_foreign_text(desk):
    job = desk.add()
    assert "has not run" in desk.call("cron_runs", job_id=job.id).output
    for slot in ("one", "two"):
        run = desk.store.begin_run(job.id, slot)
        desk.store.end_run(run, "x" * 600,
                           status="ok" if slot == "two" else "error")

    told = json.loads(desk.call("cron_runs", job_id=job.id).output)["runs"]

    assert [(run["scheduled_for"], run["status"], run["output"])
            for run in told] == [("two", "ok", "x" * 500 + "..."),
                                 ("one", "error", "x" * 500 + "...")]
    assert not desk.build("cron_runs").labels_itself


def test_an_unknown_id_is_told(desk):
    for name, args in (("cron_remove", {}), ("cron_runs", {}),
                       ("cron_update", {"patch": {"enabled": True}})):
        result = desk.call(name, job_id="\ud800", **args)
        assert "no job" in result.error


def test_a_damaged_store_names_its_remedy(desk):
    path = desk.room.workspace / "state" / "jobs.db"
    path.parent.mkdir()
    path.write_bytes(b"no database " * 99)

    for result in (desk.call("cron_list"),
                   desk.call("cron_add", schedule=NOON, command="ls")):
        assert "is not a database: move it away" in result.error
        assert f"mv {path} {path}.damaged" in result.error


def test_without_jobs_the_tools_say_why(room):
    tool = REGISTRY.build("cron_list", room.deps(sandbox=False))
    assert "cron.enabled" in room.call(tool).error


def test_in_read_only_mode_jobs_are_only_looked_at(room):
    desk = Desk(room, level="readonly")

    assert desk.call("cron_list").success
    assert "read-only" in desk.call("cron_add", schedule=NOON,
                                    command="ls").error
    assert desk.call("schedule", action="list").success
    assert "read-only" in desk.call("schedule", action="pause",
                                    id="x").error


# schedule

@pytest.mark.parametrize(("args", "schedule"), [
    ({"action": "create", "expression": "5 4 * * *"}, "5 4 * * *"),
    ({"action": "add", "expression": "@daily"}, "@daily"),
    ({"action": "once", "run_at": "2099-01-01T00:00:00Z"},
     "2099-01-01T00:00:00.000+00:00"),
])
def test_schedule_makes_a_job_of_the_shell(desk, args, schedule):
    desk.call("schedule", command="ls", **args)

    (job,) = desk.store.list_jobs()
    assert (job.spec.schedule.expr or job.spec.schedule.at) == schedule
    assert job.spec.delete_after_run == (args["action"] == "once")


@pytest.mark.parametrize(("delay", "seconds"), [
    ("30m", 1800), ("2h", 7200), ("1d", 86_400), ("10s", 10), ("5", 300)])
def test_a_delay_has_a_unit_or_is_in_minutes(desk, delay, seconds):
    now = datetime.now(UTC)
    desk.call("schedule", action="once", delay=delay, command="ls")

    moment = datetime.fromisoformat(desk.store.list_jobs()[0].next_run)
    assert abs((moment - now).total_seconds() - seconds) < 5


@pytest.mark.parametrize(("args", "error"), [
    ({"action": "create", "command": "ls"}, "create needs 'expression'"),
    ({"action": "create", "expression": "@daily"}, "create needs 'command'"),
    ({"action": "once", "command": "ls"}, "either"),
    ({"action": "once", "command": "ls", "delay": "1h",
      "run_at": "2099-01-01T00:00:00Z"}, "either"),
    ({"action": "once", "command": "ls", "delay": "soon"}, "no delay"),
    ({"action": "once", "command": "ls", "delay": "999999999d"}, "no delay"),
    ({"action": "once", "command": "ls", "run_at": "2020-01-01T00:00:00Z"},
     "has passed"),
    ({"action": "pause"}, "pause needs 'id'"),
    ({"action": "get", "id": "x"}, "no job"),
    ({"action": "explode"}, "must be one of"),
])
def test_schedule_refuses_with_a_sentence(desk, args, error):
    result = desk.call("schedule", **args)

    assert not result.success
    assert error in result.error


def test_schedule_pauses_resumes_shows_and_cancels(desk):
    job = desk.add()

    desk.call("schedule", action="pause", id=job.id)
    assert not desk.store.get(job.id).spec.enabled
    desk.call("schedule", action="resume", id=job.id)
    shown = desk.call("schedule", action="get", id=job.id).output
    assert json.loads(shown)["command"] == "ls"
    assert job.id in desk.call("schedule", action="list").output
    assert desk.call("schedule", action="cancel", id=job.id).output \
        == f"Removed job {job.id}"
    assert desk.store.list_jobs() == []


@pytest.fixture
def runs(room):
    """A desk whose commands run in the sandbox."""
    desk = Desk(room)
    desk.deps = replace(room.deps(), jobs=desk.store)
    return desk


def test_a_shell_job_runs_now_and_stands_among_its_runs(runs):
    job = runs.add(command="echo tea")

    result = runs.call("cron_run", job_id=job.id)
    told = json.loads(runs.call("cron_runs", job_id=job.id).output)["runs"]

    assert result.output == "tea\n"
    assert [(run["status"], run["output"]) for run in told] == [
        ("ok", "tea\n")]


def test_what_a_run_said_is_kept_to_16_kib(runs):
    job = runs.add(command="seq 10000")

    runs.call("cron_run", job_id=job.id)

    run, = runs.store.list_runs(job.id)
    assert run.output.endswith("[output truncated at 16 KiB]")


def test_a_job_that_fails_is_a_failed_run(runs):
    job = runs.add(command="ls nothing-here")

    result = runs.call("cron_run", job_id=job.id)

    assert "nothing-here" in result.error
    assert runs.store.list_runs(job.id)[0].status == "error"


def test_a_command_that_is_not_allowed_any_more_is_no_run(desk):
    job = desk.store.add(JobSpec(parse_schedule(NOON), command="rm -r x"))

    result = desk.call("cron_run", job_id=job.id)

    assert "blocked by security policy" in result.error
    assert desk.store.list_runs(job.id) == []


class Tasks:
    """core.turn.RunsTasks, which answer for so much money."""

    def __init__(self, cost_usd=0.0, spent_usd=0.0):
        self.cost_usd = cost_usd
        self.spent_usd = spent_usd  # by the turn that asks
        self.asked = []

    async def run_task(self, message, context, task):
        self.asked.append(context)
        context.labels.add("file:notes.txt")
        self.spent_usd += self.cost_usd
        return "done"

    def turn_cost(self, turn_id):
        return self.spent_usd


def test_a_run_that_is_stopped_says_so(desk):
    begun = asyncio.Event()

    class Endless(Tasks):
        async def run_task(self, message, context, task):
            begun.set()
            await asyncio.Event().wait()
    desk.deps = replace(desk.deps, tasks=Endless())
    job = desk.add(prompt="wait", command=None)

    async def stop():
        call = asyncio.ensure_future(
            desk.build("cron_run").execute({"job_id": job.id}))
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    asyncio.run(stop())

    run, = desk.store.list_runs(job.id)
    assert (run.status, run.output) == (
        "interrupted", "the run was stopped")


def test_a_run_may_no_more_than_its_job(desk):
    tasks = Tasks(spent_usd=0.5)
    desk.deps = replace(desk.deps, tasks=tasks)
    job = desk.add(prompt="think", command=None, policy={
        "tools": ["file_read"], "max_cost_per_turn_cents": 5})
    turn = TurnContext("ask", limit_usd=1.0)

    result = desk.call("cron_run", turn, job_id=job.id)

    assert result.success, result.error
    (inner,) = tasks.asked
    assert inner.policy.tools == ("file_read",)
    assert inner.limit_usd == pytest.approx(0.55)  # of the turn that asks
    assert (turn.policy, turn.limit_usd) == (None, 1.0)
    assert "file:notes.txt" in turn.labels


@pytest.mark.parametrize(("spent", "left", "limit", "status", "most"), [
    (0.0, 10, None, "ok", 1.1), (0.04, 10, None, "ok", 1.06),
    (0.1, 10, None, "denied", None),  # as by itself (test_runner)
    (0.06, 10, 1.05, "denied", None), (0.05, 10, 1.05, "ok", 1.05)])
def test_a_run_is_paid_from_the_month_of_its_job(
        desk, spent, left, limit, status, most):
    tasks = Tasks(cost_usd=0.03, spent_usd=1.0)
    desk.deps = replace(desk.deps, tasks=tasks)
    job = desk.add(prompt="think", command=None, monthly_cents=left)
    desk.store.end_run(desk.store.begin_run(job.id, "before"), "",
                       cost_usd=spent)

    desk.call("cron_run", TurnContext("ask", limit_usd=limit), job_id=job.id)

    run, _ = desk.store.list_runs(job.id)
    paid = 0.03 if status == "ok" else 0.0
    assert (run.status, run.cost_usd) == (status, pytest.approx(paid))
    assert desk.store.get(job.id).month_usd == pytest.approx(spent + paid)
    assert [inner.limit_usd for inner in tasks.asked] == [
        pytest.approx(most)][:len(tasks.asked)]
    assert bool(tasks.asked) == (status == "ok")


def test_a_run_that_takes_too_long_is_ended(desk, monkeypatch):
    class Slow(Tasks):
        async def run_task(self, message, context, task):
            await asyncio.Event().wait()
    monkeypatch.setattr("claw.tools.cron.running.GRACE_S", -0.9)
    desk.deps = replace(desk.deps, tasks=Slow())
    job = desk.add(prompt="think", command=None, timeout_s=1)

    assert desk.call("cron_run", job_id=job.id).error \
        == "it did not end within 1 s"
    assert desk.store.list_runs(job.id)[0].status == "error"


def test_where_no_agent_runs_a_prompt_is_no_run(desk):
    job = desk.add(prompt="think", command=None)

    assert desk.call("cron_run", job_id=job.id).error \
        == "no agent runs here to take the prompt"
    assert desk.store.list_runs(job.id) == []


def test_a_run_is_approved_by_what_it_does_and_never_for_a_week(runs):
    job = runs.add(command="echo tea")
    asked, kept = [], []

    class Owner:
        async def approve(self, request):
            asked.append(request)
            return "week"
    manager = ApprovalManager(runs.deps.policy, Owner(), interactive=True,
                              keep=kept.append)

    refusal = asyncio.run(manager.gate(
        runs.build("cron_run"), {"job_id": job.id}, TurnContext("ask")))

    assert refusal is None
    assert asked[0].summary == f"job_id: {job.id}, shell: echo tea"
    assert not asked[0].may_keep
    assert kept == []


@pytest.mark.parametrize("own", [
    {"excluded_tools": ("shell",)}, {"tools": ("cron_run",)},
    {"always_ask": ("shell",)}, {"level": "readonly"}])
def test_a_channel_without_a_shell_runs_none_through_a_job(room, own):
    desk = Desk(room, channels={"telegram": NarrowerSettings(**own)})
    desk.deps = replace(room.deps(channels={
        "telegram": NarrowerSettings(**own)}), jobs=desk.store)
    job = desk.add(command="touch made")  # by the owner, at the terminal

    result = desk.call("cron_run", CHAT, job_id=job.id)

    assert not result.success
    assert not (room.workspace / "made").exists()


def test_a_job_whose_policy_asks_before_the_shell_runs_no_command(runs):
    job = runs.add(command="touch made", policy={"always_ask": ["shell"]})

    assert "asked about by nobody" in runs.call("cron_run",
                                                job_id=job.id).error
    assert not (runs.room.workspace / "made").exists()


@pytest.mark.parametrize(("tool", "args"), [
    ("cron_list", {}),
    ("schedule", {"action": "list"}),
    ("schedule", {"action": "get", "id": "JOB"}),
    ("schedule", {"action": "remove", "id": "JOB"}),
    ("cron_remove", {"job_id": "JOB"}),
    ("cron_runs", {"job_id": "JOB"}),
    ("cron_run", {"job_id": "JOB"}),
    ("cron_update", {"job_id": "JOB", "patch": {"name": "mine"}}),
])
def test_what_one_person_has_planned_is_listed_to_no_other(desk, tool, args):
    mina, bob = (TurnContext("channel", channel="telegram", sender=sender,
                             session_id=f"telegram_{sender}_{sender}")
                 for sender in ("mina", "bob"))
    job = desk.add(mina, prompt="say CANARY to mina", command=None)
    args = {name: job.id if value == "JOB" else value
            for name, value in args.items()}

    told = desk.call(tool, bob, **args)
    assert "CANARY" not in f"{told.output}{told.error}"
    assert desk.store.list_jobs() == [job]

    other = replace(mina, channel="discord", session_id="discord_1_2",
                    sessions=("telegram_mina_mina",))
    for turn in (mina, other, TurnContext("agent")):
        assert "CANARY" in desk.call("cron_list", turn).output
