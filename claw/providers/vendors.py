"""Everyone who answers Chat Completions, as rows of data.

Addresses and key variables are the reference's of March 2026, save five
that its table had without their version path (venice, xai, together, cohere,
qianfan: the vendors' own pages, read 2026-11). A default model stands only
where the vendor has one that lasts; elsewhere it has to be named.
"""

from collections.abc import Iterator
from functools import cache
from typing import Literal, TypeAlias

from claw.core.value import Value

# "bearer", "x-api-key", or the name of the vendor's own header.
AuthStyle: TypeAlias = Literal["bearer", "x-api-key"] | str


class Vendor(Value):
    """One provider.

    `keys` are the environment variables that may hold its key, in order.
    `room` is the class that speaks to it (a name of providers.REGISTRY).
    A `local` server runs on the user's own machine and needs no key;
    `default_key` is what it is sent then. `start_hint` says how to start it.
    """

    name: str
    title: str
    url: str
    aliases: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    model: str | None = None
    room: str = "compatible"
    auth: AuthStyle = "bearer"
    headers: tuple[tuple[str, str], ...] = ()
    local: bool = False
    default_key: str | None = None
    start_hint: str | None = None
    native_tools: bool = True
    vision: bool = False
    merge_system: bool = False
    max_tokens_key: str = "max_tokens"
    tool_stream: bool = False
    api_path: str | None = None

    @property
    def needs_key(self) -> bool:
        return not self.local and self.default_key is None


_MINIMAX = ("MINIMAX_OAUTH_TOKEN", "MINIMAX_API_KEY")
_OLLAMA = "start it with: ollama serve"
_LLAMACPP = "start it with: llama-server -m MODEL.gguf"
_LMSTUDIO = "start it with: lms server start"
_VLLM = "start it with: vllm serve MODEL"


def _row(name: str, title: str, url: str, aliases: str = "", keys: str = "",
         model: str | None = None, **rest: object) -> Vendor:
    return Vendor(name, title, url, tuple(aliases.split()),
                  tuple(keys.split()), model, **rest)  # type: ignore[arg-type]


