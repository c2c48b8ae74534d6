"""claw acp with the editors' own package as the other side."""

import asyncio
import base64
import json
import time

import acp
import pytest
from acp.schema import McpServerStdio

from claw.storage.sessions import SessionStore
from claw.testing.fake_openai import FakeOpenAI, Reply, slow, tool_call

from .conftest import Editor

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
    "WjR9awAAAABJRU5ErkJggg==")


def run(work):
    return asyncio.run(asyncio.wait_for(work, 50))


async def until(is_there):
    for _ in range(1_000):
        if is_there():
            return
        await asyncio.sleep(0.02)
    raise TimeoutError


def last_message(server):
    return server.chats[-1].body["messages"][-1]["content"]


def test_initialize_says_what_is_there_and_nothing_else(edit, write_config):
    async def look():
        async with edit() as editing:
            return await editing.agent.initialize(protocol_version=7)
    write_config("")

    found = run(look())

    able = found.agent_capabilities
    assert found.protocol_version == 1
    assert found.agent_info.name == "claw"
    assert found.auth_methods == []
    assert able.load_session
    assert able.prompt_capabilities.embedded_context
    assert not able.prompt_capabilities.image  # no model is configured
    assert not able.prompt_capabilities.audio
    assert not able.mcp_capabilities.http


def test_an_answer_streams_and_the_turn_is_kept(edit, home):
    async def talk(server):
        async with edit(server) as editing:
            session = await editing.new()
            first = await editing.say(session, "hello")
            second = await editing.say(session, "again")
            return editing.editor, session, first, second
    with FakeOpenAI(["Hello, this is a longer answer.", "Two."]) as server:
        editor, session, first, second = run(talk(server))

    assert (first, second) == ("end_turn", "end_turn")
    chunks = editor.of("agent_message_chunk")
    assert len(chunks) > 2
    assert editor.text == "Hello, this is a longer answer.Two."
    assert len({one.message_id for one in chunks}) == 2
    assert [c["role"] for c in server.chats[1].body["messages"]] == [
        "system", "user", "assistant", "user"]
    kept = SessionStore(home / "workspace" / "sessions").load(session)
    assert len(kept) == 4


def test_the_model_hears_of_the_folder_and_the_editor_of_commands(edit, home):
    async def talk(server):
        async with edit(server) as editing:
            await editing.say(await editing.new(), "hello")
            return editing.editor
    with FakeOpenAI(["ok"]) as server:
        editor = run(talk(server))

    system = server.chats[0].body["messages"][0]["content"]
    assert f"open there is {home / 'workspace'}." in system
    commands, = editor.of("available_commands_update")
    assert [one.name for one in commands.available_commands] == [
        "new", "model", "models"]
    assert "claw:" not in editor.text  # nothing to remark


@pytest.mark.parametrize("root", [False, True])
def test_a_folder_elsewhere_is_reached_where_the_settings_allow_it(
        edit, tmp_path, root):
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("print('tea')\n")
    config = f"[autonomy]\nallowed_roots = ['{project}']\n" if root else ""

    async def talk(server):
        async with edit(server, config=config, cwd=project) as editing:
            session = await editing.new()
            for _ in range(2):
                await editing.say(
                    session, "look at ", acp.resource_link_block(
                        "a.py", (project / "a.py").as_uri()), " please")
            return editing.editor
    with FakeOpenAI(["ok"]) as server:
        editor = run(talk(server))

    assert ("print('tea')" in last_message(server)) is root
    assert f"look at [a.py]({(project / 'a.py').as_uri()}) please" \
        in last_message(server)
    assert editor.text.count("out of the agent's reach") == (not root)
    assert editor.text.count("was not read: Path not allowed") == 2 * (
        not root)


def test_servers_of_the_editor_are_not_started_and_it_is_said(edit, tmp_path):
    mark = tmp_path / "started"

    async def talk(server):
        async with edit(server) as editing:
            made = await editing.agent.new_session(
                cwd=editing.cwd, mcp_servers=[McpServerStdio(
                    name="files", command="/usr/bin/touch",
                    args=[str(mark)], env=[])])
            await editing.say(made.session_id, "hello")
            return editing.editor
    with FakeOpenAI(["ok"]) as server:
        editor = run(talk(server))

    assert "MCP servers of the editor are not started: files" in editor.text
    assert not mark.exists()


