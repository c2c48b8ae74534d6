"""Images in a conversation: kept, and shown to a model."""
