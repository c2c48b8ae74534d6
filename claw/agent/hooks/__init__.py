"""Hooks: the runner, the built-in ones, their settings."""
