"""The log: every question and turn with its answer, searchable."""
