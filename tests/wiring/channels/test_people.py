"""[people.NAME]: what config.toml may say, and an id that changes."""

import asyncio
import json
from contextlib import asynccontextmanager, closing

import pytest
from people_world import PeopleWorld

from claw.channels import REGISTRY
from claw.config.edit import set_value
from claw.config.tree import load
from claw.core.errors import ConfigError, UsageError
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory
from claw.runtime.people.carry_over import CarryOver
from claw.storage.names import PeopleFile
from claw.wiring.channels.build import list_entries, read_settings
from claw.wiring.channels.people import open_people
from claw.wiring.checks.people import check_moves, check_people
from claw.wiring.config.sections import find_problems, validate
from claw.wiring.workspace.place_names import people_path

BOTS = ('[channels_config.telegram]\nbot_token = "1:x"\n'
        'allowed_users = ["5"]\n'
        '[channels_config.discord]\nbot_token = "x"\n')
MINA = '[people.mina]\ntelegram = 7\ndiscord = ["8", "@min"]\n'


def test_a_person_is_let_in_wherever_the_table_names_him(write_settings):
    tree = write_settings(BOTS + MINA)

    assert list(map(str, read_settings(tree, "telegram").allowed_users)) == [
        "5", "7"]
    assert list_entries(tree, "discord") == ["8", "min"]
    assert find_problems(tree) == []


@pytest.mark.parametrize(("text", "problem", "hint"), [
    ('[people.bob]\ntelgram = "9"\n', "people.bob.telgram: there is no "
     "such channel", 'did you mean "telegram"?'),
    ('[people.bob]\ntelegram = "7"\n', "people.bob.telegram: 7 is mina's and "
     "bob's", "take it out of people.mina or people.bob"),
    ('[people.bob]\ntelegram = "*"\n', "'*' is nobody's id", None),
    ('[people."a:b"]\ntelegram = "9"\n', "no name of a person", None),
    ("[people]\nbob = 3\n", "people.bob: expected", None),
])
def test_a_table_that_can_not_be_is_refused(write_settings, text, problem,
                                            hint):
    tree = write_settings(BOTS + MINA + text)
    found = find_problems(tree)

    assert any(problem in error.message and hint in (None, error.hint)
               for error in found)
    with pytest.raises(ConfigError) as caught:
        open_people(tree)
    assert hint is None or caught.value.hint == hint


def test_a_table_is_written_by_config_set(write_settings):
    places = write_settings(BOTS).places
    set_value(places, ("people", "mina", "telegram"), "123", validate)
    set_value(places, ("people", "mina", "discord"), '["4", "5"]', validate)

    assert open_people(load(places, {})).find("discord", "5") == "mina"
    with pytest.raises(UsageError, match="no such channel"):
        set_value(places, ("people", "mina", "telegrm"), "123", validate)
    with pytest.raises(UsageError, match="mina's and bob's"):
        set_value(places, ("people", "bob", "telegram"), "123", validate)


# -- an id that changes


@pytest.fixture
def world(tmp_path, monkeypatch):
    for name in ("alpha", "beta", "gamma"):
        monkeypatch.setitem(REGISTRY._builtins, name,
                            f"people_world:{name.title()}")
    with PeopleWorld(tmp_path, 0) as scene:
        yield scene


class Mina:
    """Who has 7 on alpha, and 70 there later."""

    def __init__(self, world):
        self.world = world
        self.heard = []
        world.hear, hear = (lambda *told: (self.heard.append(told),
                                           hear(*told))), world.hear

    async def say(self, text, account=("alpha", "7"), calls=(), **more):
        """The answer to it."""
        await self.world.say("mina", account, text, calls, **more)
        return self.heard[-1][2]

    async def tell_secret(self, **more):
        return await self.world.say(
            "mina", ("alpha", "7"),
            "my secret number and colour is CANARY, mind", **more)

    def move(self):
        """The platform says so."""
        self.world.accounts["mina"][0] = ("alpha", "70")
        self.world.open["alpha"].deps.carry_over("7", "70")

    def said(self, event):
        return [fields for name, fields in self.world.events if name == event]

    def config(self):
        return self.world.places.config_file.read_text()

    def file(self):
        return PeopleFile(people_path(self.world.places))

    @asynccontextmanager
    async def memory(self):
        with closing(SqliteMemory.open(self.world.places.workspace,
                                       MemorySettings())) as memory:
            yield memory


@pytest.fixture
def mina(world):
    return Mina(world)


