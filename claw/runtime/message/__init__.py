"""What is done with one message: its keys, media, links, voice, parts."""
