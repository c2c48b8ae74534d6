"""Commands about what is defended, and what waits for the owner."""
