"""What is read from a person: lines, keys, answers."""
