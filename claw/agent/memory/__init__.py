"""Memory in a turn: recall, consolidation, conflicts, exam."""
