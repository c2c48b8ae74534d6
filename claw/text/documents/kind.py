"""Whether bytes may be those of a document. Pure."""

MOST_BYTES = 64 << 20


def is_document(data: bytes) -> bool:
    """Whether the first bytes are those of a PDF or of a ZIP file, which
    office documents and books are; which one only reading it tells."""
    return data.startswith(b"PK\3\4") or (
        data.startswith(b"%PDF-") and data[5:6].isdigit())
