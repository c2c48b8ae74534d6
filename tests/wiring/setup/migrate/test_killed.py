"""A migration that is killed at any step is finished by the next one."""

import os
import signal
import sys

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.security.watched.record import list_held
from claw.storage.jobs.store import SqliteJobs
from claw.wiring.memory import open_backend
from claw.wiring.setup.migrate.carry import carry_out
from claw.wiring.setup.migrate.find import look_at
from claw.wiring.setup.migrate.plan import plan
from claw.wiring.workspace.place_names import jobs_path
from claw.wiring.workspace.sessions import open_sessions, read_messages
from tests.wiring.setup.migrate import folders

STEPS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir",
         "sqlite3.connect")
PARTS = ("settings", "files", "memories", "skills", "sessions", "jobs")


def kill_at(number, planned):
    """The exit code of a migration that is killed before its step `number`:
    whatever changes a folder, or opens a file of claw's."""
    child = os.fork()
    if child == 0:
        home = str(planned.places.home)
        left = number

        def watch(event, args):
            nonlocal left
            if event in STEPS and (event != "open" or home in str(args[0])
                                   or args[2] & os.O_CREAT):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(watch)
        os._exit(0 if carry_out(planned).error is None else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def read(places):
    """All that came, and nothing of claw's own bookkeeping."""
    tree, store = load(places, {}), open_sessions(places)
    work, skills = places.workspace, places.home / "skills"
    brought = {
        "settings": [tree.get(key, None) for key in (
            "api_key", "channels_config.telegram.bot_token",
            "channels_config.telegram.allowed_users")],
        "files": {path.name: path.read_text() for path in work.glob("*.md")},
        "held": [each.name for each in list_held(work)],
        "skills": {str(path.relative_to(skills)): path.read_text()
                   for path in skills.rglob("*") if path.is_file()},
        "sessions": {each.key: [line.text for line in read_messages(
            store.read(each.key))] for each in store.list()},
        "jobs": sorted(job.spec.name for job in SqliteJobs(
            jobs_path(places)).list_jobs()),
        "memories": []}
    if (work / "memory/brain.db").exists():
        with open_backend(tree, readonly=True) as memory:
            brought["memories"] = sorted(
                (entry.key, entry.content) for entry in memory.entries())
    return brought


def is_begun(places):
    return (places.home / ".migrating-zeroclaw").exists()


@pytest.mark.parametrize("part", PARTS)
def test_killed_at_each_step_the_next_one_brings_the_rest(tmp_path, part):
    theirs = folders.zeroclaw(tmp_path / ".zeroclaw")
    folders.write(theirs, {
        "workspace/skills/milk/SKILL.md": folders.SKILL.format(name="milk"),
        "workspace/sessions/telegram_43.jsonl":
            '{"role": "user", "content": "and I"}\n'})
    found = look_at("zeroclaw", theirs)
    whole = locate(env={"HOME": str(tmp_path / "whole")})
    carry_out(plan(found, whole, only=[part]))
    expected, number, told, code = read(whole), 0, 0, -signal.SIGKILL
    while code:
        number += 1
        places = locate(env={"HOME": str(tmp_path / f"user-{number}")})
        code = kill_at(number, plan(found, places, only=[part]))
        assert code in (0, -signal.SIGKILL)
        begun = is_begun(places)

        again = plan(found, places, only=[part])
        done = carry_out(again)

        assert done.error is None
        assert any("was interrupted" in note
                   for note in again.notes) == begun
        told += begun
        assert read(places) == expected, number
        last = plan(found, places, only=[part])
        assert last.is_empty
        assert not is_begun(places)
    assert number > told > 1
