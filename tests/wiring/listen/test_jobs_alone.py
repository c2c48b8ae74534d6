"""claw listen without a channel, for its jobs alone."""

import asyncio

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import ConfigError
from claw.core.log import silent
from claw.storage.jobs.model import JobSpec
from claw.storage.jobs.schedule import Schedule
from claw.storage.jobs.store import SqliteJobs
from claw.testing.fake_openai import FakeOpenAI
from claw.wiring.listen.jobs import runs_alone
from claw.wiring.listen.service import open_service
from claw.wiring.workspace.place_names import jobs_path

DECLARED = """
[[cron.jobs]]
id = "hi"
prompt = "say hi"
schedule = { kind = "every", every_ms = 1000 }
"""
HEARTBEAT = """
[heartbeat]
enabled = true
interval_minutes = 0.002
message = "look around"
"""


@pytest.fixture
def places(tmp_path):
    found = locate(str(tmp_path / "home"), None, {})
    found.workspace.mkdir(parents=True)
    return found


def write(places, text):
    places.config_file.write_text(text)
    places.config_file.chmod(0o600)
    return load(places, {})


def add(places, **more):
    return SqliteJobs(jobs_path(places)).add(JobSpec(
        Schedule("every", every_ms=1000), "agent", prompt="say hi", **more))


@pytest.mark.parametrize("text", ["", DECLARED, HEARTBEAT])
def test_a_job_is_enough_to_listen_for(places, tmp_path, text):
    if not text:
        add(places)

    async def go(model):
        write(places, f'default_provider = "custom:{model.url}"\n'
                      f'default_model = "m"\n{text}')
        async with open_service(places, (), silent, env={
                "XDG_RUNTIME_DIR": str(tmp_path)}) as service:
            work = asyncio.ensure_future(service.run())
            async with asyncio.timeout(30):
                while not model.chats and not work.done():  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            service.stop()
            await asyncio.wait_for(work, 20)
    with FakeOpenAI(["hi"]) as model:
        asyncio.run(go(model))
    assert model.chats


@pytest.mark.parametrize("text", [
    "", "[cron]\nenabled = false\n" + DECLARED])
def test_a_job_that_never_runs_is_none(places, tmp_path, text):
    add(places, enabled=bool(text))
    assert not runs_alone(write(places, text))

    async def go():
        async with open_service(places, (), silent, env={
                "XDG_RUNTIME_DIR": str(tmp_path)}) as service:
            await service.run()
    with pytest.raises(ConfigError, match="no channel is configured, and no"):
        asyncio.run(go())
