"""Settings -> what `claw listen` runs and `claw send` sends with."""
