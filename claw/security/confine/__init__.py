"""What a child process does to itself before it becomes the command.

Runs in a process of its own (`python -I -S`), so it imports next to
nothing: each module of this folder uses the standard library's built-in
parts and ctypes only, and its neighbours by relative import.
"""

FAILED = 125  # exit code of a launcher that ran nothing
