"""claw status: one screen, whatever is broken."""

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime

import pytest

from claw.cli.show.bars import count_cells
from claw.cli.show.output import Output
from claw.cli.show.status_page import write_page
from claw.core.channel import ChannelMessage, SendMessage
from claw.core.channel import Part as MessagePart
from claw.core.ledger import CallEnd, CallStart
from claw.storage.jobs.model import JobSpec
from claw.storage.jobs.schedule import Schedule
from claw.storage.jobs.store import SqliteJobs
from claw.storage.ledger import SqliteLedger
from claw.storage.log.entry import End, Start
from claw.storage.log.writer import LogWriter
from claw.storage.queue.model import Arrival, NewSend
from claw.storage.queue.sqlite import SqliteQueue
from claw.wiring.checks.check import Check
from claw.wiring.status.part import Part, Status

TELEGRAM = ('[channels_config.telegram]\nbot_token = "1:CANARY-token-nobody-'
            'sees"\nallowed_users = ["alice"]\n')
STORES = ("state/queue.db", "state/jobs.db", "state/ledger.db",
          "state/log.db", "memory/brain.db")


def write(home, text=TELEGRAM):
    home.mkdir(mode=0o700, exist_ok=True)
    config = home / "config.toml"
    config.write_text(text)
    config.chmod(0o600)


def say(home, pid=None, age_s=0.0, parts=None):
    """What a claw listen would have written `age_s` ago."""
    moment = datetime.fromtimestamp(time.time() - age_s, UTC).isoformat()
    path = home / "workspace" / "state" / "listen.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({
        "pid": pid or os.getpid(), "written_at": moment,
        "uptime_seconds": 7200, "components": {"channel:telegram": {
            "status": "ok", "last_receive": moment, "last_send": None,
            "restart_count": 0, "last_error": None}, **(parts or {})}}))


def find(done, check_id):
    found = [check for check in done.json["checks"]
             if check["id"] == check_id]
    assert len(found) == 1, (check_id, done.json["checks"])
    return found[0]


def test_an_empty_home_is_well_and_stays_empty(claw, home):
    done = claw("status")

    assert done.code == 0
    assert re.match(r"skip\tlisten\tdoes not run", done.out)
    assert not home.exists()


def test_channels_that_nobody_runs_are_broken(claw, home):
    write(home)
    done = claw("status", "--json")

    assert done.code == 1
    assert find(done, "listen")["status"] == "fail"
    assert done.json["listen"] == {"running": False}
    assert [row["name"] for row in done.json["channels"]] == ["telegram"]


def test_a_running_listen_says_how_its_channels_are(claw, home):
    write(home)
    say(home)
    done = claw("status", "--json")

    assert done.code == 0
    assert done.json["listen"]["pid"] == os.getpid()
    assert "for 2 h" in find(done, "listen")["detail"]
    assert re.match("last receive . s ago, no send since its start",
                    find(done, "channels.telegram.traffic")["detail"])


def test_the_gateway_of_a_listen_says_where_it_is(claw, home):
    write(home)
    say(home, parts={"gateway": {"status": "ok",
                                 "address": "http://[::1]:42617"}})
    done = claw("status", "--json")

    assert find(done, "gateway")["detail"] == "http://[::1]:42617"
    assert done.json["gateway"]["address"] == "http://[::1]:42617"


def test_nonsense_in_the_state_of_a_gateway_ends_nothing(claw, home):
    write(home)
    say(home, parts={"gateway": "nonsense"})
    state = home / "workspace" / "state"
    (state / "listen.json").rename(state / "gateway.json")
    done = claw("status", "--json")

    assert find(done, "gateway")["status"] == "ok"
    assert done.json["gateway"]["pid"] == os.getpid()


@pytest.mark.parametrize("part", [
    {"status": "error", "hint": 5, "last_error": []},
    {"status": ["ok"], "restart_count": "often", "rejected": {}},
    {"restart_count": {}, "last_receive": True, "last_turn": "yesterday"},
    ["ok"]])
