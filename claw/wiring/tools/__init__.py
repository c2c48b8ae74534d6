"""Settings -> the agent's tools."""
