"""Settings -> models, and what they cost."""
