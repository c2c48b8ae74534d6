"""claw ask."""
