"""The table of vendors against the specification's."""

import pytest

from claw.providers.catalog.vendors import (
    Vendor,
    find_vendor,
    vendor_names,
    vendors,
    with_host_quirks,
)
from claw.providers.schema import CleaningStrategy

# names, host and path, key variables: spec/agent.md 2.5 and 2.7
SPEC = """
venice | api.venice.ai/api/v1 | VENICE_API_KEY
vercel vercel-ai | ai-gateway.vercel.sh/v1 | VERCEL_API_KEY
cloudflare cloudflare-ai | gateway.ai.cloudflare.com/v1 | CLOUDFLARE_API_KEY
moonshot kimi moonshot-cn kimi-cn | api.moonshot.cn/v1 | MOONSHOT_API_KEY
moonshot-intl moonshot-global kimi-intl kimi-global | api.moonshot.ai/v1 | MOONSHOT_API_KEY
kimi-code kimi_coding kimi_for_coding | api.kimi.com/coding/v1 | KIMI_CODE_API_KEY MOONSHOT_API_KEY
synthetic | api.synthetic.new/openai/v1 | SYNTHETIC_API_KEY
opencode opencode-zen | opencode.ai/zen/v1 | OPENCODE_API_KEY
opencode-go | opencode.ai/zen/go/v1 | OPENCODE_GO_API_KEY
zai z.ai zai-global z.ai-global | api.z.ai/api/coding/paas/v4 | ZAI_API_KEY
zai-cn z.ai-cn | open.bigmodel.cn/api/coding/paas/v4 | ZAI_API_KEY
glm zhipu glm-global zhipu-global | api.z.ai/api/paas/v4 | GLM_API_KEY
glm-cn zhipu-cn bigmodel | open.bigmodel.cn/api/paas/v4 | GLM_API_KEY
minimax minimax-intl minimax-io minimax-global minimax-oauth minimax-portal | api.minimax.io/v1 | MINIMAX_OAUTH_TOKEN MINIMAX_API_KEY
minimax-cn minimaxi | api.minimaxi.com/v1 | MINIMAX_OAUTH_TOKEN MINIMAX_API_KEY
qianfan baidu | qianfan.baidubce.com/v2 | QIANFAN_API_KEY
doubao volcengine ark doubao-cn | ark.cn-beijing.volces.com/api/v3 | ARK_API_KEY VOLCENGINE_API_KEY DOUBAO_API_KEY
qwen dashscope qwen-cn dashscope-cn | dashscope.aliyuncs.com/compatible-mode/v1 | DASHSCOPE_API_KEY
qwen-intl dashscope-intl | dashscope-intl.aliyuncs.com/compatible-mode/v1 | DASHSCOPE_API_KEY
qwen-us dashscope-us | dashscope-us.aliyuncs.com/compatible-mode/v1 | DASHSCOPE_API_KEY
qwen-code qwen-oauth qwen_oauth | dashscope.aliyuncs.com/compatible-mode/v1 | QWEN_OAUTH_TOKEN
bailian aliyun-bailian aliyun | coding.dashscope.aliyuncs.com/v1 | BAILIAN_API_KEY DASHSCOPE_API_KEY
groq | api.groq.com/openai/v1 | GROQ_API_KEY
mistral | api.mistral.ai/v1 | MISTRAL_API_KEY
xai grok | api.x.ai/v1 | XAI_API_KEY
deepseek | api.deepseek.com | DEEPSEEK_API_KEY
together together-ai | api.together.xyz/v1 | TOGETHER_API_KEY
fireworks fireworks-ai | api.fireworks.ai/inference/v1 | FIREWORKS_API_KEY
novita | api.novita.ai/openai | NOVITA_API_KEY
perplexity | api.perplexity.ai | PERPLEXITY_API_KEY
cohere | api.cohere.ai/compatibility/v1 | COHERE_API_KEY
nvidia nvidia-nim build.nvidia.com | integrate.api.nvidia.com/v1 | NVIDIA_API_KEY
astrai | as-trai.com/v1 | ASTRAI_API_KEY
siliconflow silicon-flow | api.siliconflow.cn/v1 | SILICONFLOW_API_KEY
aihubmix | aihubmix.com/v1 | AIHUBMIX_API_KEY
cerebras | api.cerebras.ai/v1 |
sambanova | api.sambanova.ai/v1 |
hyperbolic | api.hyperbolic.xyz/v1 |
deepinfra deep-infra | api.deepinfra.com/v1/openai |
huggingface hf | router.huggingface.co/v1 |
ai21 ai21-labs | api.ai21.com/studio/v1 |
reka | api.reka.ai/v1 |
baseten | inference.baseten.co/v1 |
nscale | inference.api.nscale.com/v1 |
anyscale | api.endpoints.anyscale.com/v1 |
nebius | api.studio.nebius.ai/v1 |
friendli friendliai | api.friendli.ai/serverless/v1 |
lepton lepton-ai | llama3-1-405b.lepton.run/api/v1 |
stepfun step | api.stepfun.com/v1 |
baichuan | api.baichuan-ai.com/v1 |
yi 01ai lingyiwanwu | api.lingyiwanwu.com/v1 |
hunyuan tencent | api.hunyuan.cloud.tencent.com/v1 |
avian | api.avian.io/v1 | AVIAN_API_KEY
deepmyst deep-myst | api.deepmyst.com/v1 | DEEPMYST_API_KEY
telnyx | api.telnyx.com/v2/ai | TELNYX_API_KEY
ovhcloud ovh | oai.endpoints.kepler.ai.cloud.ovh.net/v1 | OVH_AI_ENDPOINTS_ACCESS_TOKEN
openrouter | openrouter.ai/api/v1 | OPENROUTER_API_KEY
openai | api.openai.com/v1 | OPENAI_API_KEY
anthropic | api.anthropic.com | ANTHROPIC_API_KEY ANTHROPIC_OAUTH_TOKEN
gemini google google-gemini | generativelanguage.googleapis.com | GEMINI_API_KEY GOOGLE_API_KEY
lmstudio lm-studio | localhost:1234/v1 |
llamacpp llama.cpp | localhost:8080/v1 | LLAMACPP_API_KEY
sglang | localhost:30000/v1 | SGLANG_API_KEY
vllm | localhost:8000/v1 | VLLM_API_KEY
osaurus | localhost:1337/v1 | OSAURUS_API_KEY
litellm lite-llm | localhost:4000/v1 |
ollama | localhost:11434 |
"""  # noqa: E501


