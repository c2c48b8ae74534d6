"""claw tool list and claw tool run, as real processes."""

import json
import os
import subprocess
import sys

import pytest

from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import ResourceSettings, SandboxSettings
from tests.cli.onboard.terminal import Terminal


def test_list_names_every_tool(claw):
    plain = claw("tool", "list")
    found = claw("tool", "list", "--json").json

    assert plain.code == 0
    assert plain.out.splitlines()[0].startswith("shell\tRun a shell")
    assert found["total"] == len(found["tools"]) >= 7
    assert [t["name"] for t in found["tools"]] == [
        row.partition("\t")[0] for row in plain.out.splitlines()]
    assert found["tools"][1]["parameters"]["required"] == ["path"]


def test_list_creates_nothing(claw, home):
    claw("tool", "list")

    assert not home.exists()


def test_a_tool_runs_with_arguments_from_line_or_pipe(claw):
    args = json.dumps({"path": "a/ü.txt", "content": "日本\n"})

    written = claw("tool", "run", "file_write", args, "--yes")
    piped = claw("tool", "run", "file_read", stdin='{"path": "a/ü.txt"}')
    dashed = claw("tool", "run", "file_read", "-", "--json",
                  stdin='{"path": "a/ü.txt"}')

    assert written.out == "Written 7 bytes to a/ü.txt\n"
    assert (piped.code, piped.out) == (0, "1: 日本\n[1 lines total]\n")
    assert dashed.json == {
        "name": "file_read", "success": True, "error": None,
        "output": "1: 日本\n[1 lines total]"}


def test_a_failure_exits_1_and_says_why_on_stderr(claw):
    plain = claw("tool", "run", "file_read", '{"path": "missing"}')
    asked = claw("tool", "run", "file_read", '{"path": "missing"}', "--json")

    assert (plain.code, plain.out) == (1, "")
    assert "no such file: missing" in plain.err
    assert asked.code == 1
    assert asked.json == {"name": "file_read", "success": False,
                          "output": "", "error": "no such file: missing"}
    assert "no such file: missing" in asked.err


@pytest.mark.parametrize(("name", "args", "error"), [
    ("file_read", {"path": "../x"}, "Path not allowed"),
    ("shell", {"command": "curl x"}, "Command not allowed by security"),
    ("shell", {"command": "cat /etc/passwd"}, "Path blocked by security"),
    ("shell", {"command": "git commit -m x"}, "--yes"),
    ("file_write", {"path": "x", "content": "y"}, "--yes"),
])
def test_policy_and_a_missing_approval_exit_6(claw, home, name, args, error):
    plain = claw("tool", "run", name, json.dumps(args))
    asked = claw("tool", "run", name, json.dumps(args), "--json")

    assert (plain.code, plain.out) == (6, "")
    assert error in plain.err
    assert asked.code == 6
    assert asked.json["success"] is False
    assert error in asked.json["error"]
    assert not (home / "workspace/x").exists()


def test_a_closed_stdin_is_no_fault_of_claw(environment):
    done = subprocess.run(
        [f"exec {sys.executable} -m claw tool run memory_recall "
         """'{"query": "tea"}' <&-"""], shell=True, check=False,
        env=environment, stderr=subprocess.PIPE, text=True)

    assert done.returncode in {0, 1}, done.stderr


def own_tool(home):
    (home / "tools").mkdir(parents=True, mode=0o755)
    path = home / "tools" / "boom.py"
    path.write_text('''
import claw

@claw.reads
def boom(count: int) -> str:
    """Fail."""
    raise RuntimeError("no such school")
''')
    path.chmod(0o600)


def test_a_tool_of_ones_own_that_raises_was_called_a_fault_of_claw(
        claw, home):
    own_tool(home)

    done = claw("tool", "run", "boom", '{"count": 1}')

    assert (done.code, done.out) == (1, "")
    assert done.err == "claw: error: RuntimeError: no such school\n"


@pytest.mark.parametrize(("name", "args", "known"), [
    ("boom", '{"cuont": 1}', "count"),
    ("file_read", "{}", "path, offset, limit"),
])
def test_wrong_arguments_did_not_say_which_there_are(claw, home, name, args,
                                                     known):
    own_tool(home)

    done = claw("tool", "run", name, args)

    assert done.code == 1
    assert f"(its arguments: {known}; see: claw tool list --json)" in done.err


def test_a_harmless_command_needs_no_yes(claw, home):
    result = claw("tool", "run", "shell", '{"command": "pwd"}')

    assert result.code == 0
    assert result.out == f"{(home / 'workspace').resolve()}\n"


