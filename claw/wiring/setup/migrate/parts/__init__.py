"""The parts of a migration: each compares its share with what claw has, and
writes it."""
