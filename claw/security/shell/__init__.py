"""The command gate: what a command line is, does and could harm."""
