"""The checks of `claw doctor`, `config check` and `listen --check`."""
