"""Settings -> what stands around a channel's turn: media and links put into
words before it, who is asked in it, who speaks the answer after it."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claw import speech
from claw.agent.turn import Agent
from claw.config.tree import Tree
from claw.core.channel import ChannelMessage
from claw.core.errors import ClawError, UnavailableError
from claw.core.log import Log
from claw.core.speech import Synthesizer, Transcriber
from claw.net.guarded import GuardedClient
from claw.runtime.live import Enrich
from claw.runtime.message import links, media
from claw.runtime.people.approvals import ChannelApprover
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


class LateApprover:
    """The approver of the running term: the agent is built before it."""

    def __init__(self, approver: Callable[[], ChannelApprover | None]
                 ) -> None:
        self._approver = approver

    def can_ask(self) -> bool:
        approver = self._approver()
        return approver is not None and approver.can_ask()

    async def approve(self, request: Any) -> Any:
        approver = self._approver()
        return "no" if approver is None else await approver.approve(request)

    async def react(self, emoji: str, *, add: bool) -> None:
        approver = self._approver()
        if approver is None:
            raise UnavailableError("nothing can be shown now")
        await approver.react(emoji, add=add)

    async def ask_user(self, question: str, choices: Sequence[str],
                       timeout_s: float) -> str:
        approver = self._approver()
        if approver is None:
            raise UnavailableError("nobody can be asked now")
        return await approver.ask_user(question, choices, timeout_s)
