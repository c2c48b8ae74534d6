"""The scenes of the attacks."""

import asyncio

import pytest
from attack_scene import TOKEN, Phone, Yard

from claw.testing.fake_openai import FakeOpenAI
from claw.testing.fake_telegram import FakeTelegram


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


@pytest.fixture
def yard_with(tmp_path):
    """yard_with(toml) for other settings."""
    return lambda settings: Yard(tmp_path, settings)


@pytest.fixture
def chat_yard(tmp_path):
    """One for conversations: claw makes its own files there."""
    return Yard(tmp_path, own=False)


@pytest.fixture
def phone(tmp_path):
    with FakeTelegram(TOKEN, chats=(1001, 1002, 1003)) as platform, \
            FakeOpenAI(["answered"]) as model:
        yield Phone(tmp_path, platform, model)


@pytest.fixture
def play():
    """play(coroutine) with a limit."""
    return lambda work: asyncio.run(asyncio.wait_for(work, 40))
