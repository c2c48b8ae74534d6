"""Every command over a workspace full of data, every opening heard: outside
the sandbox nothing in the workspace is opened by a whole path, where a link
on the way would be followed."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from claw.cli.app import COMMANDS
from claw.testing.fake_openai import FakeOpenAI, tool_call
from claw.testing.fake_telegram import FakeTelegram
from claw.wiring.setup.migrate import AGENTS
from tests.wiring.setup.migrate import folders

TOKEN = "1234567:CANARY-token-of-a-bot-that-nobody-may-see"
MCP = Path(__file__).resolve().parents[1] / "tools/mcp"
SKILL = MCP.with_name("skills") / "word-count"
PNG = (b"\x89PNG\r\n\x1a\n" + bytes(4) + b"IHDR" + bytes(13))

# What a name below another folder than the workspace's own is opened by is
# a descriptor and a relative name, so a whole path is what must not be:
# but for SQLite, which takes no other and looks at all parts before, and
# for what lies in the workspace itself and is not followed.
WATCH = """
import json, os, re, sys
workspace, commands, report = json.loads(sys.argv[1])
heard, checked, doing = [], set(), ""
FOLDER_CALLS = ("os.listdir", "os.scandir")
LAST_IS_KEPT = ("os.mkdir", "os.remove", "os.rmdir", "os.rename")
OTHERS = ("os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate",
          "os.utime", "shutil.copyfile", "shutil.rmtree", "os.setxattr")

def hook(event, arguments):
    if event == "claw.check_database":
        checked.add(arguments[0])
    elif event == "sqlite3.connect":
        path = re.sub(r"^file://|[?].*", "", str(arguments[0]))
        if below(path) and path not in checked:
            heard.append(f"{doing}: {event} {path}")
        checked.discard(path)
    elif event in ("open", *FOLDER_CALLS, *LAST_IS_KEPT, *OTHERS):
        for path in arguments[:2 if event in ("os.rename", "os.link") else 1]:
            if not isinstance(path, (str, bytes, os.PathLike)):
                continue
            path = os.fsdecode(path)
            kept = event in LAST_IS_KEPT or (
                event == "open" and arguments[2] & os.O_NOFOLLOW)
            if below(path) and not (
                    kept and os.path.dirname(path) == workspace):
                heard.append(f"{doing}: {event} {path}")

def below(path):
    return os.path.isabs(path) and os.path.normpath(path).startswith(
        workspace + "/")

sys.addaudithook(hook)
from claw.cli.app import run
codes = {}
for command in commands:
    doing = " ".join(command)
    codes[doing] = run(command)
with open(report, "w") as file:
    json.dump([heard, codes], file)
