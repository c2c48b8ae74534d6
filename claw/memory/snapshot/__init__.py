"""MEMORY_SNAPSHOT.md: core memories as Markdown that reads back exactly."""
