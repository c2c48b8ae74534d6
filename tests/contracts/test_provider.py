"""Every provider against the one contract."""

from contextlib import contextmanager

import pytest

from claw.core.provider import Provider
from claw.providers import REGISTRY
from claw.providers.factory import create_provider
from claw.providers.offline import OfflineProvider
from claw.providers.settings import NamedProviderSettings
from claw.testing.contracts.provider import ProviderContract
from claw.testing.fake_anthropic import FakeAnthropic
from claw.testing.fake_gemini import FakeGemini
from claw.testing.fake_ollama import FakeOllama
from claw.testing.fake_openai import FakeOpenAI
from claw.testing.scripted import ScriptedProvider


class Shortest(Provider):
    """The least that a provider may be."""

    name = "shortest"

    async def chat_with_system(self, system_prompt, message, model,
                               temperature):
        return f"you said: {message[:20]}"


class TestShortest(ProviderContract):
    @contextmanager
    def running(self):
        yield Shortest()


class TestScripted(ProviderContract):
    @contextmanager
    def running(self):
        yield ScriptedProvider()


class TestScriptedWithoutNativeTools(ProviderContract):
    @contextmanager
    def running(self):
        yield ScriptedProvider(native_tools=False)


class TestOffline(ProviderContract):
    @contextmanager
    def running(self):
        yield OfflineProvider()


class TestCompatible(ProviderContract):
    @contextmanager
    def running(self):
        with FakeOpenAI() as server:
            yield create_provider(f"custom:{server.url}")


class TestCompatibleThatRefusesTools(ProviderContract):
    @contextmanager
    def running(self):
        with FakeOpenAI(refuse_tools=True) as server:
            yield create_provider(f"custom:{server.url}")


class TestCompatibleWithoutNativeTools(ProviderContract):
    @contextmanager
    def running(self):
        with FakeOpenAI() as server:
            yield create_provider("llamacpp", named={
                "llamacpp": NamedProviderSettings(base_url=server.url)})


class TestCompatibleThatKnowsNoSystemRole(ProviderContract):
    @contextmanager
    def running(self):
        with FakeOpenAI() as server:
            yield create_provider("minimax", "key", named={
                "minimax": NamedProviderSettings(base_url=server.url)})


class TestOpenAI(ProviderContract):
    @contextmanager
    def running(self):
        with FakeOpenAI() as server:
            yield create_provider("openai", "sk-test", named={
                "openai": NamedProviderSettings(base_url=server.url)})


class TestAnthropic(ProviderContract):
    @contextmanager
    def running(self):
        with FakeAnthropic() as server:
            yield create_provider("anthropic", "sk-ant-api-test", named={
                "anthropic": NamedProviderSettings(base_url=server.url)})


class TestGemini(ProviderContract):
    @contextmanager
    def running(self):
        with FakeGemini() as server:
            yield create_provider("gemini", "a-key", named={
                "gemini": NamedProviderSettings(base_url=server.url)})


class TestOllama(ProviderContract):
    @contextmanager
    def running(self):
        with FakeOllama() as server:
            yield create_provider("ollama", named={
                "ollama": NamedProviderSettings(base_url=server.url)})


@pytest.mark.parametrize("name", REGISTRY.names())
def test_every_registered_room_is_covered_here(name):
    covered = {"compatible": TestCompatible, "openai": TestOpenAI,
               "offline": TestOffline, "anthropic": TestAnthropic,
               "gemini": TestGemini, "ollama": TestOllama}

    assert name in covered
    assert issubclass(REGISTRY.load(name), Provider)
