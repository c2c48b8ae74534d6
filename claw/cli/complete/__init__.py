"""Values on a Tab: `claw __complete SHELL KIND ...`, called by the
completion scripts.

The words of commands and options stand in the scripts; only what differs
from machine to machine is asked for here. A Tab must be quick: no Typer, no
network, SQLite for memory keys alone.
"""
