"""What the headers of a mail say: from whom, to what it answers. Pure."""

import hashlib
import re
import unicodedata
from email.message import Message
from email.parser import BytesHeaderParser
from email.policy import compat32
from email.utils import parsedate_to_datetime

from claw.channels.email.decoding import (
    decode_header,
    decode_utf8,
    read_raw,
)
from claw.core.value import Value

_SKEW_S = 86_400  # a Date that is further off is not believed
_MOST_REFERENCES = 20
_REFERENCES_CHARS = 900
_FROM_CHARS = 1000
_MOST_SUBJECT = 200

_LONE_CR = re.compile(rb"\r(?!\n)")
_ID = re.compile(r"<[^<>\s]{1,248}>")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_COMMENT = re.compile(r"\([^()]*\)")
_NAMED = re.compile(r"[^<>@,:;]*<\s*([^\s<>@,;:\"()\\]+@[^\s<>@,;:\"()\\]+)"
                    r"\s*>")
_BARE = re.compile(r"[^\s<>@,;:\"()\\]+@[^\s<>@,;:\"()\\]+")
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                             "abcdefghijklmnopqrstuvwxyz")
_REPLY = re.compile(r"(?:(?:re|aw|antw|sv|vs|odp|ref|r)(?:\[\d+\])?\s*:\s*)+",
                    re.IGNORECASE)


class Sender(Value):
    """The one address of a From line, in the form that allow-lists have,
    and the name beside it."""

    address: str
    name: str = ""

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]


class Envelope(Value):
    """The headers that are read. `id` is the mail's own for good, `raw`
    all of them; `references` are oldest first, without itself."""

    id: str
    sender: Sender | None
    why_no_sender: str
    subject: str
    timestamp: int
    references: tuple[str, ...]
    raw: Message


def read_envelope(header: bytes, size_bytes: int, arrived_at: float
                  ) -> Envelope:
    """Of a header block as it came. Never raises."""
    raw = BytesHeaderParser(policy=compat32).parsebytes(
        _LONE_CR.sub(b" ", header))  # no line's end to who has checked it
    sender, why = read_sender(read_raw(raw, "from"))
    own = find_ids(str(raw.get("Message-ID", "")))
    digest = hashlib.blake2b(header + b"%d" % size_bytes, digest_size=16)
    mail_id = own[0] if len(own) == 1 and own[0].isascii() \
        and own[0].isprintable() else f"<gen-{digest.hexdigest()}>"
    answers = find_ids(str(raw.get("In-Reply-To", "")))[:1]
    references = [one for one in dict.fromkeys(
        [*find_ids(str(raw.get("References", ""))), *answers])
        if one != mail_id]
    return Envelope(mail_id, sender, why,
                    decode_header("".join(
                        read_raw(raw, "subject")[:1]))[:1000],
                    _read_date(str(raw.get("Date", "")), arrived_at),
                    cut_references(references), raw)


def find_ids(value: str) -> list[str]:
    """The ids in a header; one with an encoded word in it would be decoded
    where it is written again."""
    return [one for one in _ID.findall(value[:100_000])
            if one.isascii() and "=?" not in one]


def cut_references(ids: list[str]) -> tuple[str, ...]:
    """The first, which names the thread, and the last; as many as stand on
    one line (RFC 5322, 2.1.1)."""
    last: list[str] = []
    room = _REFERENCES_CHARS - len(ids[0]) if ids else 0
    for one in reversed(ids[1:]):
        room -= len(one) + 1
        if room < 0 or len(last) == _MOST_REFERENCES:
            break
        last.insert(0, one)
    return (*ids[:1], *last)


def read_sender(values: list[str]) -> tuple[Sender | None, str]:
    """Who a mail says it is from; None and why where that is not one
    plain address. Strict: what two readers could read differently proves
    nothing."""
    if len(values) != 1:
        return None, f"it has {len(values) or 'no'} From lines"
    if len(values[0]) > _FROM_CHARS:
        return None, "its From line is too long"
    value = " ".join(decode_utf8(values[0]).split())
    bare = _QUOTED.sub("", value)
    for _ in range(5):  # comments in comments
        bare = _COMMENT.sub("", bare)
    bare = bare.strip()
    found = _NAMED.fullmatch(bare)
    address = found[1] if found else bare if _BARE.fullmatch(bare) else None
    normal = normalise(address) if address is not None else None
    if normal is None:
        return None, "its From line is not one plain address"
    name = decode_header(value.rpartition("<")[0].strip().strip('"').strip()
                         ) if found else ""
    # A name that looks like an address is there to be taken for it.
    return Sender(normal, "" if "@" in name else name[:100]), ""


def normalise(address: str) -> str | None:
    """An address as lists hold it: A-Z small, the domain as DNS has it.
    Letters that only look like others stay what they are. None for what is
    no address."""
    local, at, domain = address.strip().rpartition("@")
    host = normalise_domain(domain)
    if not at or not local or host is None or not _BARE.fullmatch(
            f"{local}@{host}") or not local.isprintable() or "=?" in address:
        return None
    return f"{local.translate(_ASCII_LOWER)}@{host}"


def normalise_domain(domain: str) -> str | None:
    domain = domain.strip().rstrip(".")
    if domain.isascii():
        return domain.lower() or None
    if unicodedata.normalize("NFKC", domain).lower() != domain.lower():
        return None
    try:
        return domain.encode("idna").decode().lower()
    except UnicodeError:
        return None


def reply_subject(subject: str) -> str:
    """The subject of an answer, one "Re: " in front."""
    bare = _REPLY.sub("", subject, count=1) if _REPLY.match(subject) \
        else subject
    return f"Re: {bare.strip()}"[:_MOST_SUBJECT]


def _read_date(value: str, arrived_at: float) -> int:
    try:
        said = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return int(arrived_at)
    return int(said if abs(said - arrived_at) < _SKEW_S else arrived_at)
