"""Folders and files of documents, and the text in them."""
