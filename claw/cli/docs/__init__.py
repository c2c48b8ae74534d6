"""Man pages, completions and the tables of docs/, made of the commands."""
