"""Suites that every room of a wing passes, for third parties too."""
