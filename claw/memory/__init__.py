"""Memory backends by name."""

from claw.core.registry import Registry

REGISTRY = Registry("memory backend", "claw.memory", {
    "sqlite": "claw.memory.sqlite:SqliteMemory",
    "markdown": "claw.memory.markdown:MarkdownMemory",
    "lucid": "claw.memory.lucid:LucidMemory",
    "ephemeral": "claw.memory.ephemeral:EphemeralMemory",
    "postgres": "claw.memory.postgres:PostgresMemory",
    "none": "claw.memory.none:NoneMemory",
}, extras={"postgres": "postgres"})