def _table() -> Iterator[Vendor]:
    row = _row
    yield row("openai", "OpenAI", "https://api.openai.com/v1",
              keys="OPENAI_API_KEY", model="gpt-5-mini", room="openai",
              vision=True, max_tokens_key="max_completion_tokens")
    yield row("openrouter", "OpenRouter", "https://openrouter.ai/api/v1",
              keys="OPENROUTER_API_KEY", model="openrouter/auto", vision=True,
              headers=(("HTTP-Referer", "http://localhost"),
                       ("X-Title", "claw")))
    yield row("azure", "Azure OpenAI", "", "azure-openai azure_openai",
              "AZURE_OPENAI_API_KEY", room="openai", auth="api-key",
              vision=True, max_tokens_key="max_completion_tokens")
    yield row("venice", "Venice", "https://api.venice.ai/api/v1",
              keys="VENICE_API_KEY", model="llama-3.3-70b",
              native_tools=False)
    yield row("vercel", "Vercel AI Gateway", "https://ai-gateway.vercel.sh/v1",
              "vercel-ai", "VERCEL_API_KEY")
    yield row("cloudflare", "Cloudflare AI Gateway",
              "https://gateway.ai.cloudflare.com/v1", "cloudflare-ai",
              "CLOUDFLARE_API_KEY")
    yield row("moonshot", "Moonshot", "https://api.moonshot.cn/v1",
              "kimi moonshot-cn kimi-cn", "MOONSHOT_API_KEY", "kimi-latest")
    yield row("moonshot-intl", "Moonshot (international)",
              "https://api.moonshot.ai/v1",
              "moonshot-global kimi-intl kimi-global", "MOONSHOT_API_KEY",
              "kimi-latest")
    yield row("kimi-code", "Kimi Code", "https://api.kimi.com/coding/v1",
              "kimi_coding kimi_for_coding",
              "KIMI_CODE_API_KEY MOONSHOT_API_KEY", "kimi-for-coding",
              headers=(("User-Agent", "KimiCLI/0.77"),))
    yield row("synthetic", "Synthetic", "https://api.synthetic.new/openai/v1",
              keys="SYNTHETIC_API_KEY")
    yield row("opencode", "OpenCode Zen", "https://opencode.ai/zen/v1",
              "opencode-zen", "OPENCODE_API_KEY")
    yield row("opencode-go", "OpenCode Go", "https://opencode.ai/zen/go/v1",
              keys="OPENCODE_GO_API_KEY")
    yield row("zai", "Z.AI", "https://api.z.ai/api/coding/paas/v4",
              "z.ai zai-global z.ai-global", "ZAI_API_KEY", "glm-4.6",
              tool_stream=True)
    yield row("zai-cn", "Z.AI (China)",
              "https://open.bigmodel.cn/api/coding/paas/v4", "z.ai-cn",
              "ZAI_API_KEY", "glm-4.6")
    yield row("glm", "GLM", "https://api.z.ai/api/paas/v4",
              "zhipu glm-global zhipu-global", "GLM_API_KEY", "glm-4.6",
              tool_stream=True)
    yield row("glm-cn", "GLM (China)", "https://open.bigmodel.cn/api/paas/v4",
              "zhipu-cn bigmodel", "GLM_API_KEY", "glm-4.6")
    for name, title, url, aliases in (
            ("minimax", "MiniMax", "https://api.minimax.io/v1",
             "minimax-intl minimax-io minimax-global minimax-oauth "
             "minimax-portal minimax-oauth-global minimax-portal-global"),
            ("minimax-cn", "MiniMax (China)", "https://api.minimaxi.com/v1",
             "minimaxi minimax-oauth-cn minimax-portal-cn")):
        yield row(name, title, url, aliases, " ".join(_MINIMAX),
                  "MiniMax-M2", merge_system=True, native_tools=False)
    yield row("qianfan", "Qianfan", "https://qianfan.baidubce.com/v2",
              "baidu", "QIANFAN_API_KEY")
    yield row("doubao", "Doubao", "https://ark.cn-beijing.volces.com/api/v3",
              "volcengine ark doubao-cn",
              "ARK_API_KEY VOLCENGINE_API_KEY DOUBAO_API_KEY")
    for name, title, host, aliases in (
            ("qwen", "Qwen", "dashscope", "dashscope qwen-cn dashscope-cn"),
            ("qwen-intl", "Qwen (international)", "dashscope-intl",
             "dashscope-intl"),
            ("qwen-us", "Qwen (US)", "dashscope-us", "dashscope-us")):
        yield row(name, title,
                  f"https://{host}.aliyuncs.com/compatible-mode/v1", aliases,
                  "DASHSCOPE_API_KEY", "qwen-plus", vision=True)
    yield row("qwen-code", "Qwen Code",
              "https://dashscope.aliyuncs.com/compatible-mode/v1",
              "qwen-oauth qwen_oauth", "QWEN_OAUTH_TOKEN",
              "qwen3-coder-plus", vision=True,
              headers=(("User-Agent", "QwenCode/1.0"),))
    yield row("bailian", "Bailian", "https://coding.dashscope.aliyuncs.com/v1",
              "aliyun-bailian aliyun", "BAILIAN_API_KEY DASHSCOPE_API_KEY",
              vision=True, headers=(("User-Agent", "openclaw"),))
    yield row("groq", "Groq", "https://api.groq.com/openai/v1",
              keys="GROQ_API_KEY", model="llama-3.3-70b-versatile")
    yield row("mistral", "Mistral", "https://api.mistral.ai/v1",
              keys="MISTRAL_API_KEY", model="mistral-small-latest")
    yield row("xai", "xAI", "https://api.x.ai/v1", "grok", "XAI_API_KEY",
              "grok-4")
    yield row("deepseek", "DeepSeek", "https://api.deepseek.com",
              keys="DEEPSEEK_API_KEY", model="deepseek-chat")
    yield row("together", "Together AI", "https://api.together.xyz/v1",
              "together-ai", "TOGETHER_API_KEY",
              "meta-llama/Llama-3.3-70B-Instruct-Turbo")
    yield row("fireworks", "Fireworks AI",
              "https://api.fireworks.ai/inference/v1", "fireworks-ai",
              "FIREWORKS_API_KEY")
    yield row("novita", "Novita AI", "https://api.novita.ai/openai",
              keys="NOVITA_API_KEY")
    yield row("perplexity", "Perplexity", "https://api.perplexity.ai",
              keys="PERPLEXITY_API_KEY", model="sonar")
    yield row("cohere", "Cohere", "https://api.cohere.ai/compatibility/v1",
              keys="COHERE_API_KEY", model="command-a-03-2025")
    yield row("nvidia", "NVIDIA NIM", "https://integrate.api.nvidia.com/v1",
              "nvidia-nim build.nvidia.com", "NVIDIA_API_KEY",
              "meta/llama-3.3-70b-instruct")
    yield row("astrai", "Astrai", "https://as-trai.com/v1",
              keys="ASTRAI_API_KEY")
    yield row("siliconflow", "SiliconFlow", "https://api.siliconflow.cn/v1",
              "silicon-flow", "SILICONFLOW_API_KEY")
    yield row("aihubmix", "AiHubMix", "https://aihubmix.com/v1",
              keys="AIHUBMIX_API_KEY")
    yield row("cerebras", "Cerebras", "https://api.cerebras.ai/v1")
    yield row("sambanova", "SambaNova", "https://api.sambanova.ai/v1")
    yield row("hyperbolic", "Hyperbolic", "https://api.hyperbolic.xyz/v1")
    yield row("deepinfra", "DeepInfra", "https://api.deepinfra.com/v1/openai",
              "deep-infra")
    yield row("huggingface", "Hugging Face",
              "https://router.huggingface.co/v1", "hf")
    yield row("ai21", "AI21 Labs", "https://api.ai21.com/studio/v1",
              "ai21-labs")
    yield row("reka", "Reka", "https://api.reka.ai/v1")
    yield row("baseten", "Baseten", "https://inference.baseten.co/v1")
    yield row("nscale", "Nscale", "https://inference.api.nscale.com/v1")
    yield row("anyscale", "Anyscale", "https://api.endpoints.anyscale.com/v1")
    yield row("nebius", "Nebius AI Studio", "https://api.studio.nebius.ai/v1")
    yield row("friendli", "Friendli AI",
              "https://api.friendli.ai/serverless/v1", "friendliai")
    yield row("lepton", "Lepton AI",
              "https://llama3-1-405b.lepton.run/api/v1", "lepton-ai")
    yield row("stepfun", "StepFun", "https://api.stepfun.com/v1", "step")
    yield row("baichuan", "Baichuan", "https://api.baichuan-ai.com/v1")
    yield row("yi", "01.AI", "https://api.lingyiwanwu.com/v1",
              "01ai lingyiwanwu")
    yield row("hunyuan", "Tencent Hunyuan",
              "https://api.hunyuan.cloud.tencent.com/v1", "tencent")
    yield row("avian", "Avian", "https://api.avian.io/v1",
              keys="AVIAN_API_KEY")
    yield row("deepmyst", "DeepMyst", "https://api.deepmyst.com/v1",
              "deep-myst", "DEEPMYST_API_KEY")
    yield row("telnyx", "Telnyx", "https://api.telnyx.com/v2/ai",
              keys="TELNYX_API_KEY")
    yield row("ovhcloud", "OVHcloud AI Endpoints",
              "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1", "ovh",
              "OVH_AI_ENDPOINTS_ACCESS_TOKEN")
    yield row("ollama", "Ollama", "http://localhost:11434/v1", local=True,
              default_key="ollama", native_tools=False, vision=True,
              start_hint=_OLLAMA)
    yield row("llamacpp", "llama.cpp", "http://localhost:8080/v1",
              "llama.cpp", "LLAMACPP_API_KEY", local=True,
              default_key="llama.cpp", native_tools=False, vision=True,
              start_hint=_LLAMACPP)
    yield row("lmstudio", "LM Studio", "http://localhost:1234/v1",
              "lm-studio", local=True, default_key="lm-studio",
              start_hint=_LMSTUDIO)
    yield row("sglang", "SGLang", "http://localhost:30000/v1",
              keys="SGLANG_API_KEY", local=True)
    yield row("vllm", "vLLM", "http://localhost:8000/v1",
              keys="VLLM_API_KEY", local=True, start_hint=_VLLM)
    yield row("osaurus", "Osaurus", "http://localhost:1337/v1",
              keys="OSAURUS_API_KEY", local=True, default_key="osaurus")
    yield row("litellm", "LiteLLM", "http://localhost:4000/v1", "lite-llm",
              local=True)
    yield row("offline", "claw without a model", "", "none", room="offline",
              model="offline", local=True)


@cache
def vendors() -> tuple[Vendor, ...]:
    """Every row, in the order in which key variables choose."""
    return tuple(_table())


@cache
def vendor_names() -> dict[str, Vendor]:
    """Names and aliases, each with its row."""
    found: dict[str, Vendor] = {}
    for vendor in vendors():
        for name in (vendor.name, *vendor.aliases):
            found[name] = vendor
    return found


def find_vendor(name: str) -> Vendor | None:
    """The row of a name or alias, in any case."""
    return vendor_names().get(name.strip().lower())


def shown_name(name: str) -> str:
    """A provider's name without the query of custom:URL, which may hold a
    key."""
    shown, mark, _ = name.partition("?")
    return f"{shown}?…" if mark else shown
