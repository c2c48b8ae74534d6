"""Text cut short."""


def shorten(text: str, limit: int) -> str:
    """Text of at most `limit` characters and "..." where it was more."""
    return text if len(text) <= limit else text[:limit].rstrip() + "..."


def cut_bytes(text: str, limit: int) -> str:
    """The first `limit` bytes, cut between characters, and "…"."""
    data = text.encode("utf-8", "replace")
    return (text if len(data) <= limit
            else data[:limit].decode("utf-8", "ignore") + "…")
