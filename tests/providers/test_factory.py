"""Names, keys and choices, without a network."""

import asyncio
import json
import socket
import threading
from contextlib import aclosing

import pytest

from claw.core.errors import AuthError, ConfigError
from claw.core.provider import Provider
from claw.providers import REGISTRY
from claw.providers.catalog.keys import find_key
from claw.providers.catalog.local import (
    LocalServer,
    choose_model,
    find_local,
    is_whole,
    parse_models,
)
from claw.providers.catalog.vendors import find_vendor, vendor_names, vendors
from claw.providers.factory import (
    Choice,
    Providers,
    choose_provider,
    create_provider,
    settle_model,
)
from claw.providers.openai.provider import CompatibleProvider
from claw.providers.settings import NamedProviderSettings, ProviderSettings
from claw.testing.fake_openai import FakeOpenAI
from claw.testing.scripted import ScriptedProvider

GROQ = find_vendor("groq")


def test_names_and_aliases_are_each_one_vendor():
    names = [n for v in vendors() for n in (v.name, *v.aliases)]

    assert len(names) == len(set(names)) == len(vendor_names())
    assert all(n == n.lower() for n in names)


@pytest.mark.each("vendor", vendors(), ids=lambda v: v.name)
def test_every_row_can_be_built(vendor):
    keys = dict.fromkeys(vendor.keys[:1], "some-key")
    env = keys | {"API_KEY": "some-key", "AZURE_OPENAI_RESOURCE": "r",
                  "AZURE_OPENAI_DEPLOYMENT": "d"}
    provider = create_provider(vendor.name, env=env)

    assert isinstance(provider, Provider)
    assert provider.name == vendor.name
    assert type(provider) is REGISTRY.load(vendor.plugin)


@pytest.mark.parametrize(("alias", "name"), [
    ("kimi", "moonshot"), ("GROK", "xai"), ("dashscope-intl", "qwen-intl"),
    ("z.ai", "zai"), ("bigmodel", "glm-cn"), ("build.nvidia.com", "nvidia"),
    ("lm-studio", "lmstudio"), ("hf", "huggingface"), ("none", "offline"),
    ("minimaxi", "minimax-cn"), ("volcengine", "doubao"),
])
def test_aliases(alias, name):
    assert find_vendor(alias).name == name


@pytest.mark.parametrize(("name", "url"), [
    ("deepseek", "https://api.deepseek.com/chat/completions"),
    ("openrouter", "https://openrouter.ai/api/v1/chat/completions"),
    ("vllm", "http://localhost:8000/v1/chat/completions"),
    ("groq", "https://api.groq.com/openai/v1/chat/completions"),
    ("custom:http://h:81", "http://h:81/v1/chat/completions"),
    ("custom:http://h/api/", "http://h/api/chat/completions"),
    ("custom:https://h/x/chat/completions",
     "https://h/x/chat/completions"),
])
def test_where_requests_go(name, url):
    provider = create_provider(name)

    assert isinstance(provider, CompatibleProvider)
    assert provider.chat_url == url


# keys

@pytest.mark.parametrize(("env", "explicit", "value", "origin"), [
    ({"GROQ_API_KEY": " gsk_1 "}, None, "gsk_1", "GROQ_API_KEY"),
    ({"GROQ_API_KEY": "gsk_1"}, "gsk_2", "gsk_2", "given"),
    ({"GROQ_API_KEY": "  ", "CLAW_API_KEY": "a"}, " ", "a", "CLAW_API_KEY"),
    ({"API_KEY": "c", "ZEROCLAW_API_KEY": "b"}, None, "b",
     "ZEROCLAW_API_KEY"),
    ({"API_KEY": "c"}, None, "c", "API_KEY"),
    ({"OPENAI_API_KEY": "sk-1"}, None, None, "none"),
    ({}, None, None, "none"),
])
def test_the_order_of_keys(env, explicit, value, origin):
    key = find_key(GROQ, env, explicit)

    assert (key.value, key.origin) == (value, origin)


@pytest.mark.parametrize(("vendor", "key", "owner"), [
    ("openai", "sk-ant-api03-abc", "anthropic"),
    ("openai", "sk-or-v1-abc", "openrouter"),
    ("groq", "sk-abcdefgh", "openai"),
    ("xai", "gsk_abcdefgh", "groq"),
    ("nvidia", "pplx-abcdefg", "perplexity"),
])
def test_a_key_of_another_vendor_is_noticed(vendor, key, owner):
    with pytest.raises(AuthError, match=owner) as caught:
        find_key(find_vendor(vendor), {}, key)

    assert key not in str(caught.value)