def test_tools_are_told_of_with_what_they_returned(edit, home):
    async def talk(server):
        async with edit(server) as editing:
            stop = await editing.say(await editing.new(), "read it")
            return editing.editor, stop
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / "a.txt").write_text("green tea")
    with FakeOpenAI([Reply("I will look.", tool_calls=(
            ("file_read", '{"path": "a.txt"}'),)), "Tea."]) as server:
        editor, stop = run(talk(server))

    begun, = editor.of("tool_call")
    ended, = editor.of("tool_call_update")
    assert stop == "end_turn"
    assert (begun.title, begun.kind, begun.status) == (
        "file_read a.txt", "read", "in_progress")
    assert begun.locations[0].path == str(home / "workspace" / "a.txt")
    assert begun.raw_input == {"path": "a.txt"}
    assert ended.tool_call_id == begun.tool_call_id
    assert ended.status == "completed"
    assert "green tea" in ended.content[0].content.text
    assert editor.text == "I will look.Tea."
    assert editor.answer == "Tea."


def shell(command):
    return tool_call("shell", command=command)


@pytest.mark.parametrize(("choice", "status", "made"), [
    ("yes", "completed", True),
    ("no", "failed", False),
    (None, "failed", False),
    ("never heard of", "failed", False),
])
def test_approvals_are_asked_in_the_editor(edit, home, choice, status, made):
    async def talk(server):
        async with edit(server, Editor(lambda _: choice)) as editing:
            await editing.say(await editing.new(), "make it")
            return editing.editor
    with FakeOpenAI([shell("python3 -c 'open(\"a\", \"w\")'"),
                     "ok"]) as server:
        editor = run(talk(server))

    (call, options), = editor.asked
    assert [(one.option_id, one.kind) for one in options] == [
        ("yes", "allow_once"), ("no", "reject_once")]
    assert call.kind == "execute"
    assert "open(\"a\", \"w\")" in call.content[0].content.text
    assert f"In: {home / 'workspace'}" in call.content[0].content.text
    states = [one.status for one in editor.updates
              if getattr(one, "tool_call_id", None) == call.tool_call_id]
    assert states[0] == "pending"
    assert states[-1] == status
    assert len(editor.of("tool_call")) == 1
    assert (home / "workspace" / "a").exists() is made


def test_nothing_of_a_call_hides_in_the_form_of_a_secret(edit, home):
    hidden = ("ls # -----BEGIN PRIVATE KEY-----\npython3 evil.py --"
              + "a" * 40 + "\n# -----END PRIVATE KEY-----")

    async def talk(server):
        async with edit(server, Editor(lambda _: "no")) as editing:
            await editing.say(await editing.new(), "make it")
            return editing.editor
    with FakeOpenAI([shell(hidden), "ok"]) as server:
        editor = run(talk(server))

    (call, _), = editor.asked
    assert "python3 evil.py --" + "a" * 40 in call.content[0].content.text
    begun, = editor.of("tool_call")
    assert "REDACTED" not in str(begun)


def test_always_holds_for_the_same_call_and_a_week_is_written_down(
        edit, home):
    async def talk(server, choice):
        async with edit(server, Editor(lambda _: choice)) as editing:
            session = await editing.new()
            for _ in range(2):
                await editing.say(session, "make it")
            return editing.editor
    replies = [tool_call("file_write", path="a.txt", content="tea"), "ok"]
    with FakeOpenAI(replies * 2) as server:
        always = run(talk(server, "always"))
    with FakeOpenAI(replies * 2) as server:
        week = run(talk(server, "week"))

    assert [one.option_id for one in always.asked[0][1]] == [
        "yes", "always", "week", "no"]
    assert len(always.asked) == len(week.asked) == 1
    assert always.asked[0][0].kind == "edit"
    assert "+tea" in always.asked[0][0].content[0].content.text
    assert "[autonomy.permissions." in (home / "config.toml").read_text()


