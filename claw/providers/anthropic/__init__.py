"""Anthropic's Messages API, and servers that copy it."""
