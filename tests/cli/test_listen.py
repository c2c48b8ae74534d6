"""claw listen as a process: started, asked, told to end, killed."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from claw.cli.show.event_log import EventLog
from claw.cli.show.output import Output
from claw.testing.fake_openai import FakeOpenAI, tool_call
from claw.testing.fake_telegram import FakeTelegram

TOKEN = "1234567:CANARY-token-of-a-bot-that-nobody-may-see"


def write(home, platform, model, more=""):
    home.mkdir(mode=0o700, exist_ok=True)
    config = home / "config.toml"
    config.write_text(
        f'default_provider = "custom:{model.url}"\n'
        'default_model = "fake-model"\n' + more +
        f'[channels_config.telegram]\nbot_token = "{TOKEN}"\n'
        'allowed_users = ["alice"]\npoll_timeout_secs = 1\n'
        f'api_base_url = "{platform.url}"\n')
    config.chmod(0o600)


@pytest.fixture
def platform():
    with FakeTelegram(TOKEN) as fake:
        yield fake


@pytest.fixture
def model():
    with FakeOpenAI(replies=["the answer"]) as fake:
        yield fake


class Listening:
    """A claw listen of its own."""

    def __init__(self, environment, folder, *arguments):
        folder.mkdir(exist_ok=True)
        self.log = folder / f"log-{time.monotonic_ns()}"
        with self.log.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "claw", "listen", "--log-format",
                 "json", *arguments], env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=stderr)

    def events(self):
        whole, _, _ = self.log.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def until(self, event, timeout_s=15):
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found = [e for e in self.events() if e["event"] == event]
            if found:
                return found[0]
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.01)
        raise TimeoutError(f"no {event!r} in {self.log.read_text()}")

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(20)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def listen(environment, tmp_path):
    started = []

    def start(*arguments):
        started.append(Listening(
            {**environment, "XDG_RUNTIME_DIR": str(tmp_path)},
            tmp_path / "logs", *arguments))
        return started[-1]
    yield start
    for one in started:
        one.close()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_and_a_signal_ends_it(listen, home, platform, model,
                                         ending):
    write(home, platform, model)
    service = listen("-v")
    service.until("started")
    platform.post("hello")
    platform.wait_until(lambda: platform.answers() == ["the answer"])

    assert service.end(ending) == 0
    events = [e["event"] for e in service.events()]
    assert "draining" in events
    assert events[-1] == "stopped"
    assert events.count("sent") == 1
    assert "CANARY" not in service.log.read_text()
    assert service.process.stdout.read() == b""
    assert platform.pending() == 0


def test_who_stands_by_takes_over_when_the_other_is_killed(
        listen, home, platform, model):
    write(home, platform, model)
    first = listen()
    first.until("started")
    second = listen()
    assert second.until("standby")["pid"] == first.process.pid
    platform.post("one")
    platform.wait_until(lambda: len(platform.answers()) == 1)

    first.end(signal.SIGKILL)
    second.until("started")
    platform.post("two")
    platform.wait_until(lambda: len(platform.answers()) == 2)
    assert second.end() == 0
    assert platform.dropped == []


def test_lines_of_stdin_are_answered_in_order_then_it_ends(claw):
    done = claw("listen", "--channel", "cli", "-p", "offline",
                stdin="what is 6 * 7?\nwhat is 2 + 2?\n")

    assert done.code == 0
    answers = done.out.splitlines()
    assert "42" in answers[0]
    assert "4" in answers[-1]
    assert len(answers) < 10


def test_jsonl_on_stdin_gives_an_object_a_line(claw):
    lines = [json.dumps({"content": "what is 6 * 7?", "sender": "zoe",
                         "thread_id": "t1"}), "not json"]
    done = claw("listen", "--channel", "cli", "-p", "offline", "--jsonl",
                stdin="\n".join(lines) + "\n")

    objects = [json.loads(line) for line in done.out.splitlines()]
    answer = next(o for o in objects if "content" in o)
    assert "42" in answer["content"]
    assert (answer["recipient"], answer["thread_id"]) == ("zoe", "t1")
    assert any("error" in o for o in objects)


@pytest.fixture
def asking(home, platform):
    """A model that wants to write a note, which the owner has to allow."""
    with FakeOpenAI(replies=[
            tool_call("file_write", path="note.txt", content="x"),
            "it is done"]) as model:
        write(home, platform, model)
        yield home / "workspace" / "note.txt"


def test_a_question_after_the_end_of_stdin_is_a_no_at_once(claw, asking):
    """It waited a quarter of an hour for an answer nobody could give."""
    began = time.monotonic()
    done = claw("listen", "--channel", "cli", stdin="write a note\n")

    assert done.code == 0
    *_, answer, _, told = done.out.splitlines()
    assert answer == "it is done"
    assert told.startswith("not done: file_write `path: note.txt, content: x`"
                           " wanted a yes, nobody could be asked")
    assert not asking.exists()
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(("word", "written"), [("y", True), ("No", False)])
def test_a_word_typed_under_a_question_answers_it(
        environment, tmp_path, asking, word, written):
    with subprocess.Popen(
            [sys.executable, "-m", "claw", "listen", "--channel", "cli"],
            env={**environment, "XDG_RUNTIME_DIR": str(tmp_path)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL) as process:
        process.stdin.write("write a note\n")
        process.stdin.flush()
        while not (line := process.stdout.readline()).endswith("?\n") \
                or "/ no" not in line:
            assert process.poll() is None
        process.stdin.write(f"{word}\n")
        process.stdin.flush()
        while process.stdout.readline() != "it is done\n":
            assert process.poll() is None
        process.stdin.close()
        assert process.wait(20) == 0

    assert asking.exists() == written


# -- listen --check


def test_a_check_says_what_would_run_and_makes_nothing(claw, home, platform,
                                                       model):
    write(home, platform, model)
    before = sorted(p.name for p in home.rglob("*"))
    done = claw("listen", "--check", "--json")

    assert done.code == 0
    assert done.json["ok"] is True
    ids = {c["id"]: c["status"] for c in done.json["checks"]}
    assert ids["listen.channel.telegram"] == "ok"
    assert ids["listen.provider"] == "ok"
    assert ids["listen.queue"] == "ok"
    assert set(done.json["checks"][0]) == {"id", "group", "status",
                                           "detail", "hint"}
    assert sorted(p.name for p in home.rglob("*")) == before
    assert platform.calls == []
    assert "CANARY" not in done.out + done.err


@pytest.mark.parametrize(("config", "arguments", "code", "said"), [
    ("", (), 3, "no channel is configured"),
    ("x = [", (), 3, "config.toml"),
    ("", ("--channel", "telegrm"), 2, "telegram"),
    ('[channels_config.telegram]\nstream_mode = "x"\n', (), 3,
     "stream_mode"),
    ("", ("--channel", "cli"), 0, "can be started"),
])
def test_a_check_ends_with_the_code_of_the_first_fault(
        claw, home, config, arguments, code, said):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(config)
    (home / "config.toml").chmod(0o600)
    done = claw("listen", "--check", *arguments)

    assert done.code == code
    assert said in done.out + done.err


def test_without_a_channel_it_does_not_start_and_says_what_to_do(claw):
    done = claw("listen")
    assert done.code == 3
    assert "claw config set channels_config.telegram.bot_token" in done.err


def test_a_failpoint_that_is_no_number_is_refused(claw):
    done = claw("listen", "--channel", "cli", "-p", "offline", stdin="",
                env={"CLAW_FAILPOINT": "x"})
    assert done.code == 2


# -- the event log


def log_of(**more):
    stream = io.StringIO()
    return EventLog(Output(stderr=stream, **more.pop("out", {})),
                    verbose=more.pop("verbose", 0)), stream


EVENTS = [
    ("started", {"channels": "telegram", "recovered": 3, "ms": 12}),
    ("message", {"channel": "telegram", "sender": "bob",
                 "text": f"my token is {TOKEN}\x1b[2J\u202e", "id": "1"}),
    ("channel.error", {"channel": "telegram", "error": f"bot{TOKEN}/x",
                       "hint": "sk-proj-CANARYcanary0123456789"}),
    ("channel.restart", {"channel": "x", "wait_s": 2.0}),
    ("channel.restart", {"channel": "x", "wait_s": "soon"}),
    ("odd_event", {"path": os.curdir, "n": None, "obj": ValueError(TOKEN)}),
    ("send.error", {"channel": "x", "error": "a\nb", "final": True}),
]


@pytest.mark.parametrize("json_notes", [True, False])
def test_no_line_shows_a_token_or_moves_the_cursor(json_notes):
    log, stream = log_of(out={"json_notes": json_notes}, verbose=1)
    for event, fields in EVENTS:
        log(event, **fields)

    lines = stream.getvalue().splitlines()
    assert len(lines) == len(EVENTS)
    assert "CANARY" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
    if json_notes:
        assert [json.loads(line)["event"] for line in lines] \
            == [event for event, _ in EVENTS]
        assert json.loads(lines[0])["at"].endswith("Z")
    else:
        assert "\u202e" not in stream.getvalue()


def test_what_goes_right_and_often_is_said_only_when_asked_for():
    for verbose, count in ((0, 1), (1, 3)):
        log, stream = log_of(verbose=verbose)
        log("message.accepted", channel="x")
        log("sent", channel="x")
        log("started", channels="x", recovered=0, ms=1)
        assert len(stream.getvalue().splitlines()) == count


def test_quiet_leaves_only_trouble():
    log, stream = log_of(out={"quiet": True})
    log("started", channels="x", recovered=0, ms=1)
    log("channel.error", channel="x", error="no net", hint="wait")
    assert "no net" in stream.getvalue()
    assert "(wait)" in stream.getvalue()
    assert len(stream.getvalue().splitlines()) == 1


def test_the_pairing_line_shows_the_command_as_people_there_type_it():
    log, stream = log_of()
    log("pairing", channel="x", code="123456", bind="!bind", hint="nobody")

    assert stream.getvalue()[9:] == \
        "x: to pair, send the bot: !bind 123456 (nobody)\n"


def test_a_log_that_can_not_be_written_costs_nothing():
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")
    EventLog(Output(stderr=Full()), verbose=0)("stopped")


def test_a_sender_is_not_told_where_the_model_that_is_down_runs(
        claw_process, home):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        'default_provider = "custom:http://127.0.0.1:9/v1"\n'
        'default_model = "m"\n[reliability]\nprovider_retries = 0\n')
    (home / "config.toml").chmod(0o600)
    done = claw_process("listen", "--channel", "cli", stdin="hello\n")
    why = claw_process("listen", "--channel", "cli", stdin="hello\n/why\n")

    assert done.out == ("⚠️ Error: the model can't be reached now. Please "
                        "try again later.\n")
    assert "127.0.0.1:9: connection refused" in done.err
    assert "connection refused" in why.out


def test_a_command_of_the_console_with_nothing_to_do_asks_no_model(
        claw_process, home, model, platform):
    write(home, platform, model)
    done = claw_process("listen", "--channel", "cli",
                        stdin="/stop\n/nonsense\n")

    assert (done.code, model.chats) == (0, [])
    assert done.out == ("No in-flight task for this sender scope.\n"
                        "Unknown command `/nonsense`.\n")
