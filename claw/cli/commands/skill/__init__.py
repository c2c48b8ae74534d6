"""claw skill: instructions and scripts from others, used once accepted."""
