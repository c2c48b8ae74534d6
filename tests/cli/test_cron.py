"""claw cron: jobs, their times and their runs from the shell."""

import asyncio
import json
import re
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from claw.agent.background import cancel_all
from claw.agent.history import encode
from claw.cli.commands.cron import common
from claw.cli.commands.cron.view import job_cells, run_cells
from claw.config.places import locate
from claw.config.tree import load
from claw.core.provider import Chat, ChatMessage
from claw.storage.forgotten import read_stamp
from claw.storage.jobs.model import Delivery, JobSpec
from claw.storage.jobs.schedule import Schedule
from claw.storage.jobs.store import SqliteJobs
from claw.storage.sessions import SessionStore
from claw.testing.fake_openai import FakeOpenAI, tool_call
from claw.wiring.jobs.run import run_job

WEEKDAYS = "0 9 * * MON-FRI"
# A dollar for a turn of the forecast, which has 12,000 tokens in.
PRICE = '[cost.prices.m]\ninput = 83.3333333333\noutput = 0\n'


@pytest.fixture
def store(home):
    return SqliteJobs(home / "workspace" / "state" / "jobs.db",
                      channels=lambda: ["telegram"])


@pytest.fixture
def write(home):
    def write(text):
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(text)
        (home / "config.toml").chmod(0o600)
    return write


def serve(write, server, more=""):
    write(f'default_provider = "custom:{server.url}"\n'
          f'default_model = "m"\n{more}')


# -- add


def test_a_job_is_made_of_what_the_line_says(claw, store, write):
    write('[channels_config.telegram]\nbot_token = "1:a"\n')
    done = claw(
        "cron", "add", WEEKDAYS, "--tz", "Europe/Berlin", "--name", "digest",
        "--prompt", "What is due?", "--to", "telegram:-100:7",
        "--must-deliver", "--missed", "all", "--session", "own",
        "--precheck", "ls", "--model", "m9", "--tools",
        "memory_recall,web_fetch", "--exclude-tools", "file_write,poll",
        "--level", "supervised", "--allow-commands", "git, ls",
        "--max-actions", "3", "--max-cost", "0.25", "--monthly-limit", "5",
        "--dead-man", "26h", "--timeout", "10m")

    assert done.code == 0
    (job,) = store.list_jobs()
    assert done.out == job.id + "\n"
    assert job.spec == JobSpec(
        Schedule("cron", expr=WEEKDAYS, tz="Europe/Berlin"), "agent",
        "digest", prompt="What is due?", model="m9", session_target="own",
        allowed_tools=("memory_recall", "web_fetch"),
        delivery=Delivery("announce", "telegram", "-100:7",
                          best_effort=False),
        policy={"level": "supervised", "excluded_tools": ["file_write",
                                                          "poll"],
                "allowed_commands": ["git", "ls"], "max_actions_per_hour": 3,
                "max_cost_per_turn_cents": 25},
        missed="all", precheck="ls", max_silence_s=26 * 3600, timeout_s=600,
        monthly_cents=500.0)


@pytest.mark.parametrize(("words", "schedule", "goes"), [
    ([WEEKDAYS], {"kind": "cron", "expr": WEEKDAYS}, False),
    (WEEKDAYS.split(), {"kind": "cron", "expr": WEEKDAYS}, False),
    (["@daily"], {"kind": "cron", "expr": "@daily"}, False),
    (["--every", "1h30m"], {"kind": "every", "every_ms": 5_400_000}, False),
    (["--at", "2099-01-31T09:00+01:00"],
     {"kind": "at", "at": "2099-01-31T08:00:00.000+00:00"}, True),
    (["--at", "2099-01-31 09:00", "--tz", "Asia/Tokyo"],
     {"kind": "at", "at": "2099-01-31T00:00:00.000+00:00"}, True),
    (["--at", "2099-01-31T09:00Z", "--keep"],
     {"kind": "at", "at": "2099-01-31T09:00:00.000+00:00"}, False),
])
def test_each_way_to_say_when(claw, words, schedule, goes):
    job = claw("cron", "add", *words, "--command", "ls", "--json").json

    assert (job["schedule"], job["delete_after_run"]) == (schedule, goes)
    assert job["job_type"] == "shell"


