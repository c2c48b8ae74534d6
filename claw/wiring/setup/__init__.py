"""What sets claw up: the wizard, other agents, the service."""
