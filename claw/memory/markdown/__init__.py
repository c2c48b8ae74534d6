"""Memory as Markdown files."""
