"""A Telegram of one's own: a real HTTP server that speaks the Bot API.

    with FakeTelegram() as platform:
        ...                      # a bot at platform.url, platform.token
        platform.post("hello")   # a person writes
        platform.wait_until(lambda: platform.answers())

True long polling, the error texts of the real server, faults at the wire.
Standard library only. Source: core.telegram.org/bots/api (Bot API 10.1).
"""

from claw.testing.fake_telegram.drafts import ShownDraft
from claw.testing.fake_telegram.model import Call, Sent
from claw.testing.fake_telegram.params import Upload
from claw.testing.fake_telegram.platform import TOKEN, FakeTelegram

__all__ = ["TOKEN", "Call", "FakeTelegram", "Sent", "ShownDraft", "Upload"]
