"""claw security: what is defended on this machine."""
