"""The small rules around a turn: routes, thinking levels, loops, filters."""

import msgspec
import pytest
from agent_parts import Echo

from claw.agent.model.classify import classify, effective_model
from claw.agent.model.thinking import read_directive
from claw.agent.rounds.loop_detector import LoopDetector
from claw.agent.rounds.tool_filter import select_tools
from claw.agent.settings import (
    AgentSettings,
    AutoClassifySettings,
    ClassificationRule,
    QueryClassificationSettings,
    ToolFilterGroup,
)


def rules(*items, enabled=True):
    return QueryClassificationSettings(
        enabled=enabled, rules=tuple(ClassificationRule(**i) for i in items))


FAST = {"hint": "fast", "keywords": ("quick", "tldr"), "priority": 10}


@pytest.mark.parametrize(("settings", "message", "hint"), [
    (rules(FAST), "QUICK summary please", "fast"),
    (rules(FAST), "a long one", None),
    (rules(FAST, enabled=False), "quick", None),
    (rules({"hint": "any"}), "anything", None),
    (rules({"hint": "code", "patterns": ("fn ",)}), "FN main", None),
    (rules({"hint": "code", "patterns": ("fn ",)}), "fn main", "code"),
    (rules({"hint": "low", "keywords": ("quick",)}, FAST), "quick", "fast"),
    (rules({"hint": "a", "keywords": ("x",)}, {"hint": "b",
                                               "keywords": ("x",)}),
     "x", "a"),
    (rules({"hint": "a", "keywords": ("한",), "max_length": 3}), "한", "a"),
    (rules({"hint": "a", "keywords": ("한",), "max_length": 2}), "한", None),
    (rules({"hint": "a", "keywords": ("x",), "min_length": 2}), "x", None),
])
def test_classification_rules(settings, message, hint):
    assert classify(settings, message) == hint


AUTO = AutoClassifySettings(simple_hint="s", standard_hint="m",
                            complex_hint="c")


@pytest.mark.parametrize(("message", "model"), [
    ("hi", "hint:s"),
    ("x" * 51, "hint:m"),
    ("x" * 201, "hint:c"),
    ("see ```x```", "hint:c"),
    ("explain and compare", "hint:c"),
    ("why?", "hint:m"),
])
def test_difficulty_is_estimated_where_no_rule_matches(message, model):
    assert effective_model(rules(FAST), AUTO, ["s", "m", "c"], message,
                           "base") == model


def test_a_hint_without_a_route_is_not_used():
    assert effective_model(rules(FAST), None, [], "quick", "base") == "base"


@pytest.mark.parametrize(("message", "rest", "shift"), [
    ("/think:max why", "why", 0.1),
    ("/think:MINIMAL why", "why", -0.1),
    ("/think:off\nline one\nline two", "line one\nline two", -0.2),
    ("/think:med x", "x", 0.0),
    ("/think:strange why", "/think:strange why", 0.0),
    ("why /think:max", "why /think:max", 0.0),
])
def test_thinking_directive(message, rest, shift):
    thinking = read_directive(message, "medium")

    assert (thinking.message, thinking.shift) == (rest, shift)
    assert bool(thinking.prefix) is (shift != 0)


def test_the_default_level_holds_without_a_directive():
    assert read_directive("why", "high").shift == 0.05
    assert read_directive("why", "high").temperature(1.99) == 2.0


def verdicts(calls, **settings):
    detector = LoopDetector(**settings)
    return [detector.record(*call).verdict for call in calls]


def test_the_same_call_again_and_again():
    assert verdicts([("a", {"x": 1, "y": 2}, "1"), ("a", {"y": 2, "x": 1},
                                                    "2")] * 3) == [
        "ok", "ok", "warning", "block", "break", "break"]


def test_two_tools_taking_turns():
    calls = [(name, {"n": n}, str(n)) for n, name in enumerate("ab" * 6)]

    found = verdicts(calls)
    assert found[:7] == ["ok"] * 7
    assert found[7::2] == ["warning", "block", "break"]


def test_one_tool_that_returns_the_same():
    calls = [("a", {"n": n}, "same") for n in range(7)]

    assert verdicts(calls) == ["ok"] * 4 + ["warning", "block", "break"]


def test_progress_is_no_loop():
    assert verdicts([("a", {"n": n}, str(n)) for n in range(20)]) == (
        ["ok"] * 20)


@pytest.mark.parametrize("settings", [
    {"enabled": False}, {"ignored": ("a",)}])
def test_the_detector_can_be_told_to_be_quiet(settings):
    assert set(verdicts([("a", {}, "")] * 9, **settings)) == {"ok"}


def test_only_mcp_tools_are_filtered():
    tools = [Echo("shell"), Echo("mcp_fs_read"), Echo("mcp_web_get"),
             Echo("mcp_web_x")]
    groups = (ToolFilterGroup(tools=("mcp_fs_*",)),
              ToolFilterGroup(mode="dynamic", tools=("mcp_*_get",),
                              keywords=("Browse",)))

    def names(groups, message):
        return [tool.name for tool in select_tools(tools, groups, message)]

    assert names((), "hi") == [tool.name for tool in tools]
    assert names(groups, "hi") == ["shell", "mcp_fs_read"]
    assert names(groups, "please browse") == ["shell", "mcp_fs_read",
                                              "mcp_web_get"]


def test_zero_iterations_means_ten():
    assert AgentSettings(max_tool_iterations=0).iterations == 10


def test_settings_decode_from_a_table():
    settings = msgspec.convert(
        {"max_tool_iterations": 20, "parallel_tools": False,
         "tool_dispatcher": "auto", "tool_call_dedup_exempt": ["shell"],
         "thinking": {"default_level": "low"},
         "tool_filter_groups": [{"mode": "always", "tools": ["mcp_*"]}]},
        AgentSettings)

    assert settings.iterations == 20
    assert settings.tool_filter_groups[0].tools == ("mcp_*",)
