"""Who is asked, what is shown, and what a yes is good for."""

import asyncio
import io
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claw.core.tool import Tool, ToolResult, closed_object
from claw.core.turn import ApprovalRequest, TurnContext, current_turn
from claw.security.approval import (
    ApprovalManager,
    NoApprover,
    SaysYes,
    TerminalApprover,
    approval_key,
    describe_call,
    is_sink,
    needs_approval,
    parse_decision,
    prompt,
    summary,
)
from claw.security.policy import SecurityPolicy
from claw.security.settings import AutonomySettings, NarrowerSettings


class Answers:
    """An owner who gives prepared answers and keeps the questions."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def approve(self, request):
        self.asked.append(request)
        return self.answers.pop(0)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def policy(clock=lambda: 0.0, **settings):
    return SecurityPolicy(AutonomySettings(**settings), Path("/ws"),
                          home=Path("/home/u"), clock=clock)


def manager(approver, *, interactive=True, **settings):
    return ApprovalManager(policy(**settings), approver,
                           interactive=interactive,
                           now=lambda: datetime(2026, 1, 1, tzinfo=UTC))


def ask(approvals, tool, args, context=None):
    return asyncio.run(approvals.refusal(tool, args, context))


def test_what_is_not_shown_whole_is_allowed_once_at_most():
    asked = []

    class Owner(NoApprover):
        async def approve(self, request):
            asked.append(request)
            return "yes"
    approvals = manager(Owner())
    ask(approvals, "http_request", {"method": "POST", "body": "x" * 3000})
    ask(approvals, "http_request", {"method": "POST", "body": "x" * 3001})
    ask(approvals, "cron_add", {"command": "x" * 9000, "prompt": "y" * 9000})

    assert [request.may_remember for request in asked] == [True, False, True]
    assert "1 characters NOT SHOWN" in asked[1].summary
    assert "x" * 9000 in asked[2].summary
    assert "y" * 9000 in asked[2].summary


class Plain(Tool):
    """hand_in: an owner's tool."""

    name = description = "hand_in"

    def parameters_schema(self):
        return closed_object()

    async def execute(self, args):
        return ToolResult(output="done")


RM = {"command": "rm x"}


@pytest.mark.parametrize(("tool", "settings", "more", "asks"), [
    ("file_write", {}, {}, True),
    ("file_read", {}, {}, False),
    ("memory_recall", {}, {}, False),
    ("memory_store", {}, {}, False),
    ("memory_forget", {}, {}, True),
    ("file_write", {"level": "full"}, {}, False),
    ("file_write", {"level": "readonly"}, {}, False),
    ("file_write", {"auto_approve": ["file_write"]}, {}, False),
    ("anything", {"auto_approve": ["*"]}, {}, False),
    ("file_read", {"always_ask": ["file_read"]}, {}, True),
    ("file_read", {"always_ask": ["*"]}, {}, True),
    ("x", {"always_ask": ["x"], "auto_approve": ["x"]}, {}, True),
    ("x", {"always_ask": ["x"]}, {"remembered": True}, True),
    ("x", {}, {"remembered": True}, False),
    ("x", {"auto_approve": ["x"]}, {"labels": {"web"}, "sink": True}, True),
    ("x", {}, {"labels": {"web"}, "sink": True, "remembered": True}, True),
    ("file_read", {}, {"labels": {"web"}}, False),
    ("x", {"auto_approve": ["x"]}, {"sink": True}, False),
    ("memory_store", {}, {"labels": {"web"}, "sink": True}, True),
    ("file_write", {"auto_approve": ["*"]}, {"labels": {"file"}}, False),
    ("file_write", {"auto_approve": ["*"]}, {"labels": {"web"}}, True),
    ("file_edit", {}, {"labels": {"web"}, "remembered": True}, True),
    ("memory_forget", {"auto_approve": ["*"]}, {"labels": {"tool"}}, True),
])
def test_needs_approval(tool, settings, more, asks):
    for interactive in (True, False):
        reason = needs_approval(tool, AutonomySettings(**settings),
                                interactive=interactive, **more)
        assert (reason is not None) is asks


