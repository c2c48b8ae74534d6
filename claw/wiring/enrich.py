"""Settings -> what is added to a message before it is answered."""

from claw.config.tree import Tree
from claw.core.channel import ChannelMessage
from claw.net.guarded import GuardedClient
from claw.runtime import links
from claw.runtime.live import Enrich
from claw.runtime.supervisor import Log
from claw.security.egress import check_url, is_public


def enricher_of(tree: Tree, log: Log) -> Enrich:
    """Media first, then links."""
    link_settings = tree.decode("link_enricher", links.LinkEnricherSettings)
    client = GuardedClient(check_url, is_public)

    async def enrich(message: ChannelMessage) -> ChannelMessage:
        return await links.enrich(message, link_settings, client, log)
    return enrich
