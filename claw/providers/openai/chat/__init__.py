"""Chat Completions: what is sent and what comes back."""
