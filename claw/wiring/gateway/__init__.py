"""The gateway put together: its parts, its tables, and its run."""
