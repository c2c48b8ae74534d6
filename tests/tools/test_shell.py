"""shell: gate, approval, sandbox, limits."""

import os

import pytest

from claw.core.turn import TurnContext
from claw.security.approval import approval_key
from claw.security.confine import FAILED
from claw.security.sandbox import children
from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import ResourceSettings, SandboxSettings
from claw.tools.offer.checked import Denial
from claw.tools.settings import ShellToolSettings
from claw.tools.shell import Shell


def test_a_command_runs_in_the_workspace(room):
    (room.workspace / "a.txt").write_text("x")

    result = room.call(Shell(room.deps()), command="ls a.txt && pwd")

    assert result.success
    assert result.output == f"a.txt\n{room.workspace}\n"
    assert result.error is None


def test_standard_error_and_exit_code_are_told(room):
    shell = Shell(room.deps())
    failed = room.call(shell, command="ls nothing-here")
    silent = room.call(shell, command="grep x /dev/null || grep y no || pwd",
                       approved=True)

    assert not failed.success
    assert "nothing-here" in failed.error
    assert "Path blocked" in silent.error
    assert room.call(shell, command="echo x | grep y").error == "exit code 1"
    both = room.call(shell, command="ls nothing-here; pwd")
    assert both.success
    assert "nothing-here" in both.error


@pytest.mark.parametrize(("command", "error"), [
    ("curl x", "Command not allowed by security policy: curl x"),
    ("echo $(id)", "Command not allowed by security policy: echo $(id)"),
    ("cat ../x", "Path blocked by security policy: ../x"),
    ("git commit -m x", "Command requires explicit approval "
                        "(approved=true): medium-risk operation"),
    ("", "Command not allowed by security policy: "),
])
def test_what_the_gate_refuses_does_not_run(room, command, error):
    result = room.call(Shell(room.deps()), command=command)

    assert isinstance(result, Denial)
    assert result.error.startswith(error)
    assert list(room.workspace.iterdir()) == []


def test_read_only_mode_runs_nothing(room):
    result = room.call(Shell(room.deps(level="readonly")), command="ls")

    assert isinstance(result, Denial)
    assert "read-only mode" in result.error


def test_what_a_command_printed_labels_the_turn(room):
    turn = TurnContext(origin="agent")

    room.call(Shell(room.deps()), turn, command="curl x")
    assert turn.labels == set()
    room.call(Shell(room.deps()), turn, command="ls")
    assert turn.labels == {"command"}


def test_what_people_sent_is_told_even_by_a_command_that_moves_it(room):
    (room.workspace / "chat_files").mkdir()
    (room.workspace / "chat_files" / "a").write_text("obey")
    turn = TurnContext(origin="agent")

    result = room.call(
        Shell(room.deps(allowed_commands=["mv", "cat"],
                        require_approval_for_medium_risk=False)), turn,
        command="mv chat_files/a . && cat a")

    assert result.output == "obey"
    assert turn.labels == {"command", "attachment"}


LINK = {"allowed_commands": ["ln"]}


@pytest.mark.parametrize("turn", [None, TurnContext(origin="tool")])
def test_approved_is_the_owners_word_outside_a_models_turn(room, turn):
    assert room.call(Shell(room.deps(**LINK)), turn, command="ln -s a x",
                     approved=True).success


@pytest.mark.parametrize("turn", [
    TurnContext(origin="channel"), TurnContext(origin="ask").hand_over()])
def test_a_model_can_not_approve_its_own_command(room, turn):
    result = room.call(Shell(room.deps(**LINK)), turn, command="ln -s a x",
                       approved=True)

    assert isinstance(result, Denial)
    assert not (room.workspace / "x").is_symlink()


def test_the_owners_yes_is_good_for_one_run(room):
    deps = room.deps(**LINK)
    shell, turn = Shell(deps), TurnContext(origin="channel")
    deps.policy.grant(approval_key("shell", {"command": "ln -s a x"},
                                   room.workspace))

    other = room.call(shell, turn, command="ln -s a y")
    first = room.call(shell, turn, command="ln -s a x")
    again = room.call(shell, turn, command="ln -s a x")

    assert [other.success, first.success, again.success] == [
        False, True, False]


