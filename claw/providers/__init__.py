"""Providers: everything that answers like a model.

REGISTRY holds the classes. A vendor that speaks Chat Completions is a row
in vendors.py and needs no class; factory.py turns names into providers.
"""

from claw.core.registry import Registry

REGISTRY = Registry("provider", "claw.providers", {
    "compatible": "claw.providers.openai.provider:CompatibleProvider",
    "openai": "claw.providers.openai.official:OpenAIProvider",
    "anthropic": "claw.providers.anthropic.provider:AnthropicProvider",
    "gemini": "claw.providers.gemini.provider:GeminiProvider",
    "ollama": "claw.providers.ollama.provider:OllamaProvider",
    "offline": "claw.providers.offline:OfflineProvider",
})
