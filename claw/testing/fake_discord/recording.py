"""A recording as Discord's voice messages are: Ogg with Opus, as far as the
container goes (RFC 3533, RFC 7845)."""


def record_voice(packets: int = 50, seconds: float = 1.0) -> bytes:
    """Packets that grow louder."""
    audio = [b"x" * (10 + number) for number in range(packets)]
    return (_page(0, [b"OpusHead" + bytes(11)]) + _page(0, [b"OpusTags"])
            + _page(int(seconds * 48_000), audio))


def _page(granule: int, packets: list[bytes]) -> bytes:
    table = b"".join(
        b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255])
        for packet in packets)
    return (b"OggS\0\0" + granule.to_bytes(8, "little") + bytes(12)
            + bytes([len(table)]) + table + b"".join(packets))
