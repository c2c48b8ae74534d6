"""Tools for files, documents, images and repositories."""
