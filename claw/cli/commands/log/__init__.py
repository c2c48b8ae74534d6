"""claw log: what was asked and answered."""