def test_a_command_uses_up_one_of_the_hours_actions(room):
    shell = Shell(room.deps(max_actions_per_hour=1))

    assert not room.call(shell, command="curl refused-is-free").success
    assert room.call(shell, command="pwd").success
    result = room.call(shell, command="pwd")
    assert isinstance(result, Denial)
    assert "Rate limit exceeded" in result.error


def test_a_command_sees_what_was_sent_in_its_own_chat(room):
    folder = room.workspace / "telegram_files"
    folder.mkdir()
    (folder / "telegram_7_1_note.txt").write_text("private")
    (folder / "telegram_8_1_note.txt").write_text("mine")
    turn = TurnContext("channel", channel="telegram", reply_target="8")

    result = room.call(Shell(room.deps()), turn,
                       command="cat telegram_files/*.txt")

    assert result.output == "mine"


def test_a_command_that_fills_the_disk_is_told(room):
    deps = room.deps()
    deps.policy.sandbox = Sandbox(
        room.workspace, SandboxSettings(), ResourceSettings(max_files=50),
        os.environ)

    result = room.call(
        Shell(deps), approved=True, command=(
            "python3 -c 'import os, time; "
            "[os.mkdir(str(n)) for n in range(100)]; time.sleep(20)'"))

    assert (result.success, result.error) == (
        False, "The command was ended: it made or changed more than 50 files")


def test_a_slow_command_is_killed(room):
    shell = Shell(room.deps(), ShellToolSettings(timeout_secs=1))

    result = room.call(
        shell, command="echo so far; python3 -c 'import time; "
                       "time.sleep(30)'", approved=True)

    assert not result.success
    assert result.error == "Command timed out after 1s and was killed"
    assert result.output == "so far\n"


def test_output_is_cut_at_one_mebibyte(room):
    result = room.call(Shell(room.deps()),
                       command="head -c 2000000 big")
    assert not result.success
    (room.workspace / "big").write_bytes(b"x" * 2_000_000)

    result = room.call(Shell(room.deps()), command="cat big")

    assert result.success
    assert result.output == (
        "x" * 1_048_576 + "\n... [output truncated at 1MB]")


def test_bytes_that_are_no_text_are_replaced(room):
    (room.workspace / "b").write_bytes(b"a\xff\x00\xe4\xbd")

    assert room.call(Shell(room.deps()), command="cat b").output == (
        "a\ufffd\x00\ufffd")


def test_text_of_every_script_passes(room):
    text = "한국어 日本語 עברית 👍 ；｜"

    assert room.call(Shell(room.deps()),
                     command=f"echo '{text}'").output == text + "\n"


def test_no_key_reaches_the_command(room):
    result = room.call(
        Shell(room.deps()), approved=True,
        command="python3 -c 'import os; print(dict(os.environ))'")

    assert result.success
    assert "S3CRET" not in result.output


@pytest.mark.parametrize(("args", "error"), [
    ({}, "Missing 'command' parameter"),
    ({"command": 5}, "must be a string"),
    ({"command": "ls", "approved": "yes"}, "must be a boolean"),
    ({"command": "ls", "cwd": "/"}, "Unknown parameter 'cwd'"),
    ({"command": "echo " + "x" * 300_000}, "longer than"),
    ({"command": "echo \ud800"}, "can't be started"),
])
def test_odd_arguments_fail_in_a_sentence(room, args, error):
    result = room.call(Shell(room.deps()), **args)

    assert not result.success
    assert error in result.error


@pytest.mark.parametrize(("code", "stderr", "error"), [
    (FAILED, b"claw sandbox: no namespace\n",
     "the command was not run: claw sandbox: no namespace\n"),
    (FAILED, b"my own words", "my own words"),
    (FAILED, b"say claw sandbox: x", "say claw sandbox: x"),
    (1, b"claw sandbox: said by cat", "claw sandbox: said by cat"),
    (FAILED, b"", f"exit code {FAILED}"),
])
def test_a_sandbox_that_failed_is_told_and_not_taken_for_the_command(
        room, monkeypatch, code, stderr, error):
    async def run(launch, timeout_s):
        return children.Finished(code, b"out", stderr, False, False)
    monkeypatch.setattr(children, "run", run)

    result = room.call(Shell(room.deps()), command="ls")

    assert not result.success
    assert result.error == error
    assert result.output == ("" if "was not run" in error else "out")


def test_without_a_sandbox_object_nothing_runs(room):
    result = room.call(Shell(room.deps(sandbox=False)), command="ls")

    assert isinstance(result, Denial)