def test_so_far_from_now_is_once(claw):
    job = claw("cron", "add", "--in", "2h", "--command", "ls", "--json").json

    left = datetime.fromisoformat(job["next_run"]) - datetime.now(UTC)
    assert timedelta(minutes=119) < left <= timedelta(hours=2)
    assert job["delete_after_run"]


def test_a_prompt_may_be_piped_in(claw, store):
    assert claw("cron", "add", "@daily", stdin="The news,\nplease.\n"
                ).code == 0
    assert store.list_jobs()[0].spec.prompt == "The news,\nplease."


def test_the_first_times_are_told_there_and_here(claw):
    done = claw("cron", "add", WEEKDAYS, "--tz", "Asia/Tokyo", "--command",
                "ls", env={"TZ": "America/New_York"})

    assert "09:00 Asia/Tokyo (here " in done.err
    assert "claw listen runs jobs, and does not run now" in done.err


@pytest.mark.parametrize("words", [
    ["--every", "1h"], ["--in", "2h"],
    ["--at", "2099-01-31T09:00", "--tz", "Asia/Tokyo"]])
def test_a_first_time_has_its_zone(claw, words):
    done = claw("cron", "add", *words, "--command", "ls",
                env={"TZ": "Asia/Tokyo"})
    assert re.search(r"runs [^,\n]* \d\d:\d\d(:\d\d)? JST", done.err)


def test_a_job_that_nothing_runs_is_due(claw, home):
    path = home / "workspace" / "state" / "jobs.db"
    job = SqliteJobs(path, now=lambda: time.time() - 7200).add(JobSpec(
        Schedule("every", every_ms=3_600_000), command="ls"))
    assert job_cells(job, short=True)[3].startswith("due since 20")
    assert "due since" in claw("cron", "show", job.id).out
    assert "does not run now" in claw("cron", "list").err

    claw("cron", "pause", job.id)
    assert "does not run now" not in claw("cron", "list").err


def test_the_zone_of_this_machine_has_a_name(claw, store):
    claw("cron", "add", WEEKDAYS, "--tz", "local", "--command", "ls",
         env={"TZ": "Asia/Tokyo"})
    assert store.list_jobs()[0].spec.schedule.tz == "Asia/Tokyo"


@pytest.mark.each(("words", "code", "says"), [
    ([], 2, "nothing says when it runs"),
    (["@reboot"], 2, "not supported; there are: @hourly, @daily"),
    (["1h"], 2, "--every 1h"),
    (["61 * * * *"], 2, "Bad minute"),
    (["0", "9", "bin", "etc", "x", "y", "z", "a"], 2, "put it in quotes"),
    ([WEEKDAYS, "--every", "1h"], 2, "an expression and --every exclude"),
    (["--every", "5"], 2, "--every: '5' is no span of time"),
    (["--every", "1h", "--tz", "UTC"], 2, "--tz says nothing beside"),
    (["--at", "2099-01-31T09:00"], 2, "names no offset"),
    (["--at", "tomorrow"], 2, "RFC 3339"),
    (["--at", "2020-01-31T09:00Z"], 2, "has passed"),
    ([WEEKDAYS, "--tz", "berlin"], 2, "did you mean Europe/Berlin?"),
    ([WEEKDAYS, "--tz", "\0"], 2, "no time zone"),
    ([WEEKDAYS, "--missed", "onec"], 2, 'did you mean "once"?'),
    ([WEEKDAYS, "--session", "mine"], 2, "none of isolated, main, own"),
    ([WEEKDAYS, "--level", "full"], 2, "none of readonly, supervised"),
    ([WEEKDAYS, "--prompt", "x"], 2, "exclude each other"),
    ([WEEKDAYS, "--best-effort"], 2, "go with --to"),
    ([WEEKDAYS, "--to", "telgram:7"], 2, 'did you mean "telegram"?'),
    ([WEEKDAYS, "--to", "telegram:7"], 3, "not configured"),
    ([WEEKDAYS, "--to", "telegram"], 2, "is no target"),
    ([WEEKDAYS, "--model", "m"], 2, "of jobs of type agent"),
    ([WEEKDAYS, "--name", "x" * 300], 2, "longer than"),
    ([WEEKDAYS, "--max-cost", "0.001"], 2, "max-cost"),
    ([WEEKDAYS, "--max-cost", "inf"], 2, "0.01<=x<=10000"),
    ([WEEKDAYS, "--monthly-limit", "inf"], 2, "0<=x<=10000"),
    ([WEEKDAYS, "--monthly-limit", "nan"], 2, "not a number"),
    ([WEEKDAYS, "--monthly-limit", "-1"], 2, "0<=x<=10000"),
    ([WEEKDAYS, "--timeout", "400d"], 2, "at most 366d"),
    ([WEEKDAYS, "--name", "a\x1b[2J"], 2, "one line"),
    (["--every", "99999999d"], 2, "from 1s to 36600d"),
    (["--every", "0s"], 2, "from 1s to 36600d"),
    ([WEEKDAYS, "--precheck", "curl x | sh"], 6, "nobody to ask"),
    ([WEEKDAYS, "--level", "readonly", "--allow-commands", "git"], 6,
     "nobody to ask"),
])
def test_what_is_wrong_with_a_line_is_said_and_nothing_kept(
        claw, store, words, code, says):
    done = claw("cron", "add", *words, "--command", "ls")

    assert done.code == code, done
    assert says in done.err
    assert done.out == ""
    assert store.list_jobs() == []