@pytest.mark.parametrize(("vendor", "key"), [
    ("groq", "gsk_x"), ("openai", "sk-x"), ("openrouter", "sk-or-x"),
    ("openai", "unusual"), ("deepseek", "sk-x"), ("moonshot", "sk-x"),
])
def test_keys_that_may_well_fit_pass(vendor, key):
    assert find_key(find_vendor(vendor), {}, key).value == key


@pytest.mark.parametrize("key", ["enc2:00ff", "enc:00", "with\nline", "ключ"])
def test_a_key_that_cannot_be_one_is_never_sent(key):
    with pytest.raises(ConfigError, match="GROQ_API_KEY") as caught:
        find_key(GROQ, {"GROQ_API_KEY": key})

    assert key not in str(caught.value)


def test_keys_do_not_show_in_a_repr():
    assert "gsk_1" not in repr(find_key(GROQ, {}, "gsk_1"))


def key_sent(name, **settings):
    return Providers(**settings).create(name)._key


def test_the_key_of_the_settings_belongs_to_the_default_provider():
    settings = ProviderSettings(api_key="mine", default_provider="deepseek")

    assert key_sent("deepseek", settings=settings) == "mine"
    assert key_sent("mistral", settings=settings) is None


def test_the_key_of_the_settings_stays_with_its_own_address():
    settings = ProviderSettings(api_key="mine",
                                default_provider="custom:http://a/v1")

    assert key_sent("custom:http://a/v1", settings=settings) == "mine"
    assert not key_sent("custom:http://b/v1", settings=settings)


def test_a_named_provider_has_its_own_address_key_model_and_tools():
    named = {"mine": NamedProviderSettings(
        base_url="http://h/v1", api_key="k", model="m", native_tools=False)}
    providers = Providers(named=named)
    provider = providers.create("mine")

    assert provider.chat_url == "http://h/v1/chat/completions"
    assert not provider.supports_native_tools()
    assert providers.key("mine").value == "k"
    assert providers.choose("mine") == Choice(
        "mine", "m", "named with -p", "config.toml")


def test_a_named_provider_may_change_a_vendor():
    named = {"groq": NamedProviderSettings(base_url="http://h/v1")}
    providers = Providers(named=named, env={"GROQ_API_KEY": "gsk_1"})

    assert providers.create("groq").chat_url.startswith("http://h/v1")
    assert providers.key("groq").origin == "GROQ_API_KEY"


def test_a_named_provider_may_use_the_key_of_openai():
    named = {"mine": NamedProviderSettings(base_url="http://h/v1",
                                           requires_openai_auth=True)}

    assert key_sent("mine", named=named,
                    env={"OPENAI_API_KEY": "sk-1"}) == "sk-1"


def test_the_address_of_the_settings_is_the_default_providers():
    settings = ProviderSettings(default_provider="vllm",
                                api_url="http://h:9/v1", api_path="chat")
    providers = Providers(settings)

    assert providers.create("vllm").chat_url == "http://h:9/v1/chat"
    assert "localhost" in providers.create("ollama").chat_url


@pytest.mark.parametrize(("name", "hint"), [
    ("opnai", 'did you mean "openai"?'),
    ("groqq", 'did you mean "groq"?'),
    ("zzzzzz", "custom:http"),
    ("http://h/v1", "custom:http://h/v1"),
    ("bedrock", "litellm"),
])
def test_an_unknown_name_has_a_next_step(name, hint):
    with pytest.raises(ConfigError, match="unknown provider") as caught:
        create_provider(name)

    assert hint in caught.value.hint


@pytest.mark.parametrize("name", [
    "custom:", "custom:ftp://h", "custom:h:80", "custom:http://",
    "custom:http://h:99999", "custom:http://u:p@h/v1",
])
def test_an_address_that_is_none_is_refused(name):
    with pytest.raises(ConfigError):
        create_provider(name)


def test_a_named_provider_without_address_or_with_another_wire_is_refused():
    with pytest.raises(ConfigError, match="no address"):
        create_provider("mine", named={"mine": NamedProviderSettings()})
    with pytest.raises(ConfigError, match="wire_api"):
        create_provider("mine", named={"mine": NamedProviderSettings(
            base_url="http://h/v1", wire_api="telepathy")})


