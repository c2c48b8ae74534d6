"""A Discord for tests: REST and gateway on 127.0.0.1.

    with FakeDiscord() as platform:
        platform.post("hello")            # a person writes
        platform.until(lambda: platform.answers())

It keeps Discord's rules as far as a bot meets them: nonces, limits of
lengths, whose message may be edited, sessions that are resumed or not,
heartbeats, close codes; one zlib stream for each connection.
"""

from claw.testing.fake_discord.platform import FakeDiscord
from claw.testing.fake_discord.world import Json, Sent

__all__ = ["FakeDiscord", "Json", "Sent"]
