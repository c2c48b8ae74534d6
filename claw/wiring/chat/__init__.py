"""The conversations of the terminal and what they tell of a turn."""
