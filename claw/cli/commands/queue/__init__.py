"""claw queue: what waits, what failed, what is finished."""
