"""Suites that every plug-in of a kind passes, for third parties too."""
