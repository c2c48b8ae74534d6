"""apply_patch: changes to several files at once, all of them or none."""
