"""The Responses API: what is sent and what comes back."""
