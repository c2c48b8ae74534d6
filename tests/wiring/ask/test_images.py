"""Images as the settings make them: the workspace, another provider that
sees, a real channel with a fake platform."""

import asyncio
import base64
import json

import pytest

from claw.agent.settings import MultimodalSettings
from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import ClawError, ConfigError, DeniedError
from claw.core.provider import ChatMessage, ChatRequest
from claw.core.turn import TurnContext
from claw.net.guarded import Page
from claw.testing.fake_openai import FakeOpenAI, failure
from claw.testing.fake_telegram import FakeTelegram
from claw.testing.scripted import ScriptedProvider
from claw.wiring.ask.answer import answer, describe_request
from claw.wiring.ask.images import build_images, fetch
from claw.wiring.ask.question import Question, Watch
from claw.wiring.chat.session import ChatOptions, open_chat
from claw.wiring.listen.service import open_service

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
TOKEN = "1234567:CANARY-token-of-a-bot-that-nobody-may-see"


@pytest.fixture
def places(tmp_path):
    found = locate(str(tmp_path / "home"), None, {})
    found.workspace.mkdir(parents=True)
    return found


def configured(places, text=""):
    places.config_file.write_text(text)
    places.config_file.chmod(0o600)
    return load(places, {})


def blind(server, more=""):
    """Settings whose provider takes no images."""
    return (f'default_provider = "eyeless"\ndefault_model = "dull"\n'
            f'api_key = "k"\n{more}\n[model_providers.eyeless]\n'
            f'name = "deepseek"\nbase_url = "{server.url}"\n')


def parts(server, number=-1, message=-1):
    return server.chats[number].body["messages"][message]["content"]


def sent_urls(content):
    return [] if isinstance(content, str) else [
        part["image_url"]["url"] for part in content
        if part["type"] == "image_url"]


# --- settings


@pytest.mark.parametrize("line", [
    "max_images = 0", "max_images = 17", "max_image_size_mb = 0",
    "max_image_size_mb = 21", 'max_images = "four"',
    "allow_remote_fetch = 1"])
def test_limits_are_checked(places, line):
    tree = configured(places, f"[multimodal]\n{line}\n")

    with pytest.raises(ConfigError, match="multimodal"):
        build_images(tree, {})


def test_the_defaults_are_those_of_the_reference(places):
    assert build_images(configured(places), {}).settings == MultimodalSettings(
        max_images=4, max_image_size_mb=5, allow_remote_fetch=False,
        vision_provider=None, vision_model=None)


# --- ask


def test_the_next_question_still_sees_the_image(places):
    with FakeOpenAI(["a cat", "red"]) as server:
        tree = configured(places, (
            f'default_provider = "custom:{server.url}"\n'
            'default_model = "m"\n'))
        answer(tree, Question("what is it?", images=[f"[IMAGE:{URL}]"]))
        answer(tree, Question("which colour?", continued=True))

        assert sent_urls(parts(server, 0)) == [URL]
        assert sent_urls(parts(server, 1, 0)) == [URL]
    log = (places.workspace / "state/log.db").read_bytes()
    assert b"base64" not in log
    assert b"[IMAGE:sessions/images/" in log
    kept, = places.workspace.glob("sessions/images/*")
    assert kept.read_bytes() == PNG
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("more", [{"keep": False}, {}])
def test_what_is_not_kept_leaves_no_image_behind(places, more):
    with FakeOpenAI(["a cat" if more else failure(400, "no")]) as server:
        tree = configured(places, (
            f'default_provider = "custom:{server.url}"\n'
            'default_model = "m"\n'))
        question = Question("what?", images=[f"[IMAGE:{URL}]"], **more)
        if more:
            answer(tree, question)
        else:
            with pytest.raises(ClawError):
                answer(tree, question)
        assert sent_urls(parts(server)) == [URL]

    kept = [p.name for p in places.workspace.rglob("*") if p.is_file()]
    assert {name.partition("-")[0] for name in kept} == {
        "ledger.db", *([] if more else ["log.db"])}


def test_a_question_may_name_an_image_of_the_workspace(places):
    (places.workspace / "chart.png").write_bytes(PNG)
    with FakeOpenAI(["up"]) as server:
        tree = configured(places, (
            f'default_provider = "custom:{server.url}"\n'
            'default_model = "m"\n'))
        events = []
        answer(tree, Question(
            "where does [IMAGE:chart.png] go, and [IMAGE:/etc/passwd]?"),
            Watch(events.append))

        assert sent_urls(parts(server)) == [URL]
        assert "[image not shown: it lies where images are not read from]" \
            in json.dumps(parts(server))
        assert ["/etc/passwd" in event.text for event in events
                if hasattr(event, "text") and "image" in event.text] == [True]


def test_a_provider_without_eyes_says_so_and_what_to_do(places):
    with FakeOpenAI(["never"]) as server:
        tree = configured(places, blind(server))
        with pytest.raises(ConfigError) as caught:
            answer(tree, Question("what?", images=[f"[IMAGE:{URL}]"]))

        assert caught.value.message.startswith("provider_capability_error ")
        assert "vision_provider" in caught.value.hint
        assert server.chats == []


def test_the_vision_provider_is_asked_with_its_own_model(places):
    with FakeOpenAI(["a cat"]) as seer, FakeOpenAI(["fine"]) as dull:
        tree = configured(places, blind(dull) + (
            f'[multimodal]\nvision_provider = "custom:{seer.url}"\n'
            'vision_model = "sharp"\n'))
        seen = answer(tree, Question("what?", images=[f"[IMAGE:{URL}]"]))
        plain = answer(tree, Question("hello"))

        assert (seen["text"], plain["text"]) == ("a cat", "fine")
        assert seer.chats[0].body["model"] == "sharp"
        assert sent_urls(parts(seer)) == [URL]
        assert len(dull.chats) == 1


