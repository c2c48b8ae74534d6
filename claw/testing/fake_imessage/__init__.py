"""A Mac with Messages: a chat.db that people write into, and an `osascript`
that does as Messages would.

    with FakeMac(folder) as platform:
        ...                            # a channel with platform.mac
        platform.say("hello")          # +15550001001 writes
        platform.shown("+15550001001") # what it got

`store` builds the database and writes in it, `program` is what runs as
`osascript`; both need nothing but Python, so that the program starts fast.
"""

from claw.testing.fake_imessage.machine import FakeMac, person

__all__ = ["FakeMac", "person"]