def test_an_editor_that_can_not_ask_is_told_what_would_allow_it(edit):
    class Dumb(Editor):
        async def request_permission(self, *args, **kwargs):
            raise acp.RequestError.method_not_found("request_permission")

    async def talk(server):
        async with edit(server, Dumb()) as editing:
            await editing.say(await editing.new(), "make it")
            return editing.editor
    with FakeOpenAI([tool_call("file_write", path="a", content="x"),
                     "ok"]) as server:
        editor = run(talk(server))

    assert "nobody answered" in server.chats[1].body["messages"][-1][
        "content"]
    assert "claw permission allow file_write" in editor.text


def test_read_only_is_a_mode_and_no_mode_gives_more(edit, home):
    async def talk(server):
        async with edit(server, Editor(lambda _: "yes")) as editing:
            made = await editing.agent.new_session(cwd=editing.cwd,
                                                   mcp_servers=[])
            await editing.agent.set_session_mode(
                session_id=made.session_id, mode_id="readonly")
            with pytest.raises(acp.RequestError, match="no such mode: full"):
                await editing.agent.set_session_mode(
                    session_id=made.session_id, mode_id="full")
            await editing.say(made.session_id, "make it")
            return made, editing.editor
    with FakeOpenAI([tool_call("file_write", path="a", content="x"),
                     "ok"]) as server:
        made, editor = run(talk(server))

    assert made.modes.current_mode_id == "supervised"
    assert [one.id for one in made.modes.available_modes] == [
        "supervised", "readonly"]
    assert editor.asked == []
    assert not (home / "workspace" / "a").exists()
    assert "read-only" in server.chats[1].body["messages"][-1]["content"]


def test_read_only_holds_for_the_turn_that_runs(edit, home):
    async def talk(server):
        async with edit(server) as editing:
            session = await editing.new()

            async def forbid():
                await editing.agent.set_session_mode(
                    session_id=session, mode_id="readonly")
                return "yes"
            editing.editor.choose = lambda _: forbid()
            await editing.say(session, "make them")
            return editing.editor
    with FakeOpenAI([tool_call("file_write", path="a", content="x"),
                     tool_call("file_write", path="b", content="x"),
                     "ok"]) as server:
        editor = run(talk(server))

    assert len(editor.asked) == 1
    assert not (home / "workspace" / "b").exists()


@pytest.mark.parametrize(("mode", "asked"), [
    ("full", 0), ("supervised", 1)])
def test_who_runs_unasked_can_be_supervised_in_the_editor(
        edit, home, mode, asked):
    async def talk(server):
        async with edit(server, Editor(lambda _: "yes"),
                        config='[autonomy]\nlevel = "full"\n') as editing:
            session = await editing.new()
            await editing.agent.set_session_mode(session_id=session,
                                                 mode_id=mode)
            await editing.say(session, "make it")
            return editing.editor
    with FakeOpenAI([tool_call("file_write", path="a", content="x"),
                     "ok"]) as server:
        editor = run(talk(server))

    assert len(editor.asked) == asked
    assert (home / "workspace" / "a").exists()


def test_cancel_ends_an_answer_at_once(edit):
    async def talk(server):
        async with edit(server) as editing:
            session = await editing.new()
            turn = asyncio.ensure_future(editing.say(session, "hello"))
            await until(lambda: server.chats)
            started = time.monotonic()
            await editing.agent.cancel(session_id=session)
            stop = await turn
            took = time.monotonic() - started
            after = await editing.say(session, "again")
            return stop, took, after, editing.editor
    with FakeOpenAI([slow("never", 30), "Here."]) as server:
        stop, took, after, editor = run(talk(server))

    assert stop == "cancelled"
    assert took < 2
    assert (after, editor.text) == ("end_turn", "Here.")


