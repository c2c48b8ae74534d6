"""Everyone who can be asked, as rows of data.

Addresses and key variables are the reference's of March 2026, save five
that its table had without their version path. Those stand on the vendors'
own pages (read 2026-11): docs.venice.ai (quick start), docs.x.ai,
docs.together.ai (it now shows api.together.ai; api.together.xyz is the same
host), docs.cohere.com (compatibility API), cloud.baidu.com (Qianfan,
"OpenAI compatible"). A default model stands only where the vendor has one
that lasts, by the same pages: OpenAI, DeepSeek, Moonshot, Groq and xAI
retired theirs in 2026. What each row says of quirks stands on the vendors'
error texts, as people report them: reasoning_content refused by Groq,
Cerebras and Mistral, demanded back with calls by DeepSeek, Moonshot and
GLM; ids of nine letters and digits wanted by Mistral; turns that alternate
by Perplexity; stream_options refused by Cohere.
"""

from functools import cache
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from claw.core.value import Value, replace

# "bearer", "x-api-key", or the name of the vendor's own header.
AuthStyle: TypeAlias = Literal["bearer", "x-api-key"] | str

# When a model's thoughts are shown to it again.
Replay: TypeAlias = Literal["never", "with_calls", "always"]


class Vendor(Value):
    """One provider.

    `keys` are the environment variables that may hold its key, in order;
    those of them that are also `shared_keys` are set for other reasons too:
    they serve a provider that was named, and never choose one.
    `plugin` is the class that speaks to it (a name of providers.REGISTRY).
    A `local` server runs on the user's own machine and needs no key;
    `default_key` is what it is sent then. `start_hint` says how to start it.

    Quirks. `native_tools`, `vision`: what it takes. `merge_system`: it
    knows no system role (its row takes no tools and no images either).
    `max_tokens_key`: its name for that limit. `tool_stream`: calls are
    streamed only where asked for. `wire_api`: "chat_completions" or
    "responses". `responses_fallback`: whether the Responses API is tried
    where Chat Completions is not there. `replay` and `thoughts`: when and
    in which field it is shown its thoughts again ("reasoning_content",
    "reasoning", "reasoning_details"; "think": in tags inside the text).
    `tool_id_length`: ids of calls are exactly so many letters and digits.
    `alternate`: no two messages of one side in a row, system first.
    `no_empty`: no empty messages. `tool_then_user`: a question may follow
    a tool's result. `stream_usage`: takes stream_options. `schema`: how
    tools' schemas are cleaned (a CleaningStrategy). `thinking`: how
    thinking is switched: "type" ({"thinking": {"type": "enabled"}}),
    "enable" ({"enable_thinking": true}), "reasoning" ({"reasoning":
    {"enabled": true}}) or "template" (chat_template_kwargs).
    """

    name: str
    title: str
    url: str
    aliases: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    model: str | None = None
    plugin: str = "compatible"
    auth: AuthStyle = "bearer"
    headers: tuple[tuple[str, str], ...] = ()
    shared_keys: tuple[str, ...] = ()
    local: bool = False
    default_key: str | None = None
    start_hint: str | None = None
    api_path: str | None = None
    wire_api: str = "chat_completions"
    native_tools: bool = True
    vision: bool = False
    merge_system: bool = False
    max_tokens_key: str = "max_tokens"
    tool_stream: bool = False
    responses_fallback: bool = True
    replay: Replay = "with_calls"
    thoughts: str = "reasoning_content"
    tool_id_length: int | None = None
    alternate: bool = False
    no_empty: bool = False
    tool_then_user: bool = True
    stream_usage: bool = True
    schema: str = "conservative"
    thinking: str | None = None

    @property
    def needs_key(self) -> bool:
        return not self.local and self.default_key is None

    @property
    def choosing_keys(self) -> tuple[str, ...]:
        """The variables that choose this provider when they are set."""
        return tuple(k for k in self.keys if k not in self.shared_keys)


_HERE = ("localhost", "127.0.0.1", "::1")

# What an address alone tells of the server behind it.
_QUIRKS = ("native_tools", "merge_system", "max_tokens_key",
           "tool_stream", "responses_fallback", "replay", "thoughts",
           "tool_id_length", "alternate", "no_empty", "tool_then_user",
           "stream_usage", "schema", "thinking")

_OPENAI: dict[str, Any] = {
    "vision": True, "max_tokens_key": "max_completion_tokens",
    "replay": "never", "schema": "openai"}


def _row(name: str, title: str, url: str, aliases: str = "", keys: str = "",
         model: str | None = None, **rest: Any) -> Vendor:
    return Vendor(name, title, url, tuple(aliases.split()),
                  tuple(keys.split()), model, **rest)


