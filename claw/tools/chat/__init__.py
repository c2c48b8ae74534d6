"""Tools that show something in a chat, and what they share."""