def test_nonsense_in_a_part_of_the_state_ends_nothing(claw, home, part):
    write(home)
    say(home, parts={"channel:telegram": part, "turns": part})
    done = claw("status", "--json")

    assert find(done, "turns")
    assert [row["name"] for row in done.json["channels"]] == ["telegram"]
    assert claw("status").code in (0, 1)


def test_a_state_that_nests_without_end_is_none(claw, home):
    write(home)
    say(home)
    state = home / "workspace" / "state" / "listen.json"
    state.write_text(state.read_text()[:-1] + ', "x": ' + "[" * 100_000)
    done = claw("status", "--json")

    assert done.json["listen"] == {"running": False}


def test_a_channel_that_was_started_again_does_not_say_never(claw, home):
    write(home)
    say(home, parts={"channel:telegram": {"status": "ok"}})
    done = claw("status", "--json")

    assert find(done, "channels.telegram.traffic")["detail"] == (
        "no receive since its start, no send since its start")


def test_a_broken_channel_shows_its_error_and_the_next_step(claw, home):
    write(home)
    say(home, parts={"channel:telegram": {
        "status": "error", "last_error": "telegram refused the token",
        "hint": "make a new one"}})
    done = claw("status")

    assert done.code == 1
    line, = (line for line in done.out.splitlines()
             if line.startswith("fail"))
    assert line.startswith("fail\ttelegram\ttelegram refused the token")
    assert line.endswith("\tmake a new one")


def test_a_channel_that_listen_was_started_without_is_told(claw, home):
    write(home, TELEGRAM + "[channels_config.webhook]\nport = 1\n")
    say(home)

    check = find(claw("status", "--json"), "channels.webhook.traffic")
    assert (check["status"], check["hint"]) == (
        "warn", "claw listen, without --channel")


def test_a_listen_that_stands_still_is_broken(claw, home):
    write(home)
    say(home, age_s=300)
    done = claw("status", "--json")

    assert done.code == 1
    assert "said nothing for 5 min" in find(done, "listen")["detail"]


def test_a_listen_that_was_killed_does_not_run(claw, home):
    gone = subprocess.Popen(["true"])
    gone.wait()
    write(home)
    say(home, pid=gone.pid)

    assert claw("status", "--json").json["listen"] == {"running": False}


def test_other_parts_of_the_service_have_their_lines(claw, home):
    write(home)
    say(home, parts={"gateway": {"status": "error", "hint": "free the port",
                                 "last_error": "port 42617 is taken"}})
    done = claw("status", "--json")

    assert done.code == 1
    assert done.json["gateway"]["status"] == "error"
    assert find(done, "gateway")["hint"] == "free the port"

    say(home, parts={"turns": {"status": "ok", "last_turn": datetime.now(
        UTC).isoformat()}})
    detail = find(claw("status", "--json"), "turns")["detail"]
    assert re.fullmatch("last turn . s ago", detail)


def test_broken_settings_are_told_and_the_rest_is_shown(claw, home):
    write(home, "this is no toml")
    say(home)
    done = claw("status", "--json")

    assert done.code == 1
    assert "config.toml:1" in done.json["config"]
    assert find(done, "config")["hint"].endswith("claw config undo")
    assert find(done, "listen")["hint"] is None  # channels are not known
    assert find(done, "channels.telegram.traffic")["status"] == "ok"
    assert find(done, "queue")["status"] == "ok"
    assert find(done, "memory")["status"] == "skip"


def test_a_setting_that_claw_listen_refuses_is_told(claw, home):
    write(home, "[gateway]\nprot = 1\n")
    done = claw("status", "--json")

    assert done.code == 1
    assert "gateway.prot: unknown key" in done.json["config"]
    assert find(done, "config.gateway.prot")["hint"] == \
        'did you mean "port"?'