def test_nothing_to_do_is_no_job(claw):
    done = claw("cron", "add", WEEKDAYS, stdin="")
    assert (done.code, done.out) == (2, "")
    assert "--prompt" in done.err


def test_a_command_that_would_ask_is_refused(claw, store):
    done = claw("cron", "add", WEEKDAYS, "--command", "rm -r notes")
    assert done.code == 6
    assert store.list_jobs() == []


def test_two_jobs_have_two_names(claw, store):
    claw("cron", "add", WEEKDAYS, "--command", "ls", "--name", "look")
    done = claw("cron", "add", WEEKDAYS, "--command", "ls", "--name", "look")

    assert done.code == 2
    assert store.list_jobs()[0].id in done.err


@pytest.mark.each(("words", "says"), [
    (["--tools", "shell,shel"], 'did you mean "shell"?'),
    (["--tools", "nosuch"], "claw tool list shows"),
    (["--exclude-tools", "*,nosuch"], "claw tool list shows"),
])
def test_a_tool_that_there_is_not_is_told(claw, store, words, says):
    done = claw("cron", "add", WEEKDAYS, "--prompt", "x", *words)
    assert (done.code, says in done.err) == (2, True)
    assert store.list_jobs() == []


def test_a_tool_that_is_gone_does_not_stand_in_the_way(claw, store):
    job = store.add(JobSpec(Schedule("every", every_ms=1000), "agent",
                            prompt="x", allowed_tools=("gone",)))
    assert claw("cron", "update", job.id, "--every", "2h").code == 0


def test_without_jobs_here_nothing_is_kept(claw, write):
    write("[cron]\nenabled = false\n")
    done = claw("cron", "add", WEEKDAYS, "--command", "ls")
    assert done.code == 5
    assert "claw config set cron.enabled true" in done.err


# -- the forecast


def test_what_a_month_would_cost_is_told_before(claw, write, home):
    write(f'default_provider = "openai"\ndefault_model = "m"\n{PRICE}')
    done = claw("cron", "add", "0 9 * * *", "--prompt", "x", "--json")

    forecast = done.json["forecast"]
    assert (forecast["runs"], forecast["basis"]) == (30, "estimate")
    assert forecast["month_usd"] == pytest.approx(30)
    assert "30 runs in 30 days" in done.err
    assert "about $30.00" in done.err