"""

# Each command as it is usually called, in an order in which all find
# something to do.
CALLS = {
    "listen": [["listen", "--channel", "cli"]],
    "memory store": [["colour", "Mina likes green tea"], ["b", "black"],
                     ["c", "gone soon", "--category", "daily"]],
    "memory index": [["NOTES"], ["NOTES", "--name", "again"], ["--list"],
                     ["--name", "notes"], ["--remove", "again"]],
    "ask": [["what does Mina like?"], ["-c", "and now?"],
            ["--docs", "notes", "which tea?"],
            ["--tools", "file_read,file_write,memory_store", "read it"]],
    "map": [["translate", "OUTSIDE"], ["--list"]],
    "model list": [[], ["--all"]], "template rm": [["gone"]],
    "log list": [[]], "log search": [["tea"]], "log show": [["-l"]],
    "log export": [[]], "log rm": [["--older-than", "30d", "--yes"]],
    "agent": [["hello"], ["--session", "work", "hello again"],
              ["--session", "work", "look: [IMAGE:photo.png]"]],
    "estop": [["--status"]],
    "permission allow": [["shell", "git push"]], "permission list": [[]],
    "permission revoke": [["--all"]], "permission show": [[]],
    "cron add": [["@daily", "--command", "ls", "--name", "look"],
                 ["--every", "1h", "--prompt", "hello", "--name", "talk"]],
    "cron list": [[]], "cron next": [[]], "cron show": [["look"]],
    "cron run": [["look"], ["talk"]], "cron runs": [[], ["look"]],
    "cron update": [["look", "--missed", "skip"]],
    "cron pause": [["look"]], "cron resume": [["look"]],
    "cron remove": [["look"]],
    "hook list": [[]], "hook test": [["before_tool_call"]],
    "send": [["telegram:1001", "-f", "OUTSIDE", "see here"],
             ["telegram:1001", "[DOCUMENT:notes.txt]"]],
    "status": [[], ["--json"]], "why": [[]], "cost": [[], ["--json"]],
    "gateway token": [["add", "laptop"], ["list"]], "gateway pair": [[]],
    "channel setup": [[]], "channel list": [[]], "channel doctor": [[]],
    "queue list": [["--all"]], "queue retry": [[]],
    "backup create": [["COPY"]], "backup verify": [["COPY"]],
    "queue purge": [["--older-than", "0d", "--yes"]],
    "memory recall": [["tea"], ["--as-of", "2126-01-01", "tea"],
                      ["--docs", "notes", "tea"]],
    "memory get": [["colour"]], "memory list": [[], ["--json"]],
    "memory count": [[]], "memory stats": [[]],
    "memory exam": [[]], "memory conflicts": [[]],
    "memory snapshot": [[], ["--check"], ["-"]],
    "memory hydrate": [[], ["--replace"]],
    "memory export": [[]], "memory import": [["FOREIGN"]],
    "memory history": [["colour"]],
    "memory undo": [["colour"], []], "memory pin": [["colour"]],
    "memory reindex": [[]], "memory check": [[], ["--repair"]],
    "memory hygiene": [["--dry-run"], ["--force"]],
    "memory forget": [["b"], ["colour", "--prove"]],
    "memory model": [["status"]],
    "provider list": [[]], "provider models": [[], ["--refresh"]],
    "provider test": [[]],
    "template list": [[]], "template show": [["commit"]],
    "template edit": [["commit"]],
    "template save": [["x", str(MCP.parents[2] / "LICENSE")]],
    "model alias": [[], ["fast", "m"]],
    "mcp add": [["raw", "--readable", str(MCP), "--", sys.executable, "-I",
                 str(MCP / "raw_server.py"), "well"]], "mcp list": [[]],
    "mcp test": [["raw"]], "mcp accept": [["raw", "--yes"]],
    "mcp serve": [[]],
    "skill install": [[str(SKILL)]], "skill list": [[]],
    "skill show": [["word-count"]], "skill audit": [[]],
    "skill test": [["word-count", "scripts/count.py", "notes.txt"]],
    "skill accept": [["word-count", "--yes"]],
    "skill remove": [["word-count"]],
    "tool list": [[]],
    "tool run": [["file_read", '{"path": "notes.txt"}'],
                 ["file_write", '{"path": "new/n.txt", "content": "x"}'],
                 ["shell", '{"command": "ls"}']],
    "config show": [[]], "config get": [["memory.backend"]],
    "config set": [["agent.parallel_tools", "true"]],
    "config unset": [["agent.parallel_tools"]], "config check": [[]],
    "config path": [[]], "config edit": [[]], "config schema": [[]],
    "config apply": [["NEW", "--no-probe"]],
    "config history": [[], ["1"]],
    "config undo": [["--no-probe"]],
    "migrate": [["zeroclaw", "ZEROCLAW", "--dry-run"],
                *([agent, agent.upper(), "--yes"] for agent in AGENTS)],
    "session list": [[]], "session show": [["work"], ["last-year"]],
    "session export": [["work"]], "session clear": [["last-year"]],
    "security audit": [[]], "security review": [[], ["--yes"]],
    "doctor": [[], ["--fix"]], "completion": [["bash"]],
    "onboard": [["--yes"]], "do": [["list the files"]],
    "help": [["ask"]], "version": [[]],
}
# Works in folders of its own; runs until it is stopped (below).
NOT_HERE = {"prove", "tap", "acp", "gateway serve", "gateway link",
            "backup restore"} | {
    f"service {name}" for name in (  # these are the service manager's
        "install", "uninstall", "start", "stop", "status", "logs")}


@pytest.fixture
def model():
    """Calls tools where some are offered."""
    with FakeOpenAI(replies=[
            "a name", "yes", call_or_say("file_read", path="notes.txt"),
            call_or_say("file_write", path="out.txt", content="x"),
            '{"command": "ls", "explanation": "the answer"}']) as fake:
        yield fake


def call_or_say(name, **arguments):
    def reply(body):
        return (tool_call(name, **arguments) if body.get("tools")
                else "no tool is there")
    return reply


@pytest.fixture
def platform():
    with FakeTelegram(TOKEN) as fake:
        yield fake


@pytest.fixture
def workspace(home, model, platform):
    """Settings that use all there is, and what commands leave."""
    home.mkdir(mode=0o700)
    config = home / "config.toml"
    config.write_text(
        f'default_provider = "custom:{model.url}"\n'
        'default_model = "fake-model"\n'
        "[memory]\nsnapshot_enabled = true\nsnapshot_on_hygiene = true\n"
        "archive_after_days = 1\nresponse_cache_enabled = true\n"
        f'[channels_config.telegram]\nbot_token = "{TOKEN}"\n'
        'allowed_users = ["alice"]\npoll_timeout_secs = 1\n'
        f'api_base_url = "{platform.url}"\n'
        '[autonomy]\nlevel = "full"\n')
    config.chmod(0o600)
    folder = home / "workspace"
    for name in ("memory/archive", "sessions/archive", "state"):
        (folder / name).mkdir(parents=True)
    for name in ("AGENTS", "SOUL", "USER", "TOOLS", "IDENTITY", "MEMORY",
                 "HEARTBEAT", "BOOTSTRAP"):
        (folder / f"{name}.md").write_text(f"I am {name}.")
    (folder / "notes.txt").write_text("notes")
    (folder / "photo.png").write_bytes(PNG)
    (folder / "memory/2024-01-01.md").write_text("# Old\n")
    (folder / "sessions/archive/last-year.jsonl").write_text(
        '{"role": "user", "content": "hi"}\n')
    return folder


@pytest.fixture
def watch(workspace, environment, tmp_path):
    """watch(commands): what was opened by a whole path, and exit codes."""
    def start(commands, **given):
        report = tmp_path / "report"
        report.unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", WATCH, json.dumps(
                [str(workspace), commands, str(report)])], cwd=tmp_path,
            env={**environment, "EDITOR": "true",
                 "XDG_RUNTIME_DIR": str(tmp_path)},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        return process, report

    def watch(commands, stdin=b""):
        process, report = start(commands)
        _, err = process.communicate(stdin, timeout=300)
        assert process.returncode == 0, err[-3000:]
        return json.loads(report.read_text())
    watch.start = start
    return watch


def test_every_command_of_the_table_is_watched():
    assert set(CALLS) == set(COMMANDS) - NOT_HERE - {
        name for name in COMMANDS
        if any(other.startswith(f"{name} ") for other in COMMANDS)}


def test_no_command_opens_by_a_path_that_could_lead_out(
        watch, workspace, tmp_path):
    (workspace / "owners/notes/deep").mkdir(parents=True)
    (workspace / "owners/notes/deep/tea.md").write_text("# Tea\n\ngreen\n")
    (tmp_path / "outside.txt").write_text("report")
    (tmp_path / "new.toml").write_text("[cost]\nenabled = false\n")
    (tmp_path / "foreign.ndjson").write_text(
        '{"key": "f", "content": "foreign"}\n')
    names = {"OUTSIDE": str(tmp_path / "outside.txt"),
             "FOREIGN": str(tmp_path / "foreign.ndjson"),
             "NOTES": str(workspace / "owners/notes"),
             "NEW": str(tmp_path / "new.toml"),
             "COPY": str(tmp_path / "copy.tar.gz"),
             **{agent.upper(): str(getattr(folders, agent)(tmp_path / agent))
                for agent in AGENTS}}
    commands = [
        call if name == "listen" else [
            *name.split(), *(names.get(word, word) for word in call)]
        for name, calls in CALLS.items() for call in calls]
    heard, codes = watch(commands, stdin=b"what is 6 * 7?\n")

    assert heard == [], "\n".join(heard)
    assert {name: code for name, code in codes.items()
            if code not in (0, 1)} == {}


def test_no_way_of_recovery_does(watch, workspace):
    """Restored from the snapshot, damaged, of the reference's form."""
    watch([["memory", "store", "k", "tea", "--category", "core"],
           ["memory", "snapshot"]])
    (workspace / "memory/brain.db").unlink()
    heard = watch([["memory", "recall", "tea"]])[0]
    for name in ("memory/brain.db", "memory/response_cache.db"):
        (workspace / name).write_bytes(b"SQLite format 3\0" + b"x" * 9000)
    heard += watch([["memory", "store", "l", "milk"], ["ask", "hello"],
                    ["memory", "check"], ["doctor"]])[0]

    assert heard == [], "\n".join(heard)
    assert list((workspace / "memory").glob("brain.db.corrupt-*"))


@pytest.mark.parametrize("command", [
    ["listen"], ["tap", "telegram", "--", "echo", "seen"]])
def test_no_message_of_a_channel_does(watch, workspace, platform, model,
                                      command):
    process, report = watch.start([command])
    drained = threading.Thread(target=process.stderr.read, daemon=True)
    drained.start()
    platform.post(None, caption="hello", photo=[
        {"file_id": platform.add_file(PNG), "file_unique_id": "u",
         "width": 1, "height": 1}])
    platform.wait_until(lambda: len(platform.answers()) >= 1, 60)
    process.terminate()
    assert process.wait(60) == 0
    drained.join()
    process.stdin.close()
    assert list((workspace / "telegram_files").iterdir())
    process.stderr.close()

    assert json.loads(report.read_text())[0] == []