def test_all_that_a_person_has_follows_an_id_that_changes(mina):
    async def go():
        async with mina.world.running() as service:
            secret = await mina.tell_secret()
            mina.move()
            told = await mina.say("what is my secret number and colour?",
                                  ("alpha", "70"), canary=False)
            assert secret in told
            # it is one conversation still
            keys = await service.parts.queue.inbox_rows()
            assert keys is not None
            await mina.world.until(lambda: mina.said("people.carried"))
        return secret
    secret = asyncio.run(go())

    assert '"70"' in mina.config()
    assert '"7"' not in mina.config().partition("[people.mina]")[2].partition(
        "beta")[0]
    assert mina.said("identity.changed")[0]["person"] == "mina"
    sessions = [path.name for path in (
        mina.world.places.workspace / "sessions").glob("*.jsonl")]
    assert any("alpha_70_70" in name for name in sessions)
    assert not any("alpha_7_7" in name for name in sessions)
    assert secret in "".join(
        path.read_text() for path in (
            mina.world.places.workspace / "sessions").glob("alpha_70*.jsonl"))
    assert mina.world.crossings == []


def test_who_has_the_old_id_now_is_not_let_in(mina):
    async def go():
        async with mina.world.running():
            await mina.tell_secret()
            mina.move()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await mina.world.say("mina", ("alpha", "7"), "hello?",
                                         canary=False)
            await mina.say("hello", ("alpha", "70"), canary=False)
            await mina.world.until(
                lambda: len(mina.said("config.reloaded")) >= 1)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await mina.world.say("mina", ("alpha", "7"), "hello?",
                                         canary=False)
    asyncio.run(go())

    assert len(mina.world.refused) == 2


def test_a_job_is_its_makers_after_his_id_changes(mina):
    """Who has the old id later neither sees it nor hears of it."""
    plan = ["cron_add", {"schedule": {"kind": "cron", "expr": "0 9 1 1 *"},
                         "job_type": "agent", "prompt": "say CANARY",
                         "delivery": {"channel": "alpha", "to": "7"}}]

    async def go():
        async with mina.world.running():
            secret = await mina.world.say("mina", ("alpha", "7"), "plan it",
                                          [plan])
            mina.move()
            told = await mina.say("which jobs?", ("alpha", "70"),
                                  [["cron_list", {}]], canary=False)
            assert secret in told
        mina.world.accounts["dora"] = [("alpha", "7")]
        mina.world.write()
        async with mina.world.running():
            await mina.world.say("dora", ("alpha", "7"), "which jobs?",
                                 [["cron_list", {}]], canary=False)
    asyncio.run(go())

    (job,) = mina.world.jobs.list_jobs()
    assert (job.spec.made_in, job.spec.delivery.to) == ("alpha_70_70", "70")
    assert mina.world.crossings == []


@pytest.mark.parametrize("where", [
    "_carry_sessions", "_carry_memories", "_carry_chats", "_settle"])
def test_a_kill_in_the_middle_is_taken_up_at_the_next_start(
        mina, monkeypatch, where):
    class Killed(BaseException):
        pass

    def die(*_):
        raise RuntimeError("killed here")

    async def before():
        async with mina.world.running():
            secret = await mina.tell_secret()
            with monkeypatch.context() as broken:
                broken.setattr(CarryOver, where, die)
                mina.move()
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.5):
                        await mina.say("hello", ("alpha", "70"),
                                       canary=False)
            return secret

    async def after(secret):
        async with mina.world.running():
            await mina.world.until(lambda: any(
                one.carried for one in mina.file().list("alpha")))
            told = await mina.say("what is my secret number and colour?",
                                  ("alpha", "70"), canary=False)
            assert secret in told
    secret = asyncio.run(before())
    asyncio.run(after(secret))

    assert [(one.name, one.id, one.settled)
            for one in mina.file().list("alpha")] == [("7", "70", True)]
    assert len(mina.said("identity.changed")) == 1


def test_an_id_that_is_somebody_elses_is_taken_over_by_nobody(mina):
    """The platform says that mina is 8 now; but that is bob."""
    async def go():
        async with mina.world.running():
            await mina.tell_secret()
            mina.world.open["alpha"].deps.carry_over("7", "8")
            await mina.world.say(
                "bob", ("alpha", "8"),
                "what is the secret number and colour?", canary=False)
    asyncio.run(go())

    assert mina.world.crossings == []
    assert mina.said("identity.refused")[0]["person"] == "bob"
    assert mina.file().list("alpha") == []


def test_an_old_id_that_the_owner_names_anew_is_another_person(mina):
    async def go():
        async with mina.world.running():
            await mina.tell_secret()
            mina.move()
            await mina.say("hello", ("alpha", "70"), canary=False)
            await mina.world.until(lambda: mina.said("people.carried"))
        mina.world.accounts["dora"] = [("alpha", "7")]
        mina.world.write()
        async with mina.world.running():
            await mina.world.say(
                "dora", ("alpha", "7"),
                "what is the secret number and colour?")
    asyncio.run(go())

    assert mina.world.crossings == []
    assert mina.said("identity.released")
    assert not mina.world.refused