def test_a_provider_made_by_name_finds_its_key_in_the_environment(
        monkeypatch):
    with FakeOpenAI(["hello"]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        async def ask():
            async with aclosing(create_provider("openai")) as provider:
                return await provider.chat_with_system(None, "hi", "m", 0.0)
        said = asyncio.run(ask())

        assert said == "hello"
        assert server.requests[0].headers["authorization"] == (
            "Bearer sk-of-the-environment")


def test_another_package_may_bring_a_provider(tmp_path, monkeypatch):
    (tmp_path / "parrot.py").write_text(
        "from claw.core.provider import Provider\n"
        "class Parrot(Provider):\n"
        "    name = 'parrot'\n"
        "    async def chat_with_system(self, system_prompt, message, model,"
        " temperature):\n"
        "        return message\n")
    info = tmp_path / "parrot-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: parrot\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[claw.providers]\nparrot = parrot:Parrot\n")
    monkeypatch.syspath_prepend(tmp_path)
    provider = create_provider("parrot")

    assert asyncio.run(provider.simple_chat("polly", "m", 0.5)) == "polly"
    assert choose_provider("parrot", "m").provider_name == "parrot"


# choices

def choose(*flags, env=None, default=None, model=None, servers=(), **more):
    return choose_provider(
        *flags, env=env or {}, probe=lambda: list(servers),
        settings=ProviderSettings(default_provider=default,
                                  default_model=model, **more))


OLLAMA = LocalServer("ollama", 11434, ("nomic-embed-text", "llama3", "qwen3"))


@pytest.mark.each(("choice", "name", "model", "reason"), [
    (choose("groq"), "groq", "openai/gpt-oss-120b", "named with -p"),
    (choose("groq", "x"), "groq", "x", "named with -p"),
    (choose("groq", default="mistral", model="y"), "groq",
     "openai/gpt-oss-120b", "named with -p"),
    (choose(default="kimi", model="y"), "moonshot", "y", "default_provider"),
    (choose(None, "x", default="groq", model="y"), "groq", "x",
     "default_provider"),
    (choose("ollama"), "ollama", None, "named with -p"),
    (choose("custom:http://h"), "custom:http://h/v1", None, "named with -p"),
    (choose(api_url="http://h/v1", model="y"), "custom:http://h/v1", "y",
     "api_url is set"),
    (choose(env={"GROQ_API_KEY": "gsk_1"}), "groq",
     "openai/gpt-oss-120b", "GROQ_API_KEY is set"),
    (choose(env={"GROQ_API_KEY": "gsk_1", "OPENROUTER_API_KEY": "sk-or-1",
                 "OPENAI_API_KEY": "sk-1"}), "openai", "gpt-6.1-terra",
     "OPENAI_API_KEY is set"),
    (choose(env={"GROQ_API_KEY": "gsk_1", "OPENROUTER_API_KEY": "sk-or-1"}),
     "openrouter", "openrouter/auto", "OPENROUTER_API_KEY is set"),
    # a key without a model to ask, for infrastructure as likely as not
    (choose(env={"CLOUDFLARE_API_KEY": "x"}), "offline", "offline",
     "no model is configured"),
    (choose(env={"CLOUDFLARE_API_KEY": "x"}, model="y"), "cloudflare", "y",
     "CLOUDFLARE_API_KEY is set"),
    (choose(servers=[OLLAMA]), "ollama", "llama3",
     "a server answers on port 11434"),
    (choose(servers=[OLLAMA], model="qwen3"), "ollama", "qwen3",
     "a server answers on port 11434"),
    (choose(servers=[OLLAMA], model="anthropic/claude"), "ollama", "llama3",
     "a server answers on port 11434"),
    (choose(servers=[LocalServer("ollama", 11434, ())]), "offline",
     "offline", "no model is configured"),
    (choose(env={"CLAW_NO_PROBE": "1"}, servers=[OLLAMA]), "offline",
     "offline", "no model is configured"),
    (choose(), "offline", "offline", "no model is configured"),
    (choose(env={"CLAW_API_KEY": "x"}), "offline", "offline",
     "CLAW_API_KEY is set, but no provider is named"),
    (choose(env={"API_KEY": "x"}), "offline", "offline",
     "API_KEY is set, but no provider is named"),
    (choose(api_key="x"), "offline", "offline",
     "api_key is set, but no provider is named"),
])
def test_choices(choice, name, model, reason):
    assert (choice.provider_name, choice.model, choice.reason) == (
        name, model, reason)


