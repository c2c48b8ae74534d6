"""A mail server in this process: IMAP and SMTP on 127.0.0.1.

    with FakeMail() as mail:
        mail.post("hello", sender="alice@people.test")
        mail.sent[0].text
"""

from claw.testing.fake_mail.server import FakeMail
from claw.testing.fake_mail.store import Kept, Sent

__all__ = ["FakeMail", "Kept", "Sent"]