def test_a_config_that_can_not_be_written_stops_nothing(mina, monkeypatch):
    def refuse(*_):
        raise OSError("read-only")
    monkeypatch.setattr("claw.wiring.channels.moves.set_value", refuse)

    async def go():
        async with mina.world.running():
            secret = await mina.tell_secret()
            mina.move()
            for _ in range(2):
                told = await mina.say("what is my secret number and colour?",
                                      ("alpha", "70"), canary=False)
                assert secret in told
    asyncio.run(go())

    assert mina.said("identity.unsaved")[0]["hint"].startswith("put 70")
    assert json.dumps("7") in mina.config()


def test_the_doctor_names_people_whom_no_channel_reaches(write_settings):
    tree = write_settings(BOTS + MINA + '[people.bob]\nslack = "U7"\n'
                          "[people.carl]\n")
    found = {check.id: check for check in check_people(tree)}

    assert found["people.mina"].detail == (
        "mina is telegram 7, discord 8, discord min")
    assert (found["people.bob.slack"].status,
            found["people.bob.slack"].hint) == (
        "warn", "claw channel setup slack")
    assert "in no channel" in found["people.carl"].detail


def test_the_doctor_tells_of_an_id_that_changed(write_settings):
    tree = write_settings(BOTS + MINA)
    file = PeopleFile(people_path(tree.places))
    file.move("telegram", "7", "70")
    file.move("discord", "6", "60")
    file.note_carried("discord", ["6"])

    found = {check.id: check for check in check_moves(tree)}
    assert "still names 7" in found["people.telegram.7"].detail
    assert found["people.discord.6"].status == "ok"


@pytest.mark.parametrize(("moves", "now"), [
    ([("a", "b")], {"a": "b"}),
    ([("a", "b"), ("a", "b")], {"a": "b"}),
    ([("a", "b"), ("b", "c")], {"a": "c", "b": "c"}),
    ([("a", "b"), ("b", "a")], {"b": "a"}),
    ([("@a", "@b")], {"a": "b"}),
    ([("a", "a")], {}),
])
def test_ids_are_followed_as_often_as_they_change(tmp_path, moves, now):
    file = PeopleFile(tmp_path / "state" / "people.json")
    file.bind("chat", "alice", "a")
    for old, new in moves:
        file.move("chat", old, new)

    assert {one.name: one.id for one in file.list("chat")
            if one.moved} == now
    assert file.find("chat", "alice") == now.get("a", "a")
    assert PeopleFile(tmp_path / "state" / "people.json").follow(
        "chat", ["a", "x"]) == {now.get("a", "a"), "x"}


# -- questions


class Asked:
    """A call of mina's that needs her yes; asked on alpha."""

    def __init__(self, mina):
        self.world = mina.world
        self.heard = mina.heard
        self.world.answers_itself = False
        self.world.free = []
        self.world.write()

    async def ask(self, account=("alpha", "7"), who="mina"):
        """The turn that asks, and the id of the question."""
        count = len(self.heard)
        turn = asyncio.ensure_future(self.world.say(
            who, account, "forget it", [
                ["memory_purge", {"session_id": "nothing"}]], canary=False))
        text = await self.world.until(lambda: next((
            text for *_, text in self.heard[count:] if "Answer: " in text
            or "I know" in text), None))
        return turn, text.partition("Answer: yes ")[2].partition(" ")[0]

    async def answer(self, channel, number, words):
        """What is said to it."""
        count = len(self.heard)
        self.world.post(channel, number, number, words)
        return await self.world.until(lambda: next((
            text for where, _, text in self.heard[count:]
            if where == channel), None))


def test_a_question_is_answered_on_any_channel_of_its_person(mina):
    asked = Asked(mina)

    async def go():
        async with mina.world.running():
            turn, number = await asked.ask()
            for stranger in (("beta", "7"), ("gamma", "mina"),
                             ("alpha", "8")):
                assert "not asked of you" in await asked.answer(
                    *stranger, f"yes {number}")
            assert "Allowed" in await asked.answer(
                "gamma", "minamina", f"yes {number}")
            await turn
    asyncio.run(go())
    assert "yes" in [one["decision"] for one in mina.said("approval")]


def test_always_holds_on_every_channel_of_its_person(mina):
    asked = Asked(mina)

    async def go():
        async with mina.world.running():
            turn, number = await asked.ask()
            await asked.answer("alpha", "7", f"always {number}")
            await turn
            turn, number = await asked.ask(("gamma", "minamina"))
            assert number == ""
            await turn
            turn, number = await asked.ask(("gamma", "mina"), "eve as mina")
            assert number
            await asked.answer("gamma", "mina", f"no {number}")
            await turn
    asyncio.run(go())
