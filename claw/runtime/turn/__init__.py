"""One turn of a channel: its steps, its ending, its trace and its history."""
