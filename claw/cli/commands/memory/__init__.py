"""The commands of `claw memory`."""
