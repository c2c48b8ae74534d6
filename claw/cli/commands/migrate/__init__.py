"""claw migrate."""
