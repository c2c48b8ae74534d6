"""Standing permissions: which calls they cover, and which never."""

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from claw.core.labels import OWN
from claw.core.turn import TurnContext, current_turn
from claw.security.approval import ApprovalManager, NoApprover
from claw.security.permissions import PermissionSettings, write_command
from claw.security.policy import SecurityPolicy
from claw.security.settings import AutonomySettings

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
LATER = (NOW + timedelta(days=7)).isoformat()


def permission(**settings):
    return PermissionSettings(**{
        "tool": "shell", "until": LATER, "workspace": "/w", **settings})


def covers(one, tool, args, **place):
    return one.covers(tool, args, **{"workspace": "/w", "channel": None,
                                     "now": NOW, **place})


@pytest.mark.parametrize(("shape", "command", "is_covered"), [
    ("git push", "git push", True),
    ("git push", "git  'push'", True),
    ("git push", "git push --force", False),
    ("git push", "git push origin", False),
    ("git push origin *", "git push origin main", True),
    ("git push origin *", "git push origin --force", False),
    ("git push origin *", "git push origin +main", False),
    ("git push origin *", "git push origin :main", False),
    ("git push origin *", "git push origin a b", False),
    ("git push", "git push; rm -rf .", False),
    ("git push", "git push | cat", False),
    ("git push", "GIT_SSH_COMMAND=x git push", False),
    ("git push *", "git push $(id)", False),
    ("git push *", "git push `id`", False),
    ("git push", "git push\nrm x", False),
    ("git commit -m *", "git commit -m 'any words'", True),
    ("*", "rm", True),  # the gate stands before it
    ("git add *", "git add *", False),
    ("git add *", "git add '*'", True),
    ("git add *", "git add {a,--force}", False),
    ("git add *", "git add [-]-force", False),
    ("git add *", "git add ?-force", False),
    ("git add *", "git add ~/.ssh", False),
    ("git add 'a[bc]'", "git add a[bc]", False),
    ("git add 'a[bc]'", 'git add "a[bc]"', True),
    ("git add '~/x'", "git add ~/x", False),
    ("git add a?", "git add 'a?'", False),
    ("git add a?", "git add a?", True),
])
def test_a_command_is_covered_word_by_word(shape, command, is_covered):
    assert covers(permission(command=shape), "shell",
                  {"command": command, "approved": False}) is is_covered


@pytest.mark.parametrize(("arguments", "args", "is_covered"), [
    ({"url": "https://a.example/*"}, {"url": "https://a.example/x"}, True),
    ({"url": "https://a.example/*"}, {"url": "https://a.example.evil/"},
     False),
    ({"url": "https://a.example/*"},
     {"url": "https://a.example/x", "body": "more"}, False),
    ({"url": "https://a.example/*", "body": "*"},
     {"url": "https://a.example/x"}, False),
    ({"n": "3", "all": "true"}, {"n": 3, "all": True}, True),
    ({"n": "3"}, {"n": 30}, False),
    ({"to": "bob"}, {"to": "bob", "cc": None}, True),
    ({"text": "a*b"}, {"text": "a\nb"}, True),
])
def test_each_argument_of_a_tool_is_named(arguments, args, is_covered):
    assert covers(permission(tool="post", arguments=arguments), "post",
                  args) is is_covered


@pytest.mark.parametrize("place", [
    {"workspace": "/other"}, {"channel": "telegram"},
    {"now": NOW + timedelta(days=8)}])
def test_it_holds_in_its_place_and_time_only(place):
    one = permission(command="git push")

    assert covers(one, "shell", {"command": "git push"})
    assert not covers(one, "shell", {"command": "git push"}, **place)


@pytest.mark.parametrize("settings", [
    {"until": "soon"}, {"until": "2026-11-30T12:00:00"},
    {"arguments": {"url": "https://*"}}, {"arguments": {"url": "*"}},
    {"arguments": {"url": "*.good.example/*"}},
    {"arguments": {"url": "https*"}},
    {"arguments": {"url": "https://a.example*"}},
    {"arguments": {"url": "http*://a.example/*"}},
    {"arguments": {"url": "*://a.example/*"}},
    {"arguments": {"url": "https:/*"}}])
def test_settings_that_say_nothing_certain_are_refused(settings):
    with pytest.raises((ValueError, msgspec.ValidationError)):
        msgspec.convert({"tool": "t", "until": LATER, "workspace": "/w",
                         **settings}, PermissionSettings)


