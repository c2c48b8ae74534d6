"""Man pages, completions and the README's tables, made of the commands."""