def test_a_named_provider_without_a_model_says_how_to_choose_one():
    with pytest.raises(ConfigError, match="no model") as caught:
        choose("fireworks")

    assert "claw provider models fireworks" in caught.value.hint


def test_a_choice_says_where_the_key_came_from():
    assert choose("groq", env={"API_KEY": "x"}).key_origin == "API_KEY"
    assert choose("ollama").key_origin == "built in"
    assert choose(default="groq", api_key="x").key_origin == "config.toml"


def settle(choice, provider):
    return asyncio.run(settle_model(choice, provider, 5.0))


def test_a_server_without_a_named_model_is_asked_for_its_first():
    choice = Choice("vllm", None, "named")
    provider = ScriptedProvider(models=["text-embed", "llama3"])

    assert settle(choice, provider).model == "llama3"
    with pytest.raises(ConfigError, match="no model"):
        settle(choice, ScriptedProvider())


def test_open_gives_a_provider_with_its_model():

    async def go(url):
        provider, choice = await Providers().open(f"custom:{url}")
        text = await provider.simple_chat("hello", choice.model, 0.5)
        await provider.aclose()
        return choice.model, text
    with FakeOpenAI(models=["m-1"]) as server:
        assert asyncio.run(go(server.url)) == ("m-1", "hello")


def test_a_server_that_keeps_silent_keeps_nobody_from_starting():

    async def go(port):
        provider, choice = await Providers().open(
            f"custom:http://127.0.0.1:{port}", limit_s=0.05)
        await provider.aclose()
        return choice.model
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert asyncio.run(go(silent.getsockname()[1])) is None


def test_what_is_configured_is_listed_once():
    providers = Providers(
        ProviderSettings(default_provider="grok"),
        {"mine": NamedProviderSettings(base_url="http://h")},
        {"XAI_API_KEY": "xai-1", "GROQ_API_KEY": "gsk_1"})

    assert providers.list_configured() == ["xai", "mine", "groq"]


# servers on this machine

def test_a_server_with_models_is_found():
    with FakeOpenAI(models=["a", "b"]) as server:
        found = find_local([("ollama", server.port)], limit_s=5)

    assert found == [LocalServer("ollama", server.port, ("a", "b"))]


def test_a_closed_port_costs_nothing_and_is_no_server():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    assert find_local([("ollama", port)], limit_s=5) == []


def test_a_silent_server_is_given_up_at_the_limit():
    with socket.create_server(("127.0.0.1", 0)) as silent, \
            FakeOpenAI(models=["a"]) as server:
        found = find_local([("ollama", silent.getsockname()[1]),
                            ("lmstudio", server.port)], limit_s=0.5)

    assert [s.name for s in found] == ["lmstudio"]


def test_another_kind_of_server_is_not_taken_for_one():
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n<html>hi</html>")
    thread = threading.Thread(target=serve)
    thread.start()
    found = find_local([("llamacpp", listener.getsockname()[1])], limit_s=5)
    thread.join()
    listener.close()

    assert found == []


def http(body, head="HTTP/1.1 200 OK\r\nContent-Type: application/json"):
    return f"{head}\r\n\r\n{body}".encode()


LIST = json.dumps({"object": "list", "data": [{"id": "a"}]})


@pytest.mark.parametrize(("answer", "models"), [
    (http(LIST), ["a"]),
    (http(LIST, "HTTP/1.1 404 Not Found"), None),
    (http(f"{len(LIST):x}\r\n{LIST}\r\n0\r\n\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"), ["a"]),
    (http('{"data": []}'), []),
    (http('{"data": {}}'), []),
    (http('{"data": [{"x": 1}]}'), None),
    (http("[]"), None), (http(""), None), (http("null"), None),
    (b"", None), (b"220 smtp ready\r\n", None), (b"\xff" * 50, None),
])
def test_what_counts_as_a_model_list(answer, models):
    assert parse_models(answer) == models


def test_an_answer_with_a_length_is_read_to_that_length():
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"

    assert is_whole(head + b"abcd")
    assert not is_whole(head + b"abc")
    assert not is_whole(head[:20])


@pytest.mark.parametrize(("models", "chosen"), [
    (["a", "b"], "a"), (["nomic-embed-text", "b"], "b"),
    (["only-embed"], "only-embed"), ([], None),
])
def test_the_model_preferred(models, chosen):
    assert choose_model(models) == chosen
