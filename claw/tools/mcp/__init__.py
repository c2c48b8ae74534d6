"""Tools of MCP servers: what is configured, accepted, offered and called."""
