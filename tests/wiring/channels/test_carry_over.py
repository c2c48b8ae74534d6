"""What an earlier claw kept under usernames, in the hands of this one."""

import asyncio
from contextlib import asynccontextmanager, closing

import pytest

from claw.config.places import locate
from claw.core.channel import ChannelMessage, Part, SendMessage
from claw.core.memory import Source
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory
from claw.storage.names import PeopleFile
from claw.storage.queue.model import Approval, Arrival, NewSend
from claw.storage.queue.sqlite import SqliteQueue
from claw.storage.sessions import SessionStore
from claw.testing.fake_openai import FakeOpenAI
from claw.testing.fake_telegram import FakeTelegram
from claw.wiring.listen.service import open_service
from claw.wiring.workspace.place_names import people_path, queue_path

GROUP = -100
PRIVATE, IN_GROUP = "telegram_1001_alice", f"telegram_{GROUP}_alice"


class Old:
    """A home as an earlier claw left it, and the service over it."""

    def __init__(self, folder, platform, model):
        self.places = locate(str(folder / "home"), None, {})
        self.platform, self.model = platform, model
        self.env = {"XDG_RUNTIME_DIR": str(folder)}
        self.events = []
        self.places.home.mkdir(mode=0o700)
        self.places.workspace.mkdir()
        self.store = SessionStore(self.places.workspace / "sessions")

    def allow(self, allowed):
        self.places.config_file.write_text(
            f'default_provider = "custom:{self.model.url}"\n'
            'default_model = "m"\n[memory]\nauto_save = false\n'
            '[channels_config.telegram]\n'
            f'bot_token = "{self.platform.token}"\npoll_timeout_secs = 1\n'
            f"allowed_users = {allowed}\n"
            f'api_base_url = "{self.platform.url}"\n')
        self.places.config_file.chmod(0o600)

    def keep(self, key, *texts):
        """A conversation, and a memory out of it."""
        self.store.append(key, [
            {"type": "Chat", "data": {"role": role, "content": text}}
            for text in texts for role in ("user", "assistant")])
        with closing(self.memory()) as memory:
            memory.store_from(f"k_{key}", f"{texts[0]} was said", "core", key,
                              Source("alice", "telegram:" + ":".join(
                                  key.split("_")[1:2]) + ":7"))

    def memory(self):
        return SqliteMemory.open(self.places.workspace, MemorySettings())

    def log(self, event, /, **fields):
        self.events.append((event, fields))

    def said(self, event):
        return [fields for name, fields in self.events if name == event]

    @asynccontextmanager
    async def running(self):
        async with open_service(self.places, (), self.log,
                                env=self.env) as service:
            work = asyncio.ensure_future(service.run())
            try:
                yield service
            finally:
                service.stop()
                await asyncio.wait_for(work, 10)

    async def until(self, predicate):
        async with asyncio.timeout(20):
            while True:
                if predicate():
                    return
                await asyncio.sleep(0.005)

    def hear(self, *posts):
        """Let people write, each waiting for the answer before."""
        async def go():
            async with self.running():
                for count, post in enumerate(posts, len(self.model.chats)):
                    self.platform.post(**post)
                    await self.until(lambda n=count: (
                        len(self.model.chats) > n))
                await self.until(lambda: len(
                    self.platform.answers()) >= len(posts))
        asyncio.run(go())
        return [[m["content"] for m in chat.body["messages"][1:]]
                for chat in self.model.chats]

    def sessions(self):
        return sorted(info.key for info in self.store.list())

    def whose(self):
        """(session, sender) of the memories."""
        with closing(self.memory()) as memory:
            return sorted((e.session_id, e.sender)
                          for e in memory.list("core"))


@pytest.fixture
def old(tmp_path):
    with FakeTelegram(chats=(1001, 1002)) as platform, \
            FakeOpenAI(["fine"]) as model:
        platform.add_chat(GROUP, type="supergroup")
        yield Old(tmp_path, platform, model)