def spec():
    for line in SPEC.strip().splitlines():
        names, address, keys = (part.split() for part in line.split("|"))
        for name in names:
            yield pytest.param(name, names[0], address[0], tuple(keys),
                               id=name)


@pytest.mark.each(("name", "row_name", "address", "keys"), [
    *spec()])
def test_every_name_of_the_specification_has_its_row(name, row_name, address,
                                                     keys):
    row = find_vendor(name.upper())

    assert row.name == row_name
    assert row.url.partition("://")[2] == address
    assert row.keys == keys


def test_no_name_stands_for_two_rows():
    names = [n for v in vendors() for n in (v.name, *v.aliases)]

    assert len(names) == len(set(names)) == len(vendor_names())


def test_the_best_known_keys_choose_first():
    assert [v.name for v in vendors()][:4] == [
        "anthropic", "openai", "gemini", "openrouter"]
    assert all(v.model for v in vendors()[:4])


def test_a_key_that_is_set_for_many_reasons_chooses_nobody():
    gemini = find_vendor("gemini")

    assert gemini.keys == ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    assert gemini.choosing_keys == ("GEMINI_API_KEY",)


def test_no_address_is_given_away_that_is_not_ours():
    headers = dict(find_vendor("openrouter").headers)

    assert headers == {"X-Title": "claw"}


@pytest.mark.parametrize(("name", "agent"), [
    ("kimi-code", "KimiCLI/0.77"), ("qwen-code", "QwenCode/1.0"),
    ("bailian", "openclaw")])
def test_who_wants_a_user_agent_gets_it(name, agent):
    assert dict(find_vendor(name).headers) == {"User-Agent": agent}


# Of Ollama each model is asked: see takes_tools in ollama.py.
@pytest.mark.parametrize("name", ["llamacpp", "venice", "minimax",
                                  "minimax-cn"])
def test_who_gets_tools_in_the_prompt(name):
    assert not find_vendor(name).native_tools


@pytest.mark.parametrize("name", [
    "glm", "glm-cn", "nvidia", "minimax", "minimax-cn"])
def test_who_has_no_second_api(name):
    assert not find_vendor(name).responses_fallback


@pytest.mark.parametrize("name", [
    "qwen", "qwen-intl", "qwen-us", "qwen-code", "bailian", "openrouter",
    "azure", "openai", "llamacpp", "ollama", "anthropic", "gemini"])
def test_who_sees(name):
    assert find_vendor(name).vision


@pytest.mark.each("vendor", vendors(), ids=lambda v: v.name)
def test_every_schema_has_a_strategy(vendor):
    assert CleaningStrategy(vendor.schema)


@pytest.mark.parametrize(("url", "quirk", "value"), [
    ("https://api.mistral.ai/v1", "tool_id_length", 9),
    ("https://api.groq.com/openai/v1", "replay", "never"),
    ("https://OPENROUTER.ai/api/v1", "thoughts", "reasoning_details"),
    ("https://eu.z.ai/v4", "tool_stream", True),
    ("https://api.minimax.io/v1", "native_tools", False),
    ("https://mistral.ai.example.com/v1", "tool_id_length", None),
    ("http://localhost:8080/v1", "native_tools", True),
    ("http://[::1", "replay", "with_calls"),
    ("", "replay", "with_calls"),
])
def test_an_address_of_ones_own_has_the_quirks_of_its_host(url, quirk,
                                                           value):
    row = with_host_quirks(Vendor("custom:x", "Custom", url))

    assert getattr(row, quirk) == value
    assert row.name == "custom:x"


def test_a_known_row_keeps_its_own_quirks_at_another_host():
    row = Vendor("mistral", "Mistral", "https://api.groq.com/v1")

    assert with_host_quirks(row) is row