class Asked:
    """Gives one answer and keeps what it was asked."""

    def __init__(self, decision="no"):
        self.decision = decision
        self.requests = []

    def can_ask(self):
        return True

    async def approve(self, request):
        self.requests.append(request)
        return self.decision


def manager(tmp_path, *standing, approver=None, keep=None, **settings):
    policy = SecurityPolicy(AutonomySettings(
        permissions={one.id: one for one in standing}, **settings),
        tmp_path, home=tmp_path)
    return ApprovalManager(
        policy, approver or NoApprover(), keep=keep, now=lambda: NOW,
        interactive=approver is not None)


def refusal(approvals, tool, args, labels=(), channel=None):
    turn = TurnContext("ask", labels=set(labels), channel=channel)

    async def ask():
        current_turn.set(turn)
        return await approvals.refusal(tool, args, turn)
    return asyncio.run(ask())


def test_a_covered_call_runs_where_nobody_can_be_asked(tmp_path):
    one = permission(command="git push", workspace=str(tmp_path))
    args = {"command": "git push"}

    assert refusal(manager(tmp_path), "shell", args)
    assert refusal(manager(tmp_path, one), "shell", args) is None


def test_after_the_workspaces_own_text_only_a_whole_command_runs(tmp_path):
    whole, partly = (permission(command=text, workspace=str(tmp_path))
                     for text in ("git push origin main",
                                  "git push origin *"))
    args = {"command": "git push origin main"}

    assert refusal(manager(tmp_path, whole), "shell", args, OWN) is None
    assert refusal(manager(tmp_path, partly), "shell", args) is None
    assert refusal(manager(tmp_path, partly), "shell", args, OWN)


@pytest.mark.parametrize("labels", [("web",), ("tool", "file")])
def test_after_foreign_text_it_asks_all_the_same(tmp_path, labels):
    one = permission(command="git push", workspace=str(tmp_path))

    assert refusal(manager(tmp_path, one), "shell",
                   {"command": "git push"}, labels)


def test_always_ask_and_other_channels_hold(tmp_path):
    one = permission(command="git push", workspace=str(tmp_path))
    args = {"command": "git push"}

    assert refusal(manager(tmp_path, one, always_ask=["shell"]), "shell",
                   args)
    assert refusal(manager(tmp_path, one), "shell", args,
                   channel="telegram:7")
    theirs = permission(command="git push", workspace=str(tmp_path),
                        channel="telegram")
    assert refusal(manager(tmp_path, theirs), "shell", args,
                   channel="telegram:7") is None


@pytest.mark.parametrize("command", [
    "bash -c ls", "sh x", "env bash -c ls"])
def test_shells_have_none_whatever_the_file_says(tmp_path, command):
    one = permission(command=command, workspace=str(tmp_path))
    settings = {"allowed_commands": ["bash", "sh", "env"]}

    assert refusal(manager(tmp_path, one, **settings), "shell",
                   {"command": command})


def test_what_the_owner_allows_for_a_week_is_written_down(tmp_path):
    kept = []
    approvals = manager(tmp_path, approver=Asked("week"), keep=kept.append)

    assert refusal(approvals, "shell", {"command": "git push"}) is None
    assert refusal(manager(tmp_path, kept[0]), "shell",
                   {"command": "git push"}) is None
    assert kept[0].until == (NOW + timedelta(days=7)).isoformat()


@pytest.mark.parametrize(("tool", "args", "labels"), [
    ("shell", {"command": "python3 x.py"}, ()),
    ("shell", {"command": "git push"}, ("web",)),
    ("post", {"text": "2 * 3"}, ()),
    ("post", {"text": "a" * 3001}, ())])
def test_a_week_is_offered_only_where_it_would_hold(tmp_path, tool, args,
                                                    labels):
    asked = Asked("week")

    refusal(manager(tmp_path, approver=asked, keep=list), tool, args, labels)

    assert asked.requests[0].may_keep is False


@pytest.mark.parametrize("arguments", [
    {"--for": "520w", "to": "x"}, {"a=b": "c"}, {"to": "x\\"},
    {"to": "`id`"}, {"to": "a\u202eb"}])
def test_no_command_is_offered_that_a_shell_or_claw_reads_otherwise(arguments):
    assert write_command(permission(tool="post", arguments=arguments)) is None
    assert write_command(permission(command="--for 520w")) is None


def test_a_call_without_arguments_could_not_be_refused():
    assert write_command(permission(tool="t__now", channel="chat")) \
        == "claw permission allow t__now --channel chat"
