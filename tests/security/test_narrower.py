"""What a channel and a job take away, and that they give nothing."""

import asyncio
import random
from pathlib import Path

import pytest

from claw.core.errors import DeniedError, UsageError
from claw.core.tool import Tool, ToolResult, closed_object
from claw.core.turn import TurnContext, current_turn
from claw.security.approval import ApprovalManager, NoApprover
from claw.security.narrower import apply, combine, read_policy
from claw.security.policy import SecurityPolicy
from claw.security.settings import AutonomySettings, NarrowerSettings

TOOLS = ("file_read", "file_write", "shell", "web_fetch", "message",
         "memory_store", "cron_add", "own")
COMMANDS = ("ls", "git", "rm", "python", "curl", "/srv/bin/x", "*")
LINES = ("ls", "git status", "git commit -m x", "rm x", "rm -rf /", "curl x",
         "python x.py", "ls | wc", "/srv/bin/x", "touch x", "cat /etc/passwd",
         "sudo ls", "ls; rm x")
LEVELS = ("readonly", "supervised", "full")


def some(rng, names):
    return tuple(rng.sample(names, rng.randint(0, len(names))))


def random_base(rng):
    return AutonomySettings(
        level=rng.choice(LEVELS), workspace_only=rng.random() < 0.7,
        allowed_commands=list(some(rng, COMMANDS)),
        auto_approve=list(some(rng, (*TOOLS, "*"))),
        always_ask=list(some(rng, TOOLS)),
        max_actions_per_hour=rng.randint(0, 5),
        require_approval_for_medium_risk=rng.random() < 0.5,
        block_high_risk_commands=rng.random() < 0.5)


def random_own(rng, **fields):
    def maybe(value):
        return value if rng.random() < 0.5 else None
    return NarrowerSettings(**{
        "level": maybe(rng.choice(LEVELS)), "tools": maybe(some(rng, TOOLS)),
        "excluded_tools": some(rng, TOOLS[:3]),
        "allowed_commands": maybe(some(rng, COMMANDS)),
        "always_ask": some(rng, TOOLS),
        "max_actions_per_hour": maybe(rng.randint(0, 9)), **fields})


class Plain(Tool):
    name = description = "a tool"

    def __init__(self, name):
        self.name = name

    def parameters_schema(self):
        return closed_object()

    async def execute(self, args):
        return ToolResult(output="done")


async def find_refused(manager, policy, turn):
    """The tools whose calls are refused, by the gate or by themselves."""
    commit = {"command": "git commit -m x"}
    verdict = policy.check_command(commit["command"])
    return {name for name in TOOLS if await manager.gate(
        Plain(name), commit if name == "shell" else {}, turn)
        or (name == "shell" and verdict.refusal and not verdict.asks)}


def judge(policy, turn):
    """What is refused in this turn: commands, calls, paths, actions."""
    token = current_turn.set(turn)
    try:
        manager = ApprovalManager(policy, NoApprover(), interactive=False)
        refused = {line for line in LINES
                   if policy.check_command(line).refusal}
        refused |= asyncio.run(find_refused(manager, policy, turn))
        refused |= {path for path in ("/etc/passwd", "../x", "a/b")
                    if not policy.is_path_allowed(path)}
        for operation in ("read", "act"):
            try:
                policy.enforce(operation)
            except DeniedError:
                refused.add(operation)
        return refused
    finally:
        current_turn.reset(token)


def test_what_the_settings_refuse_nothing_laid_over_them_allows():
    rng = random.Random(16)
    narrowed = 0
    for _ in range(250):
        base, own, job = (random_base(rng), random_own(rng),
                          rng.choice([None, random_own(rng)]))
        labels = set(some(rng, ("web", "file")))

        def refused(settings, channel, policy, labels=labels):
            return judge(SecurityPolicy(
                settings, Path("/ws"), home=Path("/home/u")), TurnContext(
                    "channel", channel=channel, sender="a", policy=policy,
                    labels=set(labels)))
        outer = refused(base, "other", None)
        inner = refused(AutonomySettings(**{
            **{name: getattr(base, name) for name in
               base.__struct_fields__}, "channels": {"chat": own}}),
            "chat:room", job)
        assert outer <= inner, (base, own, job, outer - inner)
        narrowed += outer < inner
    assert narrowed > 150


