"""The terminal as a channel: a line in, a line out."""
