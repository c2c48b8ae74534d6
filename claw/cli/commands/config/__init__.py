"""claw config: look at the settings and change them."""
