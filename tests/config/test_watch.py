"""Changes of config.toml: what an editor does, and what is none."""

import asyncio
import os
from contextlib import asynccontextmanager

import pytest

from claw.config import watch
from claw.config.watch import changes, stamp


@asynccontextmanager
async def watching(path, **settings):
    """Gives a function that waits for one change, True, or for the time
    to pass, False."""
    heard = asyncio.Queue()

    async def listen():
        async for _ in changes(path, **settings):
            heard.put_nowait(True)
    task = asyncio.create_task(listen())

    async def next_change(within_s=6.0):
        try:
            async with asyncio.timeout(within_s):
                return await heard.get()
        except TimeoutError:
            assert not task.done()
            return False
    await asyncio.sleep(0.1)  # the kernel is watching
    try:
        yield next_change
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "home" / "config.toml"
    path.parent.mkdir()
    path.write_text("a = 1\n")
    return path


def replaced(path, text):
    """What most editors do."""
    new = path.with_name(".new")
    new.write_text(text)
    os.replace(new, path)


def rewritten(path, text):
    path.write_text(text)


def removed_and_made_again(path, text):
    path.unlink()
    path.write_text(text)


def moved_away_first(path, text):
    path.rename(path.with_suffix(".bak"))
    path.write_text(text)


@pytest.mark.parametrize("edit", [
    replaced, rewritten, removed_and_made_again, moved_away_first])
def test_an_edit_is_one_change(config, edit):
    async def go():
        async with watching(config, poll_s=60) as change:
            edit(config, "a = 2\n")
            first = await change()
            edit(config, "a = 3\n")
            return first, await change(), await change(0.3)
    assert asyncio.run(go()) == (True, True, False)


def test_a_burst_of_writes_is_one_change(config):
    async def go():
        async with watching(config, poll_s=60) as change:
            for number in range(10):
                config.write_text(f"a = {number + 2}\n")
                await asyncio.sleep(0.01)
            return await change(), await change(0.3)
    assert asyncio.run(go()) == (True, False)


def test_the_same_content_is_no_change(config):
    async def go():
        async with watching(config, poll_s=0.1) as change:
            replaced(config, "a = 1\n")
            os.utime(config)
            (config.parent / "other.toml").write_text("b = 1\n")
            return await change(0.5)
    assert asyncio.run(go()) is False


def test_a_missing_file_is_no_change_but_its_return_is(config):
    async def go():
        async with watching(config, poll_s=0.1) as change:
            config.unlink()
            gone = await change(0.4)
            config.write_text("a = 1\n")
            same = await change(0.4)
            config.write_text("a = 2\n")
            return gone, same, await change()
    assert asyncio.run(go()) == (False, False, True)


def test_a_file_that_appears_is_a_change(tmp_path):
    async def go():
        async with watching(tmp_path / "config.toml", poll_s=60) as change:
            (tmp_path / "config.toml").write_text("a = 1\n")
            return await change()
    assert asyncio.run(go()) is True


def test_what_changed_since_it_was_loaded_is_told_at_once(config):
    loaded = stamp(config)
    config.write_text("a = 2\n")

    async def go():
        async with watching(config, known=loaded, poll_s=60) as change:
            return await change(0.5)
    assert asyncio.run(go()) is True


def test_the_target_of_a_link_is_watched(config, tmp_path):
    link = tmp_path / "config.toml"
    link.symlink_to(config)

    async def go():
        async with watching(link, poll_s=60) as change:
            replaced(config, "a = 2\n")
            return await change()
    assert asyncio.run(go()) is True


def test_a_folder_made_anew_is_found_by_looking(config):
    async def go():
        async with watching(config, poll_s=0.1) as change:
            config.unlink()
            config.parent.rename(config.parent.with_name("old"))
            config.parent.mkdir()
            config.write_text("a = 2\n")
            return await change()
    assert asyncio.run(go()) is True


def fails_to_begin(*_, **__):
    raise OSError(28, "inotify watch limit reached")


async def fails_later(*_, **__):
    yield set()
    raise ExceptionGroup("thread", [RuntimeError("no more events")])


@pytest.mark.parametrize("broken", [fails_to_begin, fails_later])
def test_without_the_kernel_it_looks_itself(config, monkeypatch, broken):
    monkeypatch.setattr(watch, "awatch", broken)
    log = []

    async def go():
        async with watching(
                config, poll_s=0.05,
                log=lambda event, **fields: log.append(event)) as change:
            config.write_text("a = 2\n")
            return await change()
    assert asyncio.run(go()) is True
    assert log == ["config_watch_polls"]


def test_a_folder_that_is_not_there_yet_is_waited_for(tmp_path):
    path = tmp_path / "home" / "config.toml"

    async def go():
        async with watching(path, poll_s=0.05) as change:
            path.parent.mkdir()
            path.write_text("a = 1\n")
            return await change()
    assert asyncio.run(go()) is True


def test_a_stamp_tells_content_and_time(config):
    first = stamp(config)
    os.utime(config, ns=(5, 5))
    touched = stamp(config)

    assert first.size == 6
    assert touched.mtime_ns == 5
    assert touched.digest == first.digest
    assert len(first.digest) == 64
    assert stamp(config.parent / "none") is None
    assert stamp(config.parent) is None
