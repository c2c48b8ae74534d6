"""A Mattermost server for one bot and the people who write to it.

    with FakeMattermost() as platform:
        ...                          # a bot with platform.token, platform.url
        platform.post("hello")       # alice, in direct messages
        platform.answers()           # what the bot posted

REST v4 and the WebSocket stand at one address, as they do at a real one.
`world` holds what is there, `rest` answers calls, `hub` sends events and
takes up connections, `front` joins the two.
"""

from claw.testing.fake_mattermost.platform import FakeMattermost

__all__ = ["FakeMattermost"]
