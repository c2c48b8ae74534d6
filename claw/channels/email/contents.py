"""What a mail says and brings along: its parts fetched, read and saved.

Up to 512 KiB a mail is fetched whole (to parse a hostile one takes seconds);
a larger one part by part, by what the server says of its structure. Of a
text 256 KiB are read, of a file 25 MiB are kept, of one mail 20 files and
60 MiB.
"""

import asyncio
import mimetypes
from email.message import Message

from claw.channels.email.decoding import decode_bytes
from claw.channels.email.envelope import read_envelope
from claw.channels.email.mailbox import Mailbox
from claw.channels.email.quoting import Words, read_html, read_plain
from claw.channels.email.structure import (
    Node,
    choose_texts,
    list_files,
    list_leaves,
    read_bodystructure,
    read_part,
    read_whole,
    undo_encoding,
)
from claw.channels.media import FileRef, FileSaver, describe_file
from claw.channels.outfiles import name_received
from claw.core.channel import Attachment, ChannelDeps
from claw.core.value import Value

WHOLE_BYTES = 2**19
TEXT_BYTES = 256 * 1024
FILE_BYTES = 25 * 2**20
ALL_BYTES = 60 * 2**20
MOST_FILES = 20
_MOST_FORWARDED = 3
_FOREIGN_CHARS = 20_000
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_NAMES = {"message/rfc822": "forwarded.eml", "text/calendar": "invite.ics",
          "application/ms-tnef": "winmail.dat"}


class Mail(Value):
    """A mail that can be read: `whole` are its parts by section where it
    is here, else they lie in the mailbox under `uid`."""

    root: Node
    uid: int
    whole: dict[str, Message] | None = None


class Files(Value):
    """Lines that stand for files, those that were saved, and what mails
    among them say."""

    lines: tuple[str, ...] = ()
    saved: tuple[Attachment, ...] = ()
    forwarded: str = ""


async def open_mail(box: Mailbox, uid: int, size_bytes: int) -> Mail:
    """Raises UnavailableError."""
    if size_bytes <= WHOLE_BYTES:
        data = await box.read_section(uid, "", WHOLE_BYTES)
        root, whole = await asyncio.to_thread(read_whole, data)
        return Mail(root, uid, whole)
    return Mail(read_bodystructure(await box.read_structure(uid)), uid)


async def read_words(box: Mailbox, mail: Mail) -> Words:
    """What it says; of a mail without a text its first text file."""
    texts = choose_texts(mail.root)
    if not texts:
        texts = [leaf for leaf in list_files(mail.root)
                 if leaf.kind.startswith("text/")
                 and leaf.kind != "text/calendar"][:1]
        read = [await _read_text(box, mail, one) for one in texts]
        return Words("", read[0].own if read else "", "attachment"
                     if read else "")
    read = [await _read_text(box, mail, one) for one in texts[:20]]
    if not any(one.own or one.foreign for one in read):
        # The plain one of two is blank, and the page is not.
        others = [leaf for leaf in list_leaves(mail.root)
                  if leaf.is_text and leaf not in texts]
        read = [await _read_text(box, mail, one) for one in others[:20]]
    return Words(
        "\n\n".join(one.own for one in read if one.own),
        "\n\n".join(one.foreign for one in read if one.foreign)[
            :_FOREIGN_CHARS],
        next((one.label for one in read if one.label), ""),
        any(one.mixed for one in read))


async def _read_text(box: Mailbox, mail: Mail, node: Node) -> Words:
    data = await _load(box, mail, node, TEXT_BYTES)
    text = decode_bytes(data[:TEXT_BYTES], node.charset)
    return await asyncio.to_thread(
        read_html if node.kind == "text/html" else read_plain, text)


async def _load(box: Mailbox, mail: Mail, node: Node,
                most_bytes: int) -> bytes:
    """A part, decoded; at most about so much of it."""
    if mail.whole is not None:
        part = mail.whole.get(node.section)
        return b"" if part is None else read_part(part)
    wire = 4 * most_bytes // 3 + most_bytes // 20 + 1024
    return undo_encoding(await box.read_section(
        mail.uid, node.section, wire), node.encoding)


def name_files(mail: Mail, why: str) -> Files:
    """The lines of files that stay where they are."""
    return Files(tuple(describe_file(_refer(node, False), None, why)
                       for node in list_files(mail.root)[:MOST_FILES]))


async def save_files(box: Mailbox, mail: Mail, deps: ChannelDeps, chat: str,
                     mail_id: str, *, is_spoken: bool) -> Files:
    """Its files, saved. Raises UnavailableError: a connection that is lost
    is no file that can't be had. `is_spoken`: it says nothing in text, so
    that a recording is the message."""
    lines: list[str] = []
    saved: list[Attachment] = []
    forwarded: list[str] = []
    total = 0
    nodes = list_files(mail.root)
    for node in nodes[:MOST_FILES]:
        ref = _refer(node, is_spoken and len(nodes) == 1)
        data = b""
        if ref.size_bytes <= FILE_BYTES and total < ALL_BYTES:
            data = await _load(box, mail, node, FILE_BYTES)
            total += len(data)
        elif total >= ALL_BYTES:
            lines.append(describe_file(ref, None, "the mail is too large"))
            continue

        async def give(_: str, data: bytes = data) -> bytes:
            return data

        saver = FileSaver(deps, give, most_bytes=FILE_BYTES,
                          sleep=asyncio.sleep)
        name = name_received("email", chat, mail_id.strip("<>")[:60],
                             ref.name)
        attachment, why = await saver.save(ref, name)
        lines.append(describe_file(
            ref, attachment.path if attachment else None, why))
        if attachment is not None:
            saved.append(attachment)
        if node.kind == "message/rfc822" and data \
                and len(forwarded) < _MOST_FORWARDED:
            forwarded.append(await asyncio.to_thread(_read_inner, data))
    if len(nodes) > MOST_FILES:
        lines.append(f"[{len(nodes) - MOST_FILES} more files are left in the "
                     "mailbox]")
    return Files(tuple(lines), tuple(saved), "\n\n".join(forwarded))


def _refer(node: Node, is_spoken: bool) -> FileRef:
    prefix = node.kind.partition("/")[0]
    kind = ("image" if node.kind in _IMAGES else
            "video" if prefix == "video" else "document")
    if prefix == "audio":
        kind = "voice" if is_spoken else "audio"
    name = node.name or _NAMES.get(node.kind) or (
        f"{prefix}{mimetypes.guess_extension(node.kind) or ''}")
    size = node.size_bytes * 3 // 4 if node.encoding == "base64" \
        else node.size_bytes
    return FileRef(kind, node.section, name, node.kind, size)


def _read_inner(data: bytes) -> str:
    """A mail inside a mail, in words."""
    head = read_envelope(data[:64 * 1024], len(data), 0.0)
    root, whole = read_whole(data[:WHOLE_BYTES])
    texts = [decode_bytes(read_part(whole[node.section])[:TEXT_BYTES],
                          node.charset) if node.kind == "text/plain" else
             read_html(decode_bytes(read_part(whole[node.section])[
                 :TEXT_BYTES], node.charset)).own
             for node in choose_texts(root) if node.section in whole]
    sender = head.sender.address if head.sender else "somebody"
    return (f"From: {sender}\nSubject: {head.subject}\n\n"
            + "\n\n".join(texts).strip())[:_FOREIGN_CHARS]
