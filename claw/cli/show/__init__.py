"""How results are shown: text, tables, JSON, progress."""