def test_cancel_stops_a_running_tool_and_an_open_question(edit, home):
    async def talk(server):
        editor = Editor(lambda _: asyncio.sleep(30))
        async with edit(server, editor) as editing:
            session = await editing.new()
            stops = []
            for is_there in (
                    lambda: any(one.status == "in_progress"
                                for one in editor.of("tool_call")),
                    lambda: editor.asked):
                turn = asyncio.ensure_future(editing.say(session, "wait"))
                await until(is_there)
                await editing.agent.cancel(session_id=session)
                stops.append(await asyncio.wait_for(turn, 5))
            return stops, editor
    with FakeOpenAI([shell("sleep 30"),
                     tool_call("file_write", path="a", content="x")]
                    ) as server:
        stops, editor = run(talk(server))

    assert stops == ["cancelled", "cancelled"]
    assert [one.status for one in editor.of("tool_call_update")] == [
        "failed", "failed"]
    assert len({one.tool_call_id for one in editor.of("tool_call")}) == 2
    assert not (home / "workspace" / "a").exists()


def test_a_second_prompt_is_refused_and_another_session_runs(edit):
    async def talk(server):
        async with edit(server) as editing:
            one, two = await editing.new(), await editing.new()
            turn = asyncio.ensure_future(editing.say(one, "slowly"))
            await until(lambda: server.chats)
            with pytest.raises(acp.RequestError, match="still running"):
                await editing.say(one, "me too")
            beside = await editing.say(two, "quickly")
            is_open = not turn.done()
            return beside, is_open, await turn
    with FakeOpenAI([slow("One.", 3), "Two."]) as server:
        assert run(talk(server)) == ("end_turn", True, "end_turn")


def test_a_session_is_loaded_with_what_was_said_and_goes_on(edit, home):
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / "a.txt").write_text("green tea")

    async def first(server):
        async with edit(server) as editing:
            session = await editing.new()
            await editing.say(session, "read it")
            return session

    async def second(server, session):
        async with edit(server) as editing:
            await editing.agent.load_session(
                cwd=editing.cwd, session_id=session, mcp_servers=[])
            replayed = list(editing.editor.updates)
            await editing.say(session, "and now?")
            return replayed
    with FakeOpenAI([tool_call("file_read", path="a.txt"),
                     "Tea."]) as server:
        session = run(first(server))
    with FakeOpenAI(["Still tea."]) as server:
        replayed = run(second(server, session))

    assert [one.session_update for one in replayed][:4] == [
        "user_message_chunk", "tool_call", "tool_call_update",
        "agent_message_chunk"]
    assert replayed[0].content.text == "read it"
    assert "green tea" in replayed[2].content[0].content.text
    assert replayed[3].content.text == "Tea."
    assert len(server.chats[0].body["messages"]) == 6


def test_what_is_no_session_of_the_owner_is_not_loaded(edit, home):
    SessionStore(home / "workspace" / "sessions").append("chat", [
        {"type": "Chat", "data": {"role": "user", "content": "hi"},
         "turn": "1"}])

    async def load(server):
        async with edit(server) as editing:
            found = []
            for name in ("nobody", "chat"):
                with pytest.raises(acp.RequestError) as error:
                    await editing.agent.load_session(
                        cwd=editing.cwd, session_id=name, mcp_servers=[])
                found.append((error.value.code, str(error.value)))
            return found
    with FakeOpenAI() as server:
        missing, foreign = run(load(server))

    assert missing[0] == -32002
    assert "there is no session 'nobody'" in missing[1]
    assert "conversation of a channel" in foreign[1]


def test_a_closed_session_is_gone_until_it_is_resumed(edit):
    async def talk(server):
        async with edit(server) as editing:
            session = await editing.new()
            await editing.say(session, "one")
            await editing.agent.close_session(session_id=session)
            with pytest.raises(acp.RequestError, match="no open session"):
                await editing.say(session, "two")
            await editing.agent.resume_session(
                session_id=session, cwd=editing.cwd)
            await editing.say(session, "three")
            return editing.editor
    with FakeOpenAI(["ok"]) as server:
        editor = run(talk(server))

    assert len(server.chats[1].body["messages"]) == 4
    assert editor.of("user_message_chunk") == []


