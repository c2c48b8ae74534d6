"""How the files of other agents are opened and read."""
