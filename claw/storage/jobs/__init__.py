"""Scheduled jobs: when they are due, how they are kept, what came of them."""
