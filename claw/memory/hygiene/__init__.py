"""Hygiene: retention, archive, and when it last ran."""