def test_yes_approves_a_risky_command(claw, home):
    call = json.dumps({"command": "git init -q r"})
    risky = json.dumps({"command": "git -C r -c x=y status"})
    medium = json.dumps({"command": "git -C r tag x"})

    assert claw("tool", "run", "shell", call).code == 0
    assert claw("tool", "run", "shell", risky, "--yes").code == 6
    assert claw("tool", "run", "shell", medium).code == 6
    assert claw("tool", "run", "shell", medium, "--yes").code == 1


def test_settings_decide(claw, home):
    home.mkdir()
    (home / "config.toml").write_text(
        '[autonomy]\nlevel = "full"\nallowed_commands = ["touch"]\n'
        '[shell_tool]\ntimeout_secs = 5\n')

    assert claw("tool", "run", "shell", '{"command": "touch x"}').code == 0
    assert claw("tool", "run", "shell", '{"command": "ls"}').code == 6
    assert (home / "workspace/x").exists()


def test_no_key_of_the_environment_reaches_a_command(claw, home):
    result = claw("tool", "run", "shell", '{"command": "python3 -c '
                  '\'import os; print(dict(os.environ))\'"}', "--yes",
                  env={"OPENAI_API_KEY": "S3CRET"})

    assert result.code == 0
    assert "S3CRET" not in result.out


def test_the_configuration_is_out_of_reach(claw, home):
    home.mkdir()
    (home / "config.toml").write_text('[autonomy]\nallowed_roots = ["'
                                      + str(home) + '"]\n')
    (home / ".secret_key").write_text("S3CRET")

    for call in ({"command": f"cat {home}/.secret_key"},
                 {"command": f"head {home}/.secret_key"}):
        result = claw("tool", "run", "shell", json.dumps(call))
        assert "S3CRET" not in result.out + result.err
    read = claw("tool", "run", "file_read",
                json.dumps({"path": f"{home}/.secret_key"}))
    assert read.code == 6
    assert "S3CRET" not in read.out + read.err


def test_a_home_as_workspace_keeps_its_secrets(claw, tmp_path):
    box = Sandbox(tmp_path, SandboxSettings(), ResourceSettings(),
                  os.environ)
    if not box.shelter().complete:
        pytest.skip("no complete sandbox here")
    home = tmp_path / "user"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_rsa").write_text("S3CRET")
    (home / ".claw").mkdir()
    (home / ".claw/.secret_key").write_text("S3CRET")
    call = json.dumps({"command": "grep -r S3CRET ."})

    result = claw("tool", "run", "shell", call, "-w", str(home),
                  "--config-dir", str(home / ".claw"))

    assert (result.code, result.out) == (1, "")
    read = claw("tool", "run", "file_read", '{"path": ".ssh/id_rsa"}',
                "-w", str(home))
    assert read.code == 6


def test_memory_tools_share_the_store_of_the_commands(claw):
    stored = claw("tool", "run", "memory_store",
                  '{"key": "tea", "content": "green tea"}')
    found = claw("tool", "run", "memory_recall", '{"query": "tea"}')
    gone = claw("tool", "run", "memory_forget", '{"key": "tea"}', "--yes")

    assert (stored.code, stored.out) == (0, "Stored memory: tea\n")
    assert found.out.startswith("Found 1 memories:\n- [core] tea: green")
    assert gone.out.startswith("Forgot memory: tea\n")


@pytest.mark.parametrize(("arguments", "stdin", "code", "error"), [
    (("shel", "{}"), None, 2, 'did you mean "shell"?'),
    (("shell", "{"), None, 2, "no JSON"),
    (("shell", "[1]"), None, 2, "must be a JSON object"),
    (("shell",), "[" * 100_000, 2, "nested too deeply"),
    (("shell",), None, 1, "Missing 'command'"),
    (("shell",), b"\xff\x00", 2, "no JSON"),
    ((), None, 2, "NAME"),
])
def test_wrong_calls_say_what_is_wrong(claw, arguments, stdin, code, error):
    result = claw("tool", "run", *arguments, stdin=stdin)

    assert (result.code, result.out) == (code, "")
    assert error in result.err


def test_a_locale_without_utf8_changes_nothing(claw_process):
    result = claw_process("tool", "run", "shell", '{"command": "echo 한국어"}',
                  env={"LC_ALL": "C"})

    assert result.out == "한국어\n"


