"""Secrets taken out of what is shown, kept or sent."""
