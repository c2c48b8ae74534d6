"""How long a recording is, and where it is loud: what Discord wants of a
voice message. Pure.

Ogg with Opus only (RFC 3533, RFC 7845). The waveform is drawn from the sizes
of the packets: Opus spends more bytes where more is to be heard.
"""

import base64

_RATE = 48_000  # granules a second, whatever was recorded
_POINTS = 100
_LAST = 255


def measure_voice(data: bytes) -> tuple[float, str] | None:
    """Seconds, and the waveform in base64; None for anything else."""
    sizes: list[int] = []
    granule, at, size = 0, 0, 0
    while at + 27 <= len(data):
        if data[at:at + 4] != b"OggS":
            return None
        count = data[at + 26]
        table = data[at + 27:at + 27 + count]
        for lacing in table:
            size += lacing
            if lacing < _LAST:
                sizes.append(size)
                size = 0
        found = int.from_bytes(data[at + 6:at + 14], "little", signed=True)
        granule = max(granule, found)
        at += 27 + count + sum(table)
    if data[28:36] != b"OpusHead" or granule <= 0 or len(sizes) <= 2:
        return None
    return round(granule / _RATE, 3), _draw(sizes[2:])


def _draw(sizes: list[int]) -> str:
    """The sizes of packets as a hundred bytes at most."""
    step = max(1, -(-len(sizes) // _POINTS))
    means = [sum(sizes[n:n + step]) / len(sizes[n:n + step])
             for n in range(0, len(sizes), step)]
    most = max(means) or 1.0
    return base64.b64encode(bytes(
        round(_LAST * mean / most) for mean in means)).decode()
