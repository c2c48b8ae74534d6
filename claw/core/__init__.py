"""The contracts that all parts share, and their value types; standard library
only."""
