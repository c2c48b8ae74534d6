"""Nonces: the keys by which Discord knows a message that comes again.

With enforce_nonce it keeps them for "the past few minutes", for each author,
and gives the message that there is instead of making another
(docs.discord.com/developers, resources/message#create-message, read
2026-11; no number is documented). A few minutes are two at least; what may
still be on its way when the time is up has thirty seconds.

A nonce begins with the time at which it was drawn.
"""

import secrets

KEY_HOLDS_S = 90.0


def draw_nonce(now: float) -> str:
    """A new one, at most 25 characters; `now` is Unix seconds."""
    return f"{int(now * 1000):012x}{secrets.token_hex(6)}"


def read_drawn(nonce: str) -> float | None:
    """When it was drawn, in Unix seconds; None for any other key."""
    try:
        return int(nonce[:12], 16) / 1000 if len(nonce) == 24 else None
    except ValueError:
        return None
