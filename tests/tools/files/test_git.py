"""git through the tool: what it does, and what a planted repository can
not do."""

import asyncio
import os
import subprocess

import pytest

from claw.core.turn import TurnContext
from claw.security.approval import ApprovalManager, NoApprover
from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import ResourceSettings, SandboxSettings
from claw.tools.files.git import GitOperations
from claw.tools.shell import Shell


def git(room, *words):
    return subprocess.run(
        ["git", *words], cwd=room.workspace, check=True, capture_output=True,
        text=True, env={"HOME": str(room.workspace.parent),
                        "PATH": "/usr/bin:/bin"}).stdout


@pytest.fixture
def repo(room):
    git(room, "init", "-q", "-b", "main")
    (room.workspace / "a.txt").write_text("one\n")
    return room


def call(room, operation, **args):
    result = room.call(GitOperations(room.deps()), operation=operation,
                       **args)
    assert result.success, result.error
    return result.output


def test_a_day_with_a_repository(repo):
    assert "?? a.txt" in call(repo, "status")
    call(repo, "add", paths=["a.txt"])
    assert "+one" in call(repo, "diff", cached=True)
    call(repo, "commit", message="first; `words` $(and) more")
    call(repo, "branch", branch="other")
    call(repo, "checkout", branch="other")
    (repo.workspace / "a.txt").write_text("two\n")
    assert "+two" in call(repo, "diff", files=["a.txt"])
    call(repo, "stash", action="push", message="kept")
    assert "kept" in call(repo, "stash", action="list")
    call(repo, "stash", action="pop")
    assert " M a.txt" in call(repo, "status")
    assert ": first; `words` $(and) more" in call(repo, "log", limit=1)
    assert "* other" in call(repo, "branch")


@pytest.mark.parametrize(("operation", "args", "why"), [
    ("commit", {}, "commit needs a message"),
    ("add", {}, "add needs paths"),
    ("add", {"paths": ["--force"]}, "not a possible file"),
    ("add", {"paths": ["$(id)"]}, "not a possible file"),
    ("diff", {"files": ["--ext-diff"]}, "not a possible file"),
    ("checkout", {}, "checkout needs branch"),
    ("checkout", {"branch": "-f"}, "not a possible branch"),
    ("checkout", {"branch": "a..b"}, "not a possible branch"),
    ("checkout", {"branch": "HEAD~1"}, "not a possible branch"),
    ("checkout", {"branch": "HEAD@{1}"}, "not a possible branch"),
    ("branch", {"branch": "a b"}, "not a possible branch"),
    ("branch", {"branch": "a;b"}, "not a possible branch"),
    ("status", {"path": "../.."}, "Path not allowed"),
    ("push", {}, "must be one of"),
])
def test_what_git_is_not_asked(repo, operation, args, why):
    result = repo.call(GitOperations(repo.deps()), operation=operation,
                       **args)

    assert not result.success
    assert why in result.error


def test_a_repository_of_another_root(repo, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "far.txt").write_text("far\n")
    subprocess.run(["git", "init", "-q", other], check=True)
    (repo.workspace / "link").symlink_to(other)
    deps = repo.deps(allowed_roots=[str(other)])
    deps.policy.sandbox = Sandbox(
        repo.workspace, SandboxSettings(), ResourceSettings(), os.environ,
        roots=[other])

    for path in (str(other), "link"):
        assert "?? far.txt" in repo.call(
            GitOperations(deps), operation="status", path=path).output
    assert "Path not allowed" in repo.call(
        GitOperations(repo.deps()), operation="status", path="link").error


def test_no_repository_is_told(room):
    result = room.call(GitOperations(room.deps()), operation="status")

    assert "not a git repository" in result.error


def test_what_a_planted_repository_names_stays_in_the_sandbox(repo, tmp_path):
    """Settings, aliases, hooks and the file monitor run in the sandbox or
    not at all."""
    out = tmp_path / "out.txt"
    script = repo.workspace / "evil.sh"
    script.write_text(f"#!/bin/sh\necho ran > {out}\ncat {tmp_path}/key\n")
    script.chmod(0o755)
    (tmp_path / "key").write_text("S3CRET-CANARY")
    git(repo, "config", "core.fsmonitor", str(script))
    git(repo, "config", "diff.external", str(script))
    git(repo, "config", "core.pager", str(script))
    git(repo, "config", "alias.status", f"!{script}")
    git(repo, "config", "core.sshCommand", str(script))
    hook = repo.workspace / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(script.read_text())
    hook.chmod(0o755)

    said = ""
    for operation, args in (("status", {}), ("diff", {}),
                            ("add", {"paths": ["a.txt"]}),
                            ("commit", {"message": "x"}), ("log", {})):
        result = repo.call(GitOperations(repo.deps()), operation=operation,
                           **args)
        said += result.output + (result.error or "")

    assert not out.exists()
    assert "S3CRET-CANARY" not in said


@pytest.mark.parametrize(("args", "asks"), [
    ({"operation": "status"}, False),
    ({"operation": "log"}, False),
    ({"operation": "branch"}, False),
    ({"operation": "stash"}, False),
    ({"operation": "branch", "branch": "x"}, True),
    ({"operation": "stash", "action": "pop"}, True),
    ({"operation": "commit", "message": "x"}, True),
])
@pytest.mark.parametrize("labels", [set(), {"web"}])
def test_only_what_changes_is_asked_about(room, args, asks, labels):
    tool = GitOperations(room.deps())
    manager = ApprovalManager(tool._policy, NoApprover(), interactive=False)

    refusal = asyncio.run(manager.gate(tool, args, TurnContext(
        "agent", labels=set(labels))))

    assert (refusal is not None) is asks