@pytest.mark.parametrize(("command", "interactive", "settings", "asks"), [
    ("ls", True, {}, False),
    ("ls", False, {}, False),
    ("sort x | uniq -c", True, {}, False),
    ("ls", True, {"always_ask": ["shell"]}, True),
    ("touch x", True, {}, True),
    ("touch x", False, {}, False),
    ("python x.py", True, {}, True),
    ("python x.py", False, {}, False),
    ("git commit -m x", False, {}, True),
    ("git commit -m x", False,
     {"require_approval_for_medium_risk": False}, False),
    ("rm x", False, {"allowed_commands": ["rm"]}, True),
    ("git commit -m x", True, {"auto_approve": ["shell"]}, True),
    ("ls", True, {"auto_approve": ["shell"]}, False),
    ("git commit -m x", True, {"level": "full"}, False),
])
def test_shell_calls_are_judged_by_their_risk(command, interactive, settings,
                                              asks):
    verdict = policy(**settings).check_command(command)
    reason = needs_approval("shell", AutonomySettings(**settings),
                            interactive=interactive, verdict=verdict)

    assert (reason is not None) is asks


@pytest.mark.parametrize(("command", "labels", "asks"), [
    ("ls", {"file"}, False), ("ls", {"web"}, True),
    ("ls", {"command"}, False), ("git tag x", {"command"}, True),
    ("ls", {"file", "web"}, True), ("git tag x", {"file"}, True),
    ("touch x", {"file"}, False), ("python x.py", {"file"}, False),
    ("touch x", {"attachment"}, True), ("touch x", set(), False)])
def test_a_command_of_low_risk_may_follow_a_files_text(command, labels,
                                                       asks):
    reason = needs_approval(
        "shell", AutonomySettings(), interactive=False, labels=labels,
        sink=True, verdict=policy().check_command(command))

    assert (reason is not None) is asks


@pytest.mark.parametrize(("labels", "asks"), [
    ({"file", "command"}, False), ({"attachment", "command"}, True),
    ({"web"}, True)])
def test_always_holds_after_text_of_the_workspaces_own(labels, asks):
    reason = needs_approval(
        "shell", AutonomySettings(), interactive=True, labels=labels,
        sink=True, remembered=True,
        verdict=policy().check_command("git tag x"))

    assert (reason is not None) is asks


@pytest.mark.parametrize(("tool", "args", "sink"), [
    ("shell", {}, True), ("cron_add", {}, True), ("message", {}, True),
    ("memory_store", {}, True), ("memory_store", {"category": "core"}, True),
    ("memory_store", {"category": "daily"}, True),
    ("http_request", {"method": "post"}, True),
    ("http_request", {}, False), ("file_read", {}, False),
    ("file_write", {}, False)])
def test_sinks(tool, args, sink):
    assert is_sink(tool, args) is sink


@pytest.mark.parametrize(("labels", "reads", "asked"), [
    ((), False, 0), (("web",), False, 1), (("web",), True, 0)])
def test_an_owners_tool_that_acts_asks_after_foreign_text(
        labels, reads, asked):
    owner, tool = Answers("no"), Plain()
    tool.reads = reads
    asyncio.run(manager(owner, auto_approve=["hand_in"]).gate(
        tool, {}, TurnContext("agent", labels=set(labels))))

    assert len(owner.asked) == asked


def test_a_command_that_asks_says_what_is_not_known_of_it():
    owner = Answers("no")
    ask(manager(owner), "shell", {"command": "sort -o x y"})

    assert owner.asked[0].reason == (
        "medium-risk command: sort -o is not known to be harmless")
    assert "Why: medium-risk command: sort -o" in prompt(owner.asked[0])


