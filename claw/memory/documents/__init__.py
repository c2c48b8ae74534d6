"""Folders of documents: what is read of them, and where it is kept."""
