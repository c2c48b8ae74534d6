"""Which model is asked, how hard it thinks, and one call of it."""
