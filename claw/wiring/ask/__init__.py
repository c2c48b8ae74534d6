"""One question, one answer: what `claw ask` and `claw.ask` do."""
