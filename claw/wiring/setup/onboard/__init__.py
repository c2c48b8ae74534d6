"""What `claw onboard` does between its questions: no terminal here."""
