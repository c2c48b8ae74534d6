"""One module a command or a family that shares its imports."""
