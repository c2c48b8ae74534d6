"""An inbox with a gateway behind it, for channels that are posted to."""

from claw.core.abilities import HearsReceives
from claw.core.log import silent
from claw.core.value import replace
from claw.gateway.gateway import Gateway


class Hosted:
    """Puts what comes into `inbox`; `port` is where the channel is served,
    None while it is not."""

    def __init__(self, inbox=None, log=silent, limits=None):
        async def build(app, gateway, stack):
            return ()
        self.inbox = inbox
        self.port = None
        self._gateway = Gateway(lambda: None, build, None, log,
                                limits=limits)

    async def put(self, message):
        await self.inbox.put(message)

    def received(self):
        if isinstance(self.inbox, HearsReceives):
            self.inbox.received()

    async def serve_webhook(self, channel):
        await self._gateway.receive(channel, self)

    def serving(self, host, port):
        self.port = port

    def stopped_serving(self):
        self.port = None


class Placed:
    """A channel's webhook with an address of its own."""

    def __init__(self, channel):
        self.verify, self.parse = channel.verify, channel.parse
        self.webhook = replace(channel.webhook, address=("127.0.0.1", 0))


class Served(Hosted):
    """An inbox that serves a channel which lives at the gateway."""

    async def serve_webhook(self, channel):
        await super().serve_webhook(Placed(channel))
