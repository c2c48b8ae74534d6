"""One prompt over many inputs: what `claw map` does."""