def test_a_dry_run_asks_the_vision_provider_nothing_either(places):
    with FakeOpenAI(["a cat"]) as seer, FakeOpenAI(["fine"]) as dull:
        tree = configured(places, blind(dull) + (
            f'[multimodal]\nvision_provider = "custom:{seer.url}"\n'
            'vision_model = "sharp"\n'))
        request = describe_request(tree, Question("what?",
                                          images=[f"[IMAGE:{URL}]"]))

        assert request["model"] == "sharp"
        assert URL in request["messages"][-1]["content"]
        assert seer.chats == dull.chats == []


def test_a_vision_provider_without_eyes_is_named(places):
    with FakeOpenAI(["never"]) as server:
        tree = configured(places, blind(server) + (
            '[multimodal]\nvision_provider = "eyeless"\n'))
        with pytest.raises(ConfigError, match="capability=vision"):
            answer(tree, Question("what?", images=[f"[IMAGE:{URL}]"]))
        assert server.chats == []


# --- agent


def test_a_conversation_keeps_seeing_what_it_was_shown(places):
    (places.workspace / "chart.png").write_bytes(PNG)

    async def go(server):
        tree = configured(places, (
            f'default_provider = "custom:{server.url}"\n'
            'default_model = "m"\n'))
        options = ChatOptions(tools=(), use_memory=False, session="work")
        async with open_chat(tree, options) as chat:
            await chat.say("see [IMAGE:chart.png]", lambda event: None)
        (places.workspace / "chart.png").unlink()
        async with open_chat(tree, options) as chat:
            await chat.say("and now?", lambda event: None)
    with FakeOpenAI(["up", "down"]) as server:
        asyncio.run(go(server))

        for number in (0, 1):
            seen = [url for message in server.chats[number].body["messages"]
                    for url in sent_urls(message["content"])]
            assert seen == [URL]


# --- addresses


@pytest.mark.parametrize("url", [
    "http://127.0.0.1:1/a.png", "http://localhost/a.png",
    "http://169.254.169.254/latest", "http://[::1]/a.png",
    "http://0x7f.1/a.png", "https://user:pw@example.org/a.png"])
def test_no_address_inside_is_fetched(places, url):
    with pytest.raises(DeniedError):
        asyncio.run(fetch(url, 1000))

    images = build_images(configured(
        places, "[multimodal]\nallow_remote_fetch = true\n"), {})
    request, _, _ = asyncio.run(images.show(
        ChatRequest([ChatMessage.user(f"[IMAGE:{url}]")]),
        ScriptedProvider(vision=True), "m", TurnContext(
            "channel", channel="telegram", reply_target="1"),
        lambda event: None))
    assert request.messages[0].content.startswith(
        "[image not shown: not fetched: ")


@pytest.mark.parametrize(("page", "problem"), [
    (Page(200, "u", "image/png", PNG), None),
    (Page(404, "u", "image/png", PNG), "HTTP 404"),
    (Page(200, "u", "image/png", PNG, True), "larger than"),
])
def test_what_a_public_server_sends_is_taken_whole_or_not(page, problem):
    class Client:
        async def fetch(self, url, *, max_bytes, timeout_s):
            return page

    if problem is None:
        assert asyncio.run(fetch("https://x.example/a", 9, Client())) == PNG
    else:
        with pytest.raises(ClawError, match=problem):
            asyncio.run(fetch("https://x.example/a", 9, Client()))


# --- a channel


def test_a_photo_of_a_real_channel_is_seen_in_its_own_chat_only(
        places, tmp_path):
    async def go(platform, model):
        async with open_service(places, (), lambda *a, **f: None, env={
                "XDG_RUNTIME_DIR": str(tmp_path)}) as service:
            work = asyncio.ensure_future(service.run())
            try:
                photo = platform.add_file(PNG, "photos/file_1.jpg")
                platform.post(None, 1001, caption="what is it?", photo=[
                    {"file_id": photo, "file_unique_id": "u", "width": 9,
                     "height": 9, "file_size": len(PNG)}])
                await asyncio.to_thread(
                    platform.wait_until, lambda: platform.answers(1001))
                saved, = places.workspace.glob("telegram_files/*")
                platform.post(f"show [IMAGE:{saved}]", 1002,
                              username="bob")
                await asyncio.to_thread(
                    platform.wait_until, lambda: platform.answers(1002))
            finally:
                service.stop()
                await work
    with FakeTelegram(TOKEN, chats=(1001, 1002)) as platform, \
            FakeOpenAI(["a cat", "what?"]) as model:
        configured(places, (
            f'default_provider = "custom:{model.url}"\n'
            'default_model = "m"\n[channels_config.telegram]\n'
            f'bot_token = "{TOKEN}"\nallowed_users = ["alice", "bob"]\n'
            f'poll_timeout_secs = 1\napi_base_url = "{platform.url}"\n'))
        asyncio.run(go(platform, model))

        asked = [parts(model, n) for n in range(len(model.chats))]
        seen = [content for content in asked if sent_urls(content)]
        assert [sent_urls(content) for content in seen] == [[URL]]
        assert "what is it?" in json.dumps(seen)
        assert "show [image not shown: it was not sent in this chat]" in asked
