"""Settings -> what stands around a channel's turn: media and links put into
words before it, and who speaks the answer after it."""

import os
from collections.abc import Mapping

from claw import speech
from claw.agent.turn import Agent
from claw.config.tree import Tree
from claw.core.channel import ChannelMessage
from claw.core.errors import ClawError
from claw.core.log import Log
from claw.core.speech import Synthesizer, Transcriber
from claw.net.guarded import GuardedClient
from claw.runtime.live import Enrich
from claw.runtime.message import links, media
from claw.runtime.settings import LinkEnricherSettings, MediaSettings
from claw.security.egress import check_url, is_public
from claw.speech.settings import TranscriptionSettings, TtsSettings
from claw.wiring.models.metered import meter_synthesizer, meter_transcriber


def build_enricher(tree: Tree, agent: Agent, log: Log,
                   env: Mapping[str, str] = os.environ) -> Enrich:
    """Media first, then links."""
    media_settings = tree.decode("media_pipeline", MediaSettings)
    link_settings = tree.decode("link_enricher", LinkEnricherSettings)
    transcriber = _transcriber(tree, log, env)
    client = GuardedClient(check_url, is_public)

    async def enrich(message: ChannelMessage) -> ChannelMessage:
        message = await media.describe(
            message, media_settings, transcriber, log,
            sees=agent.provider.capabilities_for(agent.model).vision)
        return await links.enrich(message, link_settings, client, log)
    return enrich


def _transcriber(tree: Tree, log: Log, env: Mapping[str, str]
                 ) -> Transcriber | None:
    """None also where it can't be had: voice messages are then kept and
    said to be there, and everything else goes on."""
    try:
        return meter_transcriber(tree, speech.build_transcriber(
            tree.decode("transcription", TranscriptionSettings), env))
    except ClawError as error:
        log("transcription.unusable", error=error.message, hint=error.hint)
        return None


def build_synthesizer(tree: Tree, log: Log,
                      env: Mapping[str, str] = os.environ
                      ) -> Synthesizer | None:
    """Who speaks answers to voice messages; None where nobody does."""
    try:
        return meter_synthesizer(tree, speech.build_synthesizer(
            tree.decode("tts", TtsSettings), env))
    except ClawError as error:
        log("tts.unusable", error=error.message, hint=error.hint)
        return None
