"""Forgetting with proof: what was said is taken out of every file."""