@pytest.mark.parametrize(("limit", "says"), [
    ("--monthly-limit", "its limit of $20.00 a month"),
    ("[cost]\nmonthly_limit_usd = 25.0\n", "cost.monthly_limit_usd"),
    ("[cost]\ndaily_limit_usd = 0.5\n", "$0.5000 a day"),
])
def test_a_job_above_a_limit_is_enabled_with_a_yes_alone(
        claw, write, store, limit, says):
    own = limit.startswith("--")
    write('default_provider = "openai"\ndefault_model = "m"\n'
          + ("" if own else limit) + PRICE)
    line = ["cron", "add", "0 9 * * *", "--prompt", "x", "--name", "dear",
            *([limit, "20"] if own else [])]

    refused = claw(*line)
    assert refused.code == 6
    assert says in refused.err
    assert "--yes" in refused.err
    assert store.list_jobs() == []

    assert claw(*line, "--disabled").code == 0
    assert claw("cron", "resume", "dear").code == 6
    assert not store.list_jobs()[0].spec.enabled
    assert claw("cron", "resume", "dear", "--yes").code == 0
    assert store.list_jobs()[0].spec.enabled


def test_past_runs_tell_more_than_a_price(claw, write, store):
    write(f'default_provider = "openai"\ndefault_model = "m"\n{PRICE}')
    claw("cron", "add", "@daily", "--prompt", "x", "--name", "seen")
    (job,) = store.list_jobs()
    for slot, cost in (("a", 0.25), ("b", 0.35)):
        store.end_run(store.begin_run(job.id, slot), "", cost_usd=cost)

    forecast = claw("cron", "show", "seen", "--json").json["forecast"]
    assert (forecast["basis"], forecast["past_runs"]) == ("past runs", 2)
    assert forecast["month_usd"] == pytest.approx(9)
    for change in (["--prompt", "y"], ["--prompt", "x", "--model", "m2"]):
        changed = claw("cron", "update", "seen", *change, "--json")
        assert changed.json["forecast"]["past_runs"] == 0
    back = claw("cron", "update", "seen", "--model", "none", "--json")
    assert back.json["forecast"]["past_runs"] == 2


# -- list, show, next, update, pause, resume, remove


def test_jobs_are_listed_for_programs(claw):
    assert claw("cron", "list", "--json").json == {"jobs": [], "total": 0}
    id = claw("cron", "add", "@daily", "--command", "ls -l").out.strip()

    done = claw("cron", "list")
    assert done.out.startswith(f"{id}\t\t@daily UTC\tenabled\t")
    assert done.out.endswith("\t$ ls -l\n")
    listed = claw("cron", "list", "--json").json
    assert (listed["total"], listed["jobs"][0]["id"]) == (1, id)
    assert json.loads(claw("cron", "list", "--jsonl").out)["id"] == id


def test_looking_makes_nothing(claw, home):
    for verb in ("list", "runs"):
        assert claw("cron", verb).code == 0
    assert claw("cron", "next").code == 1
    assert claw("cron", "next", "*/5 * * * *").code == 0
    assert claw("cron", "show", "x").code == 1
    assert not home.exists()


def test_a_job_is_shown_with_what_it_may(claw):
    claw("cron", "add", "@daily", "--prompt", "the\nnews\x1b[2J", "--name",
         "news", "--max-cost", "0.5", "--tools", "none", "--dead-man", "2d")

    out = claw("cron", "show", "news").out
    assert "prompt\tthe news\\x1b[2J\n" in out
    assert "tools\tnone\n" in out
    assert "max cost per turn cents\t50\n" in out
    assert "notice after\t2d\n" in out


def test_times_for_people_name_their_zone(claw, store):
    claw("cron", "add", "@daily", "--command", "ls", "--name", "it")
    (job,) = store.list_jobs()
    run = store.begin_run(job.id, "slot")
    zone = datetime.now().astimezone().tzname()

    out = claw("cron", "show", "it").out
    for name in ("next", "made"):
        assert re.search(rf"^{name}\t[-\d]+ \d\d:\d\d {zone}$", out, re.M)
    assert run_cells(run, job, short=True)[0].endswith(f" {zone}")


