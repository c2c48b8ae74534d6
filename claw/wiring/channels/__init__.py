"""Settings -> channels, and how those are that run."""
