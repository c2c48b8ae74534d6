"""Hooks: their order, their faults, and their places in a turn."""

import asyncio
import json
from importlib import metadata

import pytest
from agent_parts import Echo

from claw.agent.hooks.builtin import (
    CommandLogger,
    WebhookAudit,
    build_hooks,
    check_url,
)
from claw.agent.hooks.runner import HookRunner
from claw.agent.hooks.settings import (
    BuiltinHooksSettings,
    HooksSettings,
    WebhookAuditSettings,
)
from claw.agent.rounds.cancel import TurnCancelled
from claw.agent.turn import Agent
from claw.core.channel import ChannelMessage, SendMessage
from claw.core.errors import ConfigError, DeniedError, UnavailableError
from claw.core.hooks import Cancel, Hooks
from claw.core.provider import ChatMessage, ChatResponse, ToolCall
from claw.core.tool import ToolResult
from claw.core.turn import TurnContext
from claw.testing.scripted import ScriptedProvider

MESSAGE = ChannelMessage("1", "ann", "chat", "hi", "test", 0)


class Log(list):
    def __call__(self, event, **fields):
        self.append((event, fields))


def hook(priority=0, **methods):
    """A hook of these methods."""
    return type("Made", (Hooks,), {"priority": priority, **methods})()


def adds(word, priority=0):
    async def before_prompt_build(self, prompt):
        return prompt + word
    return hook(priority, before_prompt_build=before_prompt_build)


def built(*hooks, log=None):
    runner = HookRunner(hooks, log if log is not None else Log())
    return asyncio.run(runner.before_prompt_build("p"))


def test_modifying_hooks_run_by_priority_each_on_what_came_before():
    assert built(adds("c"), adds("d"), adds("a", 9), adds("b", 9),
                 adds("e", -50)) == "pabcde"


def test_the_first_cancel_ends_it():
    async def before_prompt_build(self, prompt):
        return Cancel("enough")
    seen = []

    async def late(self, prompt):
        seen.append(prompt)
        return prompt
    log = Log()

    assert built(adds("a", 9), hook(5, before_prompt_build=(
        before_prompt_build)), hook(before_prompt_build=late),
        log=log) == Cancel("enough")
    assert seen == []
    assert log[0][0] == "hook_cancelled"


async def _raises(self, prompt):
    raise RuntimeError("token=sk-abcdefghijklmnop")


async def _forgets(self, prompt):
    return None


def _not_async_and_raises(self, prompt):
    raise KeyError("x")


@pytest.mark.parametrize("bad", [_raises, _forgets, _not_async_and_raises])
def test_a_faulty_hook_is_logged_and_changes_nothing(bad):
    log = Log()

    assert built(adds("a", 1), hook(before_prompt_build=bad),
                 adds("b", -1), log=log) == "pab"
    assert [event for event, _ in log] == ["hook_failed"]
    assert "abcdefghijklmnop" not in str(log)


def test_a_hook_that_is_a_plain_function_works_too():
    assert built(hook(before_prompt_build=lambda self, p: p + "!")) == "p!"


def test_a_hook_can_not_change_arguments_and_then_fail():
    async def before_tool_call(self, name, args):
        args["path"] = "/etc"
        raise RuntimeError
    runner = HookRunner([hook(before_tool_call=before_tool_call)])
    args = {"path": "a"}

    assert asyncio.run(runner.before_tool_call("t", args)) == (
        "t", {"path": "a"})
    assert args == {"path": "a"}


@pytest.mark.parametrize(("method", "given", "bad"), [
    ("before_model_resolve", ("p", "m"), ("p",)),
    ("before_llm_call", ([ChatMessage.user("x")], "m"), (["x"], "m")),
    ("before_tool_call", ("t", {}), ("t", None)),
    ("before_tool_call", ("t", {}), ("t", {1: 2})),
    ("on_message_received", (MESSAGE,), "hello"),
    ("on_message_sending", ("c", "r", "text"), ("c", "r", None)),
])
def test_what_can_not_be_used_is_not_used(method, given, bad):
    async def wrong(self, *args):
        return bad
    log = Log()
    runner = HookRunner([hook(**{method: wrong})], log)

    got = asyncio.run(getattr(runner, method)(*given))

    assert got == (given if len(given) > 1 else given[0])
    assert log[0][0] == "hook_failed"