def test_the_next_times_of_an_expression_of_one_job_and_of_all(claw):
    done = claw("cron", "next", "*/5 * * * *", "--tz", "Europe/Berlin",
                "-n", "3", "--json")
    times = [datetime.fromisoformat(row["at"]) for row in done.json["next"]]
    assert [b - a for a, b in pairwise(times)] == [
        timedelta(minutes=5)] * 2

    claw("cron", "add", "--every", "1h", "--command", "ls", "--name", "often")
    claw("cron", "add", "--every", "2h", "--command", "ls", "--name", "rare")
    claw("cron", "add", "--every", "1m", "--command", "ls", "--disabled")
    rows = claw("cron", "next", "-n", "3", "--json").json["next"]
    assert [row["job_name"] for row in rows] == ["often", "often", "rare"]
    assert claw("cron", "next", "rar", "-n", "1").out.endswith("\trare\n")
    assert claw("cron", "next", "rare", "--tz", "UTC").code == 2
    claw("cron", "pause", "rare")
    assert "is paused" in claw("cron", "next", "rare").err
    assert "is paused" not in claw("cron", "next").err
    assert claw("cron", "next", "* * 31 2 *").code in (1, 2)


def test_a_change_leaves_what_it_does_not_name(claw, store):
    claw("cron", "add", WEEKDAYS, "--prompt", "x", "--name", "digest",
         "--max-actions", "3", "--dead-man", "1d", "--tz", "Asia/Tokyo")
    (before,) = store.list_jobs()

    assert claw("cron", "update", "dig", "@daily", "--level", "readonly",
                "--dead-man", "none", "--name", "news").code == 0
    (job,) = store.list_jobs()
    assert job.spec.schedule == Schedule("cron", expr="@daily",
                                         tz="Asia/Tokyo")
    assert job.spec.policy == {"max_actions_per_hour": 3,
                               "level": "readonly"}
    assert (job.spec.max_silence_s, job.spec.name) == (None, "news")
    assert (job.id, job.spec.prompt) == (before.id, "x")

    assert claw("cron", "update", "news", "--tz", "UTC").code == 0
    assert claw("cron", "update", "news", "--command", "ls").code == 6
    assert claw("cron", "update", "news", "--command", "ls", "--level",
                "supervised").code == 0
    assert store.list_jobs()[0].spec.prompt is None


@pytest.mark.each(("words", "code", "says"), [
    (["digest"], 2, "changes nothing"),
    (["digest", "--command", "rm -r x"], 6, "nobody to ask"),
    (["digest", "--must-deliver"], 2, "sent nowhere"),
    (["digset", "--level", "readonly"], 1, 'did you mean "digest"?'),
    (["digest", "--every", "0s"], 2, "no span of time"),
])
def test_a_change_that_is_wrong_changes_nothing(claw, store, words, code,
                                                says):
    if not store.list_jobs():
        claw("cron", "add", WEEKDAYS, "--prompt", "x", "--name", "digest")
    before = store.list_jobs()

    done = claw("cron", "update", *words)
    assert (done.code, says in done.err) == (code, True), done
    assert store.list_jobs() == before


_DECLARED = """
[heartbeat]
enabled = true
[[cron.jobs]]
id = "d1"
name = "kept"
command = "ls"
schedule = { kind = "every", every_ms = 3600000 }
"""


def test_a_job_of_the_settings_is_changed_there(claw, store, write):
    write(_DECLARED)

    for verb in (["remove"], ["update", "--level", "readonly"]):
        done = claw("cron", verb[0], "kept", *verb[1:])
        assert (done.code, "config.toml" in done.err) == (2, True)
    assert "claw config edit" in claw("cron", "remove", "kept").err
    assert "claw config set heartbeat.enabled false" in claw(
        "cron", "remove", "heartbeat").err
    assert claw("cron", "pause", "kept").code == 0
    assert len(store.list_jobs()) == 2


def test_jobs_of_the_settings_are_there_before_anything_runs(
        claw, store, write, monkeypatch):
    write(_DECLARED)
    monkeypatch.setattr(common, "read_running", lambda places: "one")
    assert claw("cron", "show", "heartbeat").code == 1  # it takes them over
    monkeypatch.undo()

    assert json.loads(claw("cron", "list", "--json").out)["total"] == 2
    made = store.list_jobs()
    assert claw("cron", "show", "heartbeat").code == 0
    assert claw("cron", "show", "kept").code == 0
    assert store.list_jobs() == made

    write(_DECLARED.replace("3600000", "1").replace("= true", "= false"))
    done = claw("cron", "list", "--json")
    assert [job["id"] for job in json.loads(done.out)["jobs"]] == ["d1"]
    assert "every_ms" in done.err


