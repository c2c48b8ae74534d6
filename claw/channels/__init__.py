"""Channels: one platform per file, by name."""

from claw.core.registry import Registry

REGISTRY = Registry("channel", "claw.channels", {})
