"""Settings: sections, what is shown of them, a change that is tried."""
