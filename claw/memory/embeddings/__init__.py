"""What turns memories into vectors, by name.

A plug-in is built with `Class.build(Connection)` where it has that, else with
`Class()`; other packages bring theirs under the entry point group
"claw.embeddings". `custom:URL` is the plug-in "custom" with that address.
"""

from claw.core.registry import Registry

REGISTRY = Registry("embedding provider", "claw.embeddings", {
    "openai": "claw.memory.embeddings.http:HttpEmbedder",
    "openrouter": "claw.memory.embeddings.http:HttpEmbedder",
    "custom": "claw.memory.embeddings.http:HttpEmbedder",
    "local": "claw.memory.embeddings.local:LocalEmbedder",
})
