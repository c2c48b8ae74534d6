"""Providers: everything that answers like a model.

REGISTRY holds the classes. A vendor that speaks Chat Completions is a row
in vendors.py and needs no class; factory.py turns names into providers.
"""

from claw.core.registry import Registry

REGISTRY = Registry("provider", "claw.providers", {
    "compatible": "claw.providers.compatible:CompatibleProvider",
    "openai": "claw.providers.openai:OpenAIProvider",
    "anthropic": "claw.providers.anthropic:AnthropicProvider",
    "gemini": "claw.providers.gemini:GeminiProvider",
    "ollama": "claw.providers.ollama:OllamaProvider",
    "offline": "claw.providers.offline:OfflineProvider",
})
