"""Which tools a turn has, and where they come from."""
