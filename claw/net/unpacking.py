"""Bodies that come packed: gzip and deflate, in bounded pieces. Pure."""

import zlib

# Every kind of body that is understood here.
PACKED = ("gzip", "x-gzip", "deflate")


class Unpacking:
    """gzip and deflate, never more than there is room for: a thousandth
    of its size on the wire can be a bomb."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._begun = False

    def __call__(self, chunk: bytes, room: int) -> bytes:
        """What the chunk unpacks to, `room` bytes at most; what is left of
        it comes with the next one. Raises zlib.error."""
        if not self._begun and chunk:
            self._begun = True
            try:
                return self._inflate.decompress(chunk, room)
            except zlib.error:  # deflate without its wrapper, as some do
                self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        return self._inflate.decompress(
            self._inflate.unconsumed_tail + chunk, room)
