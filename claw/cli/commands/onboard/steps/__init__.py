"""The steps of the wizard: each asks, tries, and writes its settings."""
