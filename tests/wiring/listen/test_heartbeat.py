"""[heartbeat]: the tasks of HEARTBEAT.md, run by a real service."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.log import silent
from claw.storage.jobs.store import SqliteJobs
from claw.testing.fake_openai import FakeOpenAI
from claw.testing.fake_telegram import FakeTelegram
from claw.wiring.jobs.heartbeat import declare_heartbeat, find_prompt
from claw.wiring.listen.service import open_service
from claw.wiring.workspace.place_names import jobs_path

TOKEN = "1234567:token"
ON = "[heartbeat]\nenabled = true\ninterval_minutes = 0.002\n"
TOLD = ON + 'target = "telegram"\nto = "1001"\n'


@pytest.fixture
def places(tmp_path):
    found = locate(str(tmp_path / "home"), None, {})
    found.workspace.mkdir(parents=True)
    return found


@pytest.fixture
def listen(places, tmp_path):
    """listen(toml, answers): a service with a chat and a model; gives
    platform, model and jobs."""
    @asynccontextmanager
    async def run(settings, answers):
        with FakeTelegram(TOKEN, chats=(1001,)) as platform, \
                FakeOpenAI(replies=answers) as model:
            write(places, f'default_provider = "custom:{model.url}"\n'
                          f'default_model = "m"\n{settings}'
                          f'[channels_config.telegram]\nbot_token = "{TOKEN}"'
                          '\nallowed_users = ["alice"]\npoll_timeout_secs = '
                          f'1\napi_base_url = "{platform.url}"\n')
            async with open_service(
                    places, (), silent,
                    env={"XDG_RUNTIME_DIR": str(tmp_path)}) as service:
                work = asyncio.ensure_future(service.run())
                try:
                    yield platform, model, SqliteJobs(jobs_path(places))
                finally:
                    service.stop()
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait_for(work, 10)
    return run


def write(places, text):
    places.config_file.write_text(text)
    places.config_file.chmod(0o600)
    return load(places, {})


async def until(predicate):
    async with asyncio.timeout(15):
        while not (found := predicate()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return found


def list_runs(jobs):
    return [run for job in jobs.list_jobs() for run in jobs.list_runs(job.id)
            if run.status != "running"]


def test_the_tasks_are_asked_and_what_comes_of_them_is_told(places, listen):
    (places.workspace / "HEARTBEAT.md").write_text("- look at the mail\n")

    async def go():
        async with listen(TOLD, ["HEARTBEAT_OK", "Mina wrote."]) as (
                platform, model, jobs):
            await until(lambda: len(platform.answers(1001)) > 0)
            return platform.answers(1001), model.chats, jobs.list_jobs()
    answers, chats, (job,) = asyncio.run(go())

    assert answers[0] == "Mina wrote."  # and nothing of the first answer
    assert "- look at the mail" in chats[0].body["messages"][-1]["content"]
    assert (job.id, job.spec.source) == ("heartbeat", "declarative")


@pytest.mark.parametrize("text", [None, "# Heartbeat\n\n- [paused] rest\n"])
def test_without_a_task_no_model_is_asked(places, listen, text):
    if text is not None:
        (places.workspace / "HEARTBEAT.md").write_text(text)

    async def go():
        async with listen(TOLD, ["no"]) as (platform, model, jobs):
            await until(lambda: len(list_runs(jobs)) > 2)
            return model.chats, platform.answers(1001), list_runs(jobs)
    chats, answers, runs = asyncio.run(go())

    assert (chats, answers) == ([], [])
    assert {run.status for run in runs} == {"skipped"}


def test_off_again_the_job_is_gone(places, listen):
    async def go():
        async with listen(ON, ["no"]) as (_, _, jobs):
            await until(jobs.list_jobs)
        async with listen("[heartbeat]\nenabled = false\n", []) as (
                _, _, jobs):
            await until(lambda: not jobs.list_jobs())
    asyncio.run(go())


def test_what_is_declared_follows_the_settings(places):
    assert declare_heartbeat(write(places, "")) == {}

    (_, spec), = declare_heartbeat(write(
        places, "[heartbeat]\nenabled = true\n")).values()
    assert (spec.schedule.every_ms, spec.delivery.mode) == (300_000, "none")
    (_, spec), = declare_heartbeat(write(places, TOLD)).values()
    assert (spec.delivery.channel, spec.delivery.to) == ("telegram", "1001")


def test_a_link_in_its_place_is_no_file(places):
    secret = places.home / "secret"
    secret.write_text("- a secret\n")
    (places.workspace / "HEARTBEAT.md").symlink_to(secret)
    tree = write(places, ON)
    (_, spec), = declare_heartbeat(tree).values()
    jobs = SqliteJobs(jobs_path(places))
    jobs.declare({"heartbeat": ("", spec)})

    assert find_prompt(tree, silent, jobs.get("heartbeat")) is None


def test_a_message_of_the_settings_stands_in_for_a_file(places):
    tree = write(places, ON + 'message = "look around"\n')
    (_, spec), = declare_heartbeat(tree).values()
    jobs = SqliteJobs(jobs_path(places))
    jobs.declare({"heartbeat": ("", spec)})

    assert "- look around" in str(
        find_prompt(tree, silent, jobs.get("heartbeat")))
