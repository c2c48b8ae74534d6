"""`claw listen` with a platform's double, and what the owner sees then of
what became of a message."""

import asyncio
import json
import socket
import sys
import time
from contextlib import asynccontextmanager, suppress
from functools import partial

import httpx
import pytest

from claw.channels.qq.signature import Signer
from claw.config.places import locate
from claw.core.errors import NotFoundError
from claw.runtime.process.health import read_state, write_state
from claw.storage.queue.reader import open_reader
from claw.testing.fake_openai import FakeOpenAI
from claw.testing.fake_qq import FakeQq
from claw.testing.fake_qq.platform import ALICE
from claw.testing.fake_whatsapp import FakeWhatsapp
from claw.testing.fake_whatsapp.platform import NUMBER, USER_ID
from claw.wiring.listen.service import open_service
from claw.wiring.workspace.place_names import queue_path, state_path

PERSON = NUMBER[1:]


class Home:
    """A home whose service can be run; `claw` runs commands in it."""

    def __init__(self, folder, model):
        self.places = locate(str(folder / "home"), None, {})
        self.env = {"XDG_RUNTIME_DIR": str(folder)}
        self.model = model
        self.events = []
        self.places.home.mkdir(mode=0o700)
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]

    def write(self, text):
        path = self.places.config_file
        path.write_text(
            f'default_provider = "custom:{self.model.url}"\n'
            'default_model = "m"\n[gateway]\nenabled = true\n'
            f"port = {self.port}\n{text}")
        path.chmod(0o600)

    def log(self, event, /, **fields):
        self.events.append((event, fields))

    def logged(self, event):
        return [fields for name, fields in self.events if name == event]

    @asynccontextmanager
    async def running(self):
        async with open_service(self.places, (), self.log,
                                env=self.env) as service:
            work = asyncio.ensure_future(service.run())
            self.health = service.parts.health
            try:
                await self.until(lambda: self.logged("started"))
                yield service
            finally:
                service.stop()
                with suppress(asyncio.CancelledError):
                    await asyncio.wait_for(work, 20)

    async def until(self, predicate):
        async with asyncio.timeout(60):  # it is tried every 15
            while True:
                if found := predicate():
                    return found
                await asyncio.sleep(0.02)

    def list_open(self):
        """Messages that are not answered, and answers on their way."""
        with open_reader(queue_path(self.places)) as reader:
            return [row for row in (*reader.inbox_rows(),
                                    *reader.outbox_rows())
                    if row.state in ("waiting", "running", "sending")]

    def read_state(self):
        """What `claw channel doctor` and `claw status` read."""
        write_state(self.health, state_path(self.places))
        return read_state(state_path(self.places))["components"]

    async def claw(self, *arguments):
        """What a command prints as JSON."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "claw", "--config-dir",
            str(self.places.home),
            *arguments, "--json", stdout=asyncio.subprocess.PIPE,
            env={**self.env, "HOME": str(self.places.home), "PATH": ""})
        out, _ = await process.communicate()
        return json.loads(out)

    def list_out(self):
        """The rows of the outbox."""
        try:
            with open_reader(queue_path(self.places)) as reader:
                return reader.outbox_rows()
        except NotFoundError:
            return []


@pytest.fixture
def home(tmp_path):
    with FakeOpenAI(["fine"]) as model:
        yield Home(tmp_path, model)


@pytest.fixture
def whatsapp(home):
    with FakeWhatsapp() as platform:
        platform.callback = f"http://127.0.0.1:{home.port}/whatsapp"
        home.write(f"""
[channels_config.whatsapp]
phone_number_id = "{platform.number_id}"
access_token = "{platform.token}"
app_secret = "{platform.app_secret}"
verify_token = "{platform.verify_token}"
api_base_url = "{platform.url}"
allowed_users = ["{PERSON}"]
""")
        yield platform
    assert platform.problems == []


def run(test):
    asyncio.run(asyncio.wait_for(test, 150))


def test_a_message_that_whatsapp_took_and_did_not_deliver_has_failed(
        home, whatsapp):
    """HTTP 200, and nothing arrives."""
    whatsapp.closed[USER_ID] = "later"

    async def go():
        async with home.running():
            whatsapp.write("hello")
            await home.until(lambda: [row.state for row in home.list_out()]
                             == ["failed"])
            row, = (await home.claw("queue", "list", "--failed"))["outbox"]
            assert row["seen"] == "not there"
            assert "not delivered" in row["error"]
            assert "131047" in row["error"]
            part, = (await home.claw("why"))["sends"]
            assert (part["state"], part["seen"]) == ("failed", "not there")
            state = home.read_state()["channel:whatsapp"]
            assert state["not_there"] == 1
    run(go())


def test_a_status_of_whatsapp_verifies_what_was_sent(home, whatsapp):
    async def go():
        async with home.running():
            whatsapp.write("hello")
            await home.until(lambda: [row.seen for row in home.list_out()]
                             == ["verified"])
    run(go())


class Talk:
    """Mina on WhatsApp, where she is a user id, and by her number in the
    table; each message comes with what the model was shown."""

    def __init__(self, home, platform):
        self.home, self.platform = home, platform
        self.number, self.user_id = NUMBER, USER_ID

    async def say(self, text, **who):
        count = len(self.home.model.chats)
        self.platform.write(text, **{"number": self.number,
                                     "user_id": self.user_id, **who})
        await self.home.until(lambda: len(self.home.model.chats) > count
                              and not self.home.list_open())
        return json.dumps(self.home.model.chats[-1].body["messages"])

    def move(self, number, user_id):
        """Meta's word that she has another number and user id."""
        self.platform.post({"messages": [
            {"id": f"wamid.{user_id}{kind}", "timestamp": "1", "type":
             "system", "from": self.number[1:], "from_user_id": self.user_id,
             "system": {"type": kind, "customer": self.number[1:], "wa_id":
                        number[1:], "previous_user_id": self.user_id,
                        "user_id": user_id}}
            for kind in ("user_changed_number", "user_changed_user_id")]})
        self.number, self.user_id = number, user_id


