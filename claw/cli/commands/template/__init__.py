"""claw template: saved prompts."""
