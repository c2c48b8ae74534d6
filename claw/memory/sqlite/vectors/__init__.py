"""Vectors in brain.db: rows, sign-bit shards, search."""
