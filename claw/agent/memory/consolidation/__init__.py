"""What is kept of a finished turn, and what a new fact replaces."""
