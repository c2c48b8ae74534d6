"""What is known of threads: the subject, and the last mail in them.

A thread is one person's, and named by its first Message-ID: whoever names
the same one has another. Kept across restarts for the latest, so that an
answer stands below what it answers.
"""

import json

from claw.channels.email.envelope import Envelope, cut_references
from claw.core.channel import KeepsMarks
from claw.core.value import Value

_MOST = 200
_PREFIX = "thread:"


class Thread(Value):
    """`references` are the ids of its mails, oldest first."""

    subject: str
    references: tuple[str, ...]


class Threads:
    """The latest threads of one mailbox."""

    def __init__(self, marks: KeepsMarks) -> None:
        self._marks = marks

    def find(self, root: str, person: str) -> Thread:
        """Of a thread that is not known no more than its root."""
        try:
            kept = json.loads(self._marks.get(
                f"{_PREFIX}{person}:{root}") or "null")
            return Thread(str(kept["subject"]),
                          tuple(map(str, kept["references"])) or (root,))
        except (ValueError, TypeError, KeyError):
            return Thread("", (root,))

    def note(self, mail: Envelope, person: str) -> None:
        """This mail is the last of its thread."""
        key = f"{_PREFIX}{person}:{find_root(mail)}"
        self._marks.set(key, None)  # it is the latest now
        self._marks.set(key, json.dumps({
            "subject": mail.subject[:300],
            "references": cut_references([*mail.references, mail.id])}))
        known = list(filter(lambda key: key.startswith(_PREFIX),
                            self._marks.keys()))
        for old in known[:-_MOST]:
            self._marks.set(old, None)


def find_root(mail: Envelope) -> str:
    """The first mail of the thread."""
    return mail.references[0] if mail.references else mail.id
