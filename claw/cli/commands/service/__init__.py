"""claw service: claw listen, started with the machine and kept alive."""
