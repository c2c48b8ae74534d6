"""From a mail to what is put in the inbox: who may, what it says.

In this order, so that little is fetched of what is left out: robots, the
one address of From, the proof for it, the answers to our answers, the
allow-list. Who is left out hears nothing: an answer would go to whoever is
written in From, and tell a sender of spam that somebody reads it.
"""

from collections.abc import Awaitable, Callable, Iterable

from claw.channels.access import AllowList, Door, Hints, Person, read_code
from claw.channels.answers import is_lone
from claw.channels.email.contents import (
    Files,
    Mail,
    name_files,
    open_mail,
    read_words,
    save_files,
)
from claw.channels.email.envelope import (
    Envelope,
    Sender,
    normalise,
    normalise_domain,
    read_envelope,
)
from claw.channels.email.mailbox import Head, Mailbox
from claw.channels.email.proof import judge_sender
from claw.channels.email.quoting import Words, find_command, is_forwarded
from claw.channels.email.robots import (
    AnswerLimit,
    answers_us,
    find_robot,
    is_report,
    read_bounce,
)
from claw.channels.email.settings import EmailSettings
from claw.channels.email.threads import Threads, find_root
from claw.core.channel import ChannelDeps, ChannelMessage, SendMessage
from claw.core.value import Value

_REPORT_BYTES = 64 * 1024
_TABLE = "channels_config.email"
_NOTHING = "(no readable content)"

Reply = Callable[[str, SendMessage], Awaitable[None]]


class Addresses(AllowList):
    """Addresses and domains that may write; no name among them can change
    hands. Case does not matter, and "@" before a domain says nothing."""

    def __init__(self, entries: Iterable[str | int]) -> None:
        super().__init__(filter(None, map(_read_entry, entries)))
        self.usernames = []

    def is_stranger(self, person: Person | None) -> bool:
        address = "" if person is None else str(person.id)
        return not {address, address.rpartition("@")[2]} \
            & (self._names - {"*"})


def _read_entry(entry: str | int) -> str | None:
    text = str(entry).strip().removeprefix("@")
    return "*" if text == "*" else (
        normalise(text) if "@" in text else normalise_domain(text))


class Given(Value):
    """A mail that is for us, not fetched yet."""

    mail: Envelope
    sender: Sender
    uid: int
    size_bytes: int


