"""The SQLite memory with a bridge to the `lucid` command."""
