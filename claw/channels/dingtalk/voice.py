"""How long a recording is: DingTalk wants to be told, and plays Ogg with
Opus and AMR. Pure.

Sources: RFC 3533, RFC 7845 (Ogg, Opus), RFC 4867 section 5 (AMR).
"""

_GRANULES_MS = 48  # whatever was recorded
_AMR = b"#!AMR\n"
_FRAME_MS = 20
# What a frame has after its head, by its type.
_AMR_BYTES = (12, 13, 15, 17, 19, 20, 26, 31, 5)


def measure_ms(data: bytes) -> int | None:
    """Milliseconds; None for what DingTalk does not play."""
    if data[:4] == b"OggS" and b"OpusHead" in data[28:100]:
        last = data.rfind(b"OggS")
        granule = int.from_bytes(data[last + 6:last + 14], "little",
                                 signed=True)
        return granule // _GRANULES_MS or None if granule > 0 else None
    return _measure_amr(data) if data.startswith(_AMR) else None


def _measure_amr(data: bytes) -> int | None:
    at, frames = len(_AMR), 0
    while at < len(data):
        kind = data[at] >> 3 & 15
        at += 1 + (_AMR_BYTES[kind] if kind < len(_AMR_BYTES) else 0)
        frames += 1
    return frames * _FRAME_MS or None