def test_void_hooks_run_side_by_side_and_are_waited_for():
    async def main():
        barrier, done = asyncio.Barrier(2), []

        async def meets(self, response):
            await barrier.wait()
            done.append(1)

        async def fails(self, response):
            raise RuntimeError
        log = Log()
        runner = HookRunner([hook(on_llm_output=meets),
                             hook(on_llm_output=fails),
                             hook(on_llm_output=meets)], log)
        async with asyncio.timeout(1):
            await runner.on_llm_output(ChatResponse("x"))
        return done, log
    done, log = asyncio.run(main())

    assert done == [1, 1]
    assert log[0][1]["at"] == "on_llm_output"


VOID = [("on_gateway_start", ("h", 1)), ("on_gateway_stop", ()),
        ("on_session_start", ("s", "c")), ("on_session_end", ("s", "c")),
        ("on_llm_input", ((), "m")), ("on_llm_output", (ChatResponse(),)),
        ("on_after_tool_call", ("t", ToolResult(), 1.0, {})),
        ("on_message_sent", ("c", SendMessage("x", "r"))),
        ("on_heartbeat_tick", ())]


@pytest.mark.parametrize(("method", "arguments"), VOID)
def test_every_void_place_reaches_its_hooks(method, arguments):
    seen = []

    async def note(self, *given):
        seen.append(given)
    asyncio.run(getattr(HookRunner([hook(**{method: note}), Hooks()]),
                        method)(*arguments))

    assert seen == [arguments]


def test_a_reply_keeps_its_route_and_is_cut():
    async def on_message_sending(self, channel, recipient, content):
        assert (channel, recipient) == ("c", "r")
        return "other", "thief", content + "x" * 30_000
    one = hook(on_message_sending=on_message_sending)
    log = Log()

    channel, recipient, text = asyncio.run(
        HookRunner([one, one], log).on_message_sending("c", "r", "hi"))

    assert (channel, recipient) == ("c", "r")
    assert text.startswith("hix")
    assert len(text) == 20_003
    assert text.endswith("...")
    assert log[0][0] == "hook_route_ignored"


def test_a_long_reply_that_no_hook_changed_stays_whole():
    reply = asyncio.run(HookRunner([Hooks()]).on_message_sending(
        "c", "r", "y" * 30_000))

    assert reply == ("c", "r", "y" * 30_000)


# -- in a turn

def asks(text, name="echo"):
    return ChatResponse(None, (
        ToolCall("c0", name, json.dumps({"text": text})),))


def turn(hooks, script, **parts):
    tool = parts.pop("tool", None) or Echo()
    provider = ScriptedProvider(script)
    agent = Agent(provider, [tool], model="m", hooks=HookRunner(hooks),
                  **parts)
    return asyncio.run(agent.turn("go")), tool, provider


def test_a_hook_changes_a_call_and_the_gate_sees_the_change():
    async def before_tool_call(self, name, args):
        return "echo", {"text": args["text"].upper()}
    gated = []

    async def gate(tool, args, context):
        gated.append(dict(args))
    result, tool, _ = turn([hook(before_tool_call=before_tool_call)],
                           [asks("a", name="ecko"), "done"], gate=gate)

    assert tool.runs == gated == [{"text": "A"}]
    assert result.tool_calls[0].arguments == {"text": "A"}