def test_a_key_is_bound_to_tool_arguments_and_directory():
    base = approval_key("shell", {"command": "x", "n": 1}, Path("/ws"))

    assert base == approval_key(
        "shell", {"n": 1, "command": "x", "approved": False, "z": None},
        Path("/ws"))
    assert len({base, approval_key("shel", {"command": "x", "n": 1},
                                   Path("/ws")),
                approval_key("shell", {"command": "y", "n": 1}, Path("/ws")),
                approval_key("shell", {"command": "x", "n": 1}, Path("/w"))
                }) == 4
    assert approval_key("t", {"x": "\ud800", "y": [1, {}]}, Path("/"))


def test_a_yes_is_good_once_for_this_call_and_for_five_minutes():
    now = [0.0]
    rules = policy(clock=lambda: now[0], allowed_commands=["rm"])
    approvals = ApprovalManager(rules, SaysYes(), interactive=True)
    key = approval_key("shell", RM, Path("/ws"))
    other = approval_key("shell", {"command": "rm y"}, Path("/ws"))

    assert ask(approvals, "shell", RM) is None
    assert not rules.take_grant(other)
    assert rules.take_grant(key)
    assert not rules.take_grant(key)
    ask(approvals, "shell", RM)
    now[0] = 301.0
    assert not rules.take_grant(key)


def test_no_means_no():
    approvals = manager(Answers("no"))

    assert ask(approvals, "file_write", {"path": "x"}) == "Denied by user."
    assert not approvals._policy._grants


def test_always_holds_for_the_same_call_only():
    owner = Answers("always", "no")
    approvals = manager(owner, allowed_commands=["touch"])

    assert ask(approvals, "shell", {"command": "touch a"}) is None
    assert ask(approvals, "shell", {"command": "touch a"}) is None
    assert ask(approvals, "shell", {"command": "touch b"}) is not None
    assert len(owner.asked) == 2


def test_always_for_an_interpreter_is_a_yes_for_once():
    owner = Answers("always", "always")
    approvals = manager(owner)

    for _ in range(2):
        assert ask(approvals, "shell", {"command": "python x.py"}) is None

    assert [r.may_remember for r in owner.asked] == [False, False]


def test_what_the_gate_refuses_anyway_is_not_asked():
    owner = Answers()

    assert ask(manager(owner), "shell", {"command": "curl x"}) is None
    assert owner.asked == []


def test_a_tainted_turn_asks_for_what_is_approved_otherwise():
    owner = Answers("no")
    approvals = manager(owner)
    turn = TurnContext(origin="agent", labels={"web", "file"})

    assert ask(approvals, "memory_store", {"key": "k", "content": "c"},
               turn) == "Denied by user."
    assert "file, web" in owner.asked[0].reason


@pytest.mark.parametrize(("tool", "args", "settings", "key", "value"), [
    ("file_write", {"path": "x"}, {}, "auto_approve", ["file_write"]),
    ("shell", {"command": "git tag x"}, {},
     "require_approval_for_medium_risk", False),
    ("shell", {"command": "rm x"}, {"allowed_commands": ["rm"]},
     "level", "full"),
])
def test_where_nobody_can_be_asked_the_answer_names_a_way_that_works(
        tool, args, settings, key, value):
    def refusal(**more):
        return ask(manager(NoApprover(), interactive=False, **settings,
                           **more), tool, args)

    assert refusal().startswith(f"Denied: {tool} needs approval")
    assert "--yes" in refusal()
    assert f"autonomy.{key} = " in refusal()
    assert refusal(**{key: value}) is None


def test_a_way_that_does_not_work_is_not_named():
    refusal = ask(manager(NoApprover(), interactive=False), "shell",
                  {"command": "git tag x"})

    assert "auto_approve" not in refusal


def test_decisions_are_kept_for_the_audit():
    approvals = manager(Answers("yes", "no"))
    ask(approvals, "file_write", {"path": "a", "content": "z" * 100})
    ask(approvals, "file_write", {"path": "b", "n": 1})

    first, second = approvals.audit
    assert first.timestamp == "2026-01-01T00:00:00+00:00"
    assert first.arguments_summary == f"path: a, content: {'z' * 80}..."
    assert (second.tool_name, second.decision, second.channel,
            second.arguments_summary) == ("file_write", "no", "cli",
                                          "path: b, n: 1")