def test_jobs_are_paused_resumed_and_removed_by_name(claw, store):
    ids = [claw("cron", "add", "@daily", "--command", "ls", "--name", name
                ).out.strip() for name in ("one", "two")]

    assert claw("cron", "pause", "one", "two").out.split() == ids
    assert not any(job.spec.enabled for job in store.list_jobs())
    assert claw("cron", "resume", "one", "--json").json["jobs"][0]["enabled"]
    assert claw("cron", "remove", "one", "nothing").code == 1
    assert len(store.list_jobs()) == 2  # all or none
    assert claw("cron", "remove", "one", ids[1], "--json").json == {
        "removed": ids, "total": 2}
    assert store.list_jobs() == []


# -- run, runs


def test_a_command_runs_at_once_and_its_schedule_stays(claw, store):
    claw("cron", "add", "@daily", "--command", "echo hello", "--name", "hi")
    (job,) = store.list_jobs()

    done = claw("cron", "run", "hi")
    assert (done.code, done.out) == (0, "hello\n")
    assert store.list_jobs()[0].next_run == job.next_run
    (row,) = claw("cron", "runs", "--json").json["runs"]
    assert (row["job_name"], row["status"], row["output"]) == (
        "hi", "ok", "hello\n")


@pytest.mark.parametrize(("words", "code", "status"), [
    (["--command", "cat nothing"], 1, "error"),
    (["--command", "ls", "--precheck", "cat nothing"], 0, "skipped"),
])
def test_how_a_run_ended_is_told(claw, words, code, status):
    claw("cron", "add", "@daily", *words, "--name", "it")

    done = claw("cron", "run", "it", "--json")
    assert (done.code, done.json["run"]["status"]) == (code, status)
    assert claw("cron", "runs", "it").out.split("\t")[2] == status


def test_a_prompt_runs_at_once_with_its_cost(claw, write, store):
    with FakeOpenAI(["It is due."]) as server:
        serve(write, server, PRICE)
        claw("cron", "add", "@daily", "--prompt", "What is due?", "--name",
             "due")
        done = claw("cron", "run", "due", "--json")

    assert done.code == 0
    assert done.json["run"]["output"] == "It is due."
    (job,) = store.list_jobs()
    assert done.json["run"]["cost_usd"] == job.month_usd > 0
    assert "What is due?" in server.chats[0].body["messages"][-1]["content"]


def test_nobody_is_asked_while_a_job_runs(claw, write, home):
    with FakeOpenAI([tool_call("shell", command="rm -r x"),
                     "I could not."]) as server:
        serve(write, server)
        claw("cron", "add", "@daily", "--prompt", "tidy", "--name", "tidy")
        done = claw("cron", "run", "tidy")

    answer = server.chats[1].body["messages"][-1]
    assert "not allowed by security policy" in answer["content"]
    assert done.out == "I could not.\n"


def test_a_run_by_hand_goes_on_in_the_conversation_of_its_job(claw, write):
    with FakeOpenAI(["Blue.", "Still blue."]) as server:
        serve(write, server)
        claw("cron", "add", "@daily", "--prompt", "Which colour?", "--name",
             "it", "--session", "own")
        for _ in range(2):
            assert claw("cron", "run", "it").code == 0

    said = [message["content"] for message in
            server.chats[1].body["messages"] if message["role"] != "system"]
    assert [text.rpartition("] ")[2] for text in said] == [
        "Which colour?", "Blue.", "Which colour?"]


def test_a_run_by_hand_adds_to_the_chat_that_it_is_of(claw, write, home):
    chat = SessionStore(home / "workspace" / "sessions")
    chat.append("telegram_7_7", [encode(Chat(ChatMessage.user("I am Ada")))])
    with FakeOpenAI(["Hello Ada."]) as server:
        serve(write, server, '[channels_config.telegram]\n'
              'bot_token = "1:a"\nallowed_users = ["7"]\n')
        claw("cron", "add", "@daily", "--prompt", "Greet me", "--name", "it",
             "--session", "main", "--to", "telegram:7")
        before = read_stamp(home / "workspace")
        assert claw("cron", "run", "it").code == 0

    sent = [each["content"] for each in server.chats[0].body["messages"]]
    assert any("I am Ada" in text for text in sent)
    assert [record["data"]["content"] for record in
            chat.load("telegram_7_7")][-1] == "Hello Ada."
    assert read_stamp(home / "workspace") != before  # listen looks anew