def test_damaged_stores_are_told_each_and_left_alone(claw, home):
    for name in STORES:
        path = home / "workspace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"not a database at all" * 100)
    done = claw("status", "--json")

    assert done.code == 1
    assert [check["id"] for check in done.json["checks"]
            if check["status"] == "fail"] == [
        "queue", "memory", "spending", "jobs", "errors"]
    assert all(check["hint"] for check in done.json["checks"]
               if check["status"] == "fail")
    assert {path.name for path in (home / "workspace").rglob("*")} == {
        "state", "memory", *(name.split("/")[1] for name in STORES)}


def test_an_emergency_stop_is_no_health(claw, home):
    assert claw("estop", "--reason", "it writes to strangers").code == 0
    done = claw("status", "--json")

    assert done.code == 1
    assert "it writes to strangers" in find(done, "config.stopped")["detail"]


async def fill_queue(home):
    queue = SqliteQueue(home / "workspace" / "state" / "queue.db")
    lease = await queue.lease("other", 60)
    await queue.accept(lease, [Arrival(ChannelMessage(
        str(number), "alice", "1001", "hello", "telegram", 0), f"c{number}")
        for number in range(3)])
    rows = await queue.post([NewSend(
        f"send:{number}", "telegram", message,
        (MessagePart("text", message.content),))
        for number, message in enumerate([
            SendMessage("one", "1001"), SendMessage("two", "1002")])])
    await queue.mark_sending(lease, rows[0])
    await queue.put_off(lease, rows[0], 0, "cut", uncertain=True)
    await queue.mark_sending(lease, rows[1])
    await queue.mark_failed(lease, rows[1], "the chat is gone")
    await queue.aclose()


def test_what_waits_is_in_doubt_or_failed_is_counted(claw, home):
    asyncio.run(fill_queue(home))
    done = claw("status", "--json")

    assert done.code == 0
    queue = done.json["queue"]
    assert (queue["waiting"], queue["in_doubt"], queue["failed"]) == (3, 1, 1)
    assert find(done, "queue")["detail"].startswith(
        "3 to answer, 1 in doubt, 1 failed, the oldest waits for")
    assert done.json["errors"][0]["where"] == "telegram:1002"
    assert "the chat is gone" in find(done, "error")["detail"]


def test_what_is_spent_stands_beside_its_limit(claw, home):
    write(home, "[cost]\ndaily_limit_usd = 1.0\n")
    with closing(SqliteLedger(
            home / "workspace" / "state" / "ledger.db")) as ledger:
        held = ledger.reserve(CallStart("openai", "m", 0.9))
        ledger.settle(held, CallEnd("ok", cost_usd=0.9))
        done = claw("status", "--json")
        assert (done.code, find(done, "spending")["status"]) == (0, "warn")

        held = ledger.reserve(CallStart("openai", "m", 0.1))
        ledger.settle(held, CallEnd("ok", cost_usd=0.1))
    done = claw("status", "--json")
    assert (done.code, find(done, "spending")["status"]) == (1, "fail")
    assert done.json["spending"]["daily_limit_usd"] == 1.0
    assert find(done, "spending")["detail"].startswith(
        "$1.00 of $1.00 today")


def test_the_next_jobs_are_named_and_what_is_wrong_with_them(claw, home):
    path = home / "workspace" / "state" / "jobs.db"
    jobs = SqliteJobs(path)
    for name, hours in (("third", 2), ("soon", 1)):
        job = jobs.add(JobSpec(Schedule("every", every_ms=hours * 3_600_000),
                               name=name, command="true"))
    done = claw("status", "--json")

    assert [job["name"] for job in done.json["jobs"]["next"]] == [
        "soon", "third"]
    assert find(done, "jobs")["status"] == "ok"

    jobs.end_run(jobs.begin_run(job.id, "slot"), "no", status="error")
    SqliteJobs(path, now=lambda: time.time() - 7200).add(JobSpec(
        Schedule("every", every_ms=3_600_000), command="true  # of a longer "
        "text"))
    done = claw("status", "--json")

    assert " ($ true # of a longer tex...) (" in find(done, "jobs")["detail"]

    assert find(done, "jobs")["status"] == "warn"
    assert "1 late, the last run of soon ended with error" in find(
        done, "jobs")["detail"]
    assert (done.json["jobs"]["late"], done.json["jobs"]["failed"]) == (1, 1)


