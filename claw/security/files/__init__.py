"""Files opened beneath a root, without following links out of it."""
