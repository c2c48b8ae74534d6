"""claw model: models and their short names."""