def test_a_number_in_a_table_is_whose_user_id_came_with_it(home, whatsapp):
    """Written without its plus; she moves in the middle of a conversation,
    and what she said, her memories and the entry follow."""
    text = home.places.config_file.read_text()
    home.places.config_file.write_text(
        text.replace(f'["{PERSON}"]', "[]")
        + f'[people.mina]\nwhatsapp = "{PERSON}"\n')
    talk = Talk(home, whatsapp)
    other, other_id = "+4917099999999", "DE.99999999999999999999"

    async def go():
        async with home.running() as service:
            await talk.say("my colour is green")
            people = service.parts.live().people
            assert people.find("whatsapp", USER_ID) == "mina"
            talk.move(other, other_id)
            await home.until(lambda: len(home.logged("identity.changed"))
                             == 2)
        async with home.running() as service:  # before she wrote again
            assert "green" in await talk.say("what is my colour?")
            await home.until(lambda: other[1:] in
                             home.places.config_file.read_text())
        home.events.clear()
        async with home.running() as service:
            people = service.parts.live().people
            assert people.find("whatsapp", other_id) == "mina"
            assert people.find("whatsapp", USER_ID) != "mina"
            assert "green" in await talk.say("and again?")
    run(go())


@pytest.fixture
def qq(home):
    with FakeQq() as platform:
        yield platform
    assert platform.problems == []


def configure(home, platform, more=""):
    home.write(f"""
[channels_config.qq]
app_id = "{platform.app_id}"
app_secret = "{platform.secret}"
allowed_users = ["{ALICE}"]
api_base_url = "{platform.url}"
token_url = "{platform.token_url}"
{more}""")


def test_what_qq_does_not_take_now_waits_and_goes_when_somebody_writes(
        home, qq):
    configure(home, qq)
    qq.rules.own_accord = 0

    async def go():
        async with home.running():
            await home.until(lambda: qq.sessions)
            await home.claw("send", f"qq:user:{ALICE}", "a reminder")
            await home.until(lambda: [row for row in home.list_out()
                                      if "own accord" in (row.error or "")])
            row, = (await home.claw("queue", "list"))["outbox"]
            assert row["state"] == "waiting"
            assert "when the person writes" in row["why"]
            assert qq.answers() == []
            qq.say("hello")
            await home.until(lambda: sorted(qq.answers())
                             == ["a reminder", "fine"])
    run(go())


def post(home, platform, payload, *, secret=None, ahead_s=0):
    """As QQ posts."""
    body = json.dumps(payload).encode()
    at = str(int(time.time() + ahead_s)).encode()
    return httpx.post(
        f"http://127.0.0.1:{home.port}/qq", content=body, headers={
            "Content-Type": "application/json",
            "User-Agent": "QQBot-Callback", "X-Bot-Appid": platform.app_id,
            "X-Signature-Timestamp": at.decode(), "X-Signature-Ed25519":
            Signer(secret or platform.secret).sign(at + body)})


def test_qq_posts_to_the_gateway(home, qq):
    """The address is tried (13), an event is acknowledged (12) once it is
    committed, and again when it comes again; nothing unsigned is taken."""
    configure(home, qq, 'mode = "webhook"')

    async def go():
        async with home.running():
            await home.until(lambda: home.logged("gateway.listening"))

            send = partial(asyncio.to_thread, post, home, qq)
            tried = await send({"op": 13, "d": {"plain_token": "Arq0",
                                                "event_ts": "1725442341"}})
            assert tried.json() == {"plain_token": "Arq0", "signature":
                                    Signer(qq.secret).sign(b"1725442341Arq0")}
            kind, data = qq.message("hello")
            event = {"op": 0, "id": f"{kind}:1", "t": kind, "d": data}
            refused = [await send(event, secret="x" * 32),
                       await send(event, ahead_s=-3600)]
            assert [one.status_code for one in refused] == [401, 401]
            for _ in range(2):
                taken = await send(event)
                assert (taken.status_code, taken.json()) == (
                    200, {"op": 12, "d": 0})
            await home.until(lambda: qq.answers() == ["fine"])
            await asyncio.sleep(0.3)
    run(go())

    assert qq.answers() == ["fine"]
    assert len(home.model.chats) == 1