def _first() -> tuple[Vendor, ...]:
    """Whose keys choose before all others."""
    return (
        _row("anthropic", "Anthropic", "https://api.anthropic.com",
             "claude", "ANTHROPIC_API_KEY ANTHROPIC_OAUTH_TOKEN",
             "claude-sonnet-5-5", plugin="anthropic", auth="x-api-key",
             vision=True, schema="anthropic"),
        _row("openai", "OpenAI", "https://api.openai.com/v1",
             keys="OPENAI_API_KEY", model="gpt-6.1-terra", plugin="openai",
             **_OPENAI),
        _row("gemini", "Gemini", "https://generativelanguage.googleapis.com",
             "google google-gemini", "GEMINI_API_KEY GOOGLE_API_KEY",
             "gemini-flash-latest", plugin="gemini", auth="x-goog-api-key",
             shared_keys=("GOOGLE_API_KEY",), vision=True, schema="gemini"),
        _row("openrouter", "OpenRouter", "https://openrouter.ai/api/v1",
             keys="OPENROUTER_API_KEY", model="openrouter/auto", vision=True,
             headers=(("X-Title", "claw"),), thoughts="reasoning_details",
             thinking="reasoning"),
        _row("azure", "Azure OpenAI", "", "azure-openai azure_openai",
             "AZURE_OPENAI_API_KEY", plugin="openai", auth="api-key",
             **_OPENAI))


def _gateways() -> tuple[Vendor, ...]:
    return (
        _row("venice", "Venice", "https://api.venice.ai/api/v1",
             keys="VENICE_API_KEY", model="zai-org-glm-5",
             native_tools=False),
        _row("vercel", "Vercel AI Gateway", "https://ai-gateway.vercel.sh/v1",
             "vercel-ai", "VERCEL_API_KEY"),
        _row("cloudflare", "Cloudflare AI Gateway",
             "https://gateway.ai.cloudflare.com/v1", "cloudflare-ai",
             "CLOUDFLARE_API_KEY"),
        _row("synthetic", "Synthetic", "https://api.synthetic.new/openai/v1",
             keys="SYNTHETIC_API_KEY"),
        _row("opencode", "OpenCode Zen", "https://opencode.ai/zen/v1",
             "opencode-zen", "OPENCODE_API_KEY"),
        _row("opencode-go", "OpenCode Go", "https://opencode.ai/zen/go/v1",
             keys="OPENCODE_GO_API_KEY"))


def _china() -> tuple[Vendor, ...]:
    kimi: dict[str, Any] = {"no_empty": True, "thinking": "type"}
    glm: dict[str, Any] = {"replay": "always", "thinking": "type"}
    return (
        _row("moonshot", "Moonshot", "https://api.moonshot.cn/v1",
             "kimi moonshot-cn kimi-cn", "MOONSHOT_API_KEY", "kimi-k2.6",
             **kimi),
        _row("moonshot-intl", "Moonshot (international)",
             "https://api.moonshot.ai/v1",
             "moonshot-global kimi-intl kimi-global", "MOONSHOT_API_KEY",
             "kimi-k2.6", **kimi),
        _row("kimi-code", "Kimi Code", "https://api.kimi.com/coding/v1",
             "kimi_coding kimi_for_coding",
             "KIMI_CODE_API_KEY MOONSHOT_API_KEY", "kimi-for-coding",
             headers=(("User-Agent", "KimiCLI/0.77"),), **kimi),
        _row("zai", "Z.AI", "https://api.z.ai/api/coding/paas/v4",
             "z.ai zai-global z.ai-global", "ZAI_API_KEY", "glm-5.2",
             tool_stream=True, **glm),
        _row("zai-cn", "Z.AI (China)",
             "https://open.bigmodel.cn/api/coding/paas/v4", "z.ai-cn",
             "ZAI_API_KEY", "glm-5.2", **glm),
        _row("glm", "GLM", "https://api.z.ai/api/paas/v4",
             "zhipu glm-global zhipu-global", "GLM_API_KEY", "glm-5.2",
             tool_stream=True, responses_fallback=False, **glm),
        _row("glm-cn", "GLM (China)", "https://open.bigmodel.cn/api/paas/v4",
             "zhipu-cn bigmodel", "GLM_API_KEY", "glm-5.2",
             responses_fallback=False, **glm),
        *(_row(name, title, url, aliases,
               "MINIMAX_OAUTH_TOKEN MINIMAX_API_KEY", "MiniMax-M3",
               merge_system=True, native_tools=False,
               responses_fallback=False, replay="always",
               thoughts="think")
          for name, title, url, aliases in (
              ("minimax", "MiniMax", "https://api.minimax.io/v1",
               "minimax-intl minimax-io minimax-global minimax-oauth "
               "minimax-portal minimax-oauth-global minimax-portal-global"),
              ("minimax-cn", "MiniMax (China)", "https://api.minimaxi.com/v1",
               "minimaxi minimax-oauth-cn minimax-portal-cn"))),
        _row("qianfan", "Qianfan", "https://qianfan.baidubce.com/v2",
             "baidu", "QIANFAN_API_KEY"),
        _row("doubao", "Doubao", "https://ark.cn-beijing.volces.com/api/v3",
             "volcengine ark doubao-cn",
             "ARK_API_KEY VOLCENGINE_API_KEY DOUBAO_API_KEY",
             thinking="type"),
        *_qwen(),
        _row("deepseek", "DeepSeek", "https://api.deepseek.com",
             keys="DEEPSEEK_API_KEY", model="deepseek-flash",
             thinking="type"),
        _row("siliconflow", "SiliconFlow", "https://api.siliconflow.cn/v1",
             "silicon-flow", "SILICONFLOW_API_KEY", thinking="enable"),
        _row("aihubmix", "AiHubMix", "https://aihubmix.com/v1",
             keys="AIHUBMIX_API_KEY"))