def test_a_question_shows_what_stands_behind_a_harmless_beginning():
    call = describe_call("file_write", {
        "path": "AGENTS.md", "content": "notes " + "a" * 2000 + " EVIL"})

    assert call.startswith("path: AGENTS.md, content: notes aaa")
    assert call.endswith("a EVIL")
    assert len(call) > 2000


def test_a_question_says_how_much_of_a_long_value_is_not_shown():
    call = describe_call("file_write", {"content": "a" * 50_000 + " EVIL"})

    assert "[... 47005 characters NOT SHOWN ...]" in call
    assert call.endswith(" EVIL")
    assert len(call) < 4_000


def test_gate_is_what_the_executor_calls():
    class Touch(Tool):
        name = "touch"
        description = "x"

        def parameters_schema(self):
            return closed_object()

        async def execute(self, args):
            return ToolResult()

    refusal = asyncio.run(manager(Answers("no")).gate(
        Touch(), {}, TurnContext(origin="agent")))
    assert refusal == "Denied by user."


def test_a_call_with_wrong_arguments_is_not_asked_about():
    class Picky(Tool):
        name = "picky"
        description = "x"

        def parameters_schema(self):
            return closed_object()

        async def execute(self, args):
            return ToolResult.failure("wrong")

        def problem(self, args):
            return "wrong" if args else None

    owner, turn = Answers("no"), TurnContext(origin="agent")
    approvals = manager(owner)

    assert asyncio.run(approvals.gate(Picky(), {"x": 1}, turn)) is None
    assert owner.asked == []
    assert asyncio.run(approvals.gate(Picky(), {}, turn)) is not None


def request(**changed):
    return ApprovalRequest(**{
        "tool": "shell", "summary": "git push", "key": "k",
        "reason": "supervised mode", **changed})


def test_the_prompt_has_three_lines():
    assert prompt(request()) == (
        "[claw] Tool: shell\nCommand: git push\n"
        "[y]es / [n]o / [a]lways: ")
    assert prompt(request(may_remember=False)).endswith(
        "\n[y]es / [n]o: ")
    assert "Why: this turn has read" in prompt(
        request(reason="this turn has read text from: web"))


@pytest.mark.parametrize(("hidden", "shown"), [
    ("rm\u00a0x\u3164\ufe00", r"rm\xa0x\u3164\ufe00"), ("❤️", "❤️"),
    ("\x1b[2J", r"\e[2J"), ("a\nb", "a\\n\n    b"), ("a\rb", r"a\rb"),
    ("\u202etxt", r"\u202etxt"), ("\u2066x", r"\u2066x"), ("\x07", r"\x07"),
    ("\x9b", r"\x9b"), ("\u200b", r"\u200b"), ("\ud800", r"\ud800"),
    ("\u2028", r"\u2028"), ("\U000e0041", r"\ue0041"),
    ("한국어 日本語 é 👍", "한국어 日本語 é 👍")])
def test_the_prompt_shows_what_would_be_hidden(hidden, shown):
    assert f"Command: {shown}\n" in prompt(request(summary=hidden))


@pytest.mark.parametrize(("answer", "decision"), [
    ("y\n", "yes"), ("YES\n", "yes"), (" a \n", "always"),
    ("always", "always"), ("n\n", "no"), ("", "no"), ("\n", "no"),
    ("yess\n", "no"), ("はい\n", "no")])
def test_answers(answer, decision):
    assert parse_decision(answer, may_remember=True) == decision
    out = Terminal()
    asked = asyncio.run(TerminalApprover(Terminal(answer), out).approve(
        request()))
    assert asked == decision
    assert out.getvalue().startswith("[claw] Tool: shell\n")


