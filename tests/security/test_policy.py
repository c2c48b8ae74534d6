"""Rate limit, levels, files and the summary of the policy."""

from pathlib import Path

import msgspec
import pytest

from claw.core.errors import DeniedError
from claw.core.turn import TurnContext, current_turn
from claw.security.policy import SecurityPolicy
from claw.security.settings import (
    AUTO_APPROVE,
    AutonomySettings,
    ResourceSettings,
    SandboxSettings,
)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def policy(workspace=Path("/ws"), clock=None, **settings):
    return SecurityPolicy(AutonomySettings(**settings), workspace,
                          home=Path("/home/u"), clock=clock or Clock())


def test_the_limit_counts_a_sliding_hour():
    clock = Clock()
    rules = policy(clock=clock, max_actions_per_hour=2)

    assert rules.record()
    clock.now = 10.0
    assert not rules.is_limited()
    assert rules.record()
    assert rules.is_limited()
    assert not rules.record()
    clock.now = 3600.0
    assert rules.is_limited()
    clock.now = 3610.0
    assert not rules.is_limited()


def _acts(rules, times, *context, **more):
    """How many of so many actions of a turn are within the limit."""
    token = current_turn.set(TurnContext(*context, **more))
    try:
        return [rules.record() for _ in range(times)].count(True)
    finally:
        current_turn.reset(token)


def test_each_sender_has_his_own_hour():
    rules = policy(max_actions_per_hour=2)
    bob = {"channel": "telegram", "sender": "2002"}

    assert _acts(rules, 5, "channel", **bob) == 2
    assert _acts(rules, 5, "channel", channel="telegram:room",
                 sender="2002") == 0
    assert _acts(rules, 5, "channel", channel="webhook", sender="2002") == 2
    assert _acts(rules, 5, "cron") == 2
    assert _acts(rules, 1, "ask") == 1
    assert [rules.record(), rules.record()] == [True, False]


def test_many_senders_take_bounded_room():
    rules = policy(max_actions_per_hour=3)
    for number in range(3_000):
        _acts(rules, 6, "channel", channel="t", sender=str(number))

    assert len(rules._actions) == 1_000
    assert {len(actions) for actions in rules._actions.values()} == {4}


def test_a_limit_of_zero_blocks_all():
    rules = policy(max_actions_per_hour=0)

    assert rules.is_limited()
    assert not rules.record()


def test_read_only_mode_lets_reading_through():
    rules = policy(level="readonly")

    rules.enforce("read")
    with pytest.raises(DeniedError, match="read-only mode"):
        rules.enforce("act")


def test_an_exhausted_budget_is_said():
    rules = policy(max_actions_per_hour=1)

    rules.enforce("act")
    with pytest.raises(DeniedError, match="Rate limit exceeded"):
        rules.enforce("read")


def test_files_go_through_the_rules(tmp_path):
    (tmp_path / "ws").mkdir()
    (tmp_path / "more").mkdir()
    rules = policy(tmp_path / "ws",
                   allowed_roots=[str(tmp_path / "more")])

    rules.write_beneath("a/b", b"1")
    rules.write_beneath(str(tmp_path / "more/c"), b"2")

    assert rules.read_beneath(str(tmp_path / "ws/a/b"), 10) == b"1"
    assert (tmp_path / "more/c").read_bytes() == b"2"
    for path in ("../x", "/etc/passwd", "state/x", "memory/brain.db"):
        with pytest.raises(DeniedError, match=r"^Path not allowed"):
            rules.write_beneath(path, b"")


def test_a_workspace_behind_a_link_works(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "ws").symlink_to("real")
    rules = policy(tmp_path / "ws")

    rules.write_beneath("x", b"1")

    assert rules.read_beneath("x", 10) == b"1"


def test_commands_go_through_the_rules():
    assert policy().check_command("ls").refusal is None
    assert policy(level="readonly").check_command("ls").refusal
    assert policy().check_command("cat /ws/x").refusal is None
    assert policy().check_command("cat /etc/x").refusal == (
        "Path blocked by security policy: /etc/x")


def test_the_summary_names_the_rules():
    text = policy(allowed_roots=["/srv"], level="full").prompt_summary()

    for part in ("full", "/ws", "/srv", "git, npm", "/etc", "20 actions"):
        assert part in text


def test_auto_approve_is_merged_and_always_ask_wins():
    settings = AutonomySettings(auto_approve=["mine"],
                                always_ask=["file_read"])

    assert settings.approved_tools() == (
        {*AUTO_APPROVE, "mine"} - {"file_read"})


@pytest.mark.parametrize(("struct", "values"), [
    (AutonomySettings, {"level": "god"}),
    (AutonomySettings, {"max_actions_per_hour": -1}),
    (AutonomySettings, {"shell_env_passthrough": ["A B"]}),
    (AutonomySettings, {"shell_env_passthrough": ["A=1"]}),
    (SandboxSettings, {"mode": "maybe"}),
    (SandboxSettings, {"network": "some"}),
    (ResourceSettings, {"max_memory_mb": 0}),
    (ResourceSettings, {"max_cpu_time_seconds": -5})])
def test_impossible_settings_are_refused(struct, values):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(values, struct)


def test_the_references_sections_load():
    msgspec.convert({"enabled": True, "backend": "firejail",
                     "firejail_args": ["--x"]}, SandboxSettings)
    msgspec.convert({"max_memory_mb": 256, "memory_monitoring": False},
                    ResourceSettings)
    loaded = msgspec.convert(
        {"level": "readonly", "allowed_commands": ["ls"],
         "max_cost_per_day_cents": 1, "non_cli_excluded_tools": []},
        AutonomySettings)
    assert loaded.allowed_commands == ["ls"]


def test_a_path_may_be_asked_for_by_name(tmp_path):
    rules = policy(tmp_path / "ws")

    assert rules.is_path_allowed("notes.txt")
    assert not rules.is_path_allowed("../secret")
    assert not rules.is_path_allowed("/etc/shadow")
