"""claw mcp: the servers whose tools the agent may use, and claw as one."""
