"""Skills: folders of instructions and scripts, used once they are accepted."""