@pytest.mark.parametrize(("words", "code", "said"), [
    (["--prompt", "look", "--monthly-limit", "2", "--yes"], 6,
     "Budget exceeded: $3.00 of $2.00"),
    (["--command", "sleep 30", "--timeout", "1s"], 1, "timed out after 1s"),
    (["--prompt", "look", "--level", "supervised"], 6, "not done: shell"),
])
def test_a_run_by_hand_has_the_limits_of_its_job(claw, write, store, words,
                                                 code, said):
    with FakeOpenAI([tool_call("shell", command="git push"),
                     "I could not."]) as server:
        serve(write, server, '[autonomy]\nlevel = "full"\n')
        claw("cron", "add", "@daily", *words, "--name", "it")
        (job,) = store.list_jobs()
        store.end_run(store.begin_run(job.id, "s"), "", cost_usd=3.0)
        done = claw("cron", "run", "it")

    (run, _) = store.list_runs(job.id)
    assert (done.code, said in (run.output or "")) == (code, True), run
    assert run.status == ("denied" if code == 6 else "error")


def test_a_heartbeat_without_a_task_is_skipped_by_hand_too(claw, write,
                                                           store):
    write("[heartbeat]\nenabled = true\n")

    done = claw("cron", "run", "heartbeat")
    assert (done.code, done.out) == (0, "HEARTBEAT.md holds no task\n")
    assert store.list_runs("heartbeat")[0].status == "skipped"


def test_a_run_by_hand_that_is_stopped_is_over(claw, store, home):
    claw("cron", "add", "@daily", "--command", "sleep 30", "--name", "it")
    (job,) = store.list_jobs()

    async def stop():
        running = asyncio.ensure_future(run_job(load(locate(str(home))),
                                                job, print))
        while not store.list_runs(job.id):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await cancel_all([running])
        return running.cancelled()
    assert asyncio.run(stop())

    (run,) = store.list_runs(job.id)
    assert (run.status, "was stopped" in run.output) == ("interrupted", True)


def test_a_job_that_runs_is_not_run_beside_itself(claw, store):
    claw("cron", "add", "@daily", "--command", "ls", "--name", "busy")
    (job,) = store.list_jobs()
    assert store.begin_run(job.id, "slot")

    done = claw("cron", "run", "busy")
    assert (done.code, "under way" in done.err) == (5, True)


def test_the_runs_of_all_jobs_are_in_the_order_of_their_beginning(claw,
                                                                  store):
    for name in ("one", "two"):
        claw("cron", "add", "@daily", "--command", "ls", "--name", name)
    for slot in ("a", "b"):
        for job in store.list_jobs():
            store.end_run(store.begin_run(job.id, slot), f"{slot}\n",
                          status="denied", cost_usd=0.5)
            time.sleep(0.002)

    rows = claw("cron", "runs", "-n", "3", "--json").json
    assert [row["job_name"] for row in rows["runs"]] == ["two", "one", "two"]
    assert (rows["total"], rows["runs"][0]["cost_usd"]) == (3, 0.5)
    assert claw("cron", "runs", "one", "-n", "1", "--output").out == "b\n"


def test_without_a_model_a_job_says_what_memory_knows_or_fails(claw):
    claw("memory", "store", "tea", "Mina likes green tea")
    said = claw("cron", "add", "--every", "1h", "--prompt",
                "which tea does Mina like?", "--name", "known").err
    claw("cron", "add", "--every", "1h", "--prompt", "what is new in Oslo?",
         "--name", "unknown")
    known, unknown = (claw("cron", "run", name)
                      for name in ("known", "unknown"))

    assert "can't answer ends with an error" in said
    assert (known.code, unknown.code) == (0, 1)
    assert "green tea" in known.out
    assert "claw onboard" in unknown.out