class Intake:
    """Makes ChannelMessages of allowed people's mails. `reply` sends what
    the channel says of its own, under a key."""

    def __init__(self, settings: EmailSettings, deps: ChannelDeps,
                 threads: Threads, reply: Reply, *,
                 clock: Callable[[], float]) -> None:
        self.door = Door(settings.allowed_users, deps, table=_TABLE,
                         tells=False, clock=clock)
        self.door.allowed = Addresses(settings.allowed_users)
        self._own = set(filter(None, map(
            normalise, (settings.address, settings.username))))
        self._settings = settings
        self._deps = deps
        self._threads = threads
        self._reply = reply
        self._limit = AnswerLimit(clock)
        self._told = Hints(clock)

    # -- by its headers

    async def screen(self, box: Mailbox, uid: int, head: Head
                     ) -> Given | None:
        """The mail, if it is from somebody who may write or may try to be
        let in; else the log says why not. Raises UnavailableError."""
        mail = read_envelope(head.header, head.size_bytes, head.arrived_at)
        robot = find_robot(mail, self._own)
        if robot is not None:
            if is_report(mail.raw):
                await self._tell_bounce(box, uid)
            self._leave("mail.ignored", mail, uid, robot)
            return None
        if mail.sender is None:
            self._leave("mail.refused", mail, uid, mail.why_no_sender)
            return None
        if self._settings.proves_senders:
            verdict = judge_sender(
                [str(v) for v in mail.raw.get_all(
                    "Authentication-Results", [])],
                mail.sender.domain, self._settings.auth_results)
            if not verdict.is_good:
                self._leave(
                    "mail.refused", mail, uid,
                    f"its sender is not proven: {verdict.why}",
                    hint=f"{_TABLE}.auth_results is the name of your mail "
                    "server in its Authentication-Results, or \"off\" where "
                    "it writes none: claw channel doctor")
                return None
        if answers_us(mail) and not self._limit.admits(
                mail.sender.address, mail.id):
            self._leave("mail.ignored", mail, uid, "it answers our answers "
                        "too often: another program?")
            return None
        person = Person(mail.sender.address)
        if not self.door.allows(person) and self.door.pairing is None:
            await self.door.answer(person.id, person, "")  # told in the log
            return None
        return Given(mail, mail.sender, uid, head.size_bytes)

    def _leave(self, event: str, mail: Envelope, uid: int, why: str,
               **more: str) -> None:
        sender = mail.sender.address if mail.sender else ""
        if self._told.is_due((event, sender, why)):
            self._deps.log(event, uid=uid, sender=sender, why=why, **more)

    async def _tell_bounce(self, box: Mailbox, uid: int) -> None:
        data = await box.read_section(uid, "", _REPORT_BYTES)
        found = read_bounce(data.decode("utf-8", "replace"))
        if found is not None:
            message_id, status, address = found
            self._deps.log("mail.bounced", message_id=message_id,
                           status=status, recipient=address,
                           hint="the answer did not arrive there")

    # -- by its contents

    async def read(self, box: Mailbox, given: Given) -> ChannelMessage | None:
        """What it says; None for a code. Raises UnavailableError, and
        StorageError."""
        mail = await open_mail(box, given.uid, given.size_bytes)
        words = await read_words(box, mail)
        person = Person(given.sender.address)
        code = next((text for text in (find_command(words.own) or "",
                                       given.mail.subject)
                     if read_code(text) is not None), None)
        if not self.door.allows(person):
            answer = await self.door.answer(person.id, person, code or "")
            if answer is not None:
                self._threads.note(given.mail, given.sender.address)
                await self._say(given, answer)
            return None
        if code is not None:
            if self._told.is_due(("paired", person.id)):
                await self._say(given, "You are already allowed.")
            return None
        stranger = self.door.allowed.is_stranger(person)
        files = (name_files(mail, "files of strangers are not kept")
                 if stranger else await self._save(box, mail, given, words))
        self._threads.note(given.mail, given.sender.address)
        return self._compose(given, words, files)

    async def _save(self, box: Mailbox, mail: Mail, given: Given,
                    words: Words) -> Files:
        return await save_files(
            box, mail, self._deps, given.sender.address, given.mail.id,
            is_spoken=not words.own)

    async def _say(self, given: Given, text: str) -> None:
        await self._reply(given.mail.id, SendMessage(
            text, given.sender.address, thread_ts=find_root(given.mail)))

    def describe_unread(self, given: Given, why: str
                        ) -> ChannelMessage | None:
        """A mail whose contents can't be had, so that it is not lost
        without a word; None where it is nobody's who may write."""
        if not self.door.allows(Person(given.sender.address)):
            return None
        self._threads.note(given.mail, given.sender.address)
        return self._compose(given, Words(
            f"(the mail could not be fetched: {why})"), Files())

    def _compose(self, given: Given, words: Words, files: Files
                 ) -> ChannelMessage:
        mail, person = given.mail, Person(given.sender.address)
        content, labels = compose(mail, words, files)
        if not self._settings.knows_senders:
            labels = (*labels, "mail")
        root = find_root(mail)
        return ChannelMessage(
            mail.id, given.sender.address, given.sender.address, content,
            "email", mail.timestamp, thread_ts=root,
            interruption_scope_id=root, attachments=files.saved,
            labels=(*labels, *self.door.labels(person)),
            sender_name=given.sender.name)


def compose(mail: Envelope, words: Words, files: Files
            ) -> tuple[str, tuple[str, ...]]:
    """The text of a mail, and what of it others wrote. An order stands
    alone; history below an answer to us is known already."""
    command = find_command(words.own or ("" if words.foreign
                                         else mail.subject))
    if command is None and answers_us(mail) and is_lone(words.own):
        command = words.own.strip()
    if command is not None:
        return command, ()
    labels: list[str] = []
    pieces = [words.own, "\n".join(files.lines)]
    label = words.label
    if label == "quoted" and is_forwarded(mail.subject):
        label = "forwarded"
    if words.foreign and not (label == "quoted" and answers_us(mail)):
        labels.append(label)
        pieces.append(f"[{label.capitalize()}]\n{words.foreign}")
    if words.mixed:
        labels.append("quoted")
    if files.forwarded:
        labels.append("forwarded")
        pieces.append(f"[Forwarded]\n{files.forwarded}")
    text = "\n\n".join(filter(None, pieces)) or _NOTHING
    subject = f"Subject: {mail.subject}\n\n" if mail.subject else ""
    return subject + text, tuple(dict.fromkeys(labels))