def test_a_cancelled_call_is_a_result_and_does_not_run():
    async def before_tool_call(self, name, args):
        return Cancel("not on Sundays")
    after = []

    async def on_after_tool_call(self, *given):
        after.append(given)
    result, tool, _ = turn(
        [hook(before_tool_call=before_tool_call,
              on_after_tool_call=on_after_tool_call)], [asks("a"), "done"])

    assert tool.runs == after == []
    record = result.tool_calls[0]
    assert (record.output, record.success) == (
        "Cancelled by hook: not on Sundays", False)


def test_hooks_see_what_goes_to_the_model_and_what_comes_back():
    seen = []

    async def before_llm_call(self, messages, model):
        return [*messages, ChatMessage.user("PS")], "other"

    async def on_llm_input(self, messages, model):
        seen.append((messages[-1].content, model))

    async def on_llm_output(self, response):
        seen.append(response.text)

    async def on_after_tool_call(self, tool, result, duration_s, args):
        seen.append((tool, result.output, dict(args)))
    _, _, provider = turn(
        [hook(before_llm_call=before_llm_call, on_llm_input=on_llm_input,
              on_llm_output=on_llm_output,
              on_after_tool_call=on_after_tool_call)],
        [asks("a"), "done"])

    seen[1] = seen[1] or ""
    assert seen == [("PS", "other"), "", ("echo", "a", {"text": "a"}),
                    ("PS", "other"), "done"]
    assert [r.model for r in provider.requests] == ["other", "other"]
    assert provider.requests[0].last.content == "PS"


def test_a_stopped_model_call_ends_the_turn():
    async def before_llm_call(self, messages, model):
        return Cancel("quiet hours")

    with pytest.raises(DeniedError, match="quiet hours"):
        turn([hook(before_llm_call=before_llm_call)], ["never"])


@pytest.mark.parametrize("method", [
    "before_llm_call", "on_llm_output", "before_tool_call",
    "on_after_tool_call"])
def test_a_turn_is_stopped_while_a_hook_hangs(method):
    async def main():
        cancel, reached = asyncio.Event(), asyncio.Event()

        async def hangs(self, *given):
            reached.set()
            await asyncio.Event().wait()
        agent = Agent(ScriptedProvider([asks("a"), "done"]), [Echo()],
                      model="m", hooks=HookRunner([hook(**{method: hangs})]))
        task = asyncio.ensure_future(agent.turn("go", context=TurnContext(
            "agent", cancel=cancel)))
        async with asyncio.timeout(1):
            await reached.wait()
            cancel.set()
            with pytest.raises(TurnCancelled):
                await task
        return agent.history
    history = asyncio.run(main())

    if method == "on_after_tool_call":
        assert history[-1].results[0].content == "a"


# -- the built-in ones

def audit(post, log, **settings):
    return WebhookAudit(WebhookAuditSettings(
        enabled=True, url="https://audit.example/hook/s3cr3t-path",
        **settings), post, log)


def ran(one, tool="shell", args=None, result=None):
    asyncio.run(HookRunner([one]).on_after_tool_call(
        tool, result or ToolResult("out"), 0.25, args or {}))


def test_the_command_logger_writes_a_line_without_arguments():
    log = Log()
    ran(CommandLogger(log), args={"command": "secret"})

    assert log == [("tool_call", {"tool": "shell", "success": True,
                                  "duration_ms": 250})]
    assert CommandLogger(log).priority == -50


class Posts(list):
    async def __call__(self, url, body):
        self.append((url, json.loads(json.dumps(body))))


def test_the_audit_posts_calls_that_fit_a_pattern():
    posts = Posts()
    one = audit(posts, Log(), tool_patterns=("file_*", "sh?ll"))
    for tool in ("shell", "file_read", "memory_store"):
        ran(one, tool)

    assert [body["tool"] for _, body in posts] == ["shell", "file_read"]
    assert posts[0] == ("https://audit.example/hook/s3cr3t-path", {
        "event": "tool_call", "tool": "shell", "success": True,
        "duration_ms": 250})


