"""claw backup: everything that claw keeps, in one file."""
