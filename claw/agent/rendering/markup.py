"""Small steps over tagged text; all linear in the length of the text."""

from collections.abc import Iterator


def blocks(text: str, start: str, end: str) -> Iterator[tuple[int, int, str]]:
    """Each `start`...`end` as (first index, index after it, body)."""
    position = 0
    while (at := text.find(start, position)) >= 0:
        body_at = at + len(start)
        close = text.find(end, body_at)
        if close < 0:
            return
        position = close + len(end)
        yield at, position, text[body_at:close]


def drop_blocks(text: str, start: str, end: str) -> str:
    """Text without its closed `start`...`end` blocks."""
    return cut_out(text, [(at, to) for at, to, _ in blocks(text, start, end)])


def cut_out(text: str, spans: list[tuple[int, int]]) -> str:
    """Text without the spans, which are in order and do not overlap."""
    kept: list[str] = []
    position = 0
    for at, to in spans:
        kept.append(text[position:at])
        position = to
    kept.append(text[position:])
    return "".join(kept)


def join_pieces(pieces: list[str]) -> str:
    """Trimmed pieces, a line each, without empty ones."""
    return "\n".join(piece for piece in map(str.strip, pieces) if piece)