@pytest.mark.parametrize("size", [0, 11, 12, 13, 14, 4096])
def test_audited_arguments_are_cut_at_a_character_and_scrubbed(size):
    posts = Posts()
    ran(audit(posts, Log(), include_args=True, max_args_bytes=size),
        args={"text": "日本語" * 5, "password": "hunter2hunter2"})

    args = posts[0][1]["args"]
    assert len(args.removesuffix("…").encode()) <= size
    assert "hunter2hunter2" not in args
    assert (size < 100) is args.endswith("…")


def test_an_audit_that_fails_is_a_line_without_the_address():
    async def post(url, body):
        raise UnavailableError(f"no answer from {url}")
    log = Log()
    ran(audit(post, log))

    assert log[0][0] == "webhook_audit_failed"
    assert "s3cr3t" not in str(log)


def test_an_audit_waits_five_seconds_at_most(monkeypatch):
    monkeypatch.setattr("claw.agent.hooks.builtin.POST_S", 0.02)

    async def post(url, body):
        await asyncio.Event().wait()
    log = Log()
    ran(audit(post, log))

    assert log[0][1]["error"] == "TimeoutError"


@pytest.mark.each("url", [
    "http://audit.example/", "ftp://audit.example", "", "audit.example",
    "https://", "https://[::1", "https://localhost/", "https://LOCALHOST./",
    "https://a.localhost", "https://printer.local", "https://127.0.0.1/",
    "https://127.1/", "https://2130706433/", "https://0x7f.1/",
    "https://10.0.0.8", "https://192.168.1.1:8443", "https://172.16.0.1",
    "https://169.254.169.254/latest", "https://0.0.0.0", "https://[::1]/",
    "https://[::ffff:127.0.0.1]/", "https://[fe80::1%25eth0]/",
    "https://[fc00::1]/", "https://[2002:7f00:1::]/", "https://224.0.0.1",
    "https://user@127.0.0.1/", "https://１２７.0.0.1/",
])
def test_the_audit_refuses_addresses_that_are_not_public_https(url):
    with pytest.raises(ConfigError, match=r"webhook_audit\.url"):
        check_url(url)


@pytest.mark.parametrize("url", [
    "https://audit.example/x?y=1", "https://8.8.8.8/", "HTTPS://a.example",
    "https://[2606:4700::1111]/", "https://localhost.example/"])
def test_the_audit_takes_public_https(url):
    check_url(url)


async def _post(url, body):
    return None


def kinds(settings):
    return [type(h).__name__ for h in
            build_hooks(settings, Log(), _post).hooks]


def test_hooks_are_switched_on_one_by_one():
    both = BuiltinHooksSettings(
        command_logger=True, webhook_audit=WebhookAuditSettings(
            enabled=True, url="https://audit.example"))

    assert kinds(HooksSettings()) == []
    assert kinds(HooksSettings(builtin=both)) == ["WebhookAudit",
                                                  "CommandLogger"]
    assert kinds(HooksSettings(enabled=False, builtin=both)) == []


def offered(monkeypatch, made):
    class Point:
        name = "mine"

        def load(self):
            return made
    monkeypatch.setattr(metadata, "entry_points",
                        lambda group: [Point()] * (group == "claw.hooks"))


class Mine(Hooks):
    pass


class Broken(Hooks):
    def __init__(self):
        raise RuntimeError("no licence")


def test_third_party_hooks_come_by_name(monkeypatch):
    offered(monkeypatch, Mine)

    assert kinds(HooksSettings(use=("mine",))) == ["Mine"]


@pytest.mark.parametrize(("name", "made", "said"), [
    ("other", Mine, "not installed"), ("mine", Broken, "no licence"),
    ("mine", dict, "is no claw"), ("mine", 3, "can't be made")])
def test_a_third_party_hook_that_can_not_serve_is_named(
        monkeypatch, name, made, said):
    offered(monkeypatch, made)

    with pytest.raises(ConfigError, match=said) as caught:
        kinds(HooksSettings(use=(name,)))
    assert caught.value.hint