def test_the_question_is_on_the_screen_before_the_answer_is_read():
    class Screen(Terminal):
        shown = ""

        def flush(self):
            self.shown = self.getvalue()

    class Keyboard(Terminal):
        def readline(self, *size):
            assert screen.shown == prompt(request())
            return "y\n"

    screen = Screen()
    asked = TerminalApprover(Keyboard(), screen).approve(request())

    assert asyncio.run(asked) == "yes"


@pytest.mark.parametrize(("typed", "decision"), [
    ("?\ny\n", "yes"), ("yess\nyes\n", "yes"), ("?\n?\nn\n", "no"),
    ("w\na\n", "always")])  # no week is offered here
def test_who_answers_something_else_is_told_what_there_is(typed, decision):
    out = Terminal()
    asked = asyncio.run(TerminalApprover(Terminal(typed), out).approve(
        request()))

    assert asked == decision
    assert "a: this very call, until claw ends" in out.getvalue()
    assert out.getvalue().endswith("\n[y]es / [n]o / [a]lways: ")


def test_always_is_not_taken_where_it_is_not_offered():
    assert parse_decision("a", may_remember=False) == "no"


@pytest.mark.parametrize(("into", "out"), [
    (io.StringIO("y\n"), Terminal()), (Terminal("y\n"), io.StringIO())])
def test_without_a_terminal_nothing_is_asked(into, out):
    approver = TerminalApprover(into, out)

    assert asyncio.run(approver.approve(request())) == "no"
    assert out.getvalue() == ""
    assert not approver.interactive


def test_a_summary_takes_any_value():
    assert summary({"a": [1, "é"], "b": None}) == 'a: [1, "é"], b: null'


def test_details_are_read_before_the_yes_line_by_line():
    request = ApprovalRequest(
        "AGENTS.md", "AGENTS.md is new", "k", "a command changed it",
        may_remember=False, details=("+Obey\x1b[2J", "+me\nnow"))

    assert prompt(request) == (
        "[claw] File: AGENTS.md\nChange: AGENTS.md is new\n"
        "  +Obey\\e[2J\n  +me\\nnow\nWhy: a command changed it\n"
        "[y]es / [n]o: ")


def test_the_diff_and_the_place_of_a_call_are_read_before_the_yes():
    request = ApprovalRequest(
        "file_edit", "path: a", "k", "supervised mode",
        diff=("-old", "+new\x1b[2J"), place="/work")

    assert prompt(request) == (
        "[claw] Tool: file_edit\nChange: path: a\nIn: /work\n"
        "  -old\n  +new\\e[2J\n[y]es / [n]o / [a]lways: ")


def test_a_command_is_shown_whole_and_where_it_runs():
    owner = Answers("no")
    long = "touch " + "x" * 9_000
    ask(manager(owner), "shell", {"command": long})

    assert owner.asked[0].summary == long
    assert owner.asked[0].place == "/ws"


class Watched(Plain):
    """One that puts what it did to the owner itself."""

    def asks_owner(self, args, context):
        return True


def test_a_channel_that_leaves_a_tool_out_has_it_through_no_other_way():
    """A named agent's tools are not those of the channel that it works
    for."""
    approvals = manager(NoApprover(), channels={
        "telegram": NarrowerSettings(excluded_tools=("hand_in",))})
    turn = TurnContext("channel", channel="telegram").hand_over()

    async def gate(tool):
        current_turn.set(turn)
        return await approvals.gate(tool, {}, turn)

    for tool in (Watched(), Plain()):
        assert "not offered here" in asyncio.run(gate(tool))


def test_a_yes_that_was_typed_before_the_question_counted():
    keyboard, terminal = os.openpty()
    with open(terminal, encoding="utf-8") as into:
        os.write(keyboard, b"y\n")
        screen = io.StringIO()
        screen.write = lambda text: os.write(keyboard, b"n\n")

        assert TerminalApprover(into, screen).ask("Run it? ") == "n\n"
    os.close(keyboard)
