"""The conversation on the page: it streams, asks, and goes on unseen."""

import asyncio
import json

import pytest

from claw.testing.fake_openai import FakeOpenAI, Reply, failure, tool_call
from tests.wiring.gateway.page_scene import signed_in, write_config

ASKS = tool_call("file_write", path="note.txt", content="hello")


def run(home, act, *replies, more=""):
    async def go(url):
        write_config(home, f'default_provider = "custom:{url}"\n'
                           f'default_model = "m"\napi_key = "sk-canary-1"\n'
                           f"{more}")
        async with asyncio.timeout(30), signed_in(home) as browser:
            return await act(browser)
    with FakeOpenAI(replies=list(replies)) as model:
        found = asyncio.run(go(model.url))
        return found, model


async def say(browser, message):
    return await browser.post("/page/api/chat/say",
                              json={"message": message})


async def follow(browser, until, on_event=None, state=None):
    """The events up to the first of this type."""
    state = state or (await browser.get("/page/api/chat")).json()
    found = []
    async with browser.stream("GET", "/page/api/chat/events", params={
            "stream": state["stream"], "after": state["after"]}) as answer:
        assert answer.status_code == 200
        async for line in answer.aiter_lines():
            if not line:
                continue
            found.append(json.loads(line))
            if on_event:
                await on_event(found[-1])
            if found[-1]["type"] in until:
                break
    return found


def kinds(events):
    return [event["type"] for event in events]


def test_an_answer_comes_in_pieces_and_is_kept(tmp_path):
    async def act(browser):
        await say(browser, "Good day")
        events = await follow(browser, ("answer",))
        return events, (await browser.get("/page/api/chat")).json()

    (events, state), _ = run(tmp_path, act, Reply("Hello " * 20))
    pieces = [one["delta"] for one in events if one["type"] == "text"]

    assert kinds(events)[0] == "message"
    assert len(pieces) > 1
    assert "".join(pieces).strip() == events[-1]["text"].strip()
    assert events[-1]["model"] == "m"
    assert [one["n"] for one in events] == list(range(1, len(events) + 1))
    assert [(one["role"], one["text"].strip())
            for one in state["messages"]] == [
        ("user", "Good day"), ("assistant", ("Hello " * 20).strip())]
    assert not state["running"]


def test_the_conversation_goes_on_until_a_new_one_is_begun(tmp_path):
    async def act(browser):
        for text in ("first", "second"):
            await say(browser, text)
            await follow(browser, ("answer",), state=None)
            await idle(browser)
        await browser.post("/page/api/chat/new", json={})
        await say(browser, "third")
        await idle(browser)

    _, model = run(tmp_path, act, "a", "b", "c")
    said = [[one["content"] for one in request.body["messages"]
             if one["role"] == "user"] for request in model.requests
            if "messages" in (request.body or {})]

    assert [len(one) for one in said] == [1, 2, 1]


async def idle(browser):
    async def is_idle():
        return not (await browser.get("/page/api/chat")).json()["running"]
    while not await is_idle():  # noqa: ASYNC110
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(("answer", "is_written"), [
    ("yes", True), ("no", False), ("always", False), ("x", False)])
def test_a_call_runs_only_with_the_owners_yes(tmp_path, answer, is_written):
    async def act(browser):
        async def decide(event):
            if event["type"] == "approval":
                assert not note.exists()
                await browser.post("/page/api/chat/answer", json={
                    "id": event["id"], "answer": answer})
        await say(browser, "write it")
        return await follow(browser, ("answer", "error"), decide)

    note = tmp_path / "workspace" / "note.txt"
    events, _ = run(tmp_path, act, ASKS, "done")
    [asked] = [one for one in events if one["type"] == "approval"]

    assert asked["tool"] == "file_write"
    assert "note.txt" in asked["summary"] + "".join(asked["lines"])
    assert note.exists() is is_written
    assert events[-1]["type"] == "answer"


def test_an_approval_hides_nothing_of_what_it_asks_for(tmp_path):
    hidden = "\u200b\u202e\u3164\u00ad\U000e0061"

    async def act(browser):
        async def refuse(event):
            if event["type"] == "approval":
                await browser.post("/page/api/chat/answer", json={
                    "id": event["id"], "answer": "no"})
        await say(browser, "write it")
        return await follow(browser, ("answer", "error"), refuse)

    events, _ = run(tmp_path, act, tool_call(
        "file_write", path=f"no{hidden}te.txt", content=f"he{hidden}llo"),
        "done")
    [asked] = [one for one in events if one["type"] == "approval"]
    shown = json.dumps(asked, ensure_ascii=False)

    assert shown.count(r"\\u200b") == 2, shown
    assert not set(hidden) & set(shown)


def test_an_answer_to_nobodys_question_is_refused(tmp_path):
    async def act(browser):
        return await browser.post("/page/api/chat/answer", json={
            "id": "0" * 16, "answer": "yes"})

    assert run(tmp_path, act)[0].status_code == 404