def test_a_workspace_that_holds_claws_home_does_not_open_it(claw, home,
                                                            tmp_path):
    """As with -w ~: what was said elsewhere lies in there."""
    secret = home / "workspace" / "sessions" / "said.jsonl"
    secret.parent.mkdir(parents=True)
    secret.write_text("S3CRET")
    path = secret.relative_to(tmp_path)
    read = claw("tool", "run", "file_read", json.dumps({"path": str(path)}),
                "-w", str(tmp_path))
    cat = claw("tool", "run", "shell",
               json.dumps({"command": f"cat {path}; ls {path.parent}"}),
               "--yes", "-w", str(tmp_path))

    assert read.code == 6
    assert "S3CRET" not in cat.out + cat.err
    assert "said" not in cat.out


@pytest.mark.parametrize("root", ["{home}", "{home}/..", "/"])
def test_a_command_read_and_wrote_claws_home_through_an_allowed_root(
        claw, home, root):
    (home / "tools").mkdir(parents=True)
    (home / "tools/mine.py").write_text("S3CRET")
    (home / "workspace").mkdir()
    root = root.format(home=home)
    claw("config", "set", "autonomy.allowed_roots", json.dumps([root]))
    claw("config", "set", "autonomy.forbidden_paths", "[]")

    done = claw("tool", "run", "shell", json.dumps({"command": (
        f"cat {home}/tools/mine.py {home}/config.toml; touch a; "
        f"touch {home}/new; mkdir {home}/logs")}), "--yes")

    assert "S3CRET" not in done.out
    assert "allowed_roots" not in done.out
    assert not (home / "new").exists()
    assert not (home / "logs").exists()
    if root != "/":
        assert (home / "workspace/a").exists(), done.err


NOISY = '''
import os, subprocess, sys, threading
sys.stdout.write("import")
import claw

@claw.reads
def noisy() -> str:
    """Makes noise."""
    os.write(1, b"descriptor")
    subprocess.run(["echo", "child"], check=True)
    thread = threading.Thread(target=lambda: sys.stdout.write("thread"))
    thread.start()
    thread.join()
    return "RESULT"
'''


def test_what_a_tool_of_ones_own_printed_stood_in_the_result(claw, home):
    tools = home / "tools"
    tools.mkdir(parents=True, mode=0o700)
    (tools / "noisy.py").write_text(NOISY)
    (tools / "noisy.py").chmod(0o600)

    done = claw("tool", "run", "noisy")
    after = claw("tool", "list")

    assert done.out == "RESULT\n"
    assert all(word in done.err for word in (
        "import", "descriptor", "child", "thread"))
    assert "noisy\tMakes noise." in after.out


def test_the_folder_of_an_mcp_server_holds_no_tools(claw, home, tmp_path):
    granted = tmp_path / "granted"
    granted.mkdir(mode=0o700)
    (granted / "noisy.py").write_text(NOISY)
    (granted / "noisy.py").chmod(0o600)
    home.mkdir()
    (home / "tools").symlink_to(granted)
    (home / "config.toml").write_text(
        '[[mcp.servers]]\nname = "x"\ncommand = "cat"\n'
        f'folders = ["{granted}"]\n')

    done = claw("tool", "run", "noisy")

    assert done.code != 0
    assert "where tools may write" in done.err


def test_damaged_jobs_say_what_to_do(claw, home):
    path = home / "workspace/state/jobs.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all" * 500)

    [row] = [row for row in claw("doctor", "--json").json["checks"]
             if row["id"] == "schedule.jobs"]
    done = claw("tool", "run", "cron_list", "{}")

    assert (row["status"], "jobs.db.damaged" in row["hint"]) == ("fail", True)
    assert (done.code, "jobs.db.damaged" in done.err) == (1, True)


def test_a_kept_job_is_listed_and_it_is_said_who_runs_it(claw):
    claw("tool", "run", "schedule", "--yes", json.dumps(
        {"action": "once", "delay": "2h", "command": "ls"}))

    listed = claw("tool", "run", "cron_list", "{}")
    [row] = [row for row in claw("doctor", "--json").json["checks"]
             if row["id"] == "schedule.jobs"]

    assert json.loads(listed.out)["jobs"][0]["command"] == "ls"
    assert "claw listen" in json.loads(listed.out)["note"]
    assert row["status"] == "ok"


def test_an_unknown_tool_is_no_wall_of_names(claw):
    done = claw("tool", "run", "zzzzzzzz")

    assert done.code == 2
    assert "claw tool list shows the" in done.err
    assert len(done.err) < 120


def test_ctrl_c_at_the_question_ends_it_at_once(environment, home):
    """It was seen at the next Enter, and what was typed meanwhile was the
    answer."""
    with Terminal(environment, "tool", "run", "file_write",
                  '{"path": "a", "content": "x"}') as it:
        it.wait_for("[y]es / [n]o")
        it.wait_for_prompt()
        it.type("\x03")

        assert it.end(20) == 130
    assert not (home / "workspace/a").exists()
