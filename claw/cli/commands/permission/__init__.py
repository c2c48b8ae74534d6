"""claw permission: what the agent may do, and may do again unasked."""
