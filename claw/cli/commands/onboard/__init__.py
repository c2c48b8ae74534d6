"""claw onboard: the questions of the wizard."""
