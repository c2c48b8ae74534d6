"""QQ's bot platform for tests: token, REST and gateway on 127.0.0.1.

    with FakeQq() as platform:
        platform.say("hello")             # alice writes in private
        platform.until(lambda: platform.answers())

It keeps QQ's rules as far as a bot meets them: five answers to a message
within an hour (in a group five minutes), a pair of msg_id and msg_seq shown
once, few messages of the bot's own accord, addresses and Markdown refused to
bots without the permission, sessions that are resumed or not.
"""

from claw.testing.fake_qq.platform import FakeQq
from claw.testing.fake_qq.world import Rules, Sent

__all__ = ["FakeQq", "Rules", "Sent"]