def _qwen() -> tuple[Vendor, ...]:
    qwen: dict[str, Any] = {"vision": True, "thinking": "enable"}
    return (
        *(_row(name, title,
               f"https://{host}.aliyuncs.com/compatible-mode/v1", aliases,
               "DASHSCOPE_API_KEY", "qwen-plus", **qwen)
          for name, title, host, aliases in (
              ("qwen", "Qwen", "dashscope", "dashscope qwen-cn dashscope-cn"),
              ("qwen-intl", "Qwen (international)", "dashscope-intl",
               "dashscope-intl"),
              ("qwen-us", "Qwen (US)", "dashscope-us", "dashscope-us"))),
        _row("qwen-code", "Qwen Code",
             "https://dashscope.aliyuncs.com/compatible-mode/v1",
             "qwen-oauth qwen_oauth", "QWEN_OAUTH_TOKEN",
             "qwen3-coder-plus",
             headers=(("User-Agent", "QwenCode/1.0"),), **qwen),
        _row("bailian", "Bailian", "https://coding.dashscope.aliyuncs.com/v1",
             "aliyun-bailian aliyun", "BAILIAN_API_KEY DASHSCOPE_API_KEY",
             headers=(("User-Agent", "openclaw"),), **qwen))


def _more() -> tuple[Vendor, ...]:
    return (
        _row("groq", "Groq", "https://api.groq.com/openai/v1",
             keys="GROQ_API_KEY", model="openai/gpt-oss-120b",
             replay="never", max_tokens_key="max_completion_tokens"),
        _row("mistral", "Mistral", "https://api.mistral.ai/v1",
             keys="MISTRAL_API_KEY", model="mistral-small-latest",
             replay="never", tool_id_length=9, no_empty=True,
             tool_then_user=False),
        _row("xai", "xAI", "https://api.x.ai/v1", "grok", "XAI_API_KEY",
             "grok-4.3"),
        _row("together", "Together AI", "https://api.together.xyz/v1",
             "together-ai", "TOGETHER_API_KEY", "openai/gpt-oss-20b"),
        _row("fireworks", "Fireworks AI",
             "https://api.fireworks.ai/inference/v1", "fireworks-ai",
             "FIREWORKS_API_KEY"),
        _row("novita", "Novita AI", "https://api.novita.ai/openai",
             keys="NOVITA_API_KEY"),
        _row("perplexity", "Perplexity", "https://api.perplexity.ai",
             keys="PERPLEXITY_API_KEY", model="sonar", replay="never",
             alternate=True, no_empty=True),
        _row("cohere", "Cohere", "https://api.cohere.ai/compatibility/v1",
             keys="COHERE_API_KEY", model="command-a-03-2025",
             replay="never", stream_usage=False),
        _row("nvidia", "NVIDIA NIM", "https://integrate.api.nvidia.com/v1",
             "nvidia-nim build.nvidia.com", "NVIDIA_API_KEY",
             "meta/llama-3.3-70b-instruct", responses_fallback=False),
        _row("astrai", "Astrai", "https://as-trai.com/v1",
             keys="ASTRAI_API_KEY"),
        _row("avian", "Avian", "https://api.avian.io/v1",
             keys="AVIAN_API_KEY"),
        _row("deepmyst", "DeepMyst", "https://api.deepmyst.com/v1",
             "deep-myst", "DEEPMYST_API_KEY"),
        _row("telnyx", "Telnyx", "https://api.telnyx.com/v2/ai",
             keys="TELNYX_API_KEY"),
        _row("ovhcloud", "OVHcloud AI Endpoints",
             "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1", "ovh",
             "OVH_AI_ENDPOINTS_ACCESS_TOKEN"))


