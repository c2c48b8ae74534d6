"""The agents that claw can take over from: one file each turns the folder
of one into Holdings."""
