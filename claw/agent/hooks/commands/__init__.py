"""Hooks that are programs: their events, their processes, their answers."""