def test_a_turn_goes_on_while_nobody_looks_and_is_seen_after(tmp_path):
    async def act(browser):
        await say(browser, "write it")
        events = await follow(browser, ("approval",))  # and the line breaks
        state = (await browser.get("/page/api/chat")).json()
        again = await follow(browser, ("approval",), state=state)
        await browser.post("/page/api/chat/answer", json={
            "id": again[-1]["id"], "answer": "yes"})
        rest = await follow(browser, ("answer",), state={
            **state, "after": again[-1]["n"]})
        return events, state, again, rest

    (events, state, again, rest), _ = run(tmp_path, act, ASKS, "done")

    assert state["running"]
    assert state["messages"] == []
    assert again == events
    assert kinds(rest)[-1] == "answer"


def test_one_turn_at_a_time_and_stop_ends_it(tmp_path):
    async def act(browser):
        await say(browser, "write it")
        await follow(browser, ("approval",))
        second = await say(browser, "another")
        anew = await browser.post("/page/api/chat/new", json={})
        await browser.post("/page/api/chat/stop", json={})
        await idle(browser)
        return second, anew

    (second, anew), _ = run(tmp_path, act, ASKS, "done")

    assert (second.status_code, anew.status_code) == (409, 409)
    assert not (tmp_path / "workspace" / "note.txt").exists()


def test_a_revoked_key_sees_no_more_of_what_comes(tmp_path):
    async def act(browser):
        async def revoke(event):
            if event["type"] == "approval":
                browser.keys.revoke("test")
                other = browser.keys.add("other", "owner")
                await browser.post(
                    "/page/api/chat/answer", json={
                        "id": event["id"], "answer": "yes"},
                    headers={"Authorization": f"Bearer {other}"})
        await say(browser, "write it")
        return await follow(browser, ("answer",), revoke)

    events, _ = run(tmp_path, act, ASKS, "a secret")

    assert kinds(events)[-1] == "approval"


def test_what_goes_wrong_is_said_with_the_next_step(tmp_path):
    async def act(browser):
        await say(browser, "hi")
        events = await follow(browser, ("error",))
        await idle(browser)
        return events

    events, _ = run(tmp_path, act, failure(401, "bad key sk-canary-1"))

    assert events[-1]["message"]
    assert events[-1]["hint"]
    assert "canary" not in json.dumps(events)


def test_a_secret_of_the_settings_is_not_shown(tmp_path):
    async def act(browser):
        await say(browser, "what is the key?")
        return await follow(browser, ("answer",))

    events, _ = run(tmp_path, act, tool_call("file_read", path="sk-canary-1"),
                    Reply("It is sk-canary-1, I think."))

    assert "tool_start" in kinds(events)
    assert "canary" not in json.dumps(events)


@pytest.mark.parametrize("asked", [
    {"stream": "other", "after": "0"}, {"stream": "", "after": "99"},
    {"after": "-1"}, {"after": "x"}, {}])
def test_events_of_another_run_are_not_mistaken_for_ours(tmp_path, asked):
    async def act(browser):
        state = (await browser.get("/page/api/chat")).json()
        if asked.get("stream") == "":
            asked["stream"] = state["stream"]
        return await browser.get("/page/api/chat/events", params=asked)

    assert run(tmp_path, act)[0].status_code in (400, 409)


@pytest.mark.parametrize("body", [
    {}, {"message": ""}, {"message": " \n"}, {"message": 7}])
def test_nothing_said_begins_no_turn(tmp_path, body):
    async def act(browser):
        refused = await browser.post("/page/api/chat/say", json=body)
        return refused, (await browser.get("/page/api/chat")).json()

    (refused, state), model = run(tmp_path, act)

    assert refused.status_code == 400
    assert not state["running"]
    assert model.requests == []


def test_a_turn_can_be_looked_into(tmp_path):
    async def act(browser):
        await say(browser, "Good day")
        events = await follow(browser, ("answer",))
        rows = (await browser.get("/page/api/turns")).json()
        return events[-1]["turn"], rows, (await browser.get(
            "/page/api/turn", params={"id": events[-1]["turn"]})).json()

    (turn, rows, found), _ = run(tmp_path, act, "Hello")

    assert [one["id"] for one in rows["turns"]] == [turn]
    assert not rows["has_more"]
    assert (found["question"], found["answer"]) == ("Good day", "Hello")
    assert found["session"] == "page"


@pytest.mark.parametrize(("path", "status"), [
    ("turn?id=abcdef", 404), ("turn?id=../../etc", 400), ("turn", 400),
    ("turns?offset=-1", 400), ("turns?offset=999999999", 200)])
def test_turns_that_are_none(tmp_path, path, status):
    async def act(browser):
        return await browser.get(f"/page/api/{path}")

    assert run(tmp_path, act)[0].status_code == status
