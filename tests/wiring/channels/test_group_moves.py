"""A group of Telegram that becomes a supergroup has another id from then on:
what is kept of it, and what config.toml sends to it, follows."""

import asyncio

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.storage.jobs.model import Delivery, JobSpec
from claw.storage.jobs.schedule import Schedule
from claw.storage.sessions import SessionStore
from claw.testing.fake_openai import FakeOpenAI
from claw.testing.fake_telegram import FakeTelegram
from claw.wiring.listen.service import open_service
from claw.wiring.tools.jobs import open_jobs

OLD, NEW = -5, -1005
SETTINGS = """\
default_provider = "custom:{model}"
default_model = "m"
[memory]
auto_save = false
[channels_config.telegram]
bot_token = "{token}"
poll_timeout_secs = 1
allowed_users = ["1001"]
api_base_url = "{url}"
[heartbeat]
enabled = true
message = "Look around"
interval_minutes = 0.02
target = "telegram"
to = "-5"  # the family
[[cron.jobs]]
id = "other"
command = "ls"
schedule = {{ kind = "every", every_ms = 86400000 }}
delivery = {{ channel = "telegram", to = "1001" }}
[[cron.jobs]]
id = "digest"
command = "pwd"
schedule = {{ kind = "every", every_ms = 1000 }}
[cron.jobs.delivery]  # the family, too
channel = "telegram"
to = "-5"
"""


@pytest.mark.parametrize("quiet", [False, True])
def test_jobs_and_conversations_follow_a_group_that_has_another_id(
        tmp_path, quiet):
    places = locate(str(tmp_path / "home"), None, {})
    places.workspace.mkdir(parents=True)
    places.home.chmod(0o700)
    sessions = SessionStore(places.workspace / "sessions")
    sessions.append(f"telegram_{OLD}_1001", [
        {"type": "Chat", "data": {"role": "user", "content": "old words"}}])
    with FakeTelegram() as platform, FakeOpenAI(["fine"]) as model:
        platform.add_chat(OLD, type="group")
        places.config_file.write_text(SETTINGS.format(
            model=model.url, token=platform.token, url=platform.url))
        places.config_file.chmod(0o600)
        jobs = open_jobs(load(places, {}))
        made = jobs.add(JobSpec(
            Schedule("every", every_ms=86_400_000), command="ls",
            delivery=Delivery("announce", "telegram", str(OLD)),
            made_in=f"telegram_{OLD}_1001"))
        asyncio.run(listen(places, platform, jobs, quiet, tmp_path))

    text = places.config_file.read_text()
    assert 'to = "-1005"  # the family\n' in text
    assert 'to = "-1005"\n' in text.partition("# the family, too")[2]
    assert '"-5"' not in text
    told = {job.id: job.spec.delivery.to for job in jobs.list_jobs()}
    assert told == {"heartbeat": str(NEW), "digest": str(NEW),
                    "other": "1001", made.id: str(NEW)}
    assert jobs.get(made.id).spec.made_in == f"telegram_{NEW}_1001"
    assert "old words" in str([
        one.body for one in model.chats
        if "new words" in str(one.body)])


async def listen(places, platform, jobs, quiet, folder):
    async with open_service(places, (), lambda event, **fields: None,
                            env={"XDG_RUNTIME_DIR": str(folder)}) as service:
        work = asyncio.ensure_future(service.run())
        async with asyncio.timeout(30):
            await until(lambda: {*platform.answers(OLD)} >= {
                "fine", str(places.workspace)})
            platform.migrate(OLD, NEW, quiet=quiet)
            if quiet:
                await until(lambda: platform.answers(NEW))
            platform.post("new words", NEW, 1001)
            await until(lambda: "-1005" in places.config_file.read_text())
            await until(lambda: jobs.get("digest").spec.delivery.to
                        == str(NEW))
            seen = len(platform.answers(NEW))
            await until(lambda: {*platform.answers(NEW)[seen:]} >= {
                "fine", str(places.workspace)})
        service.stop()
        await asyncio.wait_for(work, 10)


async def until(predicate):
    while True:
        if predicate():
            return
        await asyncio.sleep(0.01)
