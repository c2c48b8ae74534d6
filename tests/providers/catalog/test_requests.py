"""Vendors' facts (spec/agent.md 2.2 to 2.8) in requests as they leave."""

import asyncio
import json

import httpx
import pytest

from claw.core.errors import AuthError, ConfigError
from claw.core.provider import ChatMessage, ChatRequest
from claw.core.tool import ToolSpec
from claw.providers.factory import Providers
from claw.providers.settings import ProviderSettings, ReasoningSettings

PNG = "data:image/png;base64,iVBORw0KGgo="
TOOL = ToolSpec("weather", "w", {"type": "object", "properties": {}})
HELLO = (ChatMessage.system("sys"), ChatMessage.user("hi"))
ANSWER = {
    "id": "x", "type": "message", "role": "assistant",
    "stop_reason": "end_turn", "content": [{"type": "text", "text": "hi"}],
    "choices": [{"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": "hi"}}]}


def sent(name, key="k-1234567890", *, messages=HELLO, tools=(), model="m",
         **given):
    """The request that one question becomes, and its body."""
    seen = []

    def answer(request):
        seen.append(request)
        return httpx.Response(200, json=ANSWER)

    async def ask():
        provider = Providers(
            given.get("settings", ProviderSettings()), {},
            given.get("env", {}), transport=httpx.MockTransport(answer),
            reasoning=given.get("reasoning", ReasoningSettings())
        ).create(name, key)
        try:
            await provider.chat(ChatRequest(list(messages), tools), model,
                                0.5)
        finally:
            await provider.aclose()

    asyncio.run(ask())
    return seen[0], json.loads(seen[0].content)


@pytest.mark.parametrize(("name", "url"), [
    ("Mistral", "api.mistral.ai/v1"), ("grok", "api.x.ai/v1"),
    ("deepseek", "api.deepseek.com"), ("kimi", "api.moonshot.cn/v1"),
    ("kimi-global", "api.moonshot.ai/v1"),
    ("z.ai", "api.z.ai/api/coding/paas/v4"),
    ("bigmodel", "open.bigmodel.cn/api/paas/v4"),
    ("minimaxi", "api.minimaxi.com/v1"),
    ("ark", "ark.cn-beijing.volces.com/api/v3"),
    ("dashscope-us", "dashscope-us.aliyuncs.com/compatible-mode/v1"),
    ("hf", "router.huggingface.co/v1"),
    ("build.nvidia.com", "integrate.api.nvidia.com/v1"),
    ("openrouter", "openrouter.ai/api/v1"),
    ("01ai", "api.lingyiwanwu.com/v1"),
    ("fireworks-ai", "api.fireworks.ai/inference/v1"),
    ("perplexity", "api.perplexity.ai"),
    ("custom:https://h.test/v1", "h.test/v1"),
    ("custom:https://h.test/x/chat/completions", "h.test/x")])
def test_a_request_goes_where_the_vendor_is(name, url):
    request, _ = sent(name)

    assert str(request.url) == f"https://{url}/chat/completions"
    assert request.headers["authorization"] == "Bearer k-1234567890"


def test_anthropic_custom_speaks_the_messages_api():
    request, _ = sent("anthropic-custom:https://h.test")

    assert str(request.url) == "https://h.test/v1/messages"
    assert request.headers["x-api-key"] == "k-1234567890"


@pytest.mark.parametrize(("name", "key"), [
    ("lm-studio", "lm-studio"), ("llama.cpp", "llama.cpp"),
    ("osaurus", "osaurus")])
def test_a_local_server_gets_its_built_in_key(name, key):
    assert sent(name, None)[0].headers["authorization"] == f"Bearer {key}"


@pytest.mark.parametrize("name", ["llamacpp", "venice", "minimax"])
def test_tools_stand_in_the_prompt(name):
    _, body = sent(name, tools=(TOOL,))

    assert not {"tools", "tool_choice"} & set(body)
    assert "<tool_call>" in json.dumps(body["messages"])


def test_minimax_has_all_system_messages_before_the_question():
    _, body = sent("minimax", messages=[
        ChatMessage.system("a"), ChatMessage.system("b"),
        ChatMessage.user(f"c [IMAGE:{PNG}]")])

    [message] = body["messages"]
    assert message["role"] == "user"
    assert message["content"].startswith("a\n\nb\n\nc")


@pytest.mark.parametrize(("name", "tools", "streams"), [
    ("zai", (TOOL,), True), ("zai", (), False), ("deepseek", (TOOL,), False),
    ("custom:https://api.z.ai/x", (TOOL,), True)])
def test_calls_are_streamed_where_z_ai_is_asked_with_tools(name, tools,
                                                           streams):
    _, body = sent(name, tools=tools)

    assert ("tool_stream" in body) is streams
    assert ("tools" in body) is ("tool_choice" in body) is bool(tools)


@pytest.mark.parametrize(("model", "goes"), [
    ("gpt-5", True), ("gpt-5.1-codex", True), ("my-codex", True),
    ("gpt-4o", False), ("llama-3", False)])
def test_reasoning_effort_goes_to_models_that_have_it(model, goes):
    _, body = sent("deepseek", model=model,
                   reasoning=ReasoningSettings(reasoning_effort="low"))

    assert ("reasoning_effort" in body) is goes


@pytest.mark.parametrize("name", [
    "qwen-intl", "aliyun", "llamacpp", "openrouter", "custom:https://h.test"])
def test_an_image_is_a_part_of_the_question(name):
    _, body = sent(name, messages=[ChatMessage.user(f"l [IMAGE:{PNG}]")])

    assert "image_url" in {p["type"] for p in body["messages"][0]["content"]}


@pytest.mark.parametrize(("env", "given", "key"), [
    ({"XAI_API_KEY": "e", "API_KEY": "z"}, " x ", "x"),
    ({"XAI_API_KEY": " e ", "ZEROCLAW_API_KEY": "y"}, "  ", "e"),
    ({"XAI_API_KEY": " ", "API_KEY": "z", "ZEROCLAW_API_KEY": " y "}, None,
     "y"),
    ({"API_KEY": "z"}, None, "z")])
def test_the_key_is_looked_for_in_order(env, given, key):
    request, _ = sent("grok", given, env=env)

    assert request.headers["authorization"] == f"Bearer {key}"


@pytest.mark.parametrize(("name", "key"), [
    ("openai", "sk-ant-x"), ("anthropic", "sk-or-x"),
    ("openrouter", "sk-abc"), ("groq", "xai-x"), ("perplexity", "gsk_x"),
    ("nvidia", "pplx-x"), ("xai", "nvapi-x"), ("telnyx", "sk-x"),
    ("openai", "KEY-x")])
def test_a_key_of_another_vendor_is_not_sent(name, key):
    with pytest.raises(AuthError, match="looks like"):
        sent(name, key)


def test_at_an_address_of_ones_own_any_key_goes():
    request, _ = sent("groq", "sk-mine", settings=ProviderSettings(
        default_provider="groq", api_url="http://h.test:9/v1"))

    assert str(request.url) == "http://h.test:9/v1/chat/completions"


@pytest.mark.parametrize("name", [
    "custom:ftp://x", "custom:x.test", "custom:", "custom:https:///v1",
    "anthropic-custom:javascript:1", "anthropic-custom:http://u:p@h.test",
    "nope"])
def test_a_name_that_leads_nowhere_is_refused(name):
    with pytest.raises(ConfigError) as caught:
        sent(name)

    assert caught.value.hint


def test_a_missing_key_is_said_with_the_vendors_name():
    with pytest.raises(AuthError, match="Groq API key not set"):
        sent("groq", None)