@pytest.mark.parametrize("allowed", ['["alice"]', '["1001"]', '["*", 5]'])
def test_a_private_chat_is_its_persons_whatever_the_allow_list_says(
        old, allowed):
    old.allow(allowed)
    old.keep(PRIVATE, "old words")

    asked, = old.hear({"text": "new words", "username": "alicia"})

    assert asked == ["old words", "old words", "new words"]
    assert old.sessions() == ["telegram_1001_1001"]
    assert old.whose() == [("telegram_1001_1001", "1001")]
    assert [e["sessions"] for e in old.said("people.carried")] == [1]


def test_what_was_said_in_a_group_follows_who_the_allow_list_names(old):
    old.allow('["alice"]')
    old.keep(IN_GROUP, "old words")

    asked, = old.hear({"text": "new words", "chat_id": GROUP,
                       "user_id": 1001})

    assert asked == ["old words", "old words", "new words"]
    assert old.sessions() == [f"telegram_{GROUP}_1001"]
    assert old.whose() == [(f"telegram_{GROUP}_1001", "1001")]
    names, = PeopleFile(people_path(old.places)).list("telegram")
    assert (names.name, names.id, names.carried) == ("alice", "1001", True)


@pytest.mark.parametrize("allowed", [
    '["1002"]', '["*", "1001"]', '["*", "alice"]', '["alice", "1002"]'])
def test_who_took_the_name_inherits_nothing(old, allowed):
    """The private chat tells that alice is 1001."""
    old.allow(allowed)
    old.keep(PRIVATE, "mine")
    old.keep(IN_GROUP, "ours")

    asked, = old.hear({"text": "what did I say?", "chat_id": GROUP,
                       "user_id": 1002, "username": "alice"})

    assert asked == ["what did I say?"]
    assert "telegram_1001_1001" in old.sessions()
    assert "mine" not in str(old.model.chats[0].body)


def test_both_conversations_of_one_person_become_one(old):
    old.allow('["alice"]')
    old.keep(PRIVATE, "before")
    old.keep("telegram_1001_1001", "after")

    asked, = old.hear({"text": "now"})

    assert sorted(asked) == sorted(["before", "before", "after", "after",
                                    "now"])
    assert old.sessions() == ["telegram_1001_1001"]


def test_it_is_done_and_told_once(old):
    old.allow('["alice"]')
    old.keep(PRIVATE, "old words")
    old.hear({"text": "one"})
    old.hear({"text": "two"})

    assert len(old.said("people.carried")) == 1
    assert len(old.store.load("telegram_1001_1001")) == 6


def test_waiting_messages_and_open_questions_come_over(old):
    def message(number, chat, text):
        return ChannelMessage(f"telegram_{chat}_{number}", "alice", str(chat),
                              text, "telegram", 1)

    async def fill():
        queue = SqliteQueue(queue_path(old.places))
        lease = await queue.lease("listen", 30)
        await queue.accept(lease, [
            Arrival(message(n, chat, f"waited {n}"),
                    f"telegram_{chat}_alice")
            for n, chat in ((1, 1001), (2, 1001), (3, GROUP))])
        rows = await queue.inbox_rows()
        question = SendMessage("?", "1001")
        await queue.ask(lease, Approval(
            "a1", rows[1].turn_id, "k", "telegram", "alice", "shell: ls",
            9e12), NewSend("approval:a1", "telegram", question, (
                Part("text", "?", {"text": "?"}),)))
        await queue.yield_lease(lease)
        await queue.aclose()
    old.allow('["1001"]')
    asyncio.run(fill())

    async def go():
        async with old.running() as service:
            await old.until(lambda: len(old.model.chats) == 3)
            assert (await service.parts.queue.approval("a1")).sender == "1001"
    asyncio.run(go())

    # the group's stays under the name: nobody knows whose it is
    assert old.sessions() == [f"telegram_{GROUP}_alice",
                              "telegram_1001_1001"]
    assert len(old.store.load("telegram_1001_1001")) == 4


def test_a_fresh_home_stays_as_it_is(old):
    old.allow('["alice"]')
    old.hear({"text": "hi"})

    assert old.said("people.carried") == []
    assert PeopleFile(people_path(old.places)).list("telegram")[0].carried
