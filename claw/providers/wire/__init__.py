"""What every wire shares: empty answers, usage, visible text, refusals."""
