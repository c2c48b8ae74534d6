"""claw do."""
