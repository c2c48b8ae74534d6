"""Memories that can't both hold, for the owner to settle."""
