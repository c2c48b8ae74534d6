"""`claw tap`: what comes in on a channel goes to a pipe or a program in place
of the agent, and counts as handled when the far end says so."""
