"""Tools that reach out: pages, requests, searches, notifications."""
