"""The default memory: one SQLite file, brain.db."""
