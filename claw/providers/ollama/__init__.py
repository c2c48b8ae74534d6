"""Ollama over its own API."""