def test_images_and_resources_reach_the_model(edit):
    async def talk(server):
        async with edit(server) as editing:
            able = await editing.agent.initialize(protocol_version=1)
            await editing.say(
                await editing.new(), "what is this?",
                acp.image_block(base64.b64encode(PNG).decode(), "image/png"),
                acp.resource_block(acp.embedded_text_resource(
                    "file:///x/main.py#L1", "print(1)")))
            return able
    with FakeOpenAI(["A dot."]) as server:
        able = run(talk(server))

    assert able.agent_capabilities.prompt_capabilities.image
    parts = last_message(server)
    text = "".join(one.get("text", "") for one in parts)
    assert [one["type"] for one in parts if one["type"] != "text"] == [
        "image_url"]
    assert "what is this?" in text
    assert "file:///x/main.py#L1:\nprint(1)" in text


def test_commands_are_answered_without_the_model(edit):
    async def talk(server):
        async with edit(server) as editing:
            session = await editing.new()
            await editing.say(session, "hello")
            said = []
            for command in ("/model", "/model other", "/models", "/new"):
                assert await editing.say(session, command) == "end_turn"
                said.append(editing.editor.answer)
            await editing.say(session, "afresh")
            return said
    with FakeOpenAI(["ok"], models=["m", "other"]) as server:
        said = run(talk(server))

    assert said == ["The model is m.", "The model is other.",
                    "- m\n- other", "A new conversation."]
    assert len(server.chats) == 2
    assert server.chats[1].body["model"] == "other"
    assert len(server.chats[1].body["messages"]) == 2


def test_why_a_turn_ended_is_told(edit):
    async def talk(server, config):
        async with edit(server, config=config) as editing:
            return await editing.say(await editing.new(), "hello")
    with FakeOpenAI([Reply("cut off", finish_reason="length")]) as server:
        cut = run(talk(server, ""))
    with FakeOpenAI([tool_call("memory_recall", query="tea")]) as server:
        many = run(talk(server, "[agent]\nmax_tool_iterations = 1\n"))

    assert (cut, many) == ("max_tokens", "max_turn_requests")


def test_an_error_of_the_provider_fails_the_prompt_alone(edit):
    async def talk(server):
        async with edit(server) as editing:
            session = await editing.new()
            with pytest.raises(acp.RequestError) as error:
                await editing.say(session, "hello")
            return error.value, await editing.say(session, "again")
    with FakeOpenAI([Reply(status=401, body=json.dumps(
            {"error": {"message": "bad key"}})), "ok"]) as server:
        error, after = run(talk(server))

    assert error.data["kind"] == "auth"
    assert "401" in str(error)
    assert after == "end_turn"


def test_secrets_are_taken_out_of_what_the_editor_is_sent(edit):
    key = "sk-proj-" + "A1b2C3d4" * 5

    async def talk(server):
        async with edit(server) as editing:
            await editing.say(await editing.new(), "hello")
            return editing.editor
    with FakeOpenAI([tool_call("file_write", path="a", content=key),
                     f"It is {key}, keep it."]) as server:
        editor = run(talk(server))

    assert "keep it." in editor.text
    assert len(editor.asked) == 1
    assert key not in repr(editor.updates) + repr(editor.asked)


def test_a_call_within_another_is_asked_about_as_that_one(edit, home):
    config = """[agents.helper]
agentic = true
provider = "custom:{url}"
model = "m"
allowed_tools = ["file_write"]
"""

    async def talk(server):
        async with edit(server, Editor(lambda _: "yes"),
                        config=config.format(url=server.url)) as editing:
            await editing.say(await editing.new(), "go")
            return editing.editor
    with FakeOpenAI([tool_call("delegate", agent="helper", prompt="do it"),
                     tool_call("file_write", path="n.txt", content="x"),
                     "inner", "outer"]) as server:
        editor = run(talk(server))

    outer, inner = (call for call, _ in editor.asked)
    assert inner.title == "file_write: path: n.txt"
    assert inner.tool_call_id == outer.tool_call_id
    assert len(editor.of("tool_call")) == 1
    assert editor.of("tool_call_update")[-1].status == "completed"
    assert (home / "workspace" / "n.txt").exists()