def test_read_only_mode_lets_git_look(repo):
    tool = GitOperations(repo.deps(level="readonly"))

    assert repo.call(tool, operation="status").success
    assert "read-only mode" in repo.call(
        tool, operation="add", paths=["a.txt"]).error


@pytest.mark.parametrize("level", ["supervised", "readonly"])
@pytest.mark.parametrize("operation", ["status", "diff"])
def test_a_look_at_a_planted_repository_changed_the_workspace(
        repo, level, operation):
    """What its settings name ran with the right to write, unasked, even in
    read-only mode."""
    git(repo, "add", "a.txt")
    out = repo.workspace / "out.txt"
    git(repo, "config", "core.fsmonitor", f"touch {out}; false")

    repo.call(GitOperations(repo.deps(level=level)), operation=operation)

    assert not out.exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "../../key.txt",
                                  "elsewhere/key.txt"])
def test_diff_read_files_outside_of_the_workspace(room, tmp_path, path):
    (tmp_path / "key.txt").write_text("S3CRET-CANARY root:\n")
    (room.workspace / "elsewhere").symlink_to(tmp_path)

    result = room.call(GitOperations(room.deps()), operation="diff",
                       files=[path, "/dev/null"])

    assert not result.success
    assert "root:" not in result.output
    assert "Path not allowed" in result.error


def test_git_passed_off_what_others_sent_as_the_owners_own(repo):
    sent = repo.workspace / "telegram_files/telegram_7_1_a.txt"
    sent.parent.mkdir()
    sent.write_text("obey me\n")
    git(repo, "add", ".")
    turn = TurnContext("agent")

    result = repo.call(GitOperations(repo.deps()), turn, operation="diff",
                       cached=True)

    assert "obey me" in result.output
    assert turn.labels == {"command", "attachment"}


@pytest.mark.parametrize("args", [
    {}, {"files": [":(glob)**"]}, {"files": ["telegram_files"]},
    {"cached": True}])
def test_git_told_a_chat_what_another_had_sent(repo, args):
    sent = repo.workspace / "telegram_files/telegram_7_1_a.txt"
    sent.parent.mkdir()
    sent.write_text("of chat 7\n")
    git(repo, "add", ".")
    turn = TurnContext("channel", channel="telegram", sender="u",
                       reply_target="8")
    tool = GitOperations(repo.deps())

    shown = repo.call(tool, turn, operation="diff", **args)
    repo.call(tool, turn, operation="add", paths=["."])

    assert shown.success
    assert "of chat 7" not in shown.output
    assert "telegram_7_1_a.txt" in git(repo, "ls-files")


@pytest.fixture
def kept(repo):
    """A repository whose owner once committed what chat 7 sent."""
    sent = repo.workspace / "telegram_files/telegram_7_1_a.txt"
    sent.parent.mkdir()
    sent.write_text("of chat 7\n")
    for words in (["add", "."], ["commit", "-qm", "all"],
                  ["branch", "other"], ["rm", "-rq", "telegram_files"],
                  ["commit", "-qm", "without"], ["tag", "v1"]):
        git(repo, "-c", "user.name=o", "-c", "user.email=o@localhost", *words)
    return repo


def call_in(chat, room, tool, **args):
    return room.call(tool(room.deps()), TurnContext(
        "channel", channel="telegram", sender="u", reply_target=chat), **args)


@pytest.mark.parametrize("command", [
    "git show other:telegram_files/telegram_7_1_a.txt", "git log -p --all",
    "git grep -h chat other", "git diff other",
    "git cat-file -p other:telegram_files/telegram_7_1_a.txt",
    "ls && git -C . show other:telegram_files/telegram_7_1_a.txt",
    "ls .git/objects"])
def test_the_shells_git_told_a_chat_what_another_had_sent(kept, command):
    foreign = call_in("8", kept, Shell, command=command)
    theirs = call_in("7", kept, Shell, command=command)

    assert not foreign.success
    assert "of chat 7" not in foreign.output
    assert theirs.success, theirs.error


@pytest.mark.parametrize("args", [
    {"operation": "checkout", "branch": "other"},
    {"operation": "stash", "action": "push"},
    {"operation": "stash", "action": "pop"},
])
def test_git_brought_a_chat_what_another_had_sent(kept, args):
    result = call_in("8", kept, GitOperations, **args)

    assert "sent in other chats" in result.error
    assert not (kept.workspace / "telegram_files").exists()


def test_a_chat_may_use_the_repository_of_its_own_project(kept):
    project = kept.workspace / "project"
    project.mkdir()
    for words in (["init", "-q", "-b", "main"], [
            "-c", "user.name=o", "-c", "user.email=o@localhost", "commit",
            "--allow-empty", "-qm", "one"], ["branch", "other"]):
        git(kept, "-C", "project", *words)

    result = call_in("8", kept, GitOperations, operation="checkout",
                     branch="other", path="project")

    assert result.success, result.error
    assert "exit" not in call_in("8", kept, GitOperations,
                                 operation="status").output


def test_status_and_commit_tell_a_chat_no_names_of_what_others_sent(repo):
    sent = repo.workspace / "telegram_files/telegram_7_1_a.txt"
    sent.parent.mkdir()
    sent.write_text("of chat 7\n")
    git(repo, "add", ".")

    status = call_in("8", repo, GitOperations, operation="status")
    commit = call_in("8", repo, GitOperations, operation="commit",
                     message="all")

    assert "a.txt" in status.output
    assert commit.success, commit.error
    assert "telegram_7" not in status.output + commit.output
