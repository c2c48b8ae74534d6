"""pywa, a client of the Cloud API, beside the channel: it understands what
the fake posts as Meta, and to the fake it sends what the channel sends.

Meta itself can't be had on a machine of one's own.
"""

import asyncio
import base64
import os
from pathlib import Path

import pytest

from claw.channels.whatsapp import WhatsappChannel, WhatsappSettings
from claw.core.channel import Button, ChannelDeps, Marks, SendMessage
from claw.testing.fake_whatsapp import FakeWhatsapp, sign
from claw.testing.fake_whatsapp.platform import NUMBER, USER_ID
from tests.channels.whatsapp.conftest import VECTORS, deliver, wrap
from tests.channels.whatsapp.test_receive import said
from tests.peers.talking import Program

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("CLAW_PEERS_DIR",
                            Path.home() / ".cache" / "claw-peers"))
PYWA = PEERS / "pywa" / "bin" / "python"


class Business(Program):
    """The program with pywa."""

    def __init__(self, platform):
        self._platform = platform
        super().__init__(
            PYWA, HERE / "whatsapp_business.py", platform.url,
            platform.number_id, platform.token, platform.app_secret,
            platform.verify_token)

    def take(self, body, secret=None):
        signature = sign(secret or self._platform.app_secret, body)
        return self.ask(do="take", body=base64.b64encode(body).decode(),
                        signature=signature["X-Hub-Signature-256"])


@pytest.fixture
def platform():
    with FakeWhatsapp() as running:
        yield running
    assert running.problems == []


@pytest.fixture
def business(platform):
    if not PYWA.exists():
        pytest.skip(f"no pywa: run {HERE / 'install.sh'}")
    found = Business(platform)
    yield found
    found.close()


def test_it_understands_what_the_fake_posts(business, platform):
    platform.write("hello")
    sent = {"id": "wamid.1", "to": NUMBER[1:],
            "biz_opaque_callback_data": "0123456789abcdef"}
    platform.tell("delivered", sent)
    platform.tell("failed", sent, [{
        "code": 131047, "title": "Re-engagement message", "message": "no",
        "href": "https://x", "error_data": {"details": "no"}}])
    platform.say({"type": "interactive", "context": {
        "from": "1", "id": "wamid.1"}, "interactive": {
            "type": "button_reply", "button_reply": {
                "id": "approve:1", "title": "Yes"}}})
    heard = {}
    for body in platform.undelivered:
        for one in business.take(body)["heard"]:
            heard.setdefault(one["is"], []).append(one)

    (message,), (pressed,), statuses = (
        heard["message"], heard["button"], heard["status"])
    assert (message["text"], message["user"], message["number"],
            message["name"]) == ("hello", USER_ID, NUMBER[1:], "Mina")
    assert (pressed["data"], pressed["title"]) == ("approve:1", "Yes")
    assert [(s["status"], s["tracker"], s["code"]) for s in statuses] == [
        ("delivered", "0123456789abcdef", None),
        ("failed", "0123456789abcdef", 131047)]


def test_it_believes_the_same_signatures(business, platform):
    body = wrap(platform.number_id, VECTORS["message"]["text"])

    assert "heard" in business.take(body)
    assert business.take(body, secret="another") == {"refused": 403}


@pytest.mark.parametrize("to", [NUMBER, USER_ID])
def test_it_sends_what_the_channel_sends(business, platform, tmp_path, to):
    """The same to the same person, each in its own way."""
    files = {}
    for name in ("a.png", "a.pdf", "a.mp4", "a.mp3", "a.ogg"):
        files[name] = tmp_path / name
        files[name].write_bytes(b"x")
    pywa_to = to.removeprefix("+")
    choices = [("Yes", "a:1"), ("No", "a:2"), ("Always", "a:3")]
    more = [*choices, ("Never", "a:4")]
    for kind, asked in (
            ("text", {"text": "hello"}),
            ("buttons", {"text": "May I?", "buttons": choices}),
            ("list", {"text": "Which?", "buttons": more}),
            ("image", {"path": str(files["a.png"])}),
            ("document", {"path": str(files["a.pdf"]),
                          "more": {"filename": "a.pdf"}}),
            ("video", {"path": str(files["a.mp4"])}),
            ("audio", {"path": str(files["a.mp3"])}),
            ("voice", {"path": str(files["a.ogg"])}),
            ("typing", {"message": "wamid.1"}),
            ("reaction", {"message": "wamid.1", "emoji": "👀"})):
        business.ask(do="send", kind=kind, to=pywa_to, **asked)
    theirs, their_signs = platform.list_sent(), list(platform.signs)
    platform.sent.clear()
    platform.signs.clear()

    async def go():
        channel = WhatsappChannel(
            WhatsappSettings(
                phone_number_id=platform.number_id,
                access_token=platform.token, api_base_url=platform.url,
                app_secret=platform.app_secret, allowed_users=(NUMBER,)),
            ChannelDeps(tmp_path, tmp_path / "files", marks=Marks()))
        await deliver(channel, said(), platform)
        for text, buttons in (
                ("hello", ()), ("May I?", choices), ("Which?", more),
                ("[IMAGE:a.png]", ()), ("[DOCUMENT:a.pdf]", ()),
                ("[VIDEO:a.mp4]", ()), ("[AUDIO:a.mp3]", ()),
                ("[VOICE:a.ogg]", ())):
            await channel.send(SendMessage(text, to, buttons=tuple(
                Button(*pair) for pair in buttons)))
        await channel.start_typing(to)
        await channel.add_reaction(to, "whatsapp_wamid.1", "👀")
        await channel.aclose()
    asyncio.run(go())

    assert [plain(b) for b in platform.list_sent()] == [
        plain(b) for b in theirs]
    assert [plain(b) for b in platform.signs] == [
        plain(b) for b in their_signs]


def plain(body):
    """A message without what each draws, and without what is so anyway."""
    found = {key: value for key, value in body.items() if key not in (
        "id", "biz_opaque_callback_data")}
    kind = found.get("type")
    if kind in ("image", "document", "video", "audio"):
        found[kind] = {key: value for key, value in found[kind].items()
                       if key != "id" and value is not None}
    if kind == "text":
        found["text"] = {"preview_url": False, **found["text"]}
    return found