def test_settings_that_were_wrong_are_read_again_with_the_next_prompt(
        edit, home):
    async def talk(server):
        async with edit(server) as editing:
            session = await editing.new()
            good = (home / "config.toml").read_text()
            (home / "config.toml").write_text("[agent\n")
            with pytest.raises(acp.RequestError, match=r"config\.toml"):
                await editing.say(session, "hello")
            (home / "config.toml").write_text(good)
            return await editing.say(session, "hello")
    with FakeOpenAI(["ok"]) as server:
        assert run(talk(server)) == "end_turn"


def test_without_a_model_the_answer_is_what_memory_has(edit, claw,
                                                      write_config):
    async def talk():
        async with edit() as editing:
            await editing.say(await editing.new(), "What does Mina like?")
            return editing.editor
    write_config("")
    claw("memory", "store", "mina", "Mina likes green tea.")

    text = run(talk()).text

    assert "no model is configured" in text
    assert "Mina likes green tea." in text


def test_kept_sessions_are_listed_with_folder_and_title(edit, tmp_path):
    async def talk(server):
        async with edit(server) as editing:
            first = await editing.new()
            await editing.say(first, "Which tea does Mina like?")
            editing.cwd = str(tmp_path)
            second = await editing.new()
            await editing.say(second, "And **coffee**?")
            await editing.say(second, "And water?")
            empty = await editing.new()
            listed = (await editing.agent.list_sessions()).sessions
            here = (await editing.agent.list_sessions(
                cwd=str(tmp_path))).sessions
            with pytest.raises(acp.RequestError, match="no such cursor"):
                await editing.agent.list_sessions(cursor="-1")
            return (first, second, empty), listed, here, editing.editor
    with FakeOpenAI(["ok"]) as server:
        names, listed, here, editor = run(talk(server))

    assert {(one.session_id, one.title) for one in listed} == {
        (names[0], "Which tea does Mina like?"), (names[1], "And coffee?")}
    assert [(one.session_id, one.cwd) for one in here] == [
        (names[1], str(tmp_path))]
    assert [one.title for one in editor.of("session_info_update")] == [
        "Which tea does Mina like?", "And coffee?"]


def test_a_long_list_of_sessions_comes_in_pages(edit, home, write_config):
    store = SessionStore(home / "workspace" / "sessions")
    (home / "workspace" / "state").mkdir(parents=True)
    (home / "workspace" / "state" / "editor_folders.json").write_text(
        json.dumps({f"acp-{n}": "/x" for n in range(60)}))
    for n in range(60):
        store.append(f"acp-{n}", [{"type": "Chat", "data": {
            "role": "user", "content": f"number {n}"}}])

    async def look():
        async with edit() as editing:
            one = await editing.agent.list_sessions()
            two = await editing.agent.list_sessions(cursor=one.next_cursor)
            return one, two
    write_config("")
    one, two = run(look())

    assert (len(one.sessions), len(two.sessions)) == (50, 10)
    assert two.next_cursor is None
    assert len({s.session_id for s in [*one.sessions, *two.sessions]}) == 60


def test_a_folder_that_is_allowed_now_is_reached_by_the_next_session(
        edit, home, tmp_path):
    async def talk(server):
        async with edit(server, cwd=tmp_path) as editing:
            await editing.say(await editing.new(), "hello")
            with (home / "config.toml").open("a") as config:
                config.write(f"[autonomy]\nallowed_roots = ['{tmp_path}']\n")
            await editing.say(await editing.new(), "hello")
            return editing.editor
    with FakeOpenAI(["ok"]) as server:
        editor = run(talk(server))

    systems = [chat.body["messages"][0]["content"] for chat in server.chats]
    assert ["You can not reach it" in text for text in systems] == [
        True, False]
    assert editor.text.count("out of the agent's reach") == 1
