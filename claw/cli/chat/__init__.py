"""`claw agent` on a terminal and as a partner of other programs."""
