"""Memory backends by name."""

from claw.core.registry import Registry

REGISTRY = Registry("memory backend", "claw.memory", {
    "sqlite": "claw.memory.sqlite:SqliteMemory",
    "ephemeral": "claw.memory.ephemeral:EphemeralMemory",
    "none": "claw.memory.none:NoneMemory",
})
