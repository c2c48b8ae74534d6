"""Memory backends by name."""

from claw.core.registry import Registry

REGISTRY = Registry("memory backend", "claw.memory", {
    "sqlite": "claw.memory.sqlite.backend:SqliteMemory",
    "markdown": "claw.memory.markdown.backend:MarkdownMemory",
    "lucid": "claw.memory.lucid.backend:LucidMemory",
    "ephemeral": "claw.memory.sqlite.ephemeral:EphemeralMemory",
    "postgres": "claw.memory.postgres.backend:PostgresMemory",
    "none": "claw.memory.none:NoneMemory",
}, extras={"postgres": "postgres"})