def test_auto_approve_alone_allows_something_and_only_in_its_channel():
    policy = SecurityPolicy(
        AutonomySettings(channels={"chat": NarrowerSettings(
            auto_approve=("file_write",))}),
        Path("/ws"), home=Path("/home/u"))

    assert "file_write" not in judge(policy, TurnContext(
        "channel", channel="chat:room", sender="a"))
    assert "file_write" in judge(policy, TurnContext(
        "channel", channel="other", sender="a"))
    assert "file_write" in judge(policy, TurnContext("agent"))
    assert "file_write" in judge(policy, TurnContext(
        "channel", channel="chat", sender="a", labels={"web"}))
    assert "file_write" in judge(policy, TurnContext(
        "cron", channel="chat", policy=NarrowerSettings()))


def test_what_the_settings_always_ask_no_channel_runs_unasked():
    policy = SecurityPolicy(
        AutonomySettings(always_ask=["file_write"], channels={
            "chat": NarrowerSettings(auto_approve=("*",))}),
        Path("/ws"), home=Path("/home/u"))

    assert "file_write" in judge(policy, TurnContext(
        "channel", channel="chat", sender="a"))


@pytest.mark.parametrize("level", LEVELS)
def test_a_readonly_channel_refuses_what_changes_and_asks_nobody(level):
    asked = []

    class Owner:
        def can_ask(self):
            return True

        async def approve(self, request):
            asked.append(request)
            return "yes"
    policy = SecurityPolicy(
        AutonomySettings(level=level, channels={
            "chat": NarrowerSettings(level="readonly")}),
        Path("/ws"), home=Path("/home/u"))
    turn = TurnContext("channel", channel="chat", sender="a")
    token = current_turn.set(turn)
    try:
        said = asyncio.run(ApprovalManager(
            policy, Owner(), interactive=True).gate(
                Plain("file_write"), {}, turn))
        with pytest.raises(DeniedError, match="read-only"):
            policy.enforce("act")
        assert policy.check_command("ls").detail == "read-only mode"
    finally:
        current_turn.reset(token)

    assert asked == []
    assert (said is not None) is (level == "supervised")


def test_both_at_once_take_away_what_either_does():
    one = NarrowerSettings(level="supervised", tools=("a", "b"),
                           excluded_tools=("x",), max_actions_per_hour=5,
                           auto_approve=("a", "b"))
    other = NarrowerSettings(level="readonly", tools=("b", "c"),
                             excluded_tools=("y",), auto_approve=("b",),
                             allowed_commands=("ls",))

    assert combine(one, other) == NarrowerSettings(
        level="readonly", tools=("b",), excluded_tools=("x", "y"),
        max_actions_per_hour=5, allowed_commands=("ls",),
        auto_approve=("b",))
    assert combine(None, one) == combine(one, None) == one


def test_a_level_above_the_settings_has_no_effect():
    settings = apply(AutonomySettings(level="readonly"),
                     NarrowerSettings(level="full", max_actions_per_hour=99))

    assert (settings.level, settings.max_actions_per_hour) == ("readonly", 20)


@pytest.mark.parametrize("given", [
    {"auto_approve": ["shell"]}, {"levl": "readonly"}, {"level": "root"},
    {"tools": "shell"}, {"max_actions_per_hour": -1}, [], "readonly",
    {"workspace_only": False}])
def test_what_is_no_policy_of_a_job_is_refused(given):
    with pytest.raises(UsageError, match="policy"):
        read_policy(given)


@pytest.mark.parametrize(("own", "offered"), [
    ({}, {"a", "b"}), ({"tools": ("a",)}, {"a"}), ({"tools": ()}, set()),
    ({"tools": ("*",)}, {"a", "b"}), ({"excluded_tools": ("a",)}, {"b"}),
    ({"excluded_tools": ("*",)}, set()),
    ({"tools": ("*",), "excluded_tools": ("b",)}, {"a"})])
def test_which_tools_are_offered(own, offered):
    settings = apply(AutonomySettings(), NarrowerSettings(**own))

    assert {tool for tool in "ab" if settings.offers(tool)} == offered


def test_a_task_handed_on_counts_as_an_action_of_the_same_person():
    policy = SecurityPolicy(
        AutonomySettings(channels={
            "chat": NarrowerSettings(max_actions_per_hour=1)}),
        Path("/ws"), home=Path("/home/u"))
    turn = TurnContext("channel", channel="chat:room", sender="a")

    counted = []
    for one in (turn, turn.hand_over()):
        token = current_turn.set(one)
        counted.append(policy.record())
        current_turn.reset(token)

    assert counted == [True, False]
