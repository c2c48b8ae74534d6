"""Ranking that every store shares: candidates, words, vectors."""
