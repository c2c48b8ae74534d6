"""Answers of a given shape: JSON Schema and code blocks."""
