"""claw gateway: what claw serves over HTTP, and who may call it."""
