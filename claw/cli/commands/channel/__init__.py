"""claw channel: which channels there are and what is wrong with them."""
