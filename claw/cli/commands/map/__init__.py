"""claw map: one prompt over many inputs."""