def test_memories_are_counted_without_the_embedder(claw, home):
    assert claw("memory", "store", "k", "green tea").code == 0
    write(home, '[memory]\nembedding_provider = "custom:http://192.0.2.1"\n')

    memory = claw("status", "--json").json["memory"]
    assert (memory["backend"], memory["entries"]) == ("sqlite", 1)
    assert memory["size_bytes"] > 0


def test_a_memory_on_a_server_is_not_asked(claw, home):
    pytest.importorskip("psycopg")
    write(home, '[storage.provider.config]\nprovider = "postgres"\n'
                'db_url = "postgres://192.0.2.1/x"\n')
    started = time.monotonic()
    done = claw("status", "--json")

    assert "not asked" in find(done, "memory")["detail"]
    assert time.monotonic() - started < 5


def test_the_last_errors_of_turns_are_shown(claw, home):
    with closing(LogWriter(home / "workspace" / "state" / "log.db")) as log:
        for number, outcome in enumerate(("answered", "failed")):
            log.begin(Start(f"id{number}", "ask", "why?"))
            log.end(f"id{number}", End(outcome, error="no route to host"
                             if outcome == "failed" else None))
    done = claw("status", "--json")

    error, = done.json["errors"]
    assert (error["where"], error["error"]) == ("ask", "no route to host")
    assert find(done, "error")["hint"] == "claw log show id1"


def plain(line):
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


@pytest.mark.parametrize("columns", [120, 80, 40, 20])
def test_no_line_is_wider_than_the_terminal(columns):
    status = Status("2026-11-24T01:00:00Z", "/home/名前/workspace", (
        Part("channels", [], (
            Check("channels.電報.traffic", "fail", "トークンが拒否された " * 9,
                  "설정을 확인하세요 " * 9),)),
        Part("memory", None, (Check("memory", "ok", "sqlite\x1b[2J\n3"),))))
    lines = [plain(line) for line in write_page(status, Output(), columns)]

    assert max(map(count_cells, lines)) <= columns
    assert lines[0] == "1 failure"
    assert any("\\x1b[2J" in line for line in lines) or columns == 20


def watch(environment, *arguments, **streams):
    return subprocess.Popen(
        [sys.executable, "-m", "claw", "status", "--watch", *arguments],
        env={**environment, "TERM": "xterm"}, **streams)


def test_watching_as_json_is_an_object_a_line_until_ctrl_c(environment):
    with watch(environment, "--json", stdout=subprocess.PIPE) as child:
        lines = [json.loads(child.stdout.readline()) for _ in range(2)]
        child.send_signal(signal.SIGINT)
        assert child.wait(10) == 0

    assert [line["ok"] for line in lines] == [True, True]
    assert lines[0]["at"] < lines[1]["at"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_watching_draws_over_itself_and_gives_the_screen_back(environment,
                                                              end):
    ours, theirs = pty.openpty()
    with watch(environment, stdout=theirs, stdin=theirs,
               stderr=theirs) as child:
        os.close(theirs)
        seen = b""
        while seen.count(b"\x1b[H") < 2:
            seen += os.read(ours, 65536)
        child.send_signal(end)
        assert child.wait(10) == 0
    while not seen.endswith(b"\x1b[?1049l"):
        seen += os.read(ours, 65536)
    os.close(ours)

    assert seen.startswith(b"\x1b[?1049h")
    assert b"\x1b[2J" not in seen
    assert b"\x1b[?25h" in seen