def _plain() -> tuple[Vendor, ...]:
    """Those without a key variable of their own."""
    return (
        _row("cerebras", "Cerebras", "https://api.cerebras.ai/v1",
             thoughts="reasoning", max_tokens_key="max_completion_tokens"),
        _row("sambanova", "SambaNova", "https://api.sambanova.ai/v1"),
        _row("hyperbolic", "Hyperbolic", "https://api.hyperbolic.xyz/v1"),
        _row("deepinfra", "DeepInfra", "https://api.deepinfra.com/v1/openai",
             "deep-infra"),
        _row("huggingface", "Hugging Face",
             "https://router.huggingface.co/v1", "hf"),
        _row("ai21", "AI21 Labs", "https://api.ai21.com/studio/v1",
             "ai21-labs"),
        _row("reka", "Reka", "https://api.reka.ai/v1"),
        _row("baseten", "Baseten", "https://inference.baseten.co/v1"),
        _row("nscale", "Nscale", "https://inference.api.nscale.com/v1"),
        _row("anyscale", "Anyscale", "https://api.endpoints.anyscale.com/v1"),
        _row("nebius", "Nebius AI Studio", "https://api.studio.nebius.ai/v1"),
        _row("friendli", "Friendli AI",
             "https://api.friendli.ai/serverless/v1", "friendliai"),
        _row("lepton", "Lepton AI",
             "https://llama3-1-405b.lepton.run/api/v1", "lepton-ai"),
        _row("stepfun", "StepFun", "https://api.stepfun.com/v1", "step"),
        _row("baichuan", "Baichuan", "https://api.baichuan-ai.com/v1"),
        _row("yi", "01.AI", "https://api.lingyiwanwu.com/v1",
             "01ai lingyiwanwu"),
        _row("hunyuan", "Tencent Hunyuan",
             "https://api.hunyuan.cloud.tencent.com/v1", "tencent"))


def _local() -> tuple[Vendor, ...]:
    return (
        _row("ollama", "Ollama", "http://localhost:11434", plugin="ollama",
             local=True, default_key="ollama", vision=True,
             start_hint="start it with: ollama serve"),
        _row("llamacpp", "llama.cpp", "http://localhost:8080/v1",
             "llama.cpp", "LLAMACPP_API_KEY", local=True,
             default_key="llama.cpp", native_tools=False, vision=True,
             start_hint="start it with: llama-server -m MODEL.gguf",
             thinking="template"),
        _row("lmstudio", "LM Studio", "http://localhost:1234/v1",
             "lm-studio", local=True, default_key="lm-studio",
             start_hint="start it with: lms server start"),
        _row("sglang", "SGLang", "http://localhost:30000/v1",
             keys="SGLANG_API_KEY", local=True, thinking="template"),
        _row("vllm", "vLLM", "http://localhost:8000/v1",
             keys="VLLM_API_KEY", local=True, thinking="template",
             start_hint="start it with: vllm serve MODEL"),
        _row("osaurus", "Osaurus", "http://localhost:1337/v1",
             keys="OSAURUS_API_KEY", local=True, default_key="osaurus"),
        _row("litellm", "LiteLLM", "http://localhost:4000/v1", "lite-llm",
             local=True))


@cache
def vendors() -> tuple[Vendor, ...]:
    """Every row, in the order in which key variables choose."""
    return (*_first(), *_gateways(), *_china(), *_more(), *_plain(),
            *_local(), _row("offline", "claw without a model", "", "none",
                            plugin="offline", model="offline", local=True))


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


def display_name(name: str) -> str:
    """A provider's name without the query of custom:URL, which may hold a
    key."""
    shown, mark, _ = name.partition("?")
    return f"{shown}?…" if mark else shown


def with_host_quirks(vendor: Vendor) -> Vendor:
    """A row of one's own (custom:URL, [model_providers.<name>]) that leads
    to a known vendor's host, with that vendor's quirks. Z.AI's are those of
    all its hosts."""
    host = read_host(vendor.url)
    if not host or host in _HERE or vendor.name in vendor_names():
        return vendor
    known = next((v for v in vendors() if read_host(v.url) == host), None)
    if known is None and host.endswith(".z.ai"):
        known = find_vendor("glm")
    if known is None:
        return vendor
    plain = Vendor("", "", "")
    return replace(vendor, **{
        name: getattr(known, name) for name in _QUIRKS
        if getattr(vendor, name) == getattr(plain, name)})


def read_host(url: str) -> str:
    """The host of an address in lower case, "" where it has none."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
